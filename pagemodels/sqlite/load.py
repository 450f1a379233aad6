"""The loops over the rows of a b-tree, and of the table beside it: insertions and deletions (btree.c,
sqlite3BtreeInsert and sqlite3BtreeDelete; docs/internals/sqlite.md §7)."""

from collections.abc import Callable

from keybench.compiled import inlined, int64, kernel
from keybench.pagemodels.ranking import Integers, Sizes
from keybench.pagemodels.sqlite import file_pages
from keybench.pagemodels.sqlite import tree as trees
from keybench.pagemodels.sqlite.balance import balance
from keybench.pagemodels.sqlite.bitmaps import ARRIVED, BORDERS, add, at_least, member_at, remove
from keybench.pagemodels.sqlite.file_pages import Ints
from keybench.pagemodels.sqlite.tree import Tree


@inlined
def _has_memory(tree: Tree, file: Ints) -> bool:
    """Whether there is memory for the pages that the balancings of one row may take and give back."""
    return bool(tree.facts[trees.PAGES] < tree.facts[trees.MOST_PAGES] and not file_pages.full(file))


@kernel
def load(tree: Tree, file: Ints, ranks: Integers, begin: int, end: int, splits: bool) -> int:
    """Inserts the rows from `begin` to before `end`. Returns the row to go on from: an earlier one if memory must grow
    first, and, if `splits` is false, one that makes a page overflow or has overflow pages of its own. `ranks`: of the
    keys of all rows, in order of arrival; empty if keys ascend in that order."""
    marks, leaves, facts, sizes = tree.marks, tree.leaves, tree.facts, tree.sizes
    ascends, sizes_vary, room, first = len(ranks) == 0, len(sizes) > 1, facts[trees.ROOM], facts[trees.WORDS]
    has_overflow, lists_touches = len(tree.overflow) > 0, len(tree.touches) > 0
    usual = trees.POINTER + max(trees.SMALLEST_CELL, int64(sizes[0]))
    largest = facts[trees.LARGEST]
    key_before = leaf = slot = int64(-1)
    for row in range(begin, end):
        # the row's leaf, and its bytes with the row
        key = row if ascends else ranks[row]
        if not key_before < key < leaf:  # else it goes into the same leaf as the row before: keys often ascend
            leaf = at_least(marks, first, BORDERS, key)
            slot = leaf >> facts[trees.SHIFT]
        key_before = key
        size = trees.POINTER + max(trees.SMALLEST_CELL, int64(sizes[key])) if sizes_vary else usual
        used = leaves[slot, trees.USED] + size
        # stops before a row that needs pages, if it may take none or there is no memory for them; and where there is no
        # memory for the list of pages that it touches
        if (
            (used > room and not (splits and _has_memory(tree, file)))
            or (has_overflow and not splits and trees.overflow_of(tree, key) > 0)
            or (lists_touches and not trees.has_room_for_touches(tree, key))
        ):
            facts[trees.LARGEST] = largest
            return row
        # the row
        if lists_touches:
            facts[trees.ROW] = row
            trees.touch_path(tree, slot)
        if has_overflow:
            trees.take_overflow(tree, file, key)
        add(marks, first, ARRIVED, key)
        leaves[slot, trees.USED] = used
        leaves[slot, trees.CELLS] += 1
        if used > room:
            facts[trees.ABOVE], facts[trees.KEY] = key > largest, key
            balance(tree, file, leaf, int64(0))
            leaf = int64(-1)  # the next row's leaf is looked up
        largest = max(largest, key)
    facts[trees.LARGEST] = largest
    return end


@kernel
def load_beside(
    table: Tree, index: Tree, file: Ints, rows: Integers, ranks: Integers, index_row: int, end: int, table_row: int
) -> tuple[int, int]:
    """As `load`, for an index beside a table. A row goes into the index first. `rows`: the ranks of rows in the table,
    in order of arrival; empty if they arrive in its order. `index_row`, `table_row`: the next rows of index and table.
    Returns (the row of the index to go on from, that of the table)."""
    while index_row < end or table_row < end:
        # The table takes rows ahead of the index up to the next one that takes a page: the index notices nothing of it.
        table_row = load(table, file, rows, table_row, end, False)
        # The index takes these rows, and the one for which the table needs a page. Then it is the table's turn.
        until = min(table_row + 1, end)
        if index_row < until:
            index_row = load(index, file, ranks, index_row, until, True)
        if index_row < until or not _has_memory(table, file):
            return index_row, table_row  # memory must grow first
        if table_row < end:
            reached = load(table, file, rows, table_row, table_row + 1, True)
            if reached == table_row:
                return index_row, table_row
            table_row = reached
    return end, table_row


def load_all(
    tree: Tree,
    table: Tree | None,
    file: Ints,
    ranks: Integers,
    rows: Integers,
    begin: int,
    end: int,
    grow: Callable[[], None],
) -> None:
    """Inserts the rows from `begin` to before `end` into a key's b-tree, and into the table beside it if there is one.
    `ranks`: of all keys, in order of arrival. `rows`: ranks of the rows in the table; empty if they arrive in its
    order. `grow`: makes memory for more pages, and is called whenever there is too little."""
    table_row = begin
    while True:
        if table is not None:
            begin, table_row = load_beside(table, tree, file, rows, ranks, begin, end, table_row)
        else:
            begin = table_row = load(tree, file, ranks, begin, end, True)
        if begin == table_row == end:
            return
        grow()


