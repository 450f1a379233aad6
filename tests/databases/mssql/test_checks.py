"""A trial's verdicts on the adapter: from readings that confirm each assumption, and from readings that do not."""

import pytest

from keybench.databases.contract.questions import JudgedTrial, Verdict
from keybench.databases.mssql import ddl
from keybench.databases.mssql.engine import ENGINE
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import KEY, MODEL
from keybench.model.table import Table

TABLE = Table("rows", ENGINE.column("uniqueidentifier"), 100)
RANDOM = {Metric.LEAF_PAGES: 4300, Metric.LEAF_DENSITY: 69.0, Metric.APPENDS: 3, Metric.EDGE_AND_INTERIOR_SPLITS: 4296}
MODEL_RANDOM = {Metric.LEAF_PAGES: 4285, Metric.LEAF_DENSITY: 69.3, Metric.APPENDS: 3, Metric.INTERIOR_SPLITS: 4281}


def readings(real: dict[Metric, float], model: dict[Metric, float] | None = None) -> list[Reading]:
    made = [Reading(metric, value, "measured") for metric, value in real.items()]
    made += [Reading(metric, value, "modelled", "", MODEL) for metric, value in (model or {}).items()]
    assert {reading.subject for reading in made} >= {KEY}
    return made


def verdicts(given: list[Reading], table: Table = TABLE, rows: int = 100_000, writers: int = 1) -> dict[str, Verdict]:
    trial = JudgedTrial("uuid-v4", table, rows, writers, given)
    judged = {question.statement: question.judge(trial) for question in ENGINE.questions if question.of_any_run}
    return {text: one for text, one in judged.items() if one and one.outcome != "not measured"}


ORDER = "rows are inserted in the order in which they are sent, not sorted"
SUM = "page allocations are appends and splits that move rows"


@pytest.mark.parametrize(("density", "outcome"), [(66.0, "equal"), (69.0, "equal"), (96.0, "differs")])
def test_sorted_rows_would_leave_full_pages(density: float, outcome: str) -> None:
    verdict = verdicts(readings({**RANDOM, Metric.LEAF_DENSITY: density}, MODEL_RANDOM))[ORDER]
    evidence = "" if outcome == "equal" else f"measured leaf density {density:.1f} %, model 69.3 %"
    assert verdict == Verdict(outcome, evidence)  # type: ignore[arg-type]


def test_ascending_keys_give_no_verdict_on_sorting() -> None:
    full = {Metric.LEAF_PAGES: 1563, Metric.LEAF_DENSITY: 99.0, Metric.APPENDS: 1562}
    assert ORDER not in verdicts(readings(full, full))
    assert ORDER not in verdicts(readings(RANDOM))


@pytest.mark.parametrize(("counter", "outcome"), [(4299, "equal"), (4302, "equal"), (4310, "differs"), (3, "differs")])
def test_allocations_add_up(counter: float, outcome: str) -> None:
    assert verdicts(readings({**RANDOM, Metric.SPLIT_COUNTER: counter}))[SUM].outcome == outcome


@pytest.mark.parametrize(
    ("real", "model", "appended", "outcome"),
    [(1563, 1563, True, "equal"), (1564, 1563, True, "differs"), (4319, 4285, False, "equal"),
     (4800, 4285, False, "differs")],
)  # fmt: skip
def test_the_model_is_exact_for_appends_and_near_for_the_rest(real, model, appended, outcome) -> None:
    predicted = {Metric.LEAF_PAGES: model, Metric.APPENDS: model - 1 if appended else 3}
    question = (
        "where keys ascend, the index has exactly the leaf pages of the page model"
        if appended
        else "where pages are split, the index has the leaf pages of the page model, to 5 %"
    )
    assert verdicts(readings({Metric.LEAF_PAGES: real}, predicted))[question].outcome == outcome


@pytest.mark.parametrize(("splits", "outcome"), [(0, "equal"), (17, "differs")])
def test_whether_newsequentialid_ascends_is_measured(splits: float, outcome: str) -> None:
    made = next(key for key in ddl.SERVER_KEYS if key.name == "server-newsequentialid")
    table = Table("rows", ENGINE.column(made.column), 100, server_keys=made)
    given = readings({Metric.EDGE_AND_INTERIOR_SPLITS: splits})
    assert (
        verdicts(given, table)["keys that the server makes in ascending order cause no splits that move rows"].outcome
        == outcome
    )
    assert not verdicts(given, table, writers=4)
    random = next(key for key in ddl.SERVER_KEYS if key.name == "server-newid")
    assert not verdicts(given, Table("rows", ENGINE.column(random.column), 100, server_keys=random))
