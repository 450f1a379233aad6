"""The cost of a load into SQLite: rows go into the b-trees and through the page cache, some thousands at a time."""

from __future__ import annotations

import numpy as np

from keybench.pagemodels.costs.contract import Load, LoadCost, Log, Pages, Server
from keybench.pagemodels.sqlite import tree as trees
from keybench.pagemodels.sqlite.cost.page_cache import (
    CHECKPOINTS,
    COPIED,
    FRAMES,
    PAGE_OVERHEAD,
    costs,
    grow,
    new,
)
from keybench.pagemodels.sqlite.cost.replay import replay, rows_of
from keybench.pagemodels.sqlite.free_list import END, lengthen
from keybench.pagemodels.sqlite.load import load, load_beside
from keybench.pagemodels.sqlite.trace import NO_TRACE, clear, new_trace
from keybench.pagemodels.sqlite.tree import MOST_PAGES, PAGES, Ints, Tree

_ROWS = 1 << 11
"""Rows whose touches are kept at a time: so few that they stay in the processor's cache until they are read again."""
_NUMBERS = 16
"""Numbers of a row's record, usually."""
_AUTOCHECKPOINT = 1000
"""Frames: SQLite's own setting (SQLITE_DEFAULT_WAL_AUTOCHECKPOINT)."""
_FRAME_HEADER = 24


def load_cost(tree: Tree, table: Tree | None, file: Ints, page_bytes: int, given: Load, server: Server) -> LoadCost:
    """Of a load into a key's b-tree that is empty, with the table beside it. They are filled."""
    ranks, n = given.ranks, len(given.ranks)
    limit, auto = server.pages(page_bytes + PAGE_OVERHEAD), _AUTOCHECKPOINT
    if server.checkpoint_bytes is not None:
        auto = server.checkpoint_bytes // (page_bytes + _FRAME_HEADER)
    auto, rows_per_tx = (max(1, round(whole * server.share)) for whole in (auto, given.rows_per_tx))
    pager = new(limit, auto, 1 << 12, len(given.ends))
    writers = np.zeros(n, np.int16) if given.writers is None else given.writers
    rows = rows_of(np.asarray(given.ends, np.int64), writers, rows_per_tx, given.restart)
    tree = tree._replace(trace=new_trace(_ROWS * _NUMBERS))
    if table is not None:
        table = table._replace(trace=new_trace(_ROWS * _NUMBERS))
    for first in range(0, n, _ROWS):
        end = min(n, first + _ROWS)
        begin = reached = first
        while True:
            if table is not None:
                begin, reached = load_beside(table, tree, file, ranks[:0], ranks, begin, end, reached)
            else:
                begin = load(tree, file, ranks, begin, end, True)
                reached = begin
            if begin == reached == end:
                break
            for each in filter(None, (tree, table)):
                _grow(each)
            lengthen(file)
        grow(pager, int(file[END]))
        replay(pager, rows, tree.trace, NO_TRACE if table is None else table.trace, first, end)
        for each in filter(None, (tree, table)):
            clear(each.trace)
    by_part = costs(pager)
    log = Log(by_part[FRAMES] * (page_bytes + _FRAME_HEADER), None, None, by_part[CHECKPOINTS])
    return LoadCost(Pages(*by_part[:4]), Pages(*by_part[COPIED : COPIED + 4]), log)


def _grow(tree: Tree) -> None:
    if tree.facts[PAGES] >= tree.facts[MOST_PAGES]:
        trees.grow(tree)
    tree.trace.resize(2 * len(tree.trace), refcheck=False)
