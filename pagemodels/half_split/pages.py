"""The pages of a branch level as arrays, for what happens to few of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel
from keybench.pagemodels.half_split.kernel import COUNT, LOWER, SETTLED, USED
from keybench.pagemodels.half_split.leaf_range import LeafRange
from keybench.pagemodels.half_split.page_deletion import Kept
from keybench.pagemodels.half_split.rule import Rule

Integers = NDArray[np.int64]


class LevelPages(NamedTuple):
    """The pages of one level in key order: (pages,) each."""

    lowers: Integers
    """The lower border of each page; 0 for the first."""
    births: Integers
    kinds: NDArray[np.int8]
    ends: Integers
    """Where the page's entries end in `entries`."""
    entries: NDArray[np.int32]
    """All entries, page after page: the lower borders of the pages below."""


def pages_of(level: LeafRange) -> LevelPages:
    """The pages of a level without their entries, which `above` finds again."""
    order, leaves = level.order(), level.leaves
    lowers, none = leaves.slots[order, LOWER].astype(np.int64), np.empty(0, np.int32)
    return LevelPages(lowers, leaves.births[order], leaves.kinds[order], np.zeros(len(order), np.int64), none)


def above(pages: LevelPages, kept: Kept, below: Integers) -> LevelPages:
    """Those of the pages that are kept, over pages with these lower borders."""
    places, lowers = kept
    ends = np.append(np.searchsorted(below, lowers[1:]), len(below))
    return LevelPages(lowers, pages.births[places], pages.kinds[places], ends, below.astype(np.int32))


def level_of(keys: int, rule: Rule, pages: LevelPages) -> LeafRange:
    """A level of these pages, with room for some more."""
    n = len(pages.lowers)
    new = LeafRange.of_all(keys, rule, n + n // 4 + 16)
    leaves, counts = new.leaves, np.diff(pages.ends, prepend=0)
    fields: Mapping[int, Any] = dict.fromkeys((USED, COUNT, SETTLED), counts)
    for field, values in fields.items():
        leaves.slots[:n, field] = values
    leaves.births[:n], leaves.kinds[:n] = pages.births, pages.kinds
    _scatter(pages.entries, pages.ends, leaves.content)
    new.link(np.arange(n), pages.lowers)
    return new


@kernel
def _scatter(entries: NDArray[np.int32], ends: Integers, content: NDArray[np.int32]) -> None:
    """Writes page after page into the slots 0, 1, 2 …"""
    at = 0
    for i in range(len(ends)):
        begin = at
        while at < ends[i]:
            content[i, at - begin] = entries[at]
            at += 1
