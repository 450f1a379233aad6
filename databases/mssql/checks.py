"""What trials on a SQL Server tell of this adapter, which was written without one: see docs/verify-mssql-oracle.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keybench.databases.core import self_check as selfcheck
from keybench.databases.engine import Verdict
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table
from keybench.pagemodels.mssql import records as rows

CAVEAT = (
    "SQL Server: this adapter was written from documentation and has not been checked against a live server. What this "
    "run says of it stands below; docs/verify-mssql-oracle.md tells where to send it."
)
VARIANTS = {
    "split at the middle": {"split_point": "midpoint"},
    "split at the insertion point": {"split_point": "insertion_point"},
}


def verdicts(table: Table, sent: int, writers: int, readings: Sequence[Reading]) -> Iterator[Verdict]:
    """The questions in the order in which they matter."""
    yield from selfcheck.order(readings)
    yield from selfcheck.adding_up(readings, "page allocations are appends and splits that move rows")
    yield from selfcheck.prediction(readings, tuple(VARIANTS))
    yield from _ascending(table, writers, readings)
    yield from _locator(table, sent, readings)


def _ascending(table: Table, writers: int, readings: Sequence[Reading]) -> Iterator[Verdict]:
    """NEWSEQUENTIALID on Linux has an implementation of its own: whether it ascends, by what one writer's keys did."""
    moved = selfcheck.values(readings).get(Metric.EDGE_AND_INTERIOR_SPLITS)
    if table.made is None or table.made.order == "none" or moved is None or writers > 1:
        return
    yield Verdict(
        f"{table.made.name} ascends", "holds" if moved == 0 else "does not hold", f"{moved:,.0f} splits that move rows"
    )


def _locator(table: Table, sent: int, readings: Sequence[Reading]) -> Iterator[Verdict]:
    """Whether an index over a heap charges the RID as a column of variable length, by pages that were all appended."""
    real = selfcheck.values(readings)
    pages = real.get(Metric.LEAF_PAGES, 0.0)
    if table.key != "nonclustered" or real.get(Metric.EDGE_AND_INTERIOR_SPLITS) != 0 or pages < 10:
        return
    fitting = [
        row
        for row in (rows.index_row(table.column.width, rows.RID, locator_varies=varies) for varies in (False, True))
        if -(-sent // rows.rows_a_page(row)) == pages
    ]
    told = f"{fitting[0]} bytes" if len(fitting) == 1 else "neither of the two sizes that were thought possible"
    yield Verdict("bytes of a row of an index over a heap", "seen", f"{told}, {sent:,} rows on {pages:,.0f} pages")
