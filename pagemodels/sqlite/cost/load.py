"""The cost of a load into SQLite: rows go into the b-trees and through the page cache, some thousands at a time."""

from __future__ import annotations

import numpy as np

from keybench.pagemodels.costs.contract import Load, LoadCost, Log, LookUps, Pages, Server
from keybench.pagemodels.costs.look_ups import look_ups
from keybench.pagemodels.sqlite import tree as trees
from keybench.pagemodels.sqlite.cost.page_cache import (
    CHECKPOINTS,
    COPIED,
    FRAMES,
    PAGE_OVERHEAD,
    Pager,
    costs,
    grow,
    new,
    present,
)
from keybench.pagemodels.sqlite.cost.replay import replay, rows_of
from keybench.pagemodels.sqlite.free_list import END, lengthen
from keybench.pagemodels.sqlite.load import load, load_beside
from keybench.pagemodels.sqlite.trace import NO_TRACE, clear, new_trace
from keybench.pagemodels.sqlite.tree import CELLS, MOST_PAGES, NUMBER, PAGES, ROWS_IN_LEAVES, Ints, Tree, chain

_ROWS = 1 << 11
"""Rows whose touches are kept at a time: so few that they stay in the processor's cache until they are read again."""
_NUMBERS = 16
"""Numbers of a row's record, usually."""
_AUTOCHECKPOINT = 1000
"""Frames: SQLite's own setting (SQLITE_DEFAULT_WAL_AUTOCHECKPOINT)."""
_FRAME_HEADER = 24


def load_cost(
    tree: Tree, table: Tree | None, file: Ints, page_bytes: int, given: Load, server: Server, *, covering: bool
) -> LoadCost:
    """Of a load into a key's b-tree that is empty, with the table beside it. They are filled.

    `covering`: whether the key's b-tree has all that a look-up returns.
    """
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
    after = after_load(pager, tree, None if covering else table, given)
    return LoadCost(Pages(*by_part[:4]), Pages(*by_part[COPIED : COPIED + 4]), log, after)


def _grow(tree: Tree) -> None:
    if tree.facts[PAGES] >= tree.facts[MOST_PAGES]:
        trees.grow(tree)
    tree.trace.resize(2 * len(tree.trace), refcheck=False)


def after_load(pager: Pager, tree: Tree, table: Tree | None, given: Load) -> LookUps | None:
    """What look-ups read of the leaves of the key's b-tree, and of the table's if the row is there.

    None for several writers, of whom the last one alone has a cache that is valid, and for rows with overflow pages,
    which a look-up reads too.
    """
    if not given.look_ups or not len(given.ranks):
        return None
    several = given.writers is not None and len(np.unique(given.writers)) > 1
    if several or any(len(each.overflow) for each in (tree, table) if each is not None):
        return None
    leaf, here = leaf_of_each(tree)[given.ranks], present(pager)
    return look_ups(leaf, here) if table is None else look_ups(leaf, here, leaf_of_each(table), here)


def leaf_of_each(tree: Tree) -> Ints:
    """The number of the leaf at which a look-up of each rank ends: (rows,).

    A row in a branch page has the leaf on its left: a look-up takes an entry that is equal for a greater one (vdbe.c,
    OP_SeekGE: default_rc), goes down to that leaf, and comes back by sqlite3BtreeNext.
    """
    leaves = tree.leaves[chain(tree)]
    rows = leaves[:, CELLS].astype(np.int64)
    if not tree.facts[ROWS_IN_LEAVES]:
        rows[:-1] += 1
    return np.repeat(leaves[:, NUMBER], rows)
