"""Sizes of PostgreSQL's log records, as xloginsert.c puts them together (XLogRecordAssemble).

A record has a header, one for each page that it names, and its own data. A page that is changed for the first time
since a checkpoint's redo point is in the record as a whole, without the hole between line pointers and entries; then
the record leaves out what it would else say of that page. A page that the record makes anew is never there as a whole.
Structures: xlogrecord.h, nbtxlog.h, heapam_xlog.h; the code that fills them is nbtinsert.c and heapam.c
(heap_multi_insert for COPY, heap_insert for one row). They are the same in PostgreSQL 13 to 18.
"""

from __future__ import annotations

from typing import NamedTuple

from keybench.compiled import inlined
from keybench.model.column import Column
from keybench.pagemodels.postgresql.records import (
    HEAP_OVERHEAD,
    LINE_POINTER,
    PAGE_BYTES,
    PAGE_OVERHEAD,
    entry_bytes,
    heap_row_bytes,
    row_data_bytes,
)

HEADER = 24
FIRST_PAGE = 20
"""Header of the first page that a record names: with the relation."""
NEXT_PAGE = 8
"""Header of another page of the same relation."""
IMAGE = 5
"""What a page's header has in addition if the page is there as a whole."""
_DATA, _LONG_DATA, _LONG_FROM = 2, 5, 256
INSERT = HEADER + FIRST_PAGE + _DATA + 2
"""An entry into a leaf (xl_btree_insert), without the entry."""
SPLIT = HEADER + FIRST_PAGE + NEXT_PAGE + _DATA + 10
"""A split (xl_btree_split) without entries; another page each for the right neighbour and for the child."""
FIRST_LEAF = HEADER + FIRST_PAGE + NEXT_PAGE + _DATA + 8 + 28
"""The root as an empty leaf, with the metapage (xl_btree_newroot, xl_btree_metadata)."""
NEW_ROOT = FIRST_LEAF + NEXT_PAGE
"""A root above a page that split, without its two entries."""
COMMIT = HEADER + _DATA + 8
CHECKPOINT = 32 + 120 + 56
"""What a checkpoint adds: CHECKPOINT_REDO, CHECKPOINT_ONLINE, RUNNING_XACTS, aligned."""
FIRST_ENTRY = 8
"""The first entry of a branch page has no key."""


class LogSizes(NamedTuple):
    """Bytes of what one table's records are about."""

    entry: int
    """An index entry without its line pointer."""
    row: int
    """A row in the heap with its line pointer."""
    logged_row: int
    """A row in a record, aligned to 2."""
    last_row: int
    """The last row of a record, which is not aligned."""


def log_sizes(column: Column, payload: int, *, dated: bool) -> LogSizes:
    """Of a table's rows and of the entries of its key's index."""
    row = 7 + 1 + row_data_bytes(column, payload, dated=dated)  # xl_multi_insert_tuple; all after 23 bytes of header
    return LogSizes(entry_bytes(column), heap_row_bytes(column, payload, dated=dated), row + row % 2, row)


@inlined
def rows_record(sizes: LogSizes, rows: int, makes_page: bool, whole: bool) -> int:
    """Rows that go to one page of the heap (xl_heap_multi_insert), without the page as a whole."""
    own = 4 + (0 if makes_page else 2 * rows)
    about = IMAGE if whole else (rows - 1) * sizes.logged_row + sizes.last_row
    return HEADER + FIRST_PAGE + (_DATA if own < _LONG_FROM else _LONG_DATA) + own + about


@inlined
def row_record(sizes: LogSizes, whole: bool) -> int:
    """A row that is inserted alone (xl_heap_insert; its header, xl_heap_header, is 2 bytes shorter than COPY's)."""
    return HEADER + FIRST_PAGE + _DATA + 3 + (IMAGE if whole else sizes.last_row - 2)


@inlined
def heap_image(sizes: LogSizes, rows: int) -> int:
    """A page of the heap as a whole."""
    return HEAP_OVERHEAD + rows * sizes.row


@inlined
def leaf_image(sizes: LogSizes, entries: int, last: bool) -> int:
    """A leaf as a whole; all but the last have a high key."""
    return PAGE_OVERHEAD + (entries if last else entries + 1) * (sizes.entry + LINE_POINTER)


@inlined
def branch_image(sizes: LogSizes, children: int, last: bool) -> int:
    """A branch page as a whole."""
    size = leaf_image(sizes, children, last) - (sizes.entry - FIRST_ENTRY)
    return size if size < PAGE_BYTES else PAGE_BYTES
