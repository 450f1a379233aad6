"""The numbers of a file's pages: which are free, and which one a b-tree gets next (docs/internals/sqlite.md §4).

Free pages of the file hang on trunk pages, each of which names up to U / 4 − 8 others, where U is the size of a page.
Only the first trunk changes: a page that is given back is named there, or becomes the first trunk if that is full
(freePage2). So one array holds the list: the last trunk and the pages that it names, then the trunk before it, and so
on. The first trunk and its pages are at the array's end.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import inlined, kernel
from keybench.pagemodels.memory import move

Ints = NDArray[Any]

LAST_PAGE, FREE, _TRUNK, _LOCKED, _LISTED = range(5)
"""Fields of a file's state. LAST_PAGE: its last page. FREE: number of free pages. _TRUNK: a full trunk and the pages
that it names, together. _LOCKED: the page that is reserved for locks. _LISTED: where the list of free pages begins."""

_LENGTH = 1 << 12  # fields and free pages for which a new file has memory
_GIVEN_BACK = 128  # maximum pages that one row gives back
_LOCKED_BYTE = 1 << 30  # the byte of the file whose page is reserved for locks (PENDING_BYTE)


def new_file(page_bytes: int) -> Ints:
    """The state of a file that has one page, its schema's, and no free pages."""
    file = np.zeros(_LENGTH, np.int64)
    file[LAST_PAGE] = 1
    file[_TRUNK] = 1 + page_bytes // 4 - 8
    file[_LOCKED] = _LOCKED_BYTE // page_bytes + 1
    return file


def lengthen(file: Ints) -> None:
    """Makes room in place for twice as many free pages, if the file is `full`."""
    if full(file):
        file.resize(2 * len(file), refcheck=False)


@inlined
def full(file: Ints) -> bool:
    """Whether the list of free pages lacks room for the pages that one row may give back."""
    return bool(_LISTED + file[FREE] + _GIVEN_BACK > len(file))


@kernel
def take(file: Ints, near: int) -> int:
    """Takes a page, and returns its number: of those that the first trunk names the one nearest to `near`, or the first
    one if that is 0; the trunk itself if it names none; if no page is free, the next one at the file's end."""
    free = file[FREE]
    if free > 0:
        file[FREE] -= 1
        last = _LISTED + free - 1
        trunk = _LISTED + (free - 1) // file[_TRUNK] * file[_TRUNK]  # the first one: the list ends with its pages
        first = trunk + 1
        if first > last:  # the trunk names no page
            return int(file[trunk])
        nearest = first
        if near > 0:
            for at in range(first + 1, last + 1):
                if abs(file[at] - near) < abs(file[nearest] - near):
                    nearest = at
        page = file[nearest]
        file[nearest] = file[last]  # the last one takes its place
        return int(page)
    file[LAST_PAGE] += 1
    if file[LAST_PAGE] == file[_LOCKED]:  # no b-tree gets that page
        file[LAST_PAGE] += 1
    return int(file[LAST_PAGE])


@kernel
def give_back(file: Ints, page: int, behind: int) -> None:
    """Puts a page into the list behind `behind` others, as if it had been given back when that many pages were free."""
    place = _LISTED + behind
    move(file, place + 1, place, file[FREE] - behind)
    file[place] = page
    file[FREE] += 1
