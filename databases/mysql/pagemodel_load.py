"""The loop over the rows, and the chain of leaves that it leaves behind."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel
from keybench.databases.movement import move
from keybench.databases.mysql.pagemodel_pages import (
    BASE,
    CHILDREN,
    CHILDREN_USED,
    CLUSTERED,
    FREED,
    HEIGHT,
    HIGH,
    KEYS_USED,
    LAST,
    LEAF,
    LEAVES,
    LOW,
    MARGIN,
    PAGE_BYTES,
    PAGES,
    PLACES,
    RECORDS,
    RIGHT,
    ROOM,
    ROOT,
    ROWS,
    SIZES,
    TOP,
    Tree,
    find,
)
from keybench.databases.mysql.pagemodel_pointers import work
from keybench.databases.mysql.pagemodel_space import EXTENT, LIMIT, Space
from keybench.databases.mysql.pagemodel_tree import is_full, split

_HIGHEST = np.iinfo(np.int64).max


@kernel
def _has_room(tree: Tree, space: Space) -> bool:
    facts = tree.facts
    return bool(
        facts[PAGES] + MARGIN < tree.state.shape[0]
        and facts[KEYS_USED] + MARGIN * (facts[PLACES] + facts[PLACES + 1]) < tree.keys.shape[0]
        and facts[CHILDREN_USED] + MARGIN * facts[PLACES + 1] < tree.children.shape[0]
        and space.facts[LIMIT] // EXTENT + MARGIN < space.extents.shape[0]
    )


@kernel
def load(tree: Tree, space: Space, ranks: NDArray[np.int64], begin: int, end: int, splits: bool) -> int:
    """Inserts rows from `begin` until `end`, or until memory must grow or a page must split where `splits` is false;
    the row to go on from. Without ranks, keys are in order of arrival.

    One function without calls, but for leaves that may be full: a call costs as much as the rest of a row.
    """
    keys, places, children, state, facts = tree.keys, tree.places, tree.children, tree.state, tree.facts
    capacity, clustered = facts[PLACES], facts[CLUSTERED] > 0
    # Below this many records no rule can refuse one more.
    safe = (facts[ROOM] - facts[PAGE_BYTES] // 16 - 2 * facts[SIZES] - 2) * 2 // (2 * facts[SIZES] + 1) - 1
    given = len(ranks) > 0
    page, low, high = facts[LEAF], facts[LOW], facts[HIGH]
    for row in range(begin, end):
        key = (ranks[row] if given else row) + 1
        if not low <= key < high:
            low, high, page = np.int64(0), np.int64(_HIGHEST), facts[ROOT]
            for _ in range(facts[HEIGHT]):
                n = state[page, RECORDS]
                first = state[page, BASE]
                base, stop = first, first + n
                while n > 1:
                    half = n >> 1
                    base += half * (keys[base + half] <= key)
                    n -= half
                low = max(low, np.int64(keys[base]))
                if base + 1 < stop:
                    high = np.int64(keys[base + 1])
                page = np.int64(children[state[page, CHILDREN] + base - first])
        n, base = state[page, RECORDS], state[page, BASE]
        at = base
        if n > 0:
            if keys[base + n - 1] < key:
                at = base + n
            else:
                left = n
                while left > 1:
                    half = left >> 1
                    at += half * (keys[at + half - 1] < key)
                    left -= half
                at += 1 if keys[at] < key else 0
        if n >= safe and is_full(tree, page, at - base, clustered):
            if not (splits and _has_room(tree, space)):
                facts[LEAF], facts[LOW], facts[HIGH] = page, low, high
                return row
            work(tree, space, split(tree, space, page, at - base, key, 0, 0))
            low = high = np.int64(0)
            continue
        if state[page, FREED] > 0:
            place = places[base + capacity - state[page, FREED]]
            state[page, FREED] -= 1
        else:
            place = np.uint16(state[page, TOP])
            state[page, TOP] += 1
        if at < base + n:
            move(keys, at + 1, at, base + n - at)
            move(places, at + 1, at, base + n - at)
        keys[at] = key
        places[at] = place
        state[page, RECORDS] = n + 1
        state[page, LAST] = key
    facts[LEAF], facts[LOW], facts[HIGH] = page, low, high
    return end


@kernel
def load_beside(
    table: Tree, index: Tree, space: Space, rows: NDArray[np.int64], ranks: NDArray[np.int64], begin: int, end: int
) -> int:
    """`load` for an index beside a table, into which each row goes first: by the ranks `rows`, else as they arrive."""
    while begin < end:
        ahead = load(table, space, rows, table.facts[ROWS], end, False)  # nothing that the index could notice
        table.facts[ROWS] = ahead
        begin = load(index, space, ranks, begin, ahead, True)
        if begin < ahead or not _has_room(table, space):
            return begin
        if ahead < end:
            table.facts[ROWS] = load(table, space, rows, ahead, ahead + 1, True)
    return end


@kernel
def chain(tree: Tree) -> NDArray[Any]:
    """The leaves in key order: int64 (leaves,)."""
    found = np.empty(tree.facts[LEAVES], np.int64)
    page = find(tree, 0, 0)
    for i in range(len(found)):
        found[i] = page
        page = tree.state[page, RIGHT]
    return found
