"""An index that was read from a server, page by page."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError
from keybench.pagemodels.half_split.kernel import FIRST, USED
from keybench.pagemodels.half_split.leaf_range import LeafRange
from keybench.pagemodels.half_split.pages import Integers, Pages, level_of
from keybench.pagemodels.half_split.rule import Rule
from keybench.pagemodels.half_split.tree import Sizes
from keybench.pagemodels.server_pages import ServerPages


def levels_of(
    keys: int,
    leaf: Rule,
    branch: Rule,
    present: Integers,
    sizes: Sizes,
    pages: ServerPages,
    borders: Integers | None,
) -> list[LeafRange]:
    """The levels of an index with these pages; `present`: the ranks of its rows, ascending.

    `borders`: those of all leaves but the first; if None, a leaf's first row counts as its border.
    """
    pages.require(len(present))
    levels: list[LeafRange] = []
    entries, rule = present, leaf
    for level in pages.levels:
        ends = np.cumsum(level.entries)
        lowers = _lowers(entries, ends - level.entries, level.entries > 0)
        if borders is not None and not levels:
            lowers[1:] = borders
        if (np.diff(lowers) <= 0).any():
            raise UsageError("no row can come to some leaves of the index: let the server clean up, and read it again.")
        kinds = np.full(len(lowers), FIRST, np.int8)
        made = level_of(keys, rule, Pages(lowers, -1 - level.numbers, kinds, ends, entries.astype(np.int32)))
        if len(sizes) and not levels:
            used = np.append(0, np.cumsum(sizes[present], dtype=np.int64))
            made.leaves.slots[: len(ends), USED] = used[ends] - used[ends - level.entries]
        levels.append(made)
        entries, rule = lowers, branch
    return levels


def _lowers(entries: Integers, starts: Integers, filled: NDArray[np.bool_]) -> Integers:
    """The first entry of each page; of one without entries, the place behind the last entry before it."""
    lowers = np.where(filled, np.append(entries, 0)[starts], np.append(-1, entries)[starts] + 1)
    lowers[0] = 0
    return lowers
