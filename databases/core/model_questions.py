"""Questions that engines with a page model share: is the index on the server the one that the model predicts?

Every figure that the server gives is compared with the model's for the same keys in the same order of arrival. Figures
that were derived from the model say nothing about it, so they are never compared.
"""

from __future__ import annotations

from dataclasses import dataclass

from keybench.databases.contract.questions import Answer, Load, Question, SeenTrial
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import MODEL

_SAME = 1e-6
"""Smaller differences come from the order in which floats are summed."""

PAGES = (Metric.LEAF_PAGES, Metric.BRANCH_PAGES)
DENSITY = (Metric.LEAF_DENSITY,)
ORDER = (Metric.LEAF_FRAGMENTATION, Metric.LEAF_NONADJACENT)
KINDS = (Metric.APPENDS, Metric.EDGE_SPLITS, Metric.INTERIOR_SPLITS)

FEW_LAYOUTS = ("uuid-v4", "uuid-v7", "rt-comb-sql", "efcore-sequential")
"""Random keys, ascending keys, keys whose order depends on the column, and keys of a counter of each process."""

ONE_WRITER = Load("one writer", "quick", FEW_LAYOUTS, 100_000)
EVERY_LAYOUT = Load("every layout", "quick", ("all",), 3_000, ("suited",))
BESIDE_ROWS = Load("an index beside the rows", "nonclustered", FEW_LAYOUTS, 50_000)
WRITERS_APART = Load("writers that fall behind", "azure-lag", ("uuid-v7", "efcore-sequential", "rt-comb-sql"), 12_000)
WRITERS_TOGETHER = Load("four writers at once", "quick", ("uuid-v4", "uuid-v7"), 50_000, writers=4)
BY_DATE = Load("a table by date", "clustered-by-date", ("uuid-v4", "uuid-v7"), 6_000)
CHILDREN = Load("children of a foreign key", "fk-index", ("uuid-v4", "uuid-v7"), 3_000)
WITH_A_PAST = Load("an index with a past", "retention", ("uuid-v4", "uuid-v7"), 100_000)
REBUILT = Load("an index that is rebuilt", "rebuild-waves", ("uuid-v4", "uuid-v7"), 100_000)

IN_ORDER = (ONE_WRITER, EVERY_LAYOUT, BESIDE_ROWS)
"""Loads whose order of arrival is known without asking the server."""


@dataclass(frozen=True)
class SameAsModel:
    """The judge of a comparison: each of `metrics` as measured is that of the page model."""

    metrics: tuple[Metric, ...]

    def __call__(self, trial: SeenTrial) -> Answer | None:
        """`not measured` if the server or the model lacks one of the figures."""
        real, model = trial.values(), trial.values(MODEL)
        pages = model.get(Metric.LEAF_PAGES)
        if pages is None or pages.value is None:
            return Answer("not measured", pages.reason if pages else "there is no prediction of this trial")
        if pages.reason:  # the order of arrival is not known exactly
            return Answer("not measured", pages.reason)
        compared = [metric for metric in self.metrics if metric in model]  # it may know less of a table among others
        parts = [_compared(metric, real.get(metric), model[metric]) for metric in compared]
        for outcome in ("differs", "not measured"):
            if found := [part for part in parts if part.outcome == outcome]:
                return found[0]
        return parts[0] if parts else None


def _compared(metric: Metric, real: Reading | None, model: Reading) -> Answer:
    title = metric.definition.title.lower()
    if real is None or real.value is None:
        return Answer("not measured", f"{title}: {real.reason if real else 'this server does not give it'}")
    if real.origin != "measured":
        return Answer("not measured", f"{title}: it is {real.origin} here, not measured")
    assert model.value is not None
    same = abs(real.value - model.value) <= _SAME
    evidence = "" if same else f"{title}: measured {number(real.value)}, model {number(model.value)}"
    return Answer("equal" if same else "differs", evidence)


