"""The loop over rows that are deleted from a b-tree (btree.c, sqlite3BtreeDelete; docs/internals/sqlite.md §7)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import inlined, int64, kernel
from keybench.pagemodels.memory import uncounted
from keybench.pagemodels.sqlite.balance import balance
from keybench.pagemodels.sqlite.bitmaps import ARRIVED, BORDERS, add, at_least, remove, stepped
from keybench.pagemodels.sqlite.free_list import full
from keybench.pagemodels.sqlite.tree import (
    CELLS,
    KEY,
    MOST_PAGES,
    NUMBER,
    PAGE_BYTES,
    PAGES,
    PARENT,
    ROOM,
    ROWS_IN_LEAVES,
    SHIFT,
    UPPER,
    USED,
    WORDS,
    Ints,
    Tree,
    cell_bytes,
    children_of,
)


@kernel
def erase(tree: Tree, file: Ints, ranks: NDArray[np.int64], begin: int, end: int) -> int:
    """Deletes rows from `begin` until `end`, or until memory must grow. They are there.

    Returns the row to go on from.
    """
    tree = uncounted(tree)
    facts = tree.facts
    facts[KEY] = -1
    for row in range(begin, end):
        if facts[PAGES] >= facts[MOST_PAGES] or full(file):
            return row
        _erase_row(tree, file, ranks[row])
    return end


@kernel
def erase_beside(
    table: Tree, index: Tree, file: Ints, rows: NDArray[np.int64], ranks: NDArray[np.int64], begin: int, end: int
) -> int:
    """As `erase`, for an index beside a table. A row that is found by the index goes from the table first (delete.c,
    sqlite3GenerateRowDelete). `rows` are the ranks of rows in the table."""
    table, index = uncounted(table), uncounted(index)
    of_table, of_index = table.facts, index.facts
    of_table[KEY] = of_index[KEY] = -1
    for row in range(begin, end):
        if of_table[PAGES] >= of_table[MOST_PAGES] or of_index[PAGES] >= of_index[MOST_PAGES] or full(file):
            return row
        _erase_row(table, file, rows[row])
        _erase_row(index, file, ranks[row])
    return end


@inlined
def _erase_row(tree: Tree, file: Ints, key: int) -> None:
    marks, leaves, facts = tree.marks, tree.leaves, tree.facts
    leaf = at_least(marks, facts[WORDS], BORDERS, key)
    if leaf == key and not facts[ROWS_IN_LEAVES]:
        _erase_divider(tree, file, key)
        return
    remove(marks, facts[WORDS], ARRIVED, key)
    slot = leaf >> facts[SHIFT]
    used = leaves[slot, USED] - cell_bytes(tree, key, 0)
    leaves[slot, USED] = used
    leaves[slot, CELLS] -= 1
    if used <= facts[ROOM] - 2 * facts[PAGE_BYTES] // 3 and leaves[slot, PARENT] >= 0:
        _balance(tree, file, leaf, 0)


@kernel
def _erase_divider(tree: Tree, file: Ints, key: int) -> None:
    """The row before the divider takes its place. That row is the last of the leaf on the divider's left.

    The leaf is balanced first. If that does not reach the divider's page, this page is balanced too.
    """
    marks, leaves, branches, facts = tree.marks, tree.leaves, tree.branches, tree.facts
    before = stepped(marks, facts[WORDS], ARRIVED, key, -1)
    remove(marks, facts[WORDS], ARRIVED, key)
    remove(marks, facts[WORDS], BORDERS, key)
    add(marks, facts[WORDS], BORDERS, before)
    old, slot = key >> facts[SHIFT], before >> facts[SHIFT]
    leaves[slot, USED] = leaves[old, USED] - cell_bytes(tree, before, 0)
    leaves[slot, CELLS] = leaves[old, CELLS] - 1
    leaves[slot, NUMBER], leaves[slot, PARENT] = leaves[old, NUMBER], leaves[old, PARENT]
    page, level = int64(leaves[slot, PARENT]), 1
    place = children_of(tree, page)
    while tree.children[place] != key:
        place += 1
    tree.children[place] = before
    while branches[page, UPPER] == key:
        branches[page, UPPER] = before
        page = int64(branches[page, PARENT])
        level += 1
    branches[page, USED] += cell_bytes(tree, before, 1) - cell_bytes(tree, key, 1)
    if _balance(tree, file, before, 0) < level:
        _balance(tree, file, page, level)


@kernel
def _balance(tree: Tree, file: Ints, page: int, level: int) -> int:
    return balance(tree, file, int64(page), int64(level))