@kernel
def erase(tree: Tree, file: Ints, ranks: Integers, begin: int, end: int) -> int:
    """Deletes rows that are there: ranks[begin:end], until memory must grow. Returns the place to go on from."""
    tree.facts[trees.KEY] = -1  # no key is inserted
    for row in range(begin, end):
        if not _has_memory(tree, file):
            return row
        _erase_row(tree, file, ranks[row])
    return end


@kernel
def erase_beside(table: Tree, index: Tree, file: Ints, rows: Integers, ranks: Integers, begin: int, end: int) -> int:
    """As `erase`, for an index beside a table. Each row goes from the table first (delete.c, sqlite3GenerateRowDelete).
    `rows`: the rank in the table of each row in `ranks`."""
    table.facts[trees.KEY] = index.facts[trees.KEY] = -1  # no key is inserted
    for row in range(begin, end):
        if not (_has_memory(table, file) and _has_memory(index, file)):
            return row
        _erase_row(table, file, rows[row])
        _erase_row(index, file, ranks[row])
    return end


@inlined
def _erase_row(tree: Tree, file: Ints, key: int) -> None:
    """Deletes a row. Its leaf is balanced if more than two thirds of the page are free then (sqlite3BtreeDelete)."""
    marks, leaves, facts = tree.marks, tree.leaves, tree.facts
    leaf = at_least(marks, facts[trees.WORDS], BORDERS, key)
    if leaf == key and not facts[trees.ROWS_IN_LEAVES]:  # a leaf is named by its upper bound: the row is a divider
        _erase_divider(tree, file, key)
        return
    remove(marks, facts[trees.WORDS], ARRIVED, key)
    slot = leaf >> facts[trees.SHIFT]
    used = leaves[slot, trees.USED] - trees.cell_bytes(tree, key, 0)
    leaves[slot, trees.USED] = used
    leaves[slot, trees.CELLS] -= 1
    if used <= facts[trees.ROOM] - 2 * facts[trees.PAGE_BYTES] // 3 and leaves[slot, trees.PARENT] >= 0:
        _balance(tree, file, leaf, 0)


@kernel
def _erase_divider(tree: Tree, file: Ints, key: int) -> None:
    """Deletes a row that is a divider. The row before it, the last of the leaf on its left, takes its place. That leaf
    is balanced first, and if this does not reach the divider's page, so is that page."""
    marks, leaves, branches, facts = tree.marks, tree.leaves, tree.branches, tree.facts
    # The leaf gets another upper bound, the row before, and so another slot.
    before = member_at(marks, facts[trees.WORDS], ARRIVED, key, -1)
    remove(marks, facts[trees.WORDS], ARRIVED, key)
    remove(marks, facts[trees.WORDS], BORDERS, key)
    add(marks, facts[trees.WORDS], BORDERS, before)
    old, slot = key >> facts[trees.SHIFT], before >> facts[trees.SHIFT]
    leaves[slot, trees.USED] = leaves[old, trees.USED] - trees.cell_bytes(tree, before, 0)
    leaves[slot, trees.CELLS] = leaves[old, trees.CELLS] - 1
    leaves[slot, trees.NUMBER], leaves[slot, trees.PARENT] = leaves[old, trees.NUMBER], leaves[old, trees.PARENT]
    # Its parent names it by the new bound; the pages above of which it is the last leaf get that bound too. The first
    # page with another one has the divider.
    page, level = int64(leaves[slot, trees.PARENT]), 1
    place = trees.children_of(tree, page)
    while tree.children[place] != key:
        place += 1
    tree.children[place] = before
    while branches[page, trees.UPPER] == key:
        branches[page, trees.UPPER] = before
        page = int64(branches[page, trees.PARENT])
        level += 1
    branches[page, trees.USED] += trees.cell_bytes(tree, before, 1) - trees.cell_bytes(tree, key, 1)
    if _balance(tree, file, before, 0) < level:
        _balance(tree, file, page, level)


@kernel
def resize(tree: Tree, file: Ints, ranks: Integers, sizes: Sizes, begin: int, end: int) -> int:
    """Gives rows that are there cells of other sizes, without their pointers: ranks[begin] to before ranks[end], or
    until memory must grow. Returns the place in `ranks` to go on from. A cell stays where it is among the others. Its
    page is balanced if it overflows, and not if it becomes sparse (sqlite3BtreeInsert)."""
    marks, branches, facts = tree.marks, tree.branches, tree.facts
    facts[trees.ABOVE] = 0
    for i in range(begin, end):
        if not _has_memory(tree, file):
            return i
        key, level = ranks[i], 0
        page = at_least(marks, facts[trees.WORDS], BORDERS, key)
        if page == key and not facts[trees.ROWS_IN_LEAVES]:  # a divider, of the first page with another upper bound
            page, level = int64(tree.leaves[key >> facts[trees.SHIFT], trees.PARENT]), 1
            while branches[page, trees.UPPER] == key:
                page = int64(branches[page, trees.PARENT])
                level += 1
        pages, at = tree.leaves if level == 0 else branches, page >> trees.shift_of(tree, level)
        before = trees.cell_bytes(tree, key, level)
        tree.sizes[key] = sizes[i]
        pages[at, trees.USED] += trees.cell_bytes(tree, key, level) - before
        if pages[at, trees.USED] > facts[trees.ROOM + min(level, 1)]:
            facts[trees.KEY] = key
            _balance(tree, file, page, level)
    return end


@kernel
def _balance(tree: Tree, file: Ints, page: int, level: int) -> int:
    """Does what `balance` does, which becomes part of each caller: deletions, with several, share this function."""
    return balance(tree, file, int64(page), int64(level))
