"""A b-tree of SQLite in memory: its pages, the cells in them, and the numbers of the file's pages (btree.md C1)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel

Ints = NDArray[Any]

CELLS, USED, BASE, CHILDREN, LEVEL, NUMBER = range(6)
"""Of each page: cells, bytes that they and their pointers take, where its keys and children begin, its level (0 a
leaf), its number in the file."""

ROOT, HEIGHT, PAGES, LEAVES, BRANCHES, KEYS_USED, CHILDREN_USED = range(7)
"""Of `facts`: the root's page, levels above the leaves, pages ever taken, leaves and branch pages, keys and children
that all pages have room for."""
PLACES, ROOM, ROWS_IN_LEAVES, PAGE_BYTES = 7, 9, 11, 12
"""Cells that a page of either kind has room for in memory; bytes for cells in it; whether all rows are in leaves (rowid
tables); bytes of a page."""
LARGEST, KEY, ABOVE, APPENDS, EDGES, INTERIORS, CELL_BYTES = range(13, 20)
"""The largest key; the one inserted, and whether it is above all before; leaves taken by kind; what each cell
takes with its pointer in leaves and in branch pages, where all have one size in an index b-tree, else 0."""
PATH = 32
"""The way to the leaf of the last row: a page and a place for each level."""
FACTS = 96

_FILE_PAGES, FREE_PAGES = 0, 1
FILE = 1 << 12
"""Length of a file's state: pages, pages given back, their numbers; at the end the page that locks keep from use."""

MARGIN = 128
"""Pages that one row may take at most: four a level, and levels are few."""
_FILL = 0.85
"""Share of a page that is expected to be used; where it is less, memory grows on the way."""
_GROWTH = 1.25
SPARE = 12
"""Cells that a page in memory has room for beyond what fits it: what makes it overflow."""


class Tree(NamedTuple):
    """The state of one b-tree."""

    keys: Ints
    """uint32 or int64: ranks, ascending in each page; in front, the cells that are being dealt out."""
    children: Ints
    """int32: one more than keys in each branch page; in front, those that are being dealt out."""
    state: Ints
    """int64 (pages, 6): by the names above."""
    facts: Ints
    """int64 (FACTS,): by the names above."""
    sizes: Ints
    """uint16: bytes of the cell of each rank in a leaf, without its pointer; (1,) where all are the same."""
    dividers: Ints
    """uint16: bytes of the cell of each rank in a branch page; (0,) where it is that of a leaf and four bytes."""
    dealt: Ints
    """int64 (2, …): of a balancing, bytes cell by cell, and results page by page."""
    plans: Ints
    """int32 (2, …, 9): where all cells have one size, in leaves and in branch pages, how so many are dealt out: to how
    many pages (0: not known yet), and which cells those end before."""


def new(
    ranks: NDArray[np.int64], sizes: NDArray[np.uint16], dividers: NDArray[np.uint16] | None, page_bytes: int
) -> Tree:
    """No pages yet, but room for those that so many rows mostly need; `grow` where they need more.

    `sizes` are those of leaf cells, in order of arrival, or the one of all; `dividers`, of rowid tables alone, so too.
    Without ranks, keys are in order of arrival.
    """
    rows = max(len(ranks), len(sizes))
    least = int(sizes.min(initial=page_bytes))
    smallest = 2 + max(4, least), 2 + (least + 4 if dividers is None else int(dividers.min(initial=page_bytes)))
    facts = np.zeros(FACTS, np.int64)
    rooms = page_bytes - 8, page_bytes - 12
    places = [room // size + SPARE for room, size in zip(rooms, smallest, strict=True)]
    facts[PLACES : PLACES + 2], facts[ROOM : ROOM + 2] = places, rooms
    facts[[ROWS_IN_LEAVES, PAGE_BYTES]] = dividers is not None, page_bytes
    mean = 2 + max(4.0, float(sizes.mean()))
    leaves = int(rows * mean / (rooms[0] * _FILL)) + 2 * MARGIN
    branches = int(leaves * (mean + 8) / (rooms[1] * _FILL)) + 2 * MARGIN
    if len(sizes) == 1 and dividers is None:
        facts[CELL_BYTES : CELL_BYTES + 2] = smallest
    dealt = 4 * max(places) + 64
    facts[[KEYS_USED, CHILDREN_USED]] = dealt
    return Tree(
        np.empty(dealt + leaves * places[0] + branches * places[1], np.uint32 if rows < 1 << 32 else np.int64),
        np.empty(dealt + branches * places[1], np.int32),
        np.empty((leaves + branches, 6), np.int64),
        facts,
        _by_rank(sizes, ranks),
        np.empty(0, np.uint16) if dividers is None else _by_rank(dividers, ranks),
        np.empty((2, dealt), np.int64),
        np.zeros((2, dealt, 9), np.int32),
    )


def _by_rank(sizes: NDArray[np.uint16], ranks: NDArray[np.int64]) -> NDArray[np.uint16]:
    if len(sizes) == 1 or not len(ranks):
        return sizes
    placed = np.empty_like(sizes)
    placed[ranks] = sizes
    return placed


def grow(tree: Tree) -> None:
    """Room for more pages, in place."""
    for array in (tree.keys, tree.children, tree.state):
        array.resize((int(len(array) * _GROWTH), *array.shape[1:]), refcheck=False)


def new_file(page_bytes: int) -> Ints:
    """The state of a file that holds its schema's page alone."""
    file = np.zeros(FILE, np.int64)
    file[_FILE_PAGES], file[FILE - 1] = 1, (1 << 30) // page_bytes + 1
    return file


@kernel
def take(file: Ints, near: int) -> int:
    """A page number: of those given back, the first of which lists the others, or at the end of the file."""
    free = file[FREE_PAGES]
    if free > 0:
        file[FREE_PAGES] -= 1
        if free == 1:
            return int(file[2])
        chosen = 3
        for at in range(3, 2 + free):
            if near > 0 and abs(file[at] - near) < abs(file[chosen] - near):
                chosen = at
        page = file[chosen]
        file[chosen] = file[1 + free]
        return int(page)
    file[_FILE_PAGES] += 1
    if file[_FILE_PAGES] == file[FILE - 1]:
        file[_FILE_PAGES] += 1
    return int(file[_FILE_PAGES])


@kernel
def cell_bytes(tree: Tree, key: int, level: int) -> int:
    """What a key's cell takes in a page of a level, with its pointer; a leaf's cells are of four bytes at least."""
    raw = int(tree.sizes[key] if len(tree.sizes) > 1 else tree.sizes[0])
    if level == 0:
        return int(2 + max(raw, 4))
    return int(2 + (tree.dividers[key] if len(tree.dividers) > 0 else raw + 4))


@kernel
def new_page(tree: Tree, level: int, number: int) -> int:
    """An empty page of a level."""
    facts, state = tree.facts, tree.state
    page = facts[PAGES]
    facts[PAGES] += 1
    state[page, CELLS] = state[page, USED] = 0
    state[page, LEVEL], state[page, NUMBER] = level, number
    state[page, BASE], state[page, CHILDREN] = facts[KEYS_USED], facts[CHILDREN_USED]
    facts[KEYS_USED] += facts[PLACES + (1 if level > 0 else 0)]
    if level > 0:
        facts[CHILDREN_USED] += facts[PLACES + 1]
    facts[LEAVES if level == 0 else BRANCHES] += 1
    return int(page)


@kernel
def start(tree: Tree, file: Ints) -> None:
    """An empty b-tree: a leaf, the root."""
    tree.facts[ROOT] = new_page(tree, 0, take(file, 0))
    tree.facts[LARGEST] = -1
