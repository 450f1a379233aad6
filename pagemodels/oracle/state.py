"""An Oracle index with a past: deleted entries go when their leaf is needed, not by themselves.

An entry that comes into a leaf removes all deleted entries of that leaf first (R. Foote, "Deleted Index Entries Part
II", 2008). A leaf that has only deleted entries stays in the tree, but is on the freelist: the next split takes it as
its new block ("Part IV"; T. Kyte, "Expert Oracle Database Architecture"). Which one is taken first is not documented;
here it is the one with the lowest number.
"""

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel
from keybench.pagemodels.half_split import kernel as split_kernel
from keybench.pagemodels.half_split.build import DELETED, States, parents_of, sweep_leaf
from keybench.pagemodels.half_split.kernel import COUNT, LAST, LOWER, NEXT, PREVIOUS, UPPER, USED, USED_SLOTS, Leaves
from keybench.pagemodels.half_split.levels import Kept, pages_of
from keybench.pagemodels.half_split.model import SplitState
from keybench.pagemodels.ranking import Integers, Sizes

_NEXT_EMPTY, _REUSED = range(2)
"""Fields of `progress` in `insert`: the place in `empty` to go on from; how many of these leaves splits took."""


@kernel
def deleted_entries(leaves: Leaves, states: States, deleted: NDArray[np.int32]) -> None:
    """Writes to `deleted` the number of deleted entries in each slot."""
    for slot in range(leaves.state[USED_SLOTS]):
        deleted[slot] = 0
        for i in range(leaves.slots[slot, COUNT]):
            deleted[slot] += states[leaves.content[slot, i]] == DELETED


@kernel
def _unlink(leaves: Leaves, slot: int) -> None:
    """Takes a leaf out of the chain. Its left neighbour takes over its range; if there is none, the right one does."""
    slots, state = leaves.slots, leaves.state
    before, after = slots[slot, PREVIOUS], slots[slot, NEXT]
    lower, upper = slots[slot, LOWER], slots[slot, UPPER]
    if after >= 0:
        slots[after, PREVIOUS] = before
    if before >= 0:
        owner = before
        slots[before, NEXT], slots[before, UPPER] = after, upper
    else:
        owner = after
        slots[after, LOWER] = lower
    if state[LAST] == slot:
        state[LAST] = before
    split_kernel.assign(leaves, owner, lower, upper)


@kernel
def sweep_reached(leaves: Leaves, sizes: Sizes, states: States, deleted: NDArray[np.int32], ranks: Integers) -> None:
    """Removes the deleted entries of all leaves into which these ranks go. `deleted`: their number in each slot."""
    for rank in ranks:
        slot = split_kernel.find(leaves, rank)
        if deleted[slot]:
            sweep_leaf(leaves, sizes, states, slot)
            deleted[slot] = 0


@kernel
def insert(
    leaves: Leaves,
    rules: split_kernel.SplitRules,
    sizes: Sizes,
    states: States,
    deleted: NDArray[np.int32],
    empty: Integers,
    ranks: Integers,
    reused: Integers,
    progress: Integers,
) -> int:
    """Inserts ranks in order of arrival until a split finds no leaf to take. Returns how many were inserted. `deleted`:
    the number of deleted entries in each slot. `empty`: the slots that had no other entries, in the order in which
    splits take them as new leaves. `reused`: (len(empty), 2); gets, of each leaf that a split took, that row and the
    leaf's old `births`. `progress`: (2,), by the names above."""
    slots, content, state = leaves.slots, leaves.content, leaves.state
    for i in range(len(ranks)):
        # The rank's leaf. Its deleted entries go.
        rank = ranks[i]
        slot = split_kernel.find(leaves, rank)
        if deleted[slot]:
            sweep_leaf(leaves, sizes, states, slot)
            deleted[slot] = 0
        # The entry, if there is room.
        used = slots[slot, USED] + (int(sizes[rank]) if len(sizes) else 1)
        if used <= (rules.room_last if slot == state[LAST] else rules.room):
            content[slot, slots[slot, COUNT]] = rank
            slots[slot, COUNT] += 1
            slots[slot, USED] = used
            continue
        # Else a split. The next leaf that still has only deleted entries becomes its new leaf.
        new = -1
        while new < 0 and progress[_NEXT_EMPTY] < len(empty):
            candidate = empty[progress[_NEXT_EMPTY]]
            progress[_NEXT_EMPTY] += 1
            if deleted[candidate] and deleted[candidate] == slots[candidate, COUNT]:
                new = candidate
        if new < 0:
            return i
        sweep_leaf(leaves, sizes, states, new)
        deleted[new] = 0
        reused[progress[_REUSED], 0] = i
        reused[progress[_REUSED], 1] = leaves.births[new]
        progress[_REUSED] += 1
        _unlink(leaves, new)
        split_kernel.split(leaves, rules, sizes, slot, rank, i, new)
    return len(ranks)


class OracleState(SplitState):
    """One index of Oracle, which does no background work on indexes: COALESCE has to be asked for, and is not modelled.
    A split takes a leaf that has only deleted entries as its new one; branch blocks are always new."""

    def insert(self, ranks: Integers) -> None:
        """Inserts keys in order of arrival. UsageError for a rank that is there, comes twice or is out of range."""
        if not self._deleted:
            super().insert(ranks)
            return
        self._mark_as_present(ranks)
        reused = self._insert_among_deleted(ranks)
        if len(reused):
            self._drop_borders()
        self._make_branches()
        self._number_new_pages({row: -1 - birth for row, birth in reused.tolist()})  # leaves that keep their number

    def _insert_among_deleted(self, ranks: Integers) -> Integers:
        """Inserts into the leaves. Returns, of each leaf that a split took, (that row, old `births`): (leaves, 2)."""
        level = self._levels[0]
        deleted = np.zeros(len(level.leaves.slots), np.int32)
        deleted_entries(level.leaves, self._states, deleted)
        empty = np.flatnonzero((deleted > 0) & (deleted == level.leaves.slots[:, COUNT]))
        empty = empty[empty < level.leaves.state[USED_SLOTS]]  # slots behind these hold no leaf
        empty = empty[np.argsort(-1 - level.leaves.births[empty])]  # the lowest page number first
        reused, progress = np.empty((len(empty), 2), np.int64), np.zeros(2, np.int64)
        # While there are empty leaves, the order of splits decides who takes which. Later rows go group by group.
        done = 0
        if len(empty):
            leaves, rules = level.leaves, level.rules
            done = insert(leaves, rules, self._sizes, self._states, deleted, empty, ranks, reused, progress)
        sweep_reached(level.leaves, self._sizes, self._states, deleted, ranks[done:])
        self._deleted = int(deleted[: level.leaves.state[USED_SLOTS]].sum())
        level.insert_from(done, ranks, self._sizes)
        return reused[: progress[_REUSED]]

    def _drop_borders(self) -> None:
        """Removes from the branch blocks the borders of leaves that splits took, and then blocks without any border."""
        leaves = self._levels[0].leaves
        has_number = leaves.births[: leaves.state[USED_SLOTS]] < 0  # other leaves are new, or were taken in this call
        # With 0, the lower border of the first leaf, even if that is such a leaf.
        below = np.union1d([0], self._levels[0].column(LOWER)[has_number]).astype(np.int64)
        branches, remaining, borders = [pages_of(level) for level in self._levels[1:]], list[Kept](), below
        for pages in branches:
            remaining.append(parents_of(borders, pages.lowers))
            borders = remaining[-1][1]
        self._keep_above(branches, remaining, below)
