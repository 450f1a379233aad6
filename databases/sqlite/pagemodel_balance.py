"""A b-tree of SQLite under insertion: a full page is balanced with up to two siblings (btree.c; btree.md C1).

All cells of the siblings, and in index b-trees the dividers between them, are dealt out anew: first as many as fit to
each page from the left, then back to the right while the right page stays no larger than the left. Old page numbers
are used again, new ones are taken at the end of the file, and all are put in ascending order.
"""

from __future__ import annotations

from keybench.compiled import kernel
from keybench.databases.movement import move
from keybench.databases.sqlite.pagemodel_tree import (
    ABOVE,
    APPENDS,
    BASE,
    BRANCHES,
    CELL_BYTES,
    CELLS,
    CHILDREN,
    EDGES,
    FREE_PAGES,
    HEIGHT,
    INTERIORS,
    KEY,
    LEAVES,
    LEVEL,
    NUMBER,
    PAGE_BYTES,
    PATH,
    ROOM,
    ROOT,
    ROWS_IN_LEAVES,
    USED,
    Ints,
    Tree,
    cell_bytes,
    new_page,
    take,
)


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
        elif facts[CELL_BYTES] > 0:
            _spread_evenly(tree, file, parent, at)
        else:
            _spread(tree, file, parent, at)
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
def _plan(tree: Tree, n: int, count: int, level: int) -> int:
    """How many pages so many cells of one size go to; `plans` says which cells those end before.

    That depends on nothing but their number, so it is worked out once for each.
    """
    plan = tree.plans[1 if level > 0 else 0, n]
    if plan[0] == 0:
        sizes, ends, filled = tree.dealt[0], tree.dealt[1, 8:16], tree.dealt[1, 16:24]
        size = cell_bytes(tree, 0, level)
        sizes[:] = size
        for i in range(count):
            ends[i] = n if i == count - 1 else i
            filled[i] = (n - count + 1) * size if i == count - 1 else 0
        plan[0] = _deal(tree, n, count, tree.facts[ROOM + (1 if level > 0 else 0)], False)
        plan[1:] = ends
    return int(plan[0])


@kernel
def _spread_evenly(tree: Tree, file: Ints, parent: int, at: int) -> None:
    """`_spread` in an index b-tree whose cells all have one size; without calls, which cost more than the rest."""
    facts, state, keys, children = tree.facts, tree.state, tree.keys, tree.children
    last = state[parent, CELLS]
    count = min(3, last + 1)
    first = 0 if count < 3 or at == 0 else min(at - 1, last - 2)
    level = state[parent, LEVEL] - 1
    base, links = state[parent, BASE] + first, state[parent, CHILDREN] + first
    pages, numbers = tree.dealt[1, :8], tree.dealt[1, 24:32]
    n = under = 0
    for i in range(count):
        page = children[links + i]
        cells = state[page, CELLS]
        move(keys, n, state[page, BASE], cells)
        n += cells
        if level > 0:
            move(children, under, state[page, CHILDREN], cells + 1)
            under += cells + 1
        pages[i], numbers[i] = page, state[page, NUMBER]
        if i < count - 1:
            keys[n] = keys[base + i]
            n += 1
    kind = 1 if level > 0 else 0
    number = int(tree.plans[kind, n, 0])
    if number == 0:
        number = _plan(tree, n, count, level)
    ends = tree.plans[kind, n, 1:]
    for i in range(count, number):
        numbers[i] = take(file, numbers[i - 1])
        pages[i] = new_page(tree, level, numbers[i])
    for i in range(number, count):
        file[2 + file[FREE_PAGES]] = numbers[i]
        file[FREE_PAGES] += 1
        state[pages[i], USED] = 0
        facts[LEAVES if level == 0 else BRANCHES] -= 1
    for i in range(1, number):
        item, place = numbers[i], i
        while place > 0 and numbers[place - 1] > item:
            numbers[place] = numbers[place - 1]
            place -= 1
        numbers[place] = item
    if number != count:
        behind = last - (first + count - 1)
        move(keys, base + number - 1, base + count - 1, behind)
        move(children, links + number, links + count, behind)
        state[parent, CELLS] += number - count
        state[parent, USED] += (number - count) * facts[CELL_BYTES + 1]
    begin = under = 0
    for i in range(number):
        page, end = pages[i], ends[i]
        move(keys, state[page, BASE], begin, end - begin)
        if level > 0:
            move(children, state[page, CHILDREN], under, end - begin + 1)
            under += end - begin + 1
        state[page, CELLS], state[page, USED] = end - begin, (end - begin) * facts[CELL_BYTES + kind]
        state[page, NUMBER] = numbers[i]
        children[links + i] = page
        if i < number - 1:
            keys[base + i] = keys[end]
        begin = end + 1


@kernel
def _spread(tree: Tree, file: Ints, parent: int, at: int) -> None:
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
        file[2 + file[FREE_PAGES]] = numbers[i]
        file[FREE_PAGES] += 1
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
