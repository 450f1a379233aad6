"""A b-tree of SQLite under insertion: a full page is balanced with up to two siblings (btree.c; btree.md C1).

All cells of the siblings, and in index b-trees the dividers between them, are dealt out anew: first as many as fit to
each page from the left, then back to the right while the right page stays no larger than the left. Old page numbers
are used again, new ones are taken at the end of the file, and all are put in ascending order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel
from keybench.databases.movement import move

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
LARGEST, KEY, ABOVE, APPENDS, EDGES, INTERIORS, LAID = range(13, 20)
"""The largest key; the one inserted, and whether it is above all before; leaves taken by kind; the size that is
laid out in `dealt` where all cells have one."""
PATH = 32
"""The way to the leaf of the last row: a page and a place for each level."""
FACTS = 96

_FILE_PAGES, _FREE_PAGES = 0, 1
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
    free = file[_FREE_PAGES]
    if free > 0:
        file[_FREE_PAGES] -= 1
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


@kernel
def _room(tree: Tree, page: int) -> int:
    return int(tree.facts[ROOM + (1 if tree.state[page, LEVEL] > 0 else 0)])


@kernel
def _deepen(tree: Tree, file: Ints) -> None:
    """The root's cells go to a new page below it. Here the old page takes the new number, and a new one the root's."""
    facts, state, page = tree.facts, tree.state, tree.facts[ROOT]
    number = state[page, NUMBER]
    state[page, NUMBER] = take(file, number)
    root = new_page(tree, state[page, LEVEL] + 1, number)
    tree.children[state[root, CHILDREN]] = page
    facts[PATH], facts[PATH + 1] = root, 0
    facts[ROOT] = root
    facts[HEIGHT] += 1


@kernel
def balance(tree: Tree, file: Ints, page: int) -> None:
    """Balances a leaf that overflows, and the pages above it as far as needed; `PATH` leads to it."""
    facts, state = tree.facts, tree.state
    depth = facts[HEIGHT]
    while True:
        room = _room(tree, page)
        full = state[page, USED] > room
        if not full and (3 * (room - state[page, USED]) <= 2 * facts[PAGE_BYTES] or page == facts[ROOT]):
            return
        if page == facts[ROOT]:
            _deepen(tree, file)
            depth = 1
        depth -= 1
        parent, at = facts[PATH + 2 * depth], facts[PATH + 2 * depth + 1]
        leaves = facts[LEAVES]
        level = state[page, LEVEL]
        last = state[page, CELLS] - 1
        newest = level == 0 and tree.keys[state[page, BASE] + last] == facts[KEY]
        rightmost = True
        for above in range(depth + 1):
            rightmost &= facts[PATH + 2 * above + 1] == state[facts[PATH + 2 * above], CELLS]
        if facts[ROWS_IN_LEAVES] and newest and at == state[parent, CELLS]:
            _append(tree, file, parent, page)
        else:
            spread(tree, file, parent, at)
        if level == 0:
            facts[APPENDS if facts[ABOVE] else EDGES if rightmost else INTERIORS] += facts[LEAVES] - leaves
        page = parent


@kernel
def _append(tree: Tree, file: Ints, parent: int, page: int) -> None:
    """A rowid table's newest and largest row goes alone to a new leaf (balance_quick)."""
    state, keys = tree.state, tree.keys
    new = new_page(tree, 0, take(file, 0))
    last = state[page, BASE] + state[page, CELLS] - 1
    keys[state[new, BASE]] = keys[last]
    size = cell_bytes(tree, keys[last], 0)
    state[new, CELLS], state[new, USED] = 1, size
    state[page, CELLS] -= 1
    state[page, USED] -= size
    at = state[parent, CELLS]
    keys[state[parent, BASE] + at] = keys[last - 1]
    tree.children[state[parent, CHILDREN] + at + 1] = new
    state[parent, CELLS] += 1
    state[parent, USED] += cell_bytes(tree, keys[last - 1], 1)


