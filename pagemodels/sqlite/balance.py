"""A b-tree of SQLite whose page has too many cells or too few: it is balanced with up to two siblings (btree.c,
balance and balance_nonroot; docs/internals/sqlite.md §2).

Their cells are distributed anew. First each page from the left takes as many as fit; then cells go back to the right
while the right page stays no larger than the left. While sorted keys are built in, only as many go back as keep the
right page from being empty. In index b-trees the dividers between the siblings are rows and are distributed too
(`ahead` is 1): the cell behind a page's end becomes its divider. In leaves of rowid tables (`ahead` is 0) the divider
repeats the page's last key.

A balancing turns `count` siblings into `number` pages. `Tree.pool` has a column for each of them: first it says what
the siblings had, then what the pages get.

Old page numbers are used again, new ones come from the list of free pages or the end of the file, and all are put in
ascending order.
"""

from keybench.compiled import inlined, int64, kernel
from keybench.pagemodels.costs import lru
from keybench.pagemodels.memory import move
from keybench.pagemodels.sqlite import file_pages
from keybench.pagemodels.sqlite import tree as trees
from keybench.pagemodels.sqlite.bitmaps import ARRIVED, BORDERS, add, holds, list_members, member_at, remove
from keybench.pagemodels.sqlite.file_pages import Ints
from keybench.pagemodels.sqlite.tree import Tree


@kernel
def _distribute(sizes: Ints, pool: Ints, n: int, count: int, room: int, ahead: int, bulk: int) -> int:
    """Distributes n cells over pages with `room` bytes each. Returns the number of pages. `sizes`: bytes of each cell.
    `count`: siblings before; END and FILLED of `pool` say what each had, and then what each page gets. `ahead`: 1 if
    the cell behind a page's end becomes its divider, else 0. `bulk`: 1 while sorted keys are built in, else 0."""
    ends, filled = pool[trees.END], pool[trees.FILLED]
    sizes[n] = 0  # there is no cell behind the last one
    i, pages = 0, count
    while True:
        # Page i passes its last cells on until it fits. With `ahead`, such a cell becomes the divider, and what was the
        # divider goes to the next page.
        while filled[i] > room:
            if i + 1 >= pages:
                pages = i + 2  # there is a new last page
                filled[pages - 1], ends[pages - 1] = 0, n
            ends[i] -= 1
            filled[i] -= sizes[ends[i]]
            filled[i + 1] += sizes[ends[i] + ahead]
        # Or it takes cells from the next page as long as they fit.
        while ends[i] < n and filled[i] + sizes[ends[i]] <= room:
            filled[i] += sizes[ends[i]]
            filled[i + 1] -= sizes[ends[i] + ahead]
            ends[i] += 1
        if ends[i] >= n:
            break
        i += 1
    pages = i + 1
    # Cells go back to the right, from the last pair of pages to the first.
    for i in range(pages - 1, 0, -1):
        right, left, last = filled[i], filled[i - 1], ends[i - 1] - 1  # `last`: the left page's last cell
        pointer = trees.POINTER if i == pages - 1 else 0  # balance_nonroot leaves it out in the last pair
        while last >= 0:  # an empty right page takes a cell in any case
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
    """Writes to `Tree.plans` over how many pages n cells of `size` bytes are distributed, and the cell before which
    each page ends. `kind`: 0 for leaves, 1 for branch pages. `count`, `ahead`: as of `_distribute`."""
    plan, pool = tree.plans[kind, n], tree.pool
    for i in range(n):
        tree.pooled_sizes[i] = size
    # The result does not depend on where the siblings ended: so all cells may be on the last one, and the others empty,
    # each with its divider behind it.
    for i in range(count - 1):
        pool[trees.END, i] = i * ahead
        pool[trees.FILLED, i] = 0
    pool[trees.END, count - 1] = n
    pool[trees.FILLED, count - 1] = (n - (count - 1) * ahead) * size
    number = _distribute(
        tree.pooled_sizes, pool, n, count, tree.facts[trees.ROOM + kind], ahead, tree.facts[trees.BULK]
    )
    plan[0] = number
    for i in range(number):
        plan[1 + i] = pool[trees.END, i]


