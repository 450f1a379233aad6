"""The ranges of one table: where each begins, and how many rows it has."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


class Ranges:
    """A table whose keys are ranks 0 … n − 1; it begins with one range for all of them."""

    def __init__(self, rows: int) -> None:
        self.firsts: Ints = np.zeros(1, np.int64)
        """(r,): the lowest rank that belongs to each range, ascending."""
        self.counts: Ints = np.zeros(1, np.int64)
        """(r,): rows present in each range."""
        self._present = np.zeros(rows, np.bool_)

    def places(self, ranks: Ints) -> Ints:
        """The range of each rank, by its place in key order."""
        return np.searchsorted(self.firsts, ranks, side="right") - 1

    def insert(self, ranks: Ints, places: Ints) -> None:
        """Adds rows; `places` are those of `ranks`."""
        self._present[ranks] = True
        self.counts += np.bincount(places, minlength=len(self.counts))

    def key_after(self, place: int, rows: int) -> int:
        """The rank of the row in that range that has `rows` rows of it below."""
        first = int(self.firsts[place])
        last = int(self.firsts[place + 1]) if place + 1 < len(self.firsts) else len(self._present)
        return first + int(np.flatnonzero(self._present[first:last])[rows])

    def split(self, place: int, at: int) -> bool:
        """Divides a range: ranks from `at` on go to a new range on its right. False if that leaves one without rows."""
        first = int(self.firsts[place])
        below = int(np.count_nonzero(self._present[first:at])) if at > first else 0
        if not 0 < below < self.counts[place]:
            return False
        self.firsts = np.insert(self.firsts, place + 1, at)
        self.counts = np.insert(self.counts, place + 1, self.counts[place] - below)
        self.counts[place] = below
        return True
