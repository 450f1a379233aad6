"""What judges say of readings, and whether the loads of engines that nobody could run here would show an answer."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from keybench.databases.contract.engine import Engine
from keybench.databases.contract.questions import JudgedTrial, Outcome, Question, QuestionLoad, Verdict
from keybench.databases.core import questions as ask
from keybench.databases.registry import engine
from keybench.model.metric import Metric
from keybench.model.names import MODEL_SERVER
from keybench.model.reading import Reading
from keybench.model.subject import KEY, MODEL, Subject, SubjectKind
from keybench.model.table import Table
from keybench.results.store.records import Trial
from keybench.runners.planning.columns import server_keys_of
from keybench.runners.planning.trial_plan import Request, TrialPlan, plan, resolve_layouts
from keybench.runners.trials.phases_trial import PhasesModelTrial
from keybench.runners.trials.prediction import ModelTrial
from keybench.runners.verify.verdicts import LoadProgress, QuestionVerdict, verdicts
from keybench.runners.verify.verification import loads_of
from keybench.scenarios.files import load_scenario

TABLE = Table("rows", engine("postgresql").column("uuid"), 100)
PAGES = Metric.LEAF_PAGES


def seen(*readings: Reading, layout: str = "uuid-v4", table: Table = TABLE) -> JudgedTrial:
    return JudgedTrial(layout, table, 1_000, 1, readings)


def real(value: float | None, metric: Metric = PAGES, origin: str = "measured", reason: str = "") -> Reading:
    return Reading(metric, value, origin, reason)  # type: ignore[arg-type]


def model(value: float | None, metric: Metric = PAGES, reason: str = "") -> Reading:
    return Reading(metric, value, "absent" if value is None else "modelled", reason, MODEL)


@pytest.mark.parametrize(
    ("readings", "answer"),
    [
        ([real(4802.0), model(4802.0)], Verdict("equal")),
        ([real(4802.0), model(4797.0)], Verdict("differs", "leaf pages: measured 4,802, model 4,797")),
        ([real(4802.0)], Verdict("not measured", "there is no prediction of this trial")),
        ([real(4802.0), model(None, reason="No prediction: why.")], Verdict("not measured", "No prediction: why.")),
        ([model(4797.0)], Verdict("not measured", "leaf pages: this server does not give it")),
        ([real(None, origin="absent", reason="No."), model(2.0)], Verdict("not measured", "leaf pages: No.")),
        ([real(2.0, origin="derived"), model(2.0)],
         Verdict("not measured", "leaf pages: it is derived here, not measured")),
        ([real(2.0), model(2.0, reason="By the planned order.")], Verdict("not measured", "By the planned order.")),
    ],
)  # fmt: skip
def test_a_comparison_with_the_page_model(readings: list[Reading], answer: Verdict) -> None:
    assert ask.same_as_model((PAGES,), seen(*readings)) == answer


def test_one_figure_that_differs_decides_and_shares_are_shown_to_the_digit() -> None:
    density = Metric.LEAF_DENSITY
    answer = ask.same_as_model(
        (PAGES, density), seen(real(9.0), model(9.0), real(71.9201, density), model(71.92, density))
    )
    assert answer == Verdict("differs", "leaf density: measured 71.9201, model 71.9200")
    assert ask.same_as_model((Metric.LEAF_NONADJACENT,), seen(real(9.0), model(9.0))) is None


@pytest.mark.parametrize(
    ("log", "answer"),
    [
        (116_000.0, Verdict("equal")),
        (115_999.0, Verdict("differs", "measured 115,999 bytes, the rows have at least 116,000")),
        (None, Verdict("not measured", "this server does not give its log's growth")),
    ],
)
def test_the_log_holds_the_rows(log: float | None, answer: Verdict) -> None:
    question = ask.log_holds_rows(ask.ONE_WRITER)
    assert question.judge(seen(*([real(log, Metric.LOG_BYTES)] if log else []))) == answer


@pytest.mark.parametrize(
    ("density", "answer"),
    [
        (96.4, Verdict("equal", "leaf density 96.4 %")),
        (69.2, Verdict("differs", "measured leaf density 69.2 %, sorted rows have more than 80 %")),
    ],
)
def test_bulk_loads_sort(density: float, answer: Verdict) -> None:
    question = ask.sorted_in_bulk(ask.ONE_WRITER)
    assert question.judge(seen(real(density, Metric.LEAF_DENSITY))) == answer
    assert question.judge(seen(real(density, Metric.LEAF_DENSITY), layout="uuid-v7")) is None


# Engines that nobody could run here: a server that behaves as the page model says answers every question, and one that
# does not is found out.


def states(on: Engine, change: Mapping[Metric, float]) -> dict[QuestionLoad, LoadProgress]:
    """The quick loads of an engine, on a server that is its page model but for the factors of `change`."""
    made = {}
    for load in loads_of(on):
        work = load_scenario(load.scenario)
        rows = max(load.rows // 10, 1_000)
        layouts = resolve_layouts([name for name in load.layouts if name != "all"] or ["uuid-v4"], work)
        request = Request((on.name,), {on.name: "container"}, work, layouts, load.columns, rows, 1, "durable", 1, 1.0)
        planned = plan(request)
        made[load] = LoadProgress(request, "run", planned, [trial(on, request, one, change) for one in planned])
    return made


def trial(on: Engine, request: Request, one: TrialPlan, change: Mapping[Metric, float]) -> Trial:
    if request.scenario.phase:
        alone = PhasesModelTrial(replace(request, servers={on.name: MODEL_SERVER}), one).measure().readings
        pages = [each for each in alone if each.subject.kind == SubjectKind.PHASE and each.metric == PAGES]
        readings = [replace(each, value=(each.value or 0) * change.get(PAGES, 1)) for each in pages]
        readings += [replace(each, subject=Subject(SubjectKind.MODEL_PHASE, each.subject.name)) for each in pages]
    elif not request.scenario.load_path.in_order:
        readings = [real(96.0, Metric.LEAF_DENSITY)]
    elif server_keys_of(on, one.layout):
        readings = [real(0.0, Metric.EDGE_AND_INTERIOR_SPLITS)]
    else:
        modelled = ModelTrial(replace(request, servers={on.name: MODEL_SERVER}), one).measure().readings
        values = {each.metric: each.value for each in modelled if each.subject == KEY and each.value is not None}
        moved = values[Metric.EDGE_SPLITS] + values[Metric.INTERIOR_SPLITS]
        shown = {metric: values[metric] for metric in (PAGES, Metric.LEAF_DENSITY, Metric.APPENDS)}
        shown |= {Metric.EDGE_AND_INTERIOR_SPLITS: moved, Metric.SPLIT_COUNTER: moved + values[Metric.APPENDS]}
        readings = [real(value, metric) for metric, value in shown.items()]
        readings += [model(value, metric) for metric, value in values.items()]
        readings += [each for each in modelled if each.subject.kind == MODEL.kind and each.subject.name]
    readings = [
        replace(each, value=each.value * change[each.metric])
        if each.subject == KEY and each.value is not None and each.metric in change
        else each
        for each in readings
    ]
    return Trial(
        one.block, one.position, one.database, "container", one.column, one.layout, request.scenario.name,
        one.payload, one.rows, 1, 1_000, datetime.now(UTC), 0.0, "ok", "", tuple(readings),
    )  # fmt: skip


def by_outcome(on: Engine, change: Mapping[Metric, float]) -> dict[Outcome, list[str]]:
    found: dict[Outcome, list[str]] = {"equal": [], "differs": [], "not measured": []}
    for one in verdicts(on, states(on, change)):
        found[one.outcome].append(one.question.statement)
    return found


@pytest.mark.parametrize("name", ["mssql", "oracle"])
def test_a_server_as_the_page_model_says_answers_every_question_equal(name: str) -> None:
    on = engine(name)
    assert by_outcome(on, {}) == {"equal": [one.statement for one in on.questions], "differs": [], "not measured": []}


SORTED = "rows are inserted in the order in which they are sent, not sorted"
ASCENDING = "where keys ascend, the index has exactly the leaf pages of the page model"
SPLIT = "where pages are split, the index has the leaf pages of the page model, to 5 %"
REBUILT = "after a rebuild at a fill factor, the index has exactly the leaf pages of the page model"
PAST = "after deletions and more inserts, the index has the leaf pages of the page model, to 5 %"


@pytest.mark.parametrize(
    ("name", "change", "differing"),
    [
        ("mssql", {Metric.LEAF_DENSITY: 1.3}, {SORTED}),
        ("oracle", {Metric.LEAF_DENSITY: 1.3}, {SORTED}),
        ("mssql", {PAGES: 1.2}, {ASCENDING, SPLIT, REBUILT, PAST}),
        ("oracle", {PAGES: 1.2},
         {ASCENDING, SPLIT, REBUILT, PAST,
          "the leaves are the first and one for each of leaf node splits, appends among them"}),
        ("mssql", {Metric.SPLIT_COUNTER: 1.5}, {"page allocations are appends and splits that move rows"}),
    ],
)  # fmt: skip
def test_a_server_that_does_something_else_is_found_out(
    name: str, change: Mapping[Metric, float], differing: set[str]
) -> None:
    found = by_outcome(engine(name), change)
    assert set(found["differs"]) == differing
    assert found["not measured"] == []


# What several trials say together.


def together(answers: Mapping[str, Verdict | str | None], *, every: bool = False, missing: int = 0) -> QuestionVerdict:
    """The finding of trials that answer so by layout; a text is a failed trial's error."""
    load = QuestionLoad("x", "quick", tuple(answers), 1_000)
    work = load_scenario("quick")
    request = Request(("sqlite",), {"sqlite": "embedded"}, work, tuple(answers), (), 1_000, 1, "durable", 1, 1.0)
    planned = plan(request)
    trials = [
        Trial(
            one.block, one.position, "sqlite", "embedded", one.column, one.layout, "quick", 100, 1_000, 1, 1_000,
            datetime.now(UTC), 0.0, "error" if isinstance(answers[one.layout], str) else "ok",
            str(answers[one.layout]) if isinstance(answers[one.layout], str) else "",
        )
        for one in planned
    ]  # fmt: skip
    question = Question("s", "M.", (load,), lambda trial: answers[trial.layout], every)  # type: ignore[arg-type,return-value]
    on = replace(engine("sqlite"), questions=(question,))
    (verdict,) = verdicts(on, {load: LoadProgress(request, "r", planned, trials[missing:])})
    return verdict