@inlined
def divide_alike(tree: Tree, n: int, count: int, level: int, ahead: int) -> int:
    """Distributes the n cells of `count` siblings of a level, all of one size. Returns the number of pages; END, FILLED
    and (of leaves) BORDER of `pool` say what each gets. `ahead`: 1 if the cell behind a page's end becomes its divider,
    else 0. The plan is made once for each n: cells are alike, so that their keys do not matter."""
    pool, kind = tree.pool, min(level, 1)
    size = tree.facts[trees.USUAL if level == 0 else trees.CELL_BYTES + 1]  # + 1: of cells of branch pages
    plan = tree.plans[kind, n]  # the number of pages (0: not planned yet), then where each ends
    if plan[0] == 0:
        _plan(tree, n, count, kind, size, ahead)
    number, begin = int64(plan[0]), int64(0)
    for i in range(number):
        end = int64(plan[1 + i])
        pool[trees.END, i], pool[trees.FILLED, i] = end, (end - begin) * size
        begin = end + ahead
        if level == 0 and i < number - 1:  # the last page keeps the border of the last sibling
            pool[trees.BORDER, i] = _border_after(tree, end, count, ahead)
    return number


@inlined
def _border_after(tree: Tree, end: int, count: int, ahead: int) -> int:
    """The border of a leaf that ends before the cell `end` of those of `count` siblings. It is found by steps, row by
    row, from the siblings' old border that is nearest. `ahead`: 1 if that cell is the divider, else 0."""
    pool, marks, words = tree.pool, tree.marks, tree.facts[trees.WORDS]
    nearest = 0
    for i in range(1, count):
        if abs(end - pool[trees.OLD_END, i]) < abs(end - pool[trees.OLD_END, nearest]):
            nearest = i
    border, steps = pool[trees.CHILD, nearest], end - pool[trees.OLD_END, nearest]
    if ahead == 0 and steps <= 0 and not holds(marks, words, ARRIVED, border):
        steps -= 1  # the old border is no row, but lies behind the last one of its leaf
    return int64(member_at(marks, words, ARRIVED, border, steps) if steps != 0 else border)


@kernel
def divide_by_size(tree: Tree, n: int, count: int, level: int, ahead: int) -> int:
    """As `divide_alike`, for cells of any sizes. The children of branch pages lie in front of `Tree.children`."""
    pool, sizes, keys = tree.pool, tree.pooled_sizes, tree.pooled_keys
    if level == 0:  # up to the last sibling's upper bound, or to before it, if that is a divider behind all cells
        list_members(tree.marks, tree.facts[trees.WORDS], ARRIVED, pool[trees.CHILD, count - 1] - ahead, n, keys)
    for i in range(n):
        if level > 0:
            keys[i] = trees.upper_of(tree, tree.children[i], level - 1)
        sizes[i] = trees.cell_bytes(tree, keys[i], level)
    for i in range(count):
        pool[trees.END, i] = pool[trees.OLD_END, i]
    number = _distribute(sizes, pool, n, count, tree.facts[trees.ROOM + min(level, 1)], ahead, tree.facts[trees.BULK])
    if level == 0:
        for i in range(number - 1):  # a leaf's border is its divider, or without such cells its last key
            pool[trees.BORDER, i] = keys[pool[trees.END, i] - 1 + ahead]
    return number


@inlined
def balance(tree: Tree, file: Ints, page: int, level: int) -> int:
    """Balances a page of a level if it overflows or more than two thirds of it are free, and then the pages above it as
    far as they need it. Returns the level of the first page that stays as it is."""
    facts, first_page = tree.facts, page
    while True:
        pages, at = tree.leaves if level == 0 else tree.branches, page >> trees.shift_of(tree, level)
        room, used = facts[trees.ROOM + min(level, 1)], pages[at, trees.USED]
        # It does not overflow, and at most two thirds of it are free, or it is the root, which may be emptier.
        if used <= room and (3 * (room - used) <= 2 * facts[trees.PAGE_BYTES] or pages[at, trees.PARENT] < 0):
            return level
        if pages[at, trees.PARENT] < 0:
            _deepen(tree, file, page, level)
        parent = int64(pages[at, trees.PARENT])
        leaves_before, free_before = facts[trees.LEAVES], file[file_pages.FREE]
        if level == 0 and facts[trees.ROWS_IN_LEAVES] and _is_at_the_end(tree, parent, page):
            _append(tree, file, parent, page)
        else:
            _spread(tree, file, parent, page, level)
        if level == 0 and facts[trees.KEY] >= 0:  # a key is inserted
            kind = trees.INTERIORS
            if facts[trees.ABOVE]:
                kind = trees.APPENDS
            elif first_page == facts[trees.LAST]:
                kind = trees.EDGES
            facts[kind] += facts[trees.LEAVES] - leaves_before
        # A root with a single child goes.
        if tree.branches[parent, trees.PARENT] < 0 and tree.branches[parent, trees.CELLS] == 0:
            _lift(tree, file, parent, level, free_before)
            return level + 1
        page = parent
        level += 1