@kernel
def _gather(tree: Tree, parent: int, first: int, count: int, own: bool) -> int:
    """Lays the cells of siblings one behind the other; their number. The end of each page's goes to the last row."""
    state, keys, children = tree.state, tree.keys, tree.children
    sizes, pages = tree.dealt[0], tree.dealt[1]
    n = under = 0
    for i in range(count):
        page = children[state[parent, CHILDREN] + first + i]
        base, level = state[page, BASE], state[page, LEVEL]
        move(keys, n, base, state[page, CELLS])
        n += state[page, CELLS]
        if level > 0:
            move(children, under, state[page, CHILDREN], state[page, CELLS] + 1)
            under += state[page, CELLS] + 1
        pages[i], pages[8 + i], pages[16 + i], pages[24 + i] = page, n, state[page, USED], state[page, NUMBER]
        if i < count - 1 and not own:
            keys[n] = keys[state[parent, BASE] + first + i]
            n += 1
    level = state[pages[0], LEVEL]
    if len(tree.sizes) == 1 and len(tree.dividers) == 0:
        size = cell_bytes(tree, 0, level)
        if tree.facts[LAID] != size:
            sizes[:] = size
            tree.facts[LAID] = size
    else:
        for i in range(n):
            sizes[i] = cell_bytes(tree, keys[i], level)
    return n


@kernel
def _deal(tree: Tree, n: int, count: int, room: int, own: bool) -> int:
    """How many cells each page gets; the number of pages."""
    sizes = tree.dealt[0]
    ends, filled = tree.dealt[1, 8:16], tree.dealt[1, 16:24]
    usual = sizes[n]
    sizes[n] = 0
    ahead = 0 if own else 1  # the cell behind a page's end is its divider, where that is a row itself
    i, pages = 0, count
    while True:
        while filled[i] > room:
            if i + 1 >= pages:
                pages = i + 2
                filled[pages - 1], ends[pages - 1] = 0, n
            ends[i] -= 1
            filled[i] -= sizes[ends[i]]
            filled[i + 1] += sizes[ends[i] + ahead]
        while ends[i] < n and filled[i] + sizes[ends[i]] <= room:
            filled[i] += sizes[ends[i]]
            filled[i + 1] -= sizes[ends[i] + ahead]
            ends[i] += 1
        if ends[i] >= n:
            break
        i += 1
    pages = i + 1
    for i in range(pages - 1, 0, -1):
        right, left, last = filled[i], filled[i - 1], ends[i - 1] - 1
        pointer = 2 if i == pages - 1 else 0
        while last >= 0:
            if right != 0 and right + sizes[last + ahead] > left - (sizes[last] - pointer):
                break
            right += sizes[last + ahead]
            left -= sizes[last]
            ends[i - 1] = last
            last -= 1
        filled[i], filled[i - 1] = right, left
    sizes[n] = usual
    return pages


@kernel
def spread(tree: Tree, file: Ints, parent: int, at: int) -> None:
    """Balances the child at a place of its parent with its siblings: one on either side, or two at an end."""
    facts, state, keys, children = tree.facts, tree.state, tree.keys, tree.children
    n_children = state[parent, CELLS] + 1
    count = min(3, n_children)
    first = 0 if count < 3 or at == 0 else min(at - 1, n_children - 3)
    level = state[parent, LEVEL] - 1
    own = facts[ROWS_IN_LEAVES] > 0 and level == 0
    n = _gather(tree, parent, first, count, own)
    pages = tree.dealt[1]
    number = _deal(tree, n, count, facts[ROOM + (1 if level > 0 else 0)], own)
    ends, filled, numbers = pages[8:16], pages[16:24], pages[24:32]
    for i in range(count, number):
        numbers[i] = take(file, numbers[i - 1])
        pages[i] = new_page(tree, level, numbers[i])
    for i in range(number, count):
        file[2 + file[_FREE_PAGES]] = numbers[i]
        file[_FREE_PAGES] += 1
        state[pages[i], USED] = 0
        facts[LEAVES if level == 0 else BRANCHES] -= 1
    numbers[:number].sort()
    shift, behind = number - count, state[parent, CELLS] - (first + count - 1)
    base, links = state[parent, BASE] + first, state[parent, CHILDREN] + first
    for i in range(count - 1):
        state[parent, USED] -= cell_bytes(tree, keys[base + i], level + 1)
    move(keys, base + number - 1, base + count - 1, behind)
    move(children, links + number, links + count, behind)
    state[parent, CELLS] += shift
    begin = under = 0
    for i in range(number):
        page, end = pages[i], ends[i]
        move(keys, state[page, BASE], begin, end - begin)
        if level > 0:
            move(children, state[page, CHILDREN], under, end - begin + 1)
            under += end - begin + 1
        state[page, CELLS], state[page, USED], state[page, NUMBER] = end - begin, filled[i], numbers[i]
        children[links + i] = page
        if i < number - 1:
            divider = keys[end - 1] if own else keys[end]
            keys[base + i] = divider
            state[parent, USED] += cell_bytes(tree, divider, level + 1)
        begin = end if own else end + 1
