"""The loops over the rows of a b-tree, and of the table beside it: insertions and deletions (btree.c,
sqlite3BtreeInsert and sqlite3BtreeDelete; docs/internals/sqlite.md §7)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import inlined, int64, kernel
from keybench.pagemodels.memory import uncounted
from keybench.pagemodels.sqlite.balance import balance
from keybench.pagemodels.sqlite.bitmaps import ARRIVED, BORDERS, add, at_least, remove, stepped
from keybench.pagemodels.sqlite.tree import (
    ABOVE,
    CELLS,
    KEY,
    LARGEST,
    MOST_PAGES,
    NUMBER,
    PAGE_BYTES,
    PAGES,
    PARENT,
    ROOM,
    ROOT,
    ROW_END,
    ROWS_IN_LEAVES,
    SHIFT,
    UPPER,
    USED,
    WORDS,
    Ints,
    Tree,
    cell_bytes,
    children_of,
    full,
    go_on_at,
    next_place,
    note,
    overflow_of,
    room_for,
    take_overflow,
)


@kernel
def load(tree: Tree, file: Ints, ranks: NDArray[np.int64], begin: int, end: int, splits: bool) -> int:
    """Inserts rows from `begin` until `end`, or until memory must grow.

    If `splits` is false, it stops before a row that makes a page overflow, or that has overflow pages of its own.
    Returns the row to go on from. Without ranks, keys are in order of arrival.
    """
    tree = uncounted(tree)  # counting references to arrays would take as long as all the rest
    marks, leaves, facts, sizes = tree.marks, tree.leaves, tree.facts, tree.sizes
    given, varied, room, first = len(ranks) > 0, len(sizes) > 1, facts[ROOM], facts[WORDS]
    overflows, traced = len(tree.overflow) > 0, len(tree.trace) > 0
    usual, largest = 2 + max(4, int64(sizes[0])), facts[LARGEST]
    before = leaf = slot = int64(-1)
    for row in range(begin, end):
        key = ranks[row] if given else row
        same = before < key < leaf
        if not same:
            leaf = at_least(marks, first, BORDERS, key)
            slot = leaf >> facts[SHIFT]
        before = key
        used = leaves[slot, USED] + (2 + max(4, int64(sizes[key])) if varied else usual)
        if used > room and not (splits and facts[PAGES] < facts[MOST_PAGES] and not full(file)):
            facts[LARGEST] = largest
            return row
        if overflows and not splits and overflow_of(tree, key) > 0:
            facts[LARGEST] = largest
            return row
        if traced:
            if not room_for(tree.trace, overflow_of(tree, key)):
                facts[LARGEST] = largest
                return row
            if not same or used > room or overflows:
                _open_record(tree, slot)
        if overflows:
            take_overflow(tree, file, key)
        add(marks, first, ARRIVED, key)
        leaves[slot, USED] = used
        leaves[slot, CELLS] += 1
        if used > room:
            facts[ABOVE], facts[KEY] = key > largest, key
            balance(tree, file, leaf, int64(0))
            leaf = int64(-1)
        if traced:
            note(tree.trace, int64(ROW_END))
        largest = max(largest, key)
    facts[LARGEST] = largest
    return end


@inlined
def _open_record(tree: Tree, slot: int) -> None:
    """Begins a row's record: the pages from its leaf to the root."""
    leaves, branches, trace = tree.leaves, tree.branches, tree.trace
    at, page = next_place(trace), int64(leaves[slot, PARENT])
    trace[at] = leaves[slot, NUMBER]
    while page >= 0:
        at += 1
        trace[at] = branches[page, NUMBER]
        page = int64(branches[page, PARENT])
    trace[at + 1] = ROOT
    go_on_at(trace, at + 2)


@kernel
def load_beside(
    table: Tree,
    index: Tree,
    file: Ints,
    rows: NDArray[np.int64],
    ranks: NDArray[np.int64],
    begin: int,
    end: int,
    reached: int,
) -> tuple[int, int]:
    """As `load`, for an index beside a table. A row goes into the index first.

    `rows` are the ranks of rows in the table, empty if they arrive in its order. `reached` rows are in the table
    already. Returns the rows of index and table to go on from.
    """
    while begin < end or reached < end:
        ahead = load(table, file, rows, reached, end, False)  # nothing that the index could notice
        reached = ahead
        until = min(ahead + 1, end)
        if begin < until:
            begin = load(index, file, ranks, begin, until, True)
        if begin < until or table.facts[PAGES] >= table.facts[MOST_PAGES] or full(file):
            return begin, reached
        if ahead < end:
            reached = load(table, file, rows, ahead, ahead + 1, True)
            if reached == ahead:
                return begin, reached
    return end, reached


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
