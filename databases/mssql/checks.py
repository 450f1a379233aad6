"""Checks of this adapter, which was written without a SQL Server, by its trials: see docs/verify-mssql-oracle.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keybench.databases.contract.engine import Verdict
from keybench.databases.core import self_check
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


def verdicts(table: Table, sent: int, writers: int, readings: Sequence[Reading]) -> Iterator[Verdict]:
    """The questions in the order in which they matter."""
    yield from self_check.order(readings)
    yield from self_check.adding_up(readings, "page allocations are appends and splits that move rows")
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
    size = f"{fitting[0]} bytes" if len(fitting) == 1 else "neither of the two sizes that were thought possible"
    yield Verdict("bytes of a row of an index over a heap", "seen", f"{size}, {sent:,} rows on {pages:,.0f} pages")
