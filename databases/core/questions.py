"""The questions that several engines ask of a live server, and the judges that read trials.

Every figure that the server gives is compared with the page model's for the same keys in the same order of arrival.
Figures that were derived from the model say nothing about it, so they are never compared.
"""

from collections.abc import Callable, Sequence
from functools import partial

from keybench.databases.contract.questions import JudgedTrial, Question, QuestionLoad, Verdict
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import MODEL, SubjectKind

FEW_LAYOUTS = ("uuid-v4", "uuid-v7", "rt-comb-sql", "efcore-sequential")
"""Random keys, ascending keys, keys whose order depends on the column, and keys of a counter of each process."""

ONE_WRITER = QuestionLoad("one writer", "quick", FEW_LAYOUTS, 100_000)
EVERY_LAYOUT = QuestionLoad("every layout", "quick", ("all",), 3_000, ("suited",))
BESIDE_ROWS = QuestionLoad("an index beside the rows", "nonclustered", FEW_LAYOUTS, 50_000)
WRITERS_APART = QuestionLoad(
    "writers that fall behind", "azure-lag", ("uuid-v7", "efcore-sequential", "rt-comb-sql"), 12_000
)
WRITERS_TOGETHER = QuestionLoad("four writers at once", "quick", ("uuid-v4", "uuid-v7"), 50_000, writers=4)
BY_DATE = QuestionLoad("a table by date", "clustered-by-date", ("uuid-v4", "uuid-v7"), 6_000)
CHILDREN = QuestionLoad("children of a foreign key", "fk-index", ("uuid-v4", "uuid-v7"), 3_000)
WITH_A_PAST = QuestionLoad("an index with a past", "retention", ("uuid-v4", "uuid-v7"), 100_000)
REBUILT = QuestionLoad("an index that is rebuilt", "rebuild-waves", ("uuid-v4", "uuid-v7"), 100_000)

SEVERAL_WRITERS = (WRITERS_TOGETHER, WRITERS_APART)
IN_ORDER = (ONE_WRITER, EVERY_LAYOUT, BESIDE_ROWS)
"""Loads whose order of arrival is known without asking the server."""

PAGES = (Metric.LEAF_PAGES, Metric.BRANCH_PAGES)
DENSITY = (Metric.LEAF_DENSITY,)
ORDER = (Metric.LEAF_FRAGMENTATION, Metric.LEAF_NONADJACENT)
KINDS = (Metric.APPENDS, Metric.EDGE_SPLITS, Metric.INTERIOR_SPLITS)
IMAGES = (Metric.LOG_PAGE_IMAGES, Metric.LOG_PAGE_IMAGE_BYTES)

UNVERIFIED = (
    "{}: this adapter was written from documentation and has not been checked against a live server. What this run "
    "shows about it stands below; docs/verify-mssql-oracle.md says where to send it."
)
NO_CACHE = "keybench does not read {}'s counters of physical reads and writes: nothing here could check them."
"""Sentences on an engine that no live server has confirmed, each with a place for its title."""

ADDING_UP = 3
"""Pages by which counters may differ: it is not documented whether the first page and the root page are counted."""
_ROUNDING = 1e-6  # smaller differences come from the order in which floats are summed
_NEAR = 0.05  # share by which leaf pages may differ where it is not documented how a page is split
_NEAR_PAGES = 2.0  # the same in pages, for indexes so small that their share would be less
_SPLIT_SHARE, _ENOUGH_PAGES = 0.2, 50
"""Splits for each leaf page, and leaf pages, from which on a trial shows whether rows were sorted."""
_SORTED_POINTS = 8.0  # points of leaf density by which sorted rows would exceed the model's
_SORTED_DENSITY = 80.0
"""Leaf density, in %, that random keys reach only if they were sorted before they were inserted; else it is near 69."""


# Comparisons with the page model, figure by figure


def same_as_model(metrics: Sequence[Metric], trial: JudgedTrial) -> Verdict | None:
    """Whether each of the metrics as measured is the page model's; `not measured` if one of the two lacks a figure."""
    real, model = trial.about(), trial.about(MODEL)
    prediction = model.get(Metric.LEAF_PAGES)
    if prediction is None or prediction.value is None:
        return Verdict("not measured", prediction.reason if prediction else "there is no prediction of this trial")
    if prediction.reason:  # the order of arrival is not known exactly
        return Verdict("not measured", prediction.reason)
    # Of a table whose pages lie among those of others, the model predicts fewer metrics.
    verdicts = [_compared(metric, real.get(metric), model[metric]) for metric in metrics if metric in model]
    for outcome in ("differs", "not measured"):  # the worst verdict counts
        for verdict in verdicts:
            if verdict.outcome == outcome:
                return verdict
    return verdicts[0] if verdicts else None


