"""Which page of a level each row touches.

Of leaves the model notes it as it inserts rows (`TreeLevel.page_of_row`): 4 bytes a row. Of the levels above them it
keeps nothing about single rows. A split gives the upper entries of a page to a new page. So a final page and the pages
from which it was split off tell where an entry was at a time: on the final page of its key, or, if that was not there
yet, on the page from which it came, and so on.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import allocating, inlined, int64, kernel
from keybench.pagemodels.half_split.levels import TreeLevel
from keybench.pagemodels.ranking import Integers

Pages = NDArray[np.int32]

NONE = -1


@inlined
def part_of(ends: Integers, row: int) -> int:
    """The part of a load, from 0, in which a row is. `ends`: rows before which each part ends, ascending. A binary
    search, because numba takes seconds to compile numpy's searchsorted."""
    low, high = int64(0), int64(len(ends))
    while low < high:
        middle = (low + high) // 2
        if ends[middle] <= row:
            low = middle + 1
        else:
            high = middle
    return low


class Ancestry(NamedTuple):
    """The pages of a level in key order, each by its place there: (pages,) each."""

    births: Integers
    """The row that made each page, from 0; below 0 for the first page."""
    origins: Pages
    """The page from which each was split off; −1 for the first page."""
    neighbours: Pages
    """The right neighbour that each had at first; −1 if it was the last page."""
    by_age: Pages
    """All pages but the first, the oldest first: (pages − 1,)."""


def ancestry(level: TreeLevel | None) -> Ancestry:
    """The ancestry of a level whose new pages always take the upper entries; without pages for None."""
    if level is None:
        none = np.empty(0, np.int32)
        return Ancestry(births=np.empty(0, np.int64), origins=none, neighbours=none, by_age=none)
    births = level.births
    return Ancestry(
        births=births,
        origins=_nearest_older(births, begin=0, step=1),
        neighbours=_nearest_older(births, begin=len(births) - 1, step=-1),
        by_age=np.argsort(births, kind="stable")[1:].astype(np.int32),
    )


@allocating
def _nearest_older(births: Integers, begin: int, step: int) -> Pages:
    """(pages,): for each page the nearest older one on one side; −1 if there is none. When the page was new, that one
    was its neighbour. `step` 1 with `begin` 0 looks on the left of each page, −1 with the last page on the right."""
    nearest = np.full(len(births), NONE, np.int32)
    stack = np.empty(len(births), np.int32)  # pages on that side, each younger than the one before
    height, page = 0, begin
    for _ in range(len(births)):
        # pages younger than this one are nobody's nearest older one any more
        while height > 0 and births[stack[height - 1]] > births[page]:
            height -= 1
        if height > 0:
            nearest[page] = stack[height - 1]
        stack[height] = page
        height += 1
        page += step
    return nearest


class Borders(NamedTuple):
    """The pages of a level by the ranks of their entries."""

    uppers: Integers
    """(pages,): the rank after each page's last one."""
    cells: Pages
    """The page of the first rank of each cell."""
    shift: int
    """A cell is 1 << shift ranks wide: about half a page, so that no search is needed."""


def borders(level: TreeLevel) -> Borders:
    """The borders of a level that has entries."""
    uppers = np.cumsum(level.rows)
    shift = max(0, int(uppers[-1] // (2 * len(level))).bit_length() - 1)
    firsts = np.arange(0, uppers[-1], 1 << shift)
    return Borders(uppers, np.searchsorted(uppers, firsts, side="right").astype(np.int32), shift)


@kernel
def find_pages(pages: Ancestry, final: Borders, ranks: Integers | Pages, first: int, at: Pages) -> None:
    """Writes to `at` the page of a level, by its place in key order, to which each entry belongs when it arrives.
    `ranks`: of the entries; ranks[i] arrives as row first + i. `final`: the borders after the last row."""
    births, origins, uppers, cells, shift = pages.births, pages.origins, final.uppers, final.cells, final.shift
    for i in range(len(ranks)):
        page = cells[ranks[i] >> shift]
        while uppers[page] <= ranks[i]:
            page += 1
        while births[page] > first + i and origins[page] != NONE:  # the page was not there yet
            page = origins[page]
        at[i] = page


def leaves_touched(level: TreeLevel, chunk: int = 1 << 15) -> Iterator[tuple[int, Pages]]:
    """For `chunk` rows at a time: (the first of these rows, the leaf into which each goes, by its place in key order).
    `level`: leaves for which `build_level` has noted the pages."""
    page_of_row, places = level.page_of_row, level.places
    assert page_of_row is not None
    assert places is not None
    for first in range(0, len(page_of_row), chunk):
        yield first, places[page_of_row[first : first + chunk]]
