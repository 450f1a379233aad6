"""Free room of an index that new rows do not reach."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.runners.trials.phases.steps import Step

Integers = NDArray[np.int64]


class Reach:
    """Which keys an index has after each step, and which of them came last. `ranks`: of all keys, in planned order."""

    def __init__(self, ranks: Integers) -> None:
        self._ranks = ranks
        self._there = np.zeros(len(ranks), np.bool_)
        self._newest = np.empty(0, np.int64)

    @property
    def present(self) -> Integers:
        """The ranks of the keys that are there, ascending."""
        return np.flatnonzero(self._there)

    def take(self, step: Step) -> None:
        """Goes one step on."""
        if step.inserts:
            self._newest = self._ranks[step.rows]
        if len(step.rows):
            self._there[self._ranks[step.rows]] = step.inserts

    def stranded(self, page_rows: Integers, density: float) -> float | None:
        """Free room, in % of that of all leaf pages, on those where none of the rows of the last insertion lies.

        `page_rows`: entries on each leaf in key order, (leaves,); `density`: of the leaves, in %. None where nobody
        knows which rows lie where, because entries of deleted rows are among them. In a tree whose branch pages hold
        rows (SQLite), one row lies between two neighbouring leaves.
        """
        present, leaves, entries = self.present, len(page_rows), int(page_rows.sum())
        between = len(present) - entries
        if between not in (0, leaves - 1) or not entries:
            return None
        ends = np.cumsum(page_rows + (1 if between else 0))
        places = np.searchsorted(present, self._newest[self._there[self._newest]])
        reached = np.zeros(leaves, np.bool_)
        reached[np.searchsorted(ends, places, side="right")] = True
        free = 100 - page_rows * (density * leaves / entries)
        return float(np.maximum(free, 0)[~reached].sum() / leaves)