def _compared(metric: Metric, real: Reading | None, model: Reading) -> Verdict:
    """Whether one figure of the server is the page model's, to `_ROUNDING`; `not measured` if it was not measured."""
    title = metric.definition.title.lower()
    if real is None or real.value is None:
        return Verdict("not measured", f"{title}: {real.reason if real else 'this server does not give it'}")
    if real.origin != "measured":
        return Verdict("not measured", f"{title}: it is {real.origin} here, not measured")
    assert model.value is not None
    if abs(real.value - model.value) <= _ROUNDING:
        return Verdict("equal")
    return Verdict("differs", f"{title}: measured {_number(real.value)}, model {_number(model.value)}")


def _number(value: float) -> str:
    """A count, or a share with as many digits as are needed to see that it differs."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4f}"


def _log_holds_rows(trial: JudgedTrial) -> Verdict:
    """Whether the log grew by at least the bytes of keys and payloads."""
    log = trial.about().get(Metric.LOG_BYTES)
    if log is None or log.value is None:
        return Verdict("not measured", log.reason if log else "this server does not give its log's growth")
    least = trial.rows * ((trial.table.column.width or 0) + trial.table.payload)
    if log.value >= least:
        return Verdict("equal")
    return Verdict("differs", f"measured {_number(log.value)} bytes, the rows have at least {_number(least)}")


def equal_if(right: bool, evidence: str) -> Verdict:
    """`equal` if `right`, else `differs`; `evidence` says what was measured."""
    return Verdict("equal") if right else Verdict("differs", f"measured {evidence}")


def _in_order_of_sending(trial: JudgedTrial) -> Verdict | None:
    """Whether rows were inserted unsorted: sorted ones would leave fuller pages than the model predicts for the order
    of sending. None if too few pages were split, or a density is not known."""
    real, model = trial.values(), trial.values(MODEL)
    if Metric.LEAF_DENSITY not in real or Metric.LEAF_DENSITY not in model:
        return None
    splits = model.get(Metric.INTERIOR_SPLITS, 0.0) + model.get(Metric.EDGE_SPLITS, 0.0)
    if splits < _SPLIT_SHARE * model[Metric.LEAF_PAGES] or model[Metric.LEAF_PAGES] < _ENOUGH_PAGES:
        return None
    measured, expected = real[Metric.LEAF_DENSITY], model[Metric.LEAF_DENSITY]
    return equal_if(measured < expected + _SORTED_POINTS, f"leaf density {measured:.1f} %, model {expected:.1f} %")


def _leaf_pages_as_modelled(trial: JudgedTrial, *, only_appends: bool) -> Verdict | None:
    """Whether the leaf pages are the model's: exactly for trials with appends only; of others to 5 %, or two pages.
    `only_appends` says which of the two kinds to judge: None for a trial of the other kind, or without figures."""
    real, model = trial.values().get(Metric.LEAF_PAGES), trial.values(MODEL)
    expected = model.get(Metric.LEAF_PAGES)
    if real is None or expected is None:
        return None
    all_were_appended = model.get(Metric.APPENDS) == expected - 1  # each leaf page after the first
    if only_appends != all_were_appended:
        return None
    right = real == expected if only_appends else abs(real - expected) <= max(_NEAR_PAGES, _NEAR * expected)
    return equal_if(right, f"{real:,.0f} leaf pages, model {expected:,.0f}")


def _after_phases(trial: JudgedTrial, *, actions: Sequence[str], tolerance: float) -> Verdict:
    """Whether the leaf pages after each phase of these actions are the model's, to a `tolerance` (a share; 0: exactly).
    Phases are named `NUMBER ACTION`."""
    leaves: dict[SubjectKind, dict[str, float]] = {SubjectKind.PHASE: {}, SubjectKind.MODEL_PHASE: {}}
    for reading in trial.readings:
        if reading.metric == Metric.LEAF_PAGES and reading.subject.kind in leaves and reading.value is not None:
            leaves[reading.subject.kind][reading.subject.name] = reading.value
    real, model = leaves[SubjectKind.PHASE], leaves[SubjectKind.MODEL_PHASE]
    phases = [name for name in real if name in model and name.partition(" ")[2] in actions]
    if not phases:
        return Verdict("not measured", "the leaf pages after phases are not known, or not predicted")
    for name in phases:
        allowed = max(_NEAR_PAGES, tolerance * model[name]) if tolerance else 0.0
        if abs(real[name] - model[name]) > allowed:
            pair = f"measured {real[name]:,.0f} leaf pages, model {model[name]:,.0f}"
            return Verdict("differs", f"after phase {name}: {pair}")
    return Verdict("equal")


def _server_keys_ascend(trial: JudgedTrial) -> Verdict | None:
    """Whether ascending keys that the server made caused no splits that move rows. Only one writer's keys show it."""
    keys, splits = trial.table.server_keys, trial.values().get(Metric.EDGE_AND_INTERIOR_SPLITS)
    should_ascend = keys is not None and keys.order != "none" and trial.writers <= 1
    if not should_ascend or splits is None:
        return None
    return equal_if(splits == 0, f"{splits:,.0f} splits that move rows")


