"""Deletion of empty leaves, by nbtree's rules (nbtpage.c, _bt_pagedel; nbtree.c, btvacuumpage).

Vacuum visits the pages by their numbers. A leaf that it finds empty goes if it is not the rightmost, and not the last
child of a parent that has others. If it is its parent's only child, the parent goes with it, by the same conditions.
The right neighbour takes over the range of a page that goes. If that neighbour is empty and was visited before, it is
tried again: it may have been the last child.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from keybench.pagemodels.ranking import Integers

NONE = -1


class _Tree:
    """The pages of all levels, level 0 the leaves, each by its place in key order."""

    def __init__(self, lowers: Sequence[Integers]) -> None:
        self.lowers = [level.copy() for level in lowers]
        self.next = [np.append(np.arange(1, len(level)), NONE) for level in lowers]
        self.previous = [np.arange(-1, len(level) - 1) for level in lowers]
        self.gone = [np.zeros(len(level), np.bool_) for level in lowers]
        self.parent = [np.searchsorted(above, level, side="right") - 1 for level, above in pairwise(lowers)]
        self.child_counts = [np.bincount(above, minlength=len(lowers[i + 1])) for i, above in enumerate(self.parent)]

    def pages_that_go(self, leaf: int) -> list[int]:
        """The pages that are deleted with an empty leaf, one a level, the leaf first; none if it has to stay."""
        going = [leaf]
        for level, parents in enumerate(self.parent):
            page = going[-1]
            after = int(self.next[level][page])
            if after == NONE:  # the rightmost page of its level
                return []
            parent = int(parents[page])
            if parents[after] == parent:
                return going
            if self.child_counts[level][parent] > 1:  # the last of several children
                return []
            going.append(parent)
        return []  # the root stays

    def remove(self, going: Sequence[int]) -> None:
        """Takes out the pages that `pages_that_go` named; their right neighbours take over their ranges."""
        for level, page in enumerate(going):
            after, before = int(self.next[level][page]), int(self.previous[level][page])
            self.gone[level][page] = True
            self.lowers[level][after] = self.lowers[level][page]
            self.previous[level][after] = before
            if before != NONE:
                self.next[level][before] = after
        top = len(going) - 1  # the level whose page was not its parent's only child
        self.child_counts[top][self.parent[top][going[-1]]] -= 1


def needs_visit(dead: bool, waiting: int, pages: int) -> bool:
    """Whether VACUUM looks at the index: without dead entries only if more than a twentieth of its pages, its metapage
    among them, wait to be used again (nbtree.c, _bt_vacuum_needs_cleanup). They wait until no transaction is left that
    began before their deletion (nbtpage.h, BTPageIsRecyclable)."""
    return dead or waiting > (pages + 1) // 20


def delete_empty(
    lowers: Sequence[Integers], numbers: Sequence[Integers], empty: NDArray[np.bool_]
) -> tuple[list[tuple[Integers, Integers]], list[int]]:
    """(for each level, (the indices of the pages that stay, their lower borders); the numbers of those that went).
    `lowers`, `numbers`: those of the pages of each level, leaves first, in key order. `empty`: whether each leaf is."""
    tree, freed = _Tree(lowers), []
    candidates = np.flatnonzero(empty)
    for leaf in candidates[np.argsort(numbers[0][candidates])].tolist():
        visited = int(numbers[0][leaf])
        while leaf != NONE and not tree.gone[0][leaf] and (going := tree.pages_that_go(leaf)):
            after = int(tree.next[0][leaf])
            tree.remove(going)
            freed += [int(numbers[level][page]) for level, page in enumerate(going)]
            leaf = after if empty[after] and numbers[0][after] < visited else NONE  # tried again
    stay = [np.flatnonzero(~gone) for gone in tree.gone]
    return [(places, borders[places]) for places, borders in zip(stay, tree.lowers, strict=True)], freed
