"""A b-tree of SQLite whose page has too many cells or too few: it is balanced with up to two siblings (btree.c,
balance and balance_nonroot; docs/internals/sqlite.md §2).

Their cells are distributed anew. First each page from the left takes as many as fit; then cells go back to the right
while the right page stays no larger than the left. While sorted keys are built in, only as many go back as keep the
right page from being empty. In index b-trees the dividers between the siblings are rows and are distributed too
(`ahead` is 1): the cell behind a page's end becomes its divider. In leaves of rowid tables (0) the divider repeats the
page's last key.

Old page numbers are used again, new ones come from the list of free pages or the end of the file, and all are put in
ascending order.
"""

from __future__ import annotations

from keybench.compiled import inlined, int64, kernel
from keybench.pagemodels.memory import move
from keybench.pagemodels.sqlite.bitmaps import ARRIVED, BORDERS, add, holds, listed, remove, stepped
from keybench.pagemodels.sqlite.tree import (
    ABOVE,
    ALONE,
    APPENDS,
    BORDER,
    BULK,
    CELL_BYTES,
    CELLS,
    CHILD,
    DEEPENED,
    EDGES,
    END,
    FILLED,
    FREE,
    INTERIORS,
    KEY,
    LAST,
    LEAVES,
    LIFTED,
    NUMBER,
    OLD_END,
    PAGE_BYTES,
    PARENT,
    ROOM,
    ROWS_IN_LEAVES,
    SHIFT,
    SPREAD,
    TAKEN,
    UPPER,
    USED,
    USUAL,
    WORDS,
    Ints,
    Tree,
    cell_bytes,
    children_of,
    drop_branch,
    give_back,
    new_branch,
    note,
    shift_of,
    take,
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


@inlined
def balance(tree: Tree, file: Ints, page: int, level: int) -> int:
    """Balances a page of a level if it overflows or two thirds of it are free, and the pages above it as far as needed.

    Returns the level of the first page above that was left as it is.
    """
    facts, leaf = tree.facts, page
    while True:
        pages, at = tree.leaves if level == 0 else tree.branches, page >> shift_of(tree, level)
        room, used = facts[ROOM + min(level, 1)], pages[at, USED]
        if used <= room and (3 * (room - used) <= 2 * facts[PAGE_BYTES] or pages[at, PARENT] < 0):
            return level
        if pages[at, PARENT] < 0:
            _deepen(tree, file, page, level)
        parent, leaves, free = int64(pages[at, PARENT]), facts[LEAVES], file[FREE]
        if level == 0 and facts[ROWS_IN_LEAVES] and _ends(tree, parent, page):
            _append(tree, file, parent, page)
        else:
            _spread(tree, file, parent, page, level)
        if level == 0 and facts[KEY] >= 0:
            kind = APPENDS if facts[ABOVE] else EDGES if leaf == facts[LAST] else INTERIORS
            facts[kind] += facts[LEAVES] - leaves
        if tree.branches[parent, PARENT] < 0 and tree.branches[parent, CELLS] == 0:
            _lift(tree, file, parent, level, free)
            return level + 1
        page = parent
        level += 1


@kernel
def _deepen(tree: Tree, file: Ints, page: int, level: int) -> None:
    """Moves the root's cells to a new page below it.

    Here the old page takes the new number, and a new page takes the root's.
    """
    pages, branches = tree.leaves if level == 0 else tree.branches, tree.branches
    at = page >> shift_of(tree, level)
    number = int64(pages[at, NUMBER])
    pages[at, NUMBER] = take(file, number)
    root = new_branch(tree, number)
    pages[at, PARENT] = root
    branches[root, PARENT], branches[root, UPPER] = -1, tree.facts[LAST]
    tree.children[children_of(tree, root)] = page
    if len(tree.trace) > 0:
        note(tree.trace, DEEPENED)
        note(tree.trace, int64(pages[at, NUMBER]))


@kernel
def _lift(tree: Tree, file: Ints, root: int, level: int, free: int) -> None:
    """The root takes the cells of its only child, which is given back.

    Here the child takes the root's number. SQLite gives it back before the siblings that it has replaced, when `free`
    pages were free.
    """
    child = int64(tree.children[children_of(tree, root)])
    pages, at = tree.leaves if level == 0 else tree.branches, child >> shift_of(tree, level)
    give_back(file, int64(pages[at, NUMBER]), free)
    if len(tree.trace) > 0:
        note(tree.trace, LIFTED)
        note(tree.trace, int64(pages[at, NUMBER]))
    pages[at, NUMBER], pages[at, PARENT] = tree.branches[root, NUMBER], -1
    drop_branch(tree, root)


@kernel
def _ends(tree: Tree, parent: int, leaf: int) -> bool:
    """Whether the new key is the last of its leaf, which is its parent's last child."""
    key, marks, words = tree.facts[KEY], tree.marks, tree.facts[WORDS]
    if key < 0 or tree.branches[parent, UPPER] != leaf:
        return False
    if holds(marks, words, ARRIVED, leaf):
        return bool(key == leaf)
    return bool(stepped(marks, words, ARRIVED, leaf, -1) == key)


@kernel
def _append(tree: Tree, file: Ints, parent: int, leaf: int) -> None:
    """A rowid table's newest row, the last of its leaf, goes alone to a new leaf (balance_quick)."""
    facts, leaves, branches, marks = tree.facts, tree.leaves, tree.branches, tree.marks
    newest = facts[KEY]
    upper = stepped(marks, facts[WORDS], ARRIVED, newest, -1)
    size = cell_bytes(tree, newest, 0)
    add(marks, facts[WORDS], BORDERS, upper)
    old, new = upper >> facts[SHIFT], leaf >> facts[SHIFT]
    leaves[old, USED], leaves[old, CELLS] = leaves[new, USED] - size, leaves[new, CELLS] - 1
    leaves[old, NUMBER], leaves[old, PARENT] = leaves[new, NUMBER], parent
    leaves[new, USED], leaves[new, CELLS], leaves[new, NUMBER] = size, 1, take(file, 0)
    facts[LEAVES] += 1
    place = children_of(tree, parent) + branches[parent, CELLS]
    tree.children[place], tree.children[place + 1] = upper, leaf
    branches[parent, CELLS] += 1
    branches[parent, USED] += cell_bytes(tree, upper, 1)
    if len(tree.trace) > 0:
        note(tree.trace, ALONE)
        note(tree.trace, int64(leaves[new, NUMBER]))


@inlined
def _spread(tree: Tree, file: Ints, parent: int, page: int, level: int) -> None:
    """Balances a child of a page with its siblings: one on each side, or two at an end; with the one before it while
    sorted keys are built in."""
    facts, branches, children, pool = tree.facts, tree.branches, tree.children, tree.pool
    pages = tree.leaves if level == 0 else branches
    links, last, at = children_of(tree, parent), int64(branches[parent, CELLS]), int64(0)
    siblings = children[links : links + last + 1]
    for i in range(len(siblings)):  # without a branch, many at a time
        at += i * (siblings[i] == page)
    most = 3 - facts[BULK]
    count = min(most, last + 1)
    first = 0 if count < most or at == 0 else min(at - 1, last + 1 - most)
    links += first
    even, ahead = facts[CELL_BYTES] > 0, int64(0 if level == 0 and facts[ROWS_IN_LEAVES] else 1)
    alike, n, under = level == 0, int64(0), int64(0)
    for i in range(count):
        child = int64(children[links + i])
        place = child >> shift_of(tree, level)
        if level > 0:
            move(children, under, children_of(tree, child), pages[place, CELLS] + 1)
            under += pages[place, CELLS] + 1
        alike &= pages[place, USED] == pages[place, CELLS] * facts[USUAL]
        n += pages[place, CELLS]
        pool[CHILD, i], pool[OLD_END, i] = child, n
        pool[FILLED, i], pool[TAKEN, i] = pages[place, USED], pages[place, NUMBER]
        if i < count - 1:
            n += ahead
            if not even:
                upper = upper_of(tree, child, level)
                branches[parent, USED] -= cell_bytes(tree, upper, level + 1)
                alike &= ahead == 0 or cell_bytes(tree, upper, 0) == facts[USUAL]
    if even or alike:
        number = divide_evenly(tree, n, count, level, ahead)
    else:
        number = divide_by_size(tree, n, count, level, ahead)
    if len(tree.trace) > 0:
        _note(tree, SPREAD, at - first, count, number)
    _renumber(file, pool, count, number)
    if len(tree.trace) > 0:
        _note_numbers(tree, number)
    if number != count:
        move(children, links + number, links + count, last + 1 - first - count)
        branches[parent, CELLS] += number - count
    if level == 0:
        _put_leaves(tree, parent, links, count, number, ahead)
    else:
        _put_branches(tree, parent, links, count, number, level)
    if even:
        branches[parent, USED] += (number - count) * facts[CELL_BYTES + 1]
    else:
        for i in range(number - 1):
            branches[parent, USED] += cell_bytes(tree, pool[BORDER, i], level + 1)


@kernel
def _note(tree: Tree, what: int, at: int, count: int, number: int) -> None:
    """Notes that `count` siblings become `number`, of which the one at place `at` has changed."""
    note(tree.trace, what)
    note(tree.trace, at)
    note(tree.trace, count)
    note(tree.trace, number)
    _note_numbers(tree, count)


@kernel
def _note_numbers(tree: Tree, count: int) -> None:
    for i in range(count):
        note(tree.trace, tree.pool[TAKEN, i])


@inlined
def _renumber(file: Ints, pool: Ints, count: int, number: int) -> None:
    """Takes page numbers, the first one near the first sibling's, or gives some back, and sorts them."""
    for i in range(count, number):
        pool[TAKEN, i] = take(file, pool[TAKEN, 0 if i == count else i - 1])
    for i in range(number, count):
        give_back(file, pool[TAKEN, i], file[FREE])
    for i in range(1, number):
        item, place = pool[TAKEN, i], i
        while place > 0 and pool[TAKEN, place - 1] > item:
            pool[TAKEN, place] = pool[TAKEN, place - 1]
            place -= 1
        pool[TAKEN, place] = item


@inlined
def _put_leaves(tree: Tree, parent: int, links: int, count: int, number: int, ahead: int) -> None:
    facts, leaves, marks, pool = tree.facts, tree.leaves, tree.marks, tree.pool
    kept = min(count, number) - 1
    pool[BORDER, number - 1] = pool[CHILD, count - 1]
    for i in range(count - 1):
        if i >= kept or pool[BORDER, i] != pool[CHILD, i]:
            remove(marks, facts[WORDS], BORDERS, pool[CHILD, i])
    for i in range(number - 1):
        if i >= kept or pool[BORDER, i] != pool[CHILD, i]:
            add(marks, facts[WORDS], BORDERS, pool[BORDER, i])
    begin = 0
    for i in range(number):
        slot, end = pool[BORDER, i] >> facts[SHIFT], pool[END, i]
        leaves[slot, USED], leaves[slot, CELLS] = pool[FILLED, i], end - begin
        leaves[slot, NUMBER], leaves[slot, PARENT] = pool[TAKEN, i], parent
        tree.children[links + i] = pool[BORDER, i]
        begin = end + ahead
    facts[LEAVES] += number - count


@kernel
def _put_branches(tree: Tree, parent: int, links: int, count: int, number: int, level: int) -> None:
    branches, children, pool = tree.branches, tree.children, tree.pool
    below = tree.leaves if level == 1 else branches
    for i in range(count, number):
        pool[CHILD, i] = new_branch(tree, pool[TAKEN, i])
    for i in range(number, count):
        drop_branch(tree, pool[CHILD, i])
    begin = 0
    for i in range(number):
        page, end = pool[CHILD, i], pool[END, i]
        move(children, children_of(tree, page), begin, end + 1 - begin)
        for j in range(begin, end + 1):
            below[children[j] >> shift_of(tree, level - 1), PARENT] = page
        pool[BORDER, i] = upper_of(tree, children[end], level - 1)
        branches[page, USED], branches[page, CELLS] = pool[FILLED, i], end - begin
        branches[page, NUMBER], branches[page, PARENT] = pool[TAKEN, i], parent
        branches[page, UPPER] = pool[BORDER, i]
        children[links + i] = page
        begin = end + 1
