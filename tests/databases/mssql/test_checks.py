"""A trial's verdicts on the adapter: from readings that confirm each assumption, and from readings that do not."""

from __future__ import annotations

import pytest

from keybench.databases.contract.engine import Verdict
from keybench.databases.mssql import checks, keys
from keybench.databases.mssql.engine import ENGINE
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import KEY, MODEL, Subject
from keybench.model.table import Table

TABLE = Table("rows", ENGINE.column("uniqueidentifier"), 100)
RANDOM = {Metric.LEAF_PAGES: 4300, Metric.LEAF_DENSITY: 69.0, Metric.APPENDS: 3, Metric.EDGE_AND_INTERIOR_SPLITS: 4296}
MODEL_RANDOM = {Metric.LEAF_PAGES: 4285, Metric.LEAF_DENSITY: 69.3, Metric.APPENDS: 3, Metric.INTERIOR_SPLITS: 4281}


def readings(real: dict[Metric, float], model: dict[Metric, float] | None = None, **variants: float) -> list[Reading]:
    made = [Reading(metric, value, "measured") for metric, value in real.items()]
    made += [Reading(metric, value, "modelled", "", MODEL) for metric, value in (model or {}).items()]
    for name, pages in zip(checks.VARIANTS, variants.values(), strict=False):
        made.append(Reading(Metric.LEAF_PAGES, pages, "modelled", "", Subject.model(name)))
    assert {reading.subject for reading in made} >= {KEY}
    return made


def verdicts(given: list[Reading], table: Table = TABLE, rows: int = 100_000, writers: int = 1) -> dict[str, Verdict]:
    return {verdict.question: verdict for verdict in ENGINE.verdicts(table, rows, writers, given)}


ORDER = "rows are inserted in the order in which they are sent, not sorted"
SUM = "page allocations are appends and splits that move rows"


@pytest.mark.parametrize(("density", "outcome"), [(66.0, "holds"), (69.0, "holds"), (96.0, "does not hold")])
def test_sorted_rows_would_leave_full_pages(density: float, outcome: str) -> None:
    verdict = verdicts(readings({**RANDOM, Metric.LEAF_DENSITY: density}, MODEL_RANDOM))[ORDER]
    assert (verdict.outcome, verdict.evidence) == (outcome, f"leaf density {density:.1f} %, model 69.3 %")


def test_ascending_keys_give_no_verdict_on_sorting() -> None:
    full = {Metric.LEAF_PAGES: 1563, Metric.LEAF_DENSITY: 99.0, Metric.APPENDS: 1562}
    assert ORDER not in verdicts(readings(full, full))
    assert ORDER not in verdicts(readings(RANDOM))


@pytest.mark.parametrize(
    ("counter", "outcome"), [(4299, "holds"), (4302, "holds"), (4310, "does not hold"), (3, "does not hold")]
)
def test_allocations_add_up(counter: float, outcome: str) -> None:
    assert verdicts(readings({**RANDOM, Metric.SPLIT_COUNTER: counter}))[SUM].outcome == outcome


@pytest.mark.parametrize(
    ("real", "model", "appended", "outcome"),
    [
        (1563, 1563, True, "holds"),
        (1564, 1563, True, "does not hold"),
        (4319, 4285, False, "holds"),
        (4800, 4285, False, "does not hold"),
    ],
)
def test_the_model_is_exact_for_appends_and_near_for_the_rest(real, model, appended, outcome) -> None:
    predicted = {Metric.LEAF_PAGES: model, Metric.APPENDS: model - 1 if appended else 3}
    question = "the page model has its leaf pages" + (", all of them appended" if appended else "")
    assert verdicts(readings({Metric.LEAF_PAGES: real}, predicted))[question].outcome == outcome


def test_lagging_sequences_show_the_split_point() -> None:
    given = readings({Metric.LEAF_PAGES: 4650}, {Metric.LEAF_PAGES: 4688}, middle=4688, insertion=3130)
    verdict = verdicts(given)["what the model leaves open"]
    assert (verdict.outcome, verdict.evidence) == (
        "seen",
        "split at the middle: 4,650 leaf pages; split at the middle 4,688, split at the insertion point 3,130",
    )
    assert "what the model leaves open" not in verdicts(
        readings({Metric.LEAF_PAGES: 4650}, {Metric.LEAF_PAGES: 4688}, middle=4688, insertion=4680)
    )


@pytest.mark.parametrize(("splits", "outcome"), [(0, "holds"), (17, "does not hold")])
def test_whether_newsequentialid_ascends_is_measured(splits: float, outcome: str) -> None:
    made = next(key for key in keys.MADE if key.name == "server-newsequentialid")
    table = Table("rows", ENGINE.column(made.column), 100, server_keys=made)
    given = readings({Metric.EDGE_AND_INTERIOR_SPLITS: splits})
    assert verdicts(given, table)["server-newsequentialid ascends"].outcome == outcome
    assert not verdicts(given, table, writers=4)
    random = next(key for key in keys.MADE if key.name == "server-newid")
    assert not verdicts(given, Table("rows", ENGINE.column(random.column), 100, server_keys=random))


@pytest.mark.parametrize(
    ("pages", "size"),
    [(3718, "28 bytes"), (4202, "32 bytes"), (5000, "neither of the two sizes that were thought possible")],
)
def test_page_counts_show_the_row_size_of_an_index_over_a_heap(pages: float, size: str) -> None:
    table = Table("rows", ENGINE.column("uniqueidentifier"), 100, "nonclustered")
    given = readings({Metric.LEAF_PAGES: pages, Metric.EDGE_AND_INTERIOR_SPLITS: 0})
    verdict = verdicts(given, table, rows=1_000_000)["bytes of a row of an index over a heap"]
    assert verdict.evidence == f"{size}, 1,000,000 rows on {pages:,} pages"


def test_the_caveat_says_that_it_was_not_checked() -> None:
    assert "has not been checked against a live server" in ENGINE.caveat
