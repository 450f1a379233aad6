"""The figures of a b-tree of SQLite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keybench.pagemodels.page_stats import Checkpoint, PageStats
from keybench.pagemodels.sqlite import tree as trees
from keybench.pagemodels.sqlite.tree import CELLS, NUMBER, USED, Tree, chain


@dataclass(frozen=True)
class SqliteStats(PageStats):
    """The figures of SQLite. Overflow pages are neither leaf nor branch pages."""

    overflow_pages: int = 0
    """Overflow pages of the b-tree."""


def noted(tree: Tree, rows: int) -> Checkpoint:
    """The leaf level as it is, with so many rows in the b-tree."""
    facts = tree.facts
    used = int(tree.leaves[chain(tree), USED].sum(dtype=np.int64))
    kinds = (int(facts[kind]) for kind in (trees.LEAVES, trees.APPENDS, trees.EDGES, trees.INTERIORS))
    leaves, appends, edges, interiors = kinds
    return Checkpoint(rows, leaves, appends, edges, interiors, 100 * used / (leaves * int(facts[trees.ROOM])))


def stats(tree: Tree, points: Sequence[Checkpoint], rows: int, *, among_others: bool = False) -> SqliteStats:
    """The b-tree as it is, with so many rows. `points`: the leaf level at checkpoints, and now.

    `among_others`: whether another table takes pages in between, so that page numbers are not known but their order. A
    parent table does; how many pages at a time depends on the size of transactions.
    """
    leaves = tree.leaves[chain(tree)].astype(np.int64)
    return SqliteStats.from_chain(
        points[-1],
        leaves[:, NUMBER].copy(),
        leaves[:, CELLS].copy(),
        among_others=among_others,
        branch_pages=int(tree.facts[trees.BRANCHES]),
        checkpoints=tuple(points[:-1]),
        overflow_pages=int(tree.overflow.sum(dtype=np.int64)) * (rows if len(tree.overflow) == 1 else 1),
    )
