"""A b-tree that was read from a file, page by page."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel
from keybench.errors import UsageError
from keybench.pagemodels.server_pages import ServerPages
from keybench.pagemodels.sqlite import free_list
from keybench.pagemodels.sqlite import tree as trees
from keybench.pagemodels.sqlite.bitmaps import ARRIVED, BORDERS, Marks, add
from keybench.pagemodels.sqlite.tree import CELLS, NUMBER, PARENT, UPPER, USED, Ints, Tree

Integers = NDArray[np.int64]


def fill_tree(tree: Tree, file: Ints, present: Integers, pages: ServerPages, borders: Integers | None) -> None:
    """Gives an empty b-tree these pages; `present`: the ranks of its rows, ascending.

    `borders`: of a rowid table, the lowest rank that goes to each leaf but the first. If None, a divider counts as the
    last row on its left, as it is unless that row was deleted. UsageError for pages that do not belong to these rows.
    """
    facts, level = tree.facts, pages.levels[0]
    n, rows_in_leaves = len(level.numbers), bool(facts[trees.ROWS_IN_LEAVES])
    pages.require(len(present) - (0 if rows_in_leaves else n - 1))
    ends = np.cumsum(level.entries + (not rows_in_leaves))
    uppers = np.append(present[ends[:-1] - 1], facts[trees.LAST])
    if rows_in_leaves and borders is not None:
        uppers[:-1] = borders - 1
    slots = uppers >> facts[trees.SHIFT]
    if (np.diff(slots) <= 0).any():
        raise UsageError("leaves of this b-tree have fewer rows than SQLite leaves there: VACUUM it first.")
    bytes_before = np.append(0, np.cumsum(_leaf_bytes(tree, present)))
    starts = np.append(0, ends[:-1])
    tree.leaves[slots, USED] = bytes_before[starts + level.entries] - bytes_before[starts]
    tree.leaves[slots, CELLS], tree.leaves[slots, NUMBER] = level.entries, level.numbers
    tree.leaves[slots, PARENT] = -1
    _mark(tree.marks, int(facts[trees.WORDS]), ARRIVED, present)
    _mark(tree.marks, int(facts[trees.WORDS]), BORDERS, uppers)
    facts[trees.LEAVES], facts[trees.LARGEST] = n, present.max(initial=-1)
    _add_branches(tree, pages, uppers, slots)
    file[free_list.END] = pages.next_page - 1
    for page in pages.free.tolist():
        free_list.lengthen(file)
        free_list.give_back(file, page, file[free_list.FREE])


def _add_branches(tree: Tree, pages: ServerPages, uppers: Integers, slots: Integers) -> None:
    children, places, below = uppers, slots, tree.leaves
    for level in pages.levels[1:]:
        while tree.facts[trees.PAGES] + len(level.numbers) > tree.facts[trees.MOST_PAGES]:
            trees.grow(tree)
        if below is not tree.leaves:
            below = tree.branches  # `grow` may have moved it
        made, begin = np.empty(len(level.numbers), np.int64), 0
        for i, (number, count) in enumerate(zip(level.numbers.tolist(), level.entries.tolist(), strict=True)):
            page, end = trees.new_branch(tree, number), begin + count
            place = trees.children_of(tree, page)
            tree.children[place : place + count] = children[begin:end]
            tree.branches[page, USED] = _divider_bytes(tree, uppers[begin : end - 1]).sum()
            tree.branches[page, CELLS], tree.branches[page, UPPER] = count - 1, uppers[end - 1]
            tree.branches[page, PARENT] = -1
            below[places[begin:end], PARENT] = page
            made[i], begin = page, end
        uppers = uppers[np.cumsum(level.entries) - 1]
        children, places, below = made, made, tree.branches


def _leaf_bytes(tree: Tree, keys: Integers) -> Integers:
    """As `trees.cell_bytes`."""
    raw = tree.sizes[keys] if len(tree.sizes) > 1 else np.full(len(keys), tree.sizes[0])
    return np.maximum(raw.astype(np.int64), 4) + 2


def _divider_bytes(tree: Tree, keys: Integers) -> Integers:
    """As `trees.cell_bytes`."""
    if len(tree.dividers):
        return tree.dividers[keys].astype(np.int64) + 2
    raw = tree.sizes[keys] if len(tree.sizes) > 1 else np.full(len(keys), tree.sizes[0])
    return raw.astype(np.int64) + 6


@kernel
def _mark(marks: Marks, first: int, which: int, ranks: Integers) -> None:
    for rank in ranks:
        add(marks, first, which, rank)
