"""How the cells of siblings are distributed anew (balance_nonroot in btree.c; docs/internals/sqlite.md §2).

First each page from the left takes as many as fit; then cells go back to the right while the right page stays no larger
than the left. While sorted keys are built in, only as many go back as keep the right page from being empty. In index
b-trees the dividers between the siblings are rows and are distributed too (`ahead` is 1): the cell behind a page's end
becomes its divider. In leaves of rowid tables (0) the divider repeats the page's last key.
"""

from __future__ import annotations

from keybench.compiled import inlined, int64, kernel
from keybench.pagemodels.sqlite.bitmaps import ARRIVED, holds, listed, stepped
from keybench.pagemodels.sqlite.tree import (
    BORDER,
    BULK,
    CELL_BYTES,
    CHILD,
    END,
    FILLED,
    OLD_END,
    ROOM,
    USUAL,
    WORDS,
    Ints,
    Tree,
    cell_bytes,
    upper_of,
)


@kernel
def _distribute(sizes: Ints, pool: Ints, n: int, count: int, room: int, ahead: int, bulk: int) -> int:
    """Distributes n cells over pages; `pool` says what the `count` pages had. Returns the number of pages."""
    ends, filled = pool[END], pool[FILLED]
    sizes[n] = 0
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
            if right != 0 and (bulk or right + sizes[last + ahead] > left - (sizes[last] - pointer)):
                break
            right += sizes[last + ahead]
            left -= sizes[last]
            ends[i - 1] = last
            last -= 1
        filled[i], filled[i - 1] = right, left
    return pages


@kernel
def _plan(tree: Tree, n: int, count: int, kind: int, size: int, ahead: int) -> None:
    """Computes how n cells of one size are distributed, which depends only on their number: pages, and their ends."""
    plan, pool = tree.plans[kind, n], tree.pool
    for i in range(n):
        tree.pooled_sizes[i] = size
    for i in range(count):
        pool[END, i] = n if i == count - 1 else i * ahead
        pool[FILLED, i] = (n - (count - 1) * ahead) * size if i == count - 1 else 0
    plan[0] = _distribute(tree.pooled_sizes, pool, n, count, tree.facts[ROOM + kind], ahead, tree.facts[BULK])
    for i in range(plan[0]):
        plan[1 + i] = pool[END, i]


@inlined
def divide_evenly(tree: Tree, n: int, count: int, level: int, ahead: int) -> int:
    """Distributes cells of one size: each leaf's new border is some rows away from an old one.

    Returns the number of pages; `pool` says what each gets.
    """
    pool, kind = tree.pool, min(level, 1)
    size = tree.facts[USUAL if level == 0 else CELL_BYTES + 1]
    if tree.plans[kind, n, 0] == 0:
        _plan(tree, n, count, kind, size, ahead)
    number, begin = int64(tree.plans[kind, n, 0]), int64(0)
    for i in range(number):
        end = int64(tree.plans[kind, n, 1 + i])
        pool[END, i], pool[FILLED, i] = end, (end - begin) * size
        begin = end + ahead
        if level == 0 and i < number - 1:
            nearest = 0
            for j in range(1, count):
                if abs(end - pool[OLD_END, j]) < abs(end - pool[OLD_END, nearest]):
                    nearest = j
            border, steps = pool[CHILD, nearest], end - pool[OLD_END, nearest]
            if ahead == 0 and steps <= 0 and not holds(tree.marks, tree.facts[WORDS], ARRIVED, border):
                steps -= 1  # no row: it lies behind the last one of its leaf
            pool[BORDER, i] = stepped(tree.marks, tree.facts[WORDS], ARRIVED, border, steps) if steps != 0 else border
    return number


@kernel
def divide_by_size(tree: Tree, n: int, count: int, level: int, ahead: int) -> int:
    """As `divide_evenly`, for cells of any sizes. The children of branch pages lie in front already."""
    pool, sizes, keys = tree.pool, tree.pooled_sizes, tree.pooled_keys
    if level == 0:
        listed(tree.marks, tree.facts[WORDS], ARRIVED, pool[CHILD, count - 1] - ahead, n, keys)
    for i in range(n):
        if level > 0:
            keys[i] = upper_of(tree, tree.children[i], level - 1)
        sizes[i] = cell_bytes(tree, keys[i], level)
    for i in range(count):
        pool[END, i] = pool[OLD_END, i]
    number = _distribute(sizes, pool, n, count, tree.facts[ROOM + min(level, 1)], ahead, tree.facts[BULK])
    if level == 0:
        for i in range(number - 1):
            pool[BORDER, i] = keys[pool[END, i] - 1 + ahead]
    return number
