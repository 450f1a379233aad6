"""The numbers of a file's pages: those that were given back, and the end of the file (btree.c, allocateBtreePage).

Free pages hang on trunk pages, each of which names up to U / 4 − 8 others, where U is the size of a page. Only the
first trunk changes: a page that is given back is named there, or becomes the first trunk if that is full (freePage2).
So all trunks behind the first are full, and one array holds the list: the last trunk and the pages that it names, then
the trunk before it, and so on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import inlined, kernel
from keybench.pagemodels.memory import move

Ints = NDArray[Any]

END, FREE, _TRUNK, _LOCKED, _LISTED = range(5)
"""Fields of a file's state: its last page; number of free pages; how many of them a full trunk and the pages that it
names are; the page that is reserved for locks; where the list begins."""

_LENGTH = 1 << 12
_MARGIN = 128
"""Maximum pages that one row gives back."""


def new_file(page_bytes: int) -> Ints:
    """The state of a file that holds its schema's page alone."""
    file = np.zeros(_LENGTH, np.int64)
    file[END], file[_TRUNK], file[_LOCKED] = 1, page_bytes // 4 - 7, (1 << 30) // page_bytes + 1
    return file


def lengthen(file: Ints) -> None:
    """Room for twice as many free pages, in place, if they need it."""
    if full(file):
        file.resize(2 * len(file), refcheck=False)


@inlined
def full(file: Ints) -> bool:
    """Whether there is not room enough for the pages that one row may give back."""
    return bool(_LISTED + file[FREE] + _MARGIN > len(file))


@kernel
def take(file: Ints, near: int) -> int:
    """A page number: of those that the first trunk names the one nearest to `near`, or the first one if that is 0; the
    trunk itself if it names none; if no page is free, the next one of the file."""
    free = file[FREE]
    if free > 0:
        file[FREE] -= 1
        last = _LISTED + free - 1
        first = _LISTED + (free - 1) // file[_TRUNK] * file[_TRUNK] + 1
        if first > last:
            return int(file[last])
        chosen = first
        if near > 0:
            for at in range(first + 1, last + 1):
                if abs(file[at] - near) < abs(file[chosen] - near):
                    chosen = at
        page = file[chosen]
        file[chosen] = file[last]
        return int(page)
    file[END] += 1
    if file[END] == file[_LOCKED]:
        file[END] += 1
    return int(file[END])


@kernel
def give_back(file: Ints, page: int, behind: int) -> None:
    """Puts a page into the list, as if it had been given back when `behind` pages were free."""
    move(file, _LISTED + behind + 1, _LISTED + behind, file[FREE] - behind)
    file[_LISTED + behind] = page
    file[FREE] += 1
