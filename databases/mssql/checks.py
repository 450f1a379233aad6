"""Checks of this adapter, which was written without a SQL Server, by its trials: see docs/verify-mssql-oracle.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keybench.databases.contract.engine import Verdict
from keybench.databases.contract.questions import Answer, Load, Question, SeenTrial
from keybench.databases.core import check_questions as ask
from keybench.databases.core import self_check
from keybench.databases.core.model_questions import EVERY_LAYOUT, ONE_WRITER, REBUILT, WITH_A_PAST, rows_are_there
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table
from keybench.pagemodels.mssql import records

CAVEAT = (
    "SQL Server: this adapter was written from documentation and has not been checked against a live server. What this "
    "run shows about it stands below; docs/verify-mssql-oracle.md says where to send it."
)
VARIANTS = {
    "split at the middle": {"split_point": "midpoint"},
    "split at the insertion point": {"split_point": "insertion_point"},
}

_NEITHER = "neither of the two sizes that were thought possible"
_ALLOCATIONS = "page allocations are appends and splits that move rows"
_MADE = Load("keys of the server", "quick", ("server-identity", "server-newid", "server-newsequentialid"), 50_000)
_SPLIT_POINT = Load(
    "ascending keys inside the index", "quick", ("flakeid", "oracle-sys-guid", "hotguid-documented"), 200_000
)
_OVER_HEAP = Load("an index over a heap", "nonclustered", ("newsequentialid", "rt-comb-sql", "uuid-v4"), 50_000)
_BULK = Load("a bulk load", "bulk-load", ("uuid-v4", "uuid-v7"), 200_000)
_ROWS = (ONE_WRITER, EVERY_LAYOUT, _SPLIT_POINT, _OVER_HEAP)
QUESTIONS = (
    rows_are_there(*_ROWS, _MADE, _BULK, REBUILT, WITH_A_PAST),
    ask.in_order_of_sending(*_ROWS),
    Question(
        _ALLOCATIONS,
        "Splits that move rows are read from the log (LOP_DELETE_SPLIT), page allocations from the server's counter. "
        "If the two do not add up, one of them counts something else.",
        _ROWS,
        ask.of_check(lambda trial: self_check.adding_up(trial.readings, _ALLOCATIONS)),
    ),
    ask.all_appended(*_ROWS),
    ask.nearly_predicted(ONE_WRITER, _OVER_HEAP),
    ask.one_of_the_variants(
        "a page in which ascending keys are inserted is split in one of the two places that the page model knows",
        "The documentation does not say whether such a page is split in its middle or where the row is inserted. The "
        "answer says which it is, and decides what lagging writers cost.",
        _SPLIT_POINT,
    ),
    ask.made_keys_ascend(
        "NEWSEQUENTIALID() is documented to ascend, but SQL Server on Linux has an implementation of its own.", _MADE
    ),
    Question(
        "a row of an index over a heap has one of the two sizes that the page model knows",
        "28 or 32 bytes for a GUID: it is not documented whether the place of a row in the heap counts as a column of "
        "variable length.",
        (_OVER_HEAP,),
        lambda trial: _locator_is_known(trial),  # defined below
    ),
    ask.sorted_in_bulk(_BULK),
    ask.rebuilt(REBUILT),
    ask.with_a_past(WITH_A_PAST),
)
"""What `keybench verify mssql` asks."""


def verdicts(table: Table, sent: int, writers: int, readings: Sequence[Reading]) -> Iterator[Verdict]:
    """The questions in the order in which they matter."""
    yield from self_check.order(readings)
    yield from self_check.adding_up(readings, _ALLOCATIONS)
    yield from self_check.prediction(readings, tuple(VARIANTS))
    yield from self_check.ascending(table, writers, readings)
    yield from _locator(table, sent, readings)


def _locator(table: Table, sent: int, readings: Sequence[Reading]) -> Iterator[Verdict]:
    """Whether an index over a heap stores the RID as a column of variable length, by pages that were all appended."""
    real = self_check.values(readings)
    pages = real.get(Metric.LEAF_PAGES, 0.0)
    if table.key != "nonclustered" or real.get(Metric.EDGE_AND_INTERIOR_SPLITS) != 0 or pages < 10:
        return
    possible = [records.index_row(table.column.width, records.RID, locator_varies=varies) for varies in (False, True)]
    fitting = [row for row in possible if -(-sent // records.rows_a_page(row)) == pages]
    size = f"{fitting[0]} bytes" if len(fitting) == 1 else _NEITHER
    yield Verdict("bytes of a row of an index over a heap", "seen", f"{size}, {sent:,} rows on {pages:,.0f} pages")


def _locator_is_known(trial: SeenTrial) -> Answer | None:
    for seen in _locator(trial.table, trial.rows, trial.readings):
        return Answer("differs" if seen.evidence.startswith(_NEITHER) else "equal", f"measured {seen.evidence}")
    return None