EQUAL, DIFFERS, OPEN = Verdict("equal"), Verdict("differs", "measured 1, model 2"), Verdict("not measured", "why")


@pytest.mark.parametrize(
    ("answers", "line"),
    [
        ({"uuid-v4": EQUAL, "uuid-v7": None}, "equal: s (1 trial)"),
        ({"uuid-v4": DIFFERS, "uuid-v7": EQUAL}, "differs: s (2 trials): uuid-v4 in binary16: measured 1, model 2"),
        ({"uuid-v4": OPEN, "uuid-v7": EQUAL},
         "equal: s (1 trial): not measured in uuid-v4 in binary16: why"),
        ({"uuid-v4": OPEN}, "could not be measured: s: uuid-v4 in binary16: why"),
        ({"uuid-v4": None}, "could not be measured: s: no trial shows it"),
        ({"uuid-v4": "server gone"},
         "could not be measured: s: uuid-v4 in binary16: the trial failed: server gone"),
        ({"uuid-v4": "server gone", "uuid-v7": EQUAL}, "equal: s (1 trial)"),
    ],
)  # fmt: skip
def test_trials_together(answers: Mapping[str, Verdict | str | None], line: str) -> None:
    assert together(answers).line == line


def test_a_failed_trial_leaves_a_question_open_that_needs_every_trial() -> None:
    found = together({"uuid-v4": "server gone", "uuid-v7": EQUAL}, every=True)
    assert found.line == ("could not be measured: s (1 trial): uuid-v4 in binary16: the trial failed: server gone")
    assert found.failed


def test_trials_that_have_not_run_leave_it_open() -> None:
    answers = dict.fromkeys(("uuid-v4", "uuid-v7", "ulid"), EQUAL)
    assert together(answers, missing=2).line == "could not be measured: s (1 trial): 2 trials have not run"
    assert together(answers, missing=3).line == "could not be measured: s: its load has not run"
