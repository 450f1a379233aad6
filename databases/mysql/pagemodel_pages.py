"""The pages of an index in memory, and what InnoDB does inside one: insertion, deletion, copying (btree.md B2).

A record's place in the page's heap decides which bytes become garbage. Records that were moved away leave a list of
free places, the last one freed at its head, which the next insertions take before the heap grows.

Leaves and branch pages lie in the same arrays, each at its own offset, so that one kernel serves both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel
from keybench.databases.movement import move

Ints = NDArray[Any]

RECORDS, FREED, TOP, LAST, BASE, CHILDREN, LEVEL, LEFT, RIGHT, NUMBER = range(10)
"""Of each page: records, free places in its heap, places in its heap, the key inserted last (or FORGOTTEN), where its
records and its children begin, its level, its neighbours (−1 none), its number in the file."""

MINIMUM, FORGOTTEN = 0, -1
"""The key of the first node pointer of a level, which is below every other; and no last key."""

ROOT, HEIGHT, PAGES, LEAVES, KEYS_USED, CHILDREN_USED, GIVEN_BACK = range(7)
"""Of `facts`: the root's page, levels above the leaves, pages ever taken, leaves among them, records and children that
they have room for, branch pages given back."""
ATTEMPTS, NEIGHBOURS, MERGES, APPENDS, EDGES, INTERIORS = range(7, 13)
"""Splits begun on all levels; those that went into the right neighbour instead; merges; splits of leaves by kind."""
SIZES, PLACES, ROOM, PAGE_BYTES, SEGMENT, CLUSTERED, SHRINKS = 13, 15, 17, 18, 19, 20, 21
"""Bytes of a record in leaves and in branch pages, and how many fit; bytes of a page for records and directory, and of
all of it; number of the branch segment, that of the leaves being the next; whether a sixteenth of a leaf is kept free
for updates; whether the heap shrinks when its topmost record is deleted (MariaDB)."""
LEAF, LOW, HIGH, ROWS = 22, 23, 24, 25
"""The leaf of the row before, and the keys that belong to it: from `LOW` on, below `HIGH`; rows loaded."""
PENDING = 32
"""What is still to do above a split, four numbers each, the last first."""
FACTS = PENDING + 4 * 64

MARGIN = 64
"""Pages and extents that one row may take at most: two a level, and levels are few."""
_FILL = 0.62
"""Share of a page that is expected to be used; where it is less, memory grows on the way."""
_GROWTH = 1.25

PAGE_HEADER = 132
"""Bytes of a page that are for no record: header, system records, trailer and two directory slots."""


class Tree(NamedTuple):
    """The state of one index."""

    keys: Ints
    """uint32 or int64: ranks plus 1, in ascending order in each page."""
    places: Ints
    """uint16: the place of each record in its page's heap, and from the page's end backwards the free ones."""
    children: Ints
    """int32: the pages that node pointers lead to."""
    state: Ints
    """int64 (pages, 10): by the names above."""
    facts: Ints
    """int64 (FACTS,): by the names above."""


@kernel
def directory(records: int) -> int:
    """Bytes that InnoDB holds back for the directory: two for each four records, rounded up."""
    return (2 * records + 3) // 4


def new(sizes: tuple[int, int], page_bytes: int, rows: int, segment: int, *, clustered: bool, shrinks: bool) -> Tree:
    """No pages yet, but room for those that so many rows mostly need; `grow` where they need more."""
    room = page_bytes - PAGE_HEADER
    places = [next(n for n in range(room) if room - n * size - directory(n + 1) < size) for size in sizes]
    facts = np.zeros(FACTS, np.int64)
    facts[SIZES : SIZES + 2], facts[PLACES : PLACES + 2] = sizes, places
    facts[[ROOM, PAGE_BYTES, SEGMENT, CLUSTERED, SHRINKS]] = room, page_bytes, segment, clustered, shrinks
    leaves = int(rows / (places[0] * _FILL)) + 2 * MARGIN
    branches = int(leaves / (places[1] * _FILL)) + 2 * MARGIN
    key = np.uint32 if rows < (1 << 32) - 1 else np.int64
    return Tree(
        np.empty(leaves * places[0] + branches * places[1], key),
        np.empty(leaves * places[0] + branches * places[1], np.uint16),
        np.empty(branches * places[1], np.int32),
        np.empty((leaves + branches, 10), np.int64),
        facts,
    )


def grow(tree: Tree) -> None:
    """Room for more pages, in place."""
    for array in (tree.keys, tree.places, tree.children, tree.state):
        array.resize((int(len(array) * _GROWTH), *array.shape[1:]), refcheck=False)


@kernel
def free_bytes(tree: Tree, page: int, records: int, more: int) -> int:
    """Bytes beside so many records in a page, with a directory for `more` of them; negative where there are none."""
    facts = tree.facts
    size = facts[SIZES + (1 if tree.state[page, LEVEL] > 0 else 0)]
    return int(facts[ROOM] - records * size - directory(records + more))


@kernel
def size_of(tree: Tree, page: int) -> int:
    """Bytes of a record of this page."""
    return int(tree.facts[SIZES + (1 if tree.state[page, LEVEL] > 0 else 0)])


@kernel
def last_not_above(tree: Tree, page: int, key: int) -> int:
    """Place of the last node pointer with a key not above this one."""
    keys, base, n = tree.keys, tree.state[page, BASE], tree.state[page, RECORDS]
    begin = base
    while n > 1:
        half = n >> 1
        base += half * (keys[base + half] <= key)
        n -= half
    return int(base - begin)


@kernel
def position(tree: Tree, page: int, key: int) -> int:
    """How many records of a page have a lower key."""
    keys, base, n = tree.keys, tree.state[page, BASE], tree.state[page, RECORDS]
    at = 0
    while at < n:
        middle = (at + n) >> 1
        if keys[base + middle] < key:
            at = middle + 1
        else:
            n = middle
    return int(at)


@kernel
def put(tree: Tree, page: int, at: int, key: int, child: int) -> None:
    """Inserts a record before the one at `at`."""
    keys, places, children, state = tree.keys, tree.places, tree.children, tree.state
    n, base, level = state[page, RECORDS], state[page, BASE], state[page, LEVEL]
    if state[page, FREED] > 0:
        place = places[base + tree.facts[PLACES + (1 if level > 0 else 0)] - state[page, FREED]]
        state[page, FREED] -= 1
    else:
        place = np.uint16(state[page, TOP])
        state[page, TOP] += 1
    move(keys, base + at + 1, base + at, n - at)
    move(places, base + at + 1, base + at, n - at)
    keys[base + at] = key
    places[base + at] = place
    if level > 0:
        base = state[page, CHILDREN]
        move(children, base + at + 1, base + at, n - at)
        children[base + at] = child
    state[page, RECORDS] = n + 1
    state[page, LAST] = key


@kernel
def remove(tree: Tree, page: int, at: int, number: int) -> None:
    """Deletes `number` records from the one at `at` on, one by one."""
    keys, places, children, state = tree.keys, tree.places, tree.children, tree.state
    n, base, level = state[page, RECORDS], state[page, BASE], state[page, LEVEL]
    capacity = tree.facts[PLACES + (1 if level > 0 else 0)]
    freed = places[base + at : base + at + number].copy()
    rest = n - number - at
    move(keys, base + at, base + at + number, rest)
    move(places, base + at, base + at + number, rest)
    if level > 0:
        move(children, state[page, CHILDREN] + at, state[page, CHILDREN] + at + number, rest)
    for place in freed:
        if tree.facts[SHRINKS] and place == state[page, TOP] - 1:
            state[page, TOP] -= 1
        else:
            state[page, FREED] += 1
            places[base + capacity - state[page, FREED]] = place
    state[page, RECORDS] = n - number
    state[page, LAST] = FORGOTTEN


@kernel
def reorganise(tree: Tree, page: int) -> None:
    """Copies the records into a fresh page: the heap is in key order and has no free places."""
    state = tree.state
    base = state[page, BASE]
    for i in range(state[page, RECORDS]):
        tree.places[base + i] = i
    state[page, TOP], state[page, FREED], state[page, LAST] = state[page, RECORDS], 0, FORGOTTEN


@kernel
def move_end(tree: Tree, page: int, first: int, target: int) -> None:
    """Moves the records from `first` on to an empty page. In the old one, the first of them is the first free place."""
    keys, places, children, state = tree.keys, tree.places, tree.children, tree.state
    n, base, level = state[page, RECORDS], state[page, BASE], state[page, LEVEL]
    capacity = tree.facts[PLACES + (1 if level > 0 else 0)]
    move(keys, state[target, BASE], base + first, n - first)
    if level > 0:
        move(children, state[target, CHILDREN], state[page, CHILDREN] + first, n - first)
    freed = places[base + first : base + n].copy()
    for place in freed[::-1]:
        state[page, FREED] += 1
        places[base + capacity - state[page, FREED]] = place
    state[page, RECORDS], state[page, LAST] = first, FORGOTTEN
    state[target, RECORDS] = n - first
    reorganise(tree, target)


@kernel
def link(tree: Tree, page: int, left: int, right: int) -> None:
    """Puts a page between two neighbours, either of which may be none."""
    state = tree.state
    state[page, LEFT], state[page, RIGHT] = left, right
    if left >= 0:
        state[left, RIGHT] = page
    if right >= 0:
        state[right, LEFT] = page


@kernel
def unlink(tree: Tree, page: int) -> None:
    """Takes a page out of the chain of its level."""
    left, right = tree.state[page, LEFT], tree.state[page, RIGHT]
    if left >= 0:
        tree.state[left, RIGHT] = right
    if right >= 0:
        tree.state[right, LEFT] = left


@kernel
def find(tree: Tree, key: int, level: int) -> int:
    """The page of a level that a key belongs to."""
    page = tree.facts[ROOT]
    while tree.state[page, LEVEL] > level:
        page = np.int64(tree.children[tree.state[page, CHILDREN] + last_not_above(tree, page, key)])
    return int(page)


@kernel
def lead_to(tree: Tree, father: int, old: int, new: int) -> None:
    """Lets the node pointer that leads to one page lead to another."""
    begin = tree.state[father, CHILDREN]
    for i in range(begin, begin + tree.state[father, RECORDS]):
        if tree.children[i] == old:
            tree.children[i] = new