def number(value: float) -> str:
    """A count, or a share with as many digits as are needed to see that it differs."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4f}"


def rows_are_there(*loads: Load) -> Question:
    """Whether trials end without an error, which includes reading the table back."""
    return Question(
        "each table holds exactly the rows that the server acknowledged",
        "Layouts of every form go into their columns and come back byte for byte. A layout that fails would be missing "
        "from every report.",
        loads,
        lambda _: Answer("equal"),
        every_trial=True,
    )


def pages(*loads: Load) -> Question:
    """Leaf and branch pages."""
    return Question(
        "the index has the leaf and branch pages of the page model",
        "The model knows where a full page is split and what fits on a page. Reports use it where a server cannot be "
        "asked.",
        loads,
        SameAsModel(PAGES),
    )


def density(*loads: Load) -> Question:
    """How full the leaves are."""
    return Question(
        "the leaf pages are as full as the page model says",
        "It shows that the sizes of rows and of the space on a page are right, to the byte.",
        loads,
        SameAsModel(DENSITY),
    )


def leaf_order(*loads: Load) -> Question:
    """Where pages lie."""
    return Question(
        "the leaf pages lie in the order that the page model says",
        "It shows which page the server takes when it splits one: this is what fragmentation counts.",
        loads,
        SameAsModel(ORDER),
    )


def arrival(how: str, *loads: Load) -> Question:
    """Whether the order of arrival of several writers' rows is known. `how`: from what it is recovered."""
    return Question(
        f"the order in which several writers' rows arrived is known, from {how}",
        "The page model on a wrong order has another number of pages. If it has the server's, the order is right.",
        loads,
        SameAsModel((*PAGES, *DENSITY)),
    )


def by_date(how: str) -> Question:
    """A table by date, whose order of arrival is recovered from `how`."""
    return Question(
        "in a table by date, the index of the key is that of the page model",
        "Rows then lie in order of their creation, and the key has an index beside them. The order of arrival is "
        f"known from {how}.",
        (BY_DATE,),
        SameAsModel((*PAGES, *DENSITY)),
    )


def children(how: str) -> Question:
    """The index on a foreign key, whose order of arrival is recovered from `how`."""
    return Question(
        "the index on a foreign key, which has each key four times, is that of the page model",
        f"Equal keys are told apart by the place of their rows. The order of arrival is known from {how}.",
        (CHILDREN,),
        SameAsModel((*PAGES, *DENSITY)),
    )


def kinds_of_splits(where: str, *loads: Load) -> Question:
    """Appends, edge and interior splits, which the server tells in `where`."""
    return Question(
        f"appends, edge and interior splits in {where} are those of the page model",
        "Reports count the three apart: every growing index appends; an interior split moves half a page.",
        loads,
        SameAsModel(KINDS),
    )


def split_counter(*loads: Load) -> Question:
    """The server's own counter."""
    return Question(
        "the server's counter of page splits is that of the page model",
        "The counter is the only figure of splits that the server gives. Splits by kind are derived from the model.",
        loads,
        SameAsModel((Metric.SPLIT_COUNTER,)),
    )


def log_holds_rows(*loads: Load) -> Question:
    """The volume of the log, of which there is no model: a lower bound."""
    return Question(
        "the log grows by at least the bytes of the rows",
        "A smaller figure would mean that the log's growth is read at the wrong moment, or in the wrong unit.",
        loads,
        _log_holds_rows,
    )


def _log_holds_rows(trial: SeenTrial) -> Answer:
    log = trial.values().get(Metric.LOG_BYTES)
    if log is None or log.value is None:
        return Answer("not measured", log.reason if log else "this server does not give its log's growth")
    least = trial.rows * (trial.table.column.width or 0) + trial.rows * trial.table.payload
    if log.value >= least:
        return Answer("equal")
    return Answer("differs", f"measured {number(log.value)} bytes, the rows have at least {number(least)}")