def _sorted_in_bulk(trial: JudgedTrial) -> Verdict | None:
    """Whether rows were sorted before they were stored: unsorted random keys would leave pages that are not full."""
    if trial.layout != "uuid-v4":
        return None
    leaf_density = trial.about().get(Metric.LEAF_DENSITY)
    if leaf_density is None or leaf_density.value is None:
        reason = leaf_density.reason if leaf_density else "this server does not give the leaf density"
        return Verdict("not measured", reason)
    if leaf_density.value >= _SORTED_DENSITY:
        return Verdict("equal", f"leaf density {leaf_density.value:.1f} %")
    return Verdict("differs", f"measured leaf density {leaf_density.value:.1f} %, sorted rows have more than 80 %")


# The questions. Engines name the loads.


def _question_template(
    statement: str, meaning: str, judge: Callable[[JudgedTrial], Verdict | None], **options: bool
) -> Callable[..., Question]:
    """A function that makes the question from the loads that answer it, and from texts for the words in braces of the
    two sentences. `options` are other fields of `Question`."""
    return lambda *loads, **words: Question(statement.format(**words), meaning.format(**words), loads, judge, **options)


rows_are_there = _question_template(
    "each table holds exactly the rows that the server acknowledged",
    "Layouts of every form go into their columns and come back byte for byte. A layout that fails would be missing "
    "from every report.",
    lambda _: Verdict("equal"),
    every_trial=True,
)
pages = _question_template(
    "the index has the leaf and branch pages of the page model",
    "The model knows where a full page is split and what fits on a page. Reports use it where a server cannot be "
    "asked.",
    partial(same_as_model, PAGES),
)
density = _question_template(
    "the leaf pages are as full as the page model says",
    "It shows that the sizes of rows and of the space on a page are right, to the byte.",
    partial(same_as_model, DENSITY),
)
leaf_order = _question_template(
    "the leaf pages lie in the order that the page model says",
    "It shows which page the server takes when it splits one: this is what fragmentation counts.",
    partial(same_as_model, ORDER),
)
split_counter = _question_template(
    "the server's counter of page splits is that of the page model",
    "The counter is the only figure of splits that the server gives. Splits by kind are derived from the model.",
    partial(same_as_model, (Metric.SPLIT_COUNTER,)),
)
log_holds_rows = _question_template(
    "the log grows by at least the bytes of the rows",
    "A smaller figure would mean that the log's growth is read at the wrong moment, or in the wrong unit.",
    _log_holds_rows,
)
in_order_of_sending = _question_template(
    "rows are inserted in the order in which they are sent, not sorted",
    "Rows travel in arrays of parameters. A server that sorted them would leave full pages where random keys leave "
    "69 %, and every layout would look alike.",
    _in_order_of_sending,
    of_any_run=True,
)
all_appended = _question_template(
    "where keys ascend, the index has exactly the leaf pages of the page model",
    "It shows that the sizes of rows and pages are right, and that the column sorts as the adapter says: in "
    "another order the keys would not ascend.",
    partial(_leaf_pages_as_modelled, only_appends=True),
    of_any_run=True,
)
nearly_predicted = _question_template(
    "where pages are split, the index has the leaf pages of the page model, to 5 %",
    "Where exactly the server splits a page is not documented, so the model cannot be exact here.",
    partial(_leaf_pages_as_modelled, only_appends=False),
    of_any_run=True,
)
rebuilt = _question_template(
    "after a rebuild at a fill factor, the index has exactly the leaf pages of the page model",
    "It shows how many rows a fill factor leaves on a page.",
    partial(_after_phases, actions=("rebuild",), tolerance=0.0),
)
with_a_past = _question_template(
    "after deletions and more inserts, the index has the leaf pages of the page model, to 5 %",
    "It shows what becomes of deleted rows, and of the pages that they leave empty: no document says all of it.",
    partial(_after_phases, actions=("insert", "delete", "clean"), tolerance=_NEAR),
)
sorted_in_bulk = _question_template(
    "rows that are loaded in bulk are sorted first, so that random keys leave full pages",
    "It shows that the driver's bulk path works and is what reports call it.",
    _sorted_in_bulk,
)
arrival = _question_template(
    "the order in which several writers' rows arrived is known, from {log}",
    "The page model on a wrong order has another number of pages. If it has the server's, the order is right.",
    partial(same_as_model, (*PAGES, *DENSITY)),
)
by_date = _question_template(
    "in a table by date, the index of the key is that of the page model",
    "Rows then lie in order of their creation, and the key has an index beside them. The order of arrival is "
    "known from {log}.",
    partial(same_as_model, (*PAGES, *DENSITY)),
)
children = _question_template(
    "the index on a foreign key, which has each key four times, is that of the page model",
    "Equal keys are told apart by the place of their rows. The order of arrival is known from {log}.",
    partial(same_as_model, (*PAGES, *DENSITY)),
)
kinds_of_splits = _question_template(
    "appends, edge and interior splits in {log} are those of the page model",
    "Reports count the three apart: every growing index appends; an interior split moves half a page.",
    partial(same_as_model, KINDS),
)
server_keys_ascend = _question_template(
    "keys that the server makes in ascending order cause no splits that move rows",
    "{what_is_known}",
    _server_keys_ascend,
    of_any_run=True,
)
