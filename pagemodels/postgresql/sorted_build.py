"""How CREATE INDEX and REINDEX fill pages (nbtsort.c, _bt_buildadd), for items of one size.

A page is finished when less than the fill factor's share of it is free, or when the next item would not fit. The item
that came last then becomes its high key and the first item of the next page. Branch pages are filled to 70 %.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from keybench.errors import UsageError
from keybench.pagemodels.half_split.rule import Rule
from keybench.pagemodels.half_split.sorted_build import SortedBuild
from keybench.pagemodels.postgresql.records import LINE_POINTER, PAGE_BYTES, PAGE_OVERHEAD
from keybench.pagemodels.postgresql.split_point import HEAP_TID

BRANCH_FILLFACTOR = 70
FILLFACTORS = range(10, 101)


def sorted_build(item: int, first_of_branch: int, rule: Callable[[int], Rule]) -> SortedBuild:
    """For items of so many bytes with their line pointers; the first one of a branch page has no key.

    `rule`: how leaves split with a fill factor. It is the index's own, so it holds for later splits at the right edge
    too.
    """
    branch = _kept(item, first_of_branch, 0, BRANCH_FILLFACTOR)
    return SortedBuild(partial(_kept, item, item, HEAP_TID), lambda _fill: branch, rule, overlap=1)


def _kept(item: int, first: int, reserve: int, fill: int) -> int:
    """Items that stay on a full page. UsageError for a fill factor that PostgreSQL does not take."""
    if fill not in FILLFACTORS:
        raise UsageError(f"an index's fillfactor is between 10 and 100, not {fill}: the default is 90.")
    wanted = PAGE_BYTES * (100 - fill) // 100
    items = 2
    while True:
        free = PAGE_BYTES - PAGE_OVERHEAD - 2 * LINE_POINTER - first - (items - 1) * item  # the high key's pointer too
        if free < wanted or free < item - LINE_POINTER + reserve:
            return items - 1
        items += 1