@kernel
def _deepen(tree: Tree, file: Ints, page: int, level: int) -> None:
    """Makes the b-tree one level deeper: SQLite moves the root's cells to a new page below it. Here the old page takes
    the new number, and a new page takes the root's. `page`, `level`: the root's."""
    pages, branches = tree.leaves if level == 0 else tree.branches, tree.branches
    at = page >> trees.shift_of(tree, level)
    number = int64(pages[at, trees.NUMBER])
    pages[at, trees.NUMBER] = file_pages.take(file, number)
    root = trees.new_branch(tree, number)
    pages[at, trees.PARENT] = root
    branches[root, trees.PARENT], branches[root, trees.UPPER] = -1, tree.facts[trees.LAST]
    tree.children[trees.children_of(tree, root)] = page
    trees.touch(tree, number, lru.BRANCH, lru.CHANGED)
    trees.touch_new(tree, pages[at, trees.NUMBER], trees.kind_of(level))


@kernel
def _lift(tree: Tree, file: Ints, root: int, level: int, free_before: int) -> None:
    """Removes a root with one child: the child, a page of this level, becomes the root and takes the root's number. Its
    old number goes to the free list as if before this balancing, when `free_before` pages were free."""
    # SQLite copies the child's cells into the root and gives the child back, which ends alike.
    child = int64(tree.children[trees.children_of(tree, root)])
    pages, at = tree.leaves if level == 0 else tree.branches, child >> trees.shift_of(tree, level)
    file_pages.give_back(file, int64(pages[at, trees.NUMBER]), free_before)
    pages[at, trees.NUMBER], pages[at, trees.PARENT] = tree.branches[root, trees.NUMBER], -1
    trees.drop_branch(tree, root)


@kernel
def _is_at_the_end(tree: Tree, parent: int, leaf: int) -> bool:
    """Whether a new key, and no deleted one, is the last of its leaf, and the leaf the last child of its parent."""
    key, marks, words = tree.facts[trees.KEY], tree.marks, tree.facts[trees.WORDS]
    if key < 0 or tree.branches[parent, trees.UPPER] != leaf:
        return False
    if holds(marks, words, ARRIVED, leaf):  # a leaf is named by its upper bound: is there a row with that rank?
        return bool(key == leaf)
    return bool(member_at(marks, words, ARRIVED, leaf, -1) == key)


@kernel
def _append(tree: Tree, file: Ints, parent: int, leaf: int) -> None:
    """Moves a rowid table's newest row, the last of its leaf, alone to a new leaf (balance_quick). The new leaf gets
    the leaf's upper bound, and with it the slot; the old one now ends with the row before the newest."""
    facts, leaves, branches, marks = tree.facts, tree.leaves, tree.branches, tree.marks
    newest = facts[trees.KEY]
    old_upper = member_at(marks, facts[trees.WORDS], ARRIVED, newest, -1)  # the row before the newest
    size = trees.cell_bytes(tree, newest, 0)
    add(marks, facts[trees.WORDS], BORDERS, old_upper)
    # Until here the slot `new` has the old leaf's facts: they go to the slot of that leaf's new upper bound first.
    old, new = old_upper >> facts[trees.SHIFT], leaf >> facts[trees.SHIFT]
    leaves[old, trees.USED] = leaves[new, trees.USED] - size
    leaves[old, trees.CELLS] = leaves[new, trees.CELLS] - 1
    leaves[old, trees.NUMBER] = leaves[new, trees.NUMBER]
    leaves[old, trees.PARENT] = parent
    leaves[new, trees.USED] = size
    leaves[new, trees.CELLS] = 1
    leaves[new, trees.NUMBER] = file_pages.take(file, 0)
    facts[trees.LEAVES] += 1
    place = trees.children_of(tree, parent) + branches[parent, trees.CELLS]
    tree.children[place], tree.children[place + 1] = old_upper, leaf
    branches[parent, trees.CELLS] += 1
    branches[parent, trees.USED] += trees.cell_bytes(tree, old_upper, 1)
    trees.touch(tree, branches[parent, trees.NUMBER], lru.BRANCH, lru.CHANGED)
    trees.touch_new(tree, leaves[new, trees.NUMBER], lru.LEAF)


