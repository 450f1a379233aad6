"""A b-tree of SQLite with a past: filled, deleted from, built again by VACUUM (docs/internals/sqlite.md §7)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError
from keybench.pagemodels.page_stats import Checkpoint, PageStats
from keybench.pagemodels.ranking import chosen
from keybench.pagemodels.server_pages import ServerPages
from keybench.pagemodels.sqlite import tree as trees
from keybench.pagemodels.sqlite.bitmaps import ARRIVED
from keybench.pagemodels.sqlite.erase import erase
from keybench.pagemodels.sqlite.free_list import Ints, lengthen, new_file
from keybench.pagemodels.sqlite.from_pages import fill_tree
from keybench.pagemodels.sqlite.load import load
from keybench.pagemodels.sqlite.records import require_fill
from keybench.pagemodels.sqlite.tree import BULK, CELLS, LARGEST, NUMBER, ROWS_IN_LEAVES, USED, WORDS, Tree, chain


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


Ranks = NDArray[np.int64]
_SPLITS = [trees.APPENDS, trees.EDGES, trees.INTERIORS]


class State:
    """The b-tree of a key; an `IndexState`."""

    def __init__(self, empty: Callable[[], Tree], page_bytes: int, keys: int) -> None:
        """`empty`: makes a b-tree without pages, with room for so many keys."""
        self._empty, self._page_bytes, self._keys = empty, page_bytes, keys
        self._tree, self._file = self._begun()

    def build(self, ranks: Ranks, fill: int) -> None:
        """Replaces the b-tree by the one that VACUUM makes of these keys, in any order."""
        self._replace(np.flatnonzero(chosen(ranks, self._keys)), fill)

    def rebuild(self, fill: int) -> None:
        """Replaces the b-tree by the one that VACUUM makes of it."""
        self._replace(np.flatnonzero(self._present()), fill)

    def insert(self, ranks: Ranks) -> None:
        """Inserts keys in order of arrival. UsageError for a rank that is there, comes twice or is out of range."""
        if bool((chosen(ranks, self._keys) & self._present()).any()):
            raise UsageError("some of the keys are there already: leave them out.")
        self._load(ranks)

    def delete(self, ranks: Ranks) -> None:
        """Deletes keys, in order; pages are balanced and given back at once. UsageError for a key that is not there."""
        if bool((chosen(ranks, self._keys) & ~self._present()).any()):
            raise UsageError(f"{len(ranks):,} keys cannot be deleted: not all of them are there.")
        self._erase(ranks)
        self._tree.facts[LARGEST] = np.flatnonzero(self._present()).max(initial=-1)

    def clean(self) -> None:
        """Nothing: SQLite leaves nothing to clean up later."""

    def stats(self) -> SqliteStats:
        """The b-tree as it is. Splits are those of insertions since it was made."""
        rows = int(np.count_nonzero(self._present()))
        return stats(self._tree, [noted(self._tree, rows)], rows)

    def _present(self) -> NDArray[np.bool_]:
        """(keys,): whether each key is there."""
        first = 2 * int(self._tree.facts[WORDS]) + ARRIVED
        words = np.ascontiguousarray(self._tree.marks[first::2])
        return np.unpackbits(words.view(np.uint8), count=self._keys, bitorder="little").view(np.bool_)

    def _begun(self) -> tuple[Tree, Ints]:
        tree, file = self._empty(), new_file(self._page_bytes)
        trees.start(tree, file)
        return tree, file

    def _replace(self, ranks: Ranks, fill: int) -> None:
        require_fill(fill)
        splits = self._tree.facts[_SPLITS].copy()
        self._tree, self._file = self._begun()
        self._fill(ranks)
        self._tree.facts[_SPLITS] = splits

    def _fill(self, ranks: Ranks) -> None:
        """Builds the b-tree of sorted ranks into its empty root."""
        facts = self._tree.facts
        facts[BULK] = not facts[ROWS_IN_LEAVES]
        self._each(lambda begin, end: load(self._tree, self._file, ranks, begin, end, True), len(ranks))
        facts[BULK], self._tree.plans[:] = 0, 0

    def _load(self, ranks: Ranks) -> None:
        self._each(lambda begin, end: load(self._tree, self._file, ranks, begin, end, True), len(ranks))

    def _erase(self, ranks: Ranks) -> None:
        self._each(lambda begin, end: erase(self._tree, self._file, ranks, begin, end), len(ranks))

    def _each(self, work: Callable[[int, int], int], rows: int) -> None:
        """Does the work for all rows. It stops where memory has to grow, and says at which row."""
        begin = 0
        while (begin := work(begin, rows)) < rows:
            self._grow()

    def _grow(self) -> None:
        lengthen(self._file)
        trees.grow(self._tree)


class TreeState(State):
    """The b-tree of a table whose key is its primary key."""

    def begin(self, ranks: Ranks, pages: ServerPages, borders: Ranks | None = None) -> None:
        """Replaces the b-tree by one with these pages (`contract.BeginsFromPages`)."""
        tree, file = self._empty(), new_file(self._page_bytes)
        tree.facts[_SPLITS] = self._tree.facts[_SPLITS]
        fill_tree(tree, file, np.flatnonzero(chosen(ranks, self._keys)), pages, borders)
        self._tree, self._file = tree, file
