"""An index with a past beside a rowid table, whose pages lie in the same file (docs/internals/sqlite.md §7)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError
from keybench.pagemodels.ranking import chosen
from keybench.pagemodels.sqlite import records as cells
from keybench.pagemodels.sqlite import tree as trees
from keybench.pagemodels.sqlite.bitmaps import ARRIVED, holds
from keybench.pagemodels.sqlite.erase import erase_beside
from keybench.pagemodels.sqlite.free_list import Ints, new_file
from keybench.pagemodels.sqlite.load import load, load_beside
from keybench.pagemodels.sqlite.state import State
from keybench.pagemodels.sqlite.tree import LARGEST, WORDS, Tree

Ranks = NDArray[np.int64]
Sizes = NDArray[np.uint16]
_ROWIDS = 2
"""Rowids for each key that ever comes: a key that comes again gets another one."""
_NO_RANKS = np.empty(0, np.int64)


class IndexedState(State):
    """The index. A row's rowid is the highest one in the table plus one, so its size depends on when the row came."""

    def __init__(self, rows: Sizes, entries: Sizes, page_bytes: int, keys: int) -> None:
        """`rows`: bytes of each row's cell in the table without its rowid, by the key's rank: (keys,) or (1,).
        `entries`: those of its record in the index, likewise."""
        self._rows, self._entries = np.broadcast_to(rows, keys), np.broadcast_to(entries, keys)
        self._numbers = np.zeros(keys, np.int64)
        """(keys,): the rowid of each key that is there, less one: its rank in the table."""
        most = _ROWIDS * keys
        varints = cells.varint_bytes(np.arange(1, most + 1))
        row_sizes = _bounded(most, int(rows.min()) + 1, int(rows.max()) + int(varints.max(initial=1)))
        last = int(cells.integer_bytes(np.array([most]))[0])
        bounds = np.array([entries.min(), entries.max() + last])
        stored = cells.stored(bounds, page_bytes, table=False).sizes
        entry_sizes = _bounded(keys, int(stored[0]), int(stored[1]))
        dividers = (4 + varints).astype(np.uint16)

        def table() -> Tree:
            return trees.new(_NO_RANKS, row_sizes, dividers, page_bytes, keys=max(1, most))

        def index() -> Tree:
            return trees.new(_NO_RANKS, entry_sizes, None, page_bytes, keys=max(1, keys))

        self._empty_table: Callable[[], Tree] = table
        super().__init__(index, page_bytes, keys)

    def build(self, ranks: Ranks, fill: int) -> None:
        """Replaces both b-trees by those that VACUUM makes of these keys, which came in this order."""
        there = chosen(ranks, self._keys)
        cells.require_fill(fill)
        self._number(ranks, 0)
        self._replace(np.flatnonzero(there), fill)

    def _begun(self) -> tuple[Tree, Ints]:
        self._table, tree, file = self._empty_table(), self._empty(), new_file(self._page_bytes)
        for each in (self._table, tree):
            trees.start(each, file)
        return tree, file

    def _fill(self, ranks: Ranks) -> None:
        rows, file = np.sort(self._numbers[ranks]), self._file
        self._each(lambda begin, end: load(self._table, file, rows, begin, end, True), len(rows))
        super()._fill(ranks)

    def _load(self, ranks: Ranks) -> None:
        rows, begin, reached = self._number(ranks, int(self._table.facts[LARGEST]) + 1), 0, 0
        while True:
            begin, reached = load_beside(self._table, self._tree, self._file, rows, ranks, begin, len(rows), reached)
            if begin == reached == len(rows):
                return
            self._grow()

    def _erase(self, ranks: Ranks) -> None:
        rows, table = self._numbers[ranks], self._table
        self._each(lambda begin, end: erase_beside(table, self._tree, self._file, rows, ranks, begin, end), len(rows))
        words = np.flatnonzero(table.marks[2 * int(table.facts[WORDS]) + ARRIVED :: 2])
        last = 64 * int(words.max(initial=-1)) + 63
        while last >= 0 and not holds(table.marks, int(table.facts[WORDS]), ARRIVED, last):
            last -= 1
        table.facts[LARGEST] = last

    def _number(self, ranks: Ranks, first: int) -> Ranks:
        """Gives keys their places in the table, from `first` on, and their sizes."""
        rows = np.arange(first, first + len(ranks))
        if first + len(ranks) > _ROWIDS * self._keys:
            raise UsageError("too many keys came again for this state: make one for more keys.")
        self._numbers[ranks] = rows
        self._table.sizes[rows] = self._rows[ranks] + cells.varint_bytes(rows + 1)
        entries = self._entries[ranks] + cells.integer_bytes(rows + 1)
        self._tree.sizes[ranks] = cells.stored(entries, self._page_bytes, table=False).sizes
        return rows

    def _grow(self) -> None:
        super()._grow()
        trees.grow(self._table)


def _bounded(n: int, least: int, most: int) -> Sizes:
    """Sizes of n cells, not known yet, and behind them the bounds from which `trees.new` decides how pages are kept."""
    sizes = np.full(n + 2, most, np.uint16)
    sizes[n] = least
    return sizes
