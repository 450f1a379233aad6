"""How the cells of siblings are distributed anew (balance_nonroot in btree.c; docs/internals/sqlite.md §2).

First each page from the left takes as many as fit; then cells go back to the right while the right page stays no larger
than the left. In index b-trees the dividers between the siblings are rows and are distributed too (`ahead` is 1): the
cell behind a page's end becomes its divider. In leaves of rowid tables (0) the divider repeats the page's last key.
"""

from __future__ import annotations

from keybench.compiled import inlined, int64, kernel
from keybench.pagemodels.sqlite.bitmaps import ARRIVED, listed, stepped
from keybench.pagemodels.sqlite.tree import (
    BORDER,
    CELL_BYTES,
    CHILD,
    END,
    FILLED,
    LAST,
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
def _deal(sizes: Ints, dealt: Ints, n: int, count: int, room: int, ahead: int) -> int:
    """How many of n cells each page gets, `dealt` says what those `count` pages had; the number of pages."""
    ends, filled = dealt[END], dealt[FILLED]
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
            if right != 0 and right + sizes[last + ahead] > left - (sizes[last] - pointer):
                break
            right += sizes[last + ahead]
            left -= sizes[last]
            ends[i - 1] = last
            last -= 1
        filled[i], filled[i - 1] = right, left
    return pages


@kernel
def _plan(tree: Tree, n: int, count: int, kind: int, size: int, ahead: int) -> None:
    """Works out to how many pages n cells of one size go, and which cells those end before: by their number alone."""
    plan, dealt = tree.plans[kind, n], tree.dealt
    for i in range(n):
        tree.sizes_dealt[i] = size
    for i in range(count):
        dealt[END, i] = n if i == count - 1 else i * ahead
        dealt[FILLED, i] = (n - (count - 1) * ahead) * size if i == count - 1 else 0
    plan[0] = _deal(tree.sizes_dealt, dealt, n, count, tree.facts[ROOM + kind], ahead)
    for i in range(plan[0]):
        plan[1 + i] = dealt[END, i]


@inlined
def divide_evenly(tree: Tree, n: int, count: int, level: int, ahead: int) -> int:
    """Deals out cells of one size: each leaf's border is some rows away from one that there was before.

    Returns the number of pages; `dealt` says what each gets.
    """
    dealt, kind = tree.dealt, min(level, 1)
    size = tree.facts[USUAL if level == 0 else CELL_BYTES + 1]
    if tree.plans[kind, n, 0] == 0:
        _plan(tree, n, count, kind, size, ahead)
    number, begin = int64(tree.plans[kind, n, 0]), int64(0)
    for i in range(number):
        end = int64(tree.plans[kind, n, 1 + i])
        dealt[END, i], dealt[FILLED, i] = end, (end - begin) * size
        begin = end + ahead
        if level == 0 and i < number - 1:
            nearest = 0
            for j in range(1, count):
                if abs(end - dealt[OLD_END, j]) < abs(end - dealt[OLD_END, nearest]):
                    nearest = j
            border, steps = dealt[CHILD, nearest], end - dealt[OLD_END, nearest]
            if ahead == 0 and border == tree.facts[LAST]:  # no key, but one place behind the last
                steps -= 1
            dealt[BORDER, i] = stepped(tree.marks, tree.facts[WORDS], ARRIVED, border, steps) if steps != 0 else border
    return number


@kernel
def divide_by_size(tree: Tree, n: int, count: int, level: int, ahead: int) -> int:
    """The same for cells of any sizes. The children of branch pages lie in front already."""
    dealt, sizes, keys = tree.dealt, tree.sizes_dealt, tree.keys_dealt
    if level == 0:
        listed(tree.marks, tree.facts[WORDS], ARRIVED, dealt[CHILD, count - 1] - ahead, n, keys)
    for i in range(n):
        if level > 0:
            keys[i] = upper_of(tree, tree.children[i], level - 1)
        sizes[i] = cell_bytes(tree, keys[i], level)
    for i in range(count):
        dealt[END, i] = dealt[OLD_END, i]
    number = _deal(sizes, dealt, n, count, tree.facts[ROOM + min(level, 1)], ahead)
    if level == 0:
        for i in range(number - 1):
            dealt[BORDER, i] = keys[dealt[END, i] - 1 + ahead]
    return number
