"""An index that is built from sorted keys, level by level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from keybench.pagemodels.half_split.contents import States, fill, pages_needed
from keybench.pagemodels.half_split.kernel import FIRST
from keybench.pagemodels.half_split.leaf_range import LeafRange
from keybench.pagemodels.half_split.pages import Integers, LevelPages, level_of
from keybench.pagemodels.half_split.rule import Rule
from keybench.pagemodels.half_split.tree import Sizes


@dataclass(frozen=True)
class SortedBuild:
    """What a fill factor in % does. UsageError for one that the engine does not take."""

    leaf: Callable[[int], int]
    """Room of a leaf in the unit of the rule: entries, or bytes where entries have different sizes. An entry fits
    always."""
    branch: Callable[[int], int]
    """Entries of a branch page, at least 2."""
    rule: Callable[[int], Rule]
    """How leaves split after a build at that fill factor."""
    overlap: int = 0
    """Entries by which a page may exceed its room while no further one comes. If one comes, the next page begins with
    these entries and the new one."""

    def build(self, states: States, present: int, sizes: Sizes, fill_factor: int, branch: Rule) -> list[LeafRange]:
        """The levels of an index of the keys that are present, leaves first. Pages are numbered as they are begun.

        A page's entry goes up when the next page begins, the last one's at the end. Of several pages that begin
        together the lowest has the lowest number.
        """
        room, keys = self.leaf(fill_factor), len(states)
        pages = pages_needed(sizes, states, room) if len(sizes) else self._pages(present, room)
        rule = self.rule(fill_factor)
        leaves = LeafRange.of_all(keys, rule, max(pages + pages // 4, LeafRange.usual(keys, rule)))
        lowers, births = np.empty(pages, np.int64), np.empty(pages, np.int64)
        fill(leaves.leaves, sizes, states, room, self.overlap, lowers, births)
        leaves.leaves.kinds[:pages] = FIRST
        leaves.link(np.arange(pages), lowers)
        all_births, above = [births], []
        room = self.branch(fill_factor)
        while len(lowers) > 1:
            entries, begun = lowers, np.append(births[1:], keys)
            starts = np.arange(self._pages(len(entries), room)) * room
            births = begun[starts + self.overlap * (starts > 0)]
            lowers = entries[starts]
            ends = np.append(starts[1:], len(entries))
            above.append(
                LevelPages(lowers, births, np.full(len(starts), FIRST, np.int8), ends, entries.astype(np.int32))
            )
            all_births.append(births)
        numbers = _numbers(all_births)
        leaves.leaves.births[:pages] = -1 - numbers[0]
        return [
            leaves,
            *(
                level_of(keys, branch, one._replace(births=-1 - own))
                for one, own in zip(above, numbers[1:], strict=True)
            ),
        ]

    def _pages(self, entries: int, room: int) -> int:
        return max(1, 1 + (entries - 1 - self.overlap) // room)


def _numbers(births: Sequence[Integers]) -> list[Integers]:
    """The numbers of the pages of each level: by birth, of several pages with one birth the lowest level first."""
    heights = np.concatenate([np.full(len(own), height) for height, own in enumerate(births)])
    numbers = np.empty(len(heights), np.int64)
    numbers[np.lexsort((heights, np.concatenate(births)))] = np.arange(len(heights))
    return list(np.split(numbers, np.cumsum([len(own) for own in births])[:-1]))
