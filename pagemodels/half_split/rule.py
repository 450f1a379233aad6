"""The rule by which pages split in two."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keybench.pagemodels.half_split.kernel import ALONE, SplitRules


@dataclass(frozen=True)
class Rule:
    """When a page is full and how it splits. Room is in entries, or in bytes where entries have different sizes."""

    room: int
    """Room of any page but the rightmost."""
    room_last: int
    """Room of the rightmost page."""
    keep_append: int = ALONE
    """Entries that stay left when the rightmost page splits for a key above all present: a number, or all (ALONE)."""
    keep_edge: int = 0
    """Entries that stay left when the rightmost page splits for any other key."""
    keep_interior: int = 0
    """Entries that stay left when any other page splits."""
    share: float = 0.5
    """Where entries have different sizes: the share of their bytes that stays left, except for ALONE appends."""
    at_insertion: bool = False
    """Whether insertions that ascend inside the index split at the new entry instead."""
    smallest: int = 1
    """Smallest size of an entry."""
    together: int = 1
    """Entries of each key, if splits between different keys are preferred; the key of a rank is rank // together."""
    choices: tuple[tuple[int, ...], ...] = ()
    """For each kind of split, if `together` is above 1: what may stay left, the best first. The first choice that parts
    no key is taken."""

    @property
    def entries(self) -> int:
        """Maximum entries of a page."""
        return max(self.room, self.room_last) // self.smallest

    def compiled(self) -> SplitRules:
        """As the kernel takes it."""
        choices = np.zeros((3, max(map(len, self.choices), default=0)), np.int64)
        for kind, given in enumerate(self.choices):
            choices[kind, : len(given)] = given
        keep = np.array([self.keep_append, self.keep_edge, self.keep_interior], np.int64)
        return SplitRules(self.room, self.room_last, keep, self.share, self.at_insertion, self.together, choices)
