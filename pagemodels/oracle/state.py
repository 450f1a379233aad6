"""An Oracle index with a past: deleted entries go when their leaf is needed (`deleted_entries`), not by themselves."""

from __future__ import annotations

import numpy as np

from keybench.pagemodels.half_split.kernel import COUNT, LOWER, USED_SLOTS
from keybench.pagemodels.half_split.page_deletion import parents_of
from keybench.pagemodels.half_split.pages import Integers, pages_of
from keybench.pagemodels.half_split.state import SplitState
from keybench.pagemodels.oracle import deleted_entries

_FEW = 16
"""To find the leaves of one in so many of all keys is faster than to go through all of them."""


class OracleState(SplitState):
    """One index. Only leaves are used again, branch blocks are always new."""

    def clean(self) -> None:
        """Nothing: Oracle has no background work on indexes. COALESCE has to be asked for, and is not modelled."""

    def insert(self, ranks: Integers) -> None:
        """Inserts keys in order of arrival. UsageError for a rank that is there, comes twice or is out of range."""
        if not self._deleted:
            super().insert(ranks)
            return
        self._arrive(ranks)
        taken = self._insert_among_deleted(ranks)
        if len(taken):
            self._drop_borders()
        self._make_branches()
        self._number_new_pages({row: -1 - birth for row, birth in taken.tolist()})

    def _insert_among_deleted(self, ranks: Integers) -> Integers:
        """Inserts into the leaves. Returns (row, birth) of each leaf that was taken for a split: (leaves, 2)."""
        level = self._levels[0]
        deleted = np.zeros(len(level.leaves.slots), np.int32)
        deleted_entries.deleted_entries(level.leaves, self._states, deleted)
        empty = np.flatnonzero((deleted > 0) & (deleted == level.leaves.slots[:, COUNT]))
        empty = empty[empty < level.leaves.state[USED_SLOTS]]
        empty = empty[np.argsort(-1 - level.leaves.births[empty])]
        taken = np.zeros((len(empty) + 1, 2), np.int64)
        # While there are empty leaves it matters in which order others split. After that many rows go group by group.
        done = 0
        if len(empty):
            given = self._sizes, self._states, deleted
            done = deleted_entries.insert(level.leaves, level.rules, *given, empty, ranks, taken)
        left = ranks[done:]
        if len(left) < self._keys // _FEW:
            deleted_entries.sweep_reached(level.leaves, self._sizes, self._states, deleted, left)
        else:
            deleted_entries.sweep_awaiting(level.leaves, self._sizes, self._states, deleted)
        self._deleted = int(deleted[: level.leaves.state[USED_SLOTS]].sum())
        level.insert_from(done, ranks, self._sizes)
        return taken[1 : 1 + taken[0, 1]]

    def _drop_borders(self) -> None:
        """Takes the borders of leaves that are gone out of the branch blocks, with blocks that have none left."""
        leaves = self._levels[0].leaves
        old = leaves.births[: leaves.state[USED_SLOTS]] < 0
        below = np.union1d([0], self._levels[0].used(LOWER)[old]).astype(np.int64)
        branches, kept, borders = [pages_of(level) for level in self._levels[1:]], [], below
        for pages in branches:
            kept.append(parents_of(borders, pages.lowers))
            borders = kept[-1][1]
        self._keep_above(branches, kept, below)