@inlined
def _choose_siblings(tree: Tree, parent: int, page: int) -> tuple[int, int]:
    """Which children of a parent are balanced with its child `page`: one on each side, or two at an end; in a sorted
    build only one before it. Returns (the place of the first of them among the children, their number)."""
    links, last, at = trees.children_of(tree, parent), int64(tree.branches[parent, trees.CELLS]), int64(0)
    siblings = tree.children[links : links + last + 1]
    for i in range(len(siblings)):  # the page's place; without an `if`, so that many are compared at a time
        at += i * (siblings[i] == page)
    most = 3 - tree.facts[trees.BULK]
    count = min(most, last + 1)  # they begin with the page before, or further left if too few follow
    return int64(0 if count < most or at == 0 else min(at - 1, last + 1 - most)), int64(count)


@inlined
def _spread(tree: Tree, file: Ints, parent: int, page: int, level: int) -> None:
    """Balances a child, a page of this level, with its siblings."""
    facts, branches, children, pool = tree.facts, tree.branches, tree.children, tree.pool
    # Which siblings: `count` of them, whose names in `children` begin at `links`; `behind` more follow them.
    first, count = _choose_siblings(tree, parent, page)
    links, behind = trees.children_of(tree, parent) + first, int64(branches[parent, trees.CELLS]) + 1 - first - count
    # Their n cells to the pool. `even`: whether all cells of the b-tree have one size; `alike`: those of these leaves.
    even, ahead = facts[trees.CELL_BYTES] > 0, int64(0 if level == 0 and facts[trees.ROWS_IN_LEAVES] else 1)
    n, alike = _pool_siblings(tree, parent, links, count, level, ahead)
    # What each page gets, and its number.
    if even or alike:
        number = divide_alike(tree, n, count, level, ahead)
    else:
        number = divide_by_size(tree, n, count, level, ahead)
    trees.touch(tree, branches[parent, trees.NUMBER], lru.BRANCH, lru.CHANGED)
    for i in range(count):
        trees.touch(tree, pool[trees.TAKEN, i], trees.kind_of(level), lru.CHANGED)
    _renumber(tree, file, count, number, level)
    # Parent and pages are written: the names behind move, and in the end the bytes of the new dividers count.
    if number != count:
        move(children, links + number, links + count, behind)
        branches[parent, trees.CELLS] += number - count
    if level == 0:
        _put_leaves(tree, parent, links, count, number, ahead)
    else:
        _put_branches(tree, parent, links, count, number, level)
    if even:
        branches[parent, trees.USED] += (number - count) * facts[trees.CELL_BYTES + 1]
    else:
        for i in range(number - 1):
            branches[parent, trees.USED] += trees.cell_bytes(tree, pool[trees.BORDER, i], level + 1)


@inlined
def _pool_siblings(tree: Tree, parent: int, links: int, count: int, level: int, ahead: int) -> tuple[int, bool]:
    """Writes to `pool` what the `count` siblings have whose names are in `Tree.children` from place `links` on. Writes
    their own children, if they are branch pages, to the front of `Tree.children`. Takes the bytes of the dividers
    between the siblings from the parent, unless all cells have one size. Returns (the number of cells, whether they are
    of leaves and all have the usual size). `ahead`: 1 if the dividers between the siblings are cells too, else 0."""
    facts, branches, children, pool = tree.facts, tree.branches, tree.children, tree.pool
    pages, even = tree.leaves if level == 0 else branches, facts[trees.CELL_BYTES] > 0
    alike, n, under = level == 0, int64(0), int64(0)  # `under`: children moved so far
    for i in range(count):
        child = int64(children[links + i])
        place = child >> trees.shift_of(tree, level)
        if level > 0:
            move(children, under, trees.children_of(tree, child), pages[place, trees.CELLS] + 1)
            under += pages[place, trees.CELLS] + 1
        alike &= pages[place, trees.USED] == pages[place, trees.CELLS] * facts[trees.USUAL]
        n += pages[place, trees.CELLS]
        pool[trees.CHILD, i], pool[trees.OLD_END, i] = child, n
        pool[trees.FILLED, i], pool[trees.TAKEN, i] = pages[place, trees.USED], pages[place, trees.NUMBER]
        if i < count - 1:
            n += ahead
            if not even:
                upper = trees.upper_of(tree, child, level)
                branches[parent, trees.USED] -= trees.cell_bytes(tree, upper, level + 1)
                alike &= ahead == 0 or trees.cell_bytes(tree, upper, 0) == facts[trees.USUAL]
    return n, alike


