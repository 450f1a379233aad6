"""The pages of an index and its heap by number, and what is on them while a load goes on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.pagemodels.costs.touches import NONE, Ancestry, ancestry
from keybench.pagemodels.half_split.kernel import Rule
from keybench.pagemodels.half_split.levels import TreeLevel, build_branches, build_level

Integers = NDArray[np.int64]
Places = NDArray[np.int32]


class IndexLevel(NamedTuple):
    """A level of the index: its pages in key order, and how many entries each has now."""

    births: Integers
    origins: Places
    neighbours: Places
    made: Places
    """As in `Ancestry`."""
    kept: Integers
    """(pages,): entries that stayed on the page that split to make this one."""
    entries: Places
    """(pages,): now."""
    state: Integers
    """(2,): how many of `made` are there; the last page in key order."""


MADE, LAST = range(2)


class HeapIndex(NamedTuple):
    """Both levels, and where all pages have their numbers: leaves, branch pages, the pages above them as one, heap."""

    leaves: IndexLevel
    branches: IndexLevel
    parents: Places
    """(leaves,): the branch page that has each leaf in the end; empty if there is none."""
    ways: Places
    """(leaves, 2): the branch page on the way to each leaf when it was last used, and how many branch pages there were
    then."""
    first_branch: int
    root: int
    """The page above all branch pages; −1 if there is none."""
    first_heap: int


def _tree(pages: Ancestry, level: TreeLevel | None, rule: Rule) -> IndexLevel:
    kept = np.empty(0, np.int64)
    if level is not None:
        kept = np.array([0, rule.keep_append, rule.keep_edge, rule.keep_interior], np.int64)[level.kinds + 1]
    return IndexLevel(*pages, kept, np.zeros(len(pages.births), np.int32), np.zeros(2, np.int64))


def index(ranks: Integers, leaf: Rule, branch: Rule) -> tuple[HeapIndex, TreeLevel, Integers]:
    """(the index before its first row, its leaves in the end, the place of each page in its file by page number)."""
    level = build_level(ranks, leaf, noted=True)
    above = build_branches(level, branch)
    leaves = ancestry(level)
    branches = ancestry(above[0]) if above else Ancestry(*(np.empty(0, own.dtype) for own in leaves))
    first_heap = len(level) + len(branches.births) + 1
    parents = np.empty(0, np.int32)
    if above:
        parents = np.searchsorted(np.cumsum(above[0].rows), np.arange(len(level)), side="right").astype(np.int32)
    built = HeapIndex(
        _tree(leaves, level, leaf),
        _tree(branches, above[0] if above else None, branch),
        parents,
        np.full((len(parents), 2), NONE, np.int32),
        len(level),
        first_heap - 1 if len(above) > 1 else NONE,
        first_heap,
    )
    return built, level, _files(leaves, branches, first_heap)


def _files(leaves: Ancestry, branches: Ancestry, pages: int) -> Integers:
    """The place of each page in the index's file, by its number. Of pages that a row makes, the leaf comes first."""
    births = np.concatenate([leaves.births, branches.births])
    heights = np.repeat([0, 1], [len(leaves.births), len(branches.births)])
    files = np.full(pages, pages, np.int64)
    files[np.lexsort((heights, births))] = np.arange(len(births))
    return files
