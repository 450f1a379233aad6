"""The loop over the rows, and the leaves in key order that it leaves behind."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel
from keybench.databases.movement import move
from keybench.databases.sqlite.pagemodel_balance import balance
from keybench.databases.sqlite.pagemodel_tree import (
    ABOVE,
    BASE,
    CELLS,
    CHILDREN,
    CHILDREN_USED,
    HEIGHT,
    KEY,
    KEYS_USED,
    LARGEST,
    LEAVES,
    LEVEL,
    MARGIN,
    PAGES,
    PATH,
    PLACES,
    ROOM,
    ROOT,
    USED,
    Ints,
    Tree,
)

_HIGHEST = np.iinfo(np.int64).max


@kernel
def _has_room(tree: Tree) -> bool:
    facts = tree.facts
    return bool(
        facts[PAGES] + MARGIN < tree.state.shape[0]
        and facts[KEYS_USED] + MARGIN * (facts[PLACES] + facts[PLACES + 1]) < tree.keys.shape[0]
        and facts[CHILDREN_USED] + MARGIN * facts[PLACES + 1] < tree.children.shape[0]
    )


@kernel
def load(tree: Tree, file: Ints, ranks: NDArray[np.int64], begin: int, end: int, splits: bool) -> int:
    """Inserts rows from `begin` until `end`, or until memory must grow or a page overflows where `splits` is false; the
    row to go on from. Without ranks, keys are in order of arrival.

    One function without calls, but for leaves that overflow: a call costs as much as the rest of a row.
    """
    keys, children, state, facts, sizes = tree.keys, tree.children, tree.state, tree.facts, tree.sizes
    given, varied, room = len(ranks) > 0, len(sizes) > 1, facts[ROOM]
    low, high, largest, page = np.int64(0), np.int64(0), facts[LARGEST], np.int64(0)
    for row in range(begin, end):
        key = ranks[row] if given else row
        if not (row > begin and low < key < high):
            low, high, page = np.int64(-1), np.int64(_HIGHEST), facts[ROOT]
            for depth in range(facts[HEIGHT]):
                first, left = state[page, BASE], state[page, CELLS]
                at = first
                while left > 1:
                    half = left >> 1
                    at += half * (keys[at + half - 1] < key)
                    left -= half
                at += 1 if keys[at] < key else 0
                at -= first
                if at > 0:
                    low = np.int64(keys[first + at - 1])
                if at < state[page, CELLS]:
                    high = np.int64(keys[first + at])
                facts[PATH + 2 * depth], facts[PATH + 2 * depth + 1] = page, at
                page = np.int64(children[state[page, CHILDREN] + at])
        n, first = state[page, CELLS], state[page, BASE]
        at = first
        if n > 0:
            if keys[first + n - 1] < key:
                at = first + n
            else:
                left = n
                while left > 1:
                    half = left >> 1
                    at += half * (keys[at + half - 1] < key)
                    left -= half
                at += 1 if keys[at] < key else 0
        used = state[page, USED] + 2 + max(4, np.int64(sizes[key] if varied else sizes[0]))
        if used > room and not (splits and _has_room(tree)):
            facts[LARGEST] = largest
            return row
        if at < first + n:
            move(keys, at + 1, at, first + n - at)
        keys[at] = key
        state[page, CELLS], state[page, USED] = n + 1, used
        if used > room:
            facts[ABOVE], facts[KEY] = key > largest, key
            balance(tree, file, int(page))
            low = high = np.int64(0)
        largest = max(largest, key)
    facts[LARGEST] = largest
    return end


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
    """`load` for an index beside a table by the ranks `rows`, else as they arrive; a row goes into the index first.

    `reached` rows are in the table already. Returns the rows of index and table to go on from.
    """
    while begin < end:
        ahead = load(table, file, rows, reached, end, False)  # nothing that the index could notice
        reached = ahead
        begin = load(index, file, ranks, begin, min(ahead + 1, end), True)
        if begin < min(ahead + 1, end) or not _has_room(table):
            return begin, reached
        if ahead < end:
            reached = load(table, file, rows, ahead, ahead + 1, True)
    return end, reached


@kernel
def chain(tree: Tree) -> NDArray[Any]:
    """The leaves in key order: int64 (leaves,)."""
    state, children = tree.state, tree.children
    found = np.empty(tree.facts[LEAVES], np.int64)
    pages, places = np.zeros(64, np.int64), np.zeros(64, np.int64)
    n, depth = 0, 0
    pages[0] = tree.facts[ROOT]
    while depth >= 0:
        page = pages[depth]
        if state[page, LEVEL] == 0:
            found[n] = page
            n += 1
            depth -= 1
        elif places[depth] > state[page, CELLS]:
            depth -= 1
        else:
            pages[depth + 1] = children[state[page, CHILDREN] + places[depth]]
            places[depth] += 1
            depth += 1
            places[depth] = 0
    return found