@inlined
def _renumber(tree: Tree, file: Ints, count: int, number: int, level: int) -> None:
    """Takes more page numbers for `number` pages of a level that were `count`, or gives some back. The first one is
    near the first sibling's, each other one near the one before. TAKEN of `pool` then has all, in ascending order."""
    pool = tree.pool
    for i in range(count, number):
        pool[trees.TAKEN, i] = file_pages.take(file, pool[trees.TAKEN, 0 if i == count else i - 1])
        trees.touch_new(tree, pool[trees.TAKEN, i], trees.kind_of(level))
    for i in range(number, count):
        file_pages.give_back(file, pool[trees.TAKEN, i], file[file_pages.FREE])
    for i in range(1, number):
        page_number, place = pool[trees.TAKEN, i], i
        while place > 0 and pool[trees.TAKEN, place - 1] > page_number:
            pool[trees.TAKEN, place] = pool[trees.TAKEN, place - 1]
            place -= 1
        pool[trees.TAKEN, place] = page_number


@inlined
def _put_leaves(tree: Tree, parent: int, links: int, count: int, number: int, ahead: int) -> None:
    """Writes the `number` leaves of `pool` in place of `count`; their names go to `Tree.children` from `links` on."""
    facts, leaves, marks, pool = tree.facts, tree.leaves, tree.marks, tree.pool
    both = min(count, number) - 1  # borders with these places were there before and are now
    pool[trees.BORDER, number - 1] = pool[trees.CHILD, count - 1]
    for i in range(count - 1):
        if i >= both or pool[trees.BORDER, i] != pool[trees.CHILD, i]:
            remove(marks, facts[trees.WORDS], BORDERS, pool[trees.CHILD, i])
    for i in range(number - 1):
        if i >= both or pool[trees.BORDER, i] != pool[trees.CHILD, i]:
            add(marks, facts[trees.WORDS], BORDERS, pool[trees.BORDER, i])
    begin = 0
    for i in range(number):
        slot, end = pool[trees.BORDER, i] >> facts[trees.SHIFT], pool[trees.END, i]
        leaves[slot, trees.USED] = pool[trees.FILLED, i]
        leaves[slot, trees.CELLS] = end - begin
        leaves[slot, trees.NUMBER] = pool[trees.TAKEN, i]
        leaves[slot, trees.PARENT] = parent
        tree.children[links + i] = pool[trees.BORDER, i]
        begin = end + ahead
    facts[trees.LEAVES] += number - count


@kernel
def _put_branches(tree: Tree, parent: int, links: int, count: int, number: int, level: int) -> None:
    """As `_put_leaves`, for branch pages of a level. Their children lie in front of `Tree.children`."""
    branches, children, pool = tree.branches, tree.children, tree.pool
    below = tree.leaves if level == 1 else branches
    for i in range(count, number):
        pool[trees.CHILD, i] = trees.new_branch(tree, pool[trees.TAKEN, i])
    for i in range(number, count):
        trees.drop_branch(tree, pool[trees.CHILD, i])
    begin = 0
    for i in range(number):
        page, end = pool[trees.CHILD, i], pool[trees.END, i]
        move(children, trees.children_of(tree, page), begin, end + 1 - begin)
        for j in range(begin, end + 1):
            below[children[j] >> trees.shift_of(tree, level - 1), trees.PARENT] = page
        pool[trees.BORDER, i] = trees.upper_of(tree, children[end], level - 1)
        branches[page, trees.USED] = pool[trees.FILLED, i]
        branches[page, trees.CELLS] = end - begin
        branches[page, trees.NUMBER] = pool[trees.TAKEN, i]
        branches[page, trees.PARENT] = parent
        branches[page, trees.UPPER] = pool[trees.BORDER, i]
        children[links + i] = page
        begin = end + 1
