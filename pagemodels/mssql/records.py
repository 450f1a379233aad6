"""Sizes of what SQL Server stores: rows, index rows, and how many fit a page (docs/internals/mssql.md §1).

Sources: Microsoft's "Estimate the size of a clustered index", "… of a nonclustered index", "… of a heap" and "Pages and
extents architecture guide"; what they leave open follows published page counts.
"""

from collections.abc import Sequence

from keybench.errors import UsageError

PAGE_BYTES = 8096
"""For rows and their slots: 8,192 less the page header."""
SLOT = 2
"""A row's place in the slot array at the end of its page."""
VERSION_TAG = 14
"""On every row that was written while the database kept row versions (RCSI, snapshot isolation, ADR)."""
RID = 8
"""Address of a row in a heap: file, page, slot."""

_LONGEST = 8060
"""Bytes of a row at most. The shares of a heap's page that its PFS byte tells are shares of these bytes, too."""
_PFS_CLASSES = ((50, 50), (80, 20), (95, 5))
"""What the PFS byte tells of a heap's page, in %: it is used up to the first number, so that the second one is free. A
page that is used by more than 95 % gets no row."""
_ROW_HEADER = 4  # two status bytes, and where the columns of fixed length end
_INDEX_ROW_HEADER = 1
_NULL_BITMAP = 3  # of an index row, for at most eight columns: their number, and a byte of bits
_CHILD_PAGE = 6  # the address of a page: file and page


def data_row(fixed: int, columns: int, variable: Sequence[int] = (), *, versions: bool = False) -> int:
    """Bytes of a table's row. `fixed`: bytes of all columns of fixed length. `variable`: bytes of each other column.
    `columns`: how many it has in all. `versions`: whether the database keeps row versions."""
    bitmap = 2 + (columns + 7) // 8
    with_offsets = 2 + 2 * len(variable) + sum(variable) if variable else 0
    return _ROW_HEADER + fixed + bitmap + with_offsets + VERSION_TAG * versions


def index_row(key: int, locator: int, *, bitmap: bool = True, versions: bool = False) -> int:
    """Bytes of a nonclustered index's leaf row: status, key, locator (clustering key or RID), null bitmap. Every such
    row has a bitmap from 2012 on; before, only where a column can be null. Microsoft's formula charges a RID as one of
    variable length (4 bytes more), which rows of 2005 and 2008 and a count of 2022 contradict."""
    return _INDEX_ROW_HEADER + key + locator + _NULL_BITMAP * bitmap + VERSION_TAG * versions


def branch_row(key: int) -> int:
    """Bytes of a row of a non-leaf page of a unique index: status, key, child page."""
    return _INDEX_ROW_HEADER + key + _CHILD_PAGE


def rows_a_page(row: int) -> int:
    """Rows of `row` bytes that fit a page of an index. UsageError where a row is too long for any page."""
    if row > _LONGEST:
        raise UsageError(f"SQL Server's rows have {_LONGEST:,} bytes at most, not {row:,}: use a smaller payload.")
    return PAGE_BYTES // (row + SLOT)


def rows_a_built_page(row: int, fill: int) -> int:
    """Rows that a build leaves on a leaf page at a fill factor in %: all but the free rows that Microsoft's estimate
    subtracts, which are rounded down. At least one."""
    free = PAGE_BYTES * (100 - fill) // (100 * (row + SLOT))
    return max(1, rows_a_page(row) - free)


def rows_a_built_branch_page(row: int, fill: int) -> int:
    """Rows that a build leaves on a page above the leaves: there is always room for one more, and there are never less
    than two (CREATE INDEX, PAD_INDEX). `fill`: 100 without PAD_INDEX."""
    return max(2, min(rows_a_page(row) - 1, rows_a_built_page(row, fill)))


def rows_a_heap_page(row: int) -> int:
    """Rows of a page of a heap. It gets another row only if that fits the space which the page's PFS byte tells to be
    free: a page with eight rows of 911 bytes takes one of 403 bytes and none of 404 (dba.stackexchange.com/q/15026)."""
    rows = 1
    while rows < rows_a_page(row):
        used = 100 * rows * (row + SLOT) / PAGE_BYTES
        free = next((free for most, free in _PFS_CLASSES if used <= most), 0)
        if 100 * row > free * _LONGEST:
            break
        rows += 1
    return rows


def space_used(used: int, pages: int) -> float:
    """avg_page_space_used_in_percent of pages that hold `used` bytes together, slots included. The mean of the free
    bytes is cut to three decimals, and a page counts as 8,094. This formula gives three published values in all their
    digits (docs/internals/mssql.md §3)."""
    thousandths = 1000 * (PAGE_BYTES * pages - used) // pages
    return 100 * (1 - thousandths / 1000 / (PAGE_BYTES - SLOT))
