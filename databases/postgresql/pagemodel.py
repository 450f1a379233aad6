"""The page model of nbtree, PostgreSQL 13 to 18, for unique keys of one size in an index of one column.

A leaf that overflows is split where the free bytes of its halves, weighed by the fill factor if it is the rightmost and
evenly if not, come out nearest (nbtsplitloc.c; btree.md A1 and A2 tell the source read and the runs that it was checked
on: equal to the page). With one unique column no other candidate can be better, so position and content of the new
entry do not matter. The new page always is the right half and always lies at the end of the file.

Branch pages follow the same rule with a fill factor of 70 and a first entry without its key. There two splits can be
equally good, and the server takes the one that its sorting routine puts first (`qsort`). That too was equal to live
servers wherever it was compared, but it is the routine's doing and no rule of nbtree: take branch pages, and what
derives from their number (`nonadjacent`), as an approximation, within 1 %, on versions other than 15 and 18.
"""

from __future__ import annotations

from dataclasses import dataclass

from keybench.databases.engine import Table
from keybench.databases.pagemodel import PageModel
from keybench.databases.postgresql import qsort
from keybench.databases.postgresql import table as layout
from keybench.databases.splitmodel import SplitModel
from keybench.databases.splittree import Rule
from keybench.errors import UsageError

_BRANCH_FILLFACTOR = 70
_LINE_POINTER = 4
_TRUNCATED = 8 + _LINE_POINTER
"""The first entry of a branch page keeps no key."""
_HEAP_TID = 8
"""A leaf's high key may need one more; where a leaf splits, that is held free though unique keys never use it."""
_COMPRESSED_FROM = 507
"""Bytes from which the key of an index entry may be compressed: above a sixteenth of a page with its length."""


@dataclass(frozen=True)
class Parameters:
    """What can be set: cores to use, and the index's fill factor, which keybench's own tables leave at the default."""

    threads: int = 1
    fillfactor: int = 90

    def __post_init__(self) -> None:
        if not 10 <= self.fillfactor <= 100:
            raise UsageError(f"an index's fillfactor is between 10 and 100, not {self.fillfactor}: the default is 90.")


def of(table: Table, given: Parameters) -> PageModel:
    """The model of the table's primary key index; the table is a heap in both key roles.

    UsageError for keys whose stored size depends on how well they compress.
    """
    column = table.column
    if not column.width:
        raise UsageError(f"the column {column.name} is as wide as its keys: give it their width with `sized` first.")
    if column.width >= _COMPRESSED_FROM:
        raise UsageError(
            f"PostgreSQL compresses keys of {column.width} bytes, each by its content, so their index cannot be "
            f"modelled: take keys of less than {_COMPRESSED_FROM} bytes."
        )
    item = layout.entry_bytes(column) + _LINE_POINTER
    space = layout.PAGE_BYTES - layout.PAGE_OVERHEAD
    return SplitModel(
        leaf=_rule(space, item, item, given.fillfactor, _HEAP_TID),
        branch=_rule(space, item, _TRUNCATED, _BRANCH_FILLFACTOR, 0),
        density=lambda rows, _used, pages: _density(space, (rows + pages - 1) * item, pages),
        threads=given.threads,
    )


def _density(space: int, used: int, pages: int) -> float:
    """pgstatindex's: high keys count as used, and a line pointer's worth of each page as neither used nor free."""
    free = (space - _LINE_POINTER) * pages - used
    return 100 - 100 * free / (space * pages)


def _rule(space: int, item: int, first: int, fillfactor: int, reserve: int) -> Rule:
    """Of pages with `space` bytes for items of `item`, the first of `first`; all but the rightmost have a high key."""
    room_last = 1 + (space - first) // item
    room = 1 + (space - first - item) // item
    last = _kept(space, item, first, room_last + 1, 0, fillfactor, reserve)
    other = _kept(space, item, first, room + 1, item, 50, reserve)
    return Rule(room, room_last, last, last, other)


def _kept(space: int, item: int, first: int, items: int, high_key: int, fillfactor: int, reserve: int) -> int:
    """How many of the items stay left: the split whose free bytes, left and right, come out nearest to the factor."""
    splits, differences = [], []
    for left in range(1, items):
        left_free = space - first - (left - 1) * item - (item + reserve)
        right_free = space - high_key - first - (items - left - 1) * item
        if left_free < 0 or right_free < 0:
            continue
        if high_key:
            difference = abs(left_free - right_free)
        else:  # in the server a difference of two doubles, cut to a whole number
            difference = abs(int(fillfactor / 100.0 * left_free - (1.0 - fillfactor / 100.0) * right_free))
        splits.append(left)
        differences.append(difference)
    return splits[qsort.order(differences)[0]]
