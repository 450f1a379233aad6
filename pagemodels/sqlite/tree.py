"""A b-tree of SQLite in memory: its pages, and what is known of each (docs/internals/sqlite.md §1).

A page's upper bound is the divider on its right, or a number above all ranks where there is none. A leaf's keys are the
ranks that arrived between two bounds, which two bitmaps record (`bitmaps.py`). So no key is moved when leaves are
balanced, no tree is descended to find a row's leaf, and a row costs the same few memory accesses at any size.

The other facts about a leaf lie in a slot that its upper bound names. Every leaf but the rightmost has a minimum of
cells (`_fewest_cells`), so that several successive ranks can share a slot.

For the cost of a load, the pages that rows touch are listed as `costs.lru` wants them (`touch`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from keybench.compiled import inlined, int64, kernel
from keybench.pagemodels.costs import lru
from keybench.pagemodels.ranking import Integers, Sizes
from keybench.pagemodels.sqlite import bitmaps
from keybench.pagemodels.sqlite.bitmaps import BORDERS, Marks, add
from keybench.pagemodels.sqlite.file_pages import Ints, take

POINTER, SMALLEST_CELL = 2, 4
"""Bytes of a cell's pointer; bytes that a cell of a leaf has at least."""
_CHILD = 4  # bytes of a child's number in a cell of a branch page
_LEAF_HEADER, _BRANCH_HEADER = 8, 12

USED, CELLS, NUMBER, PARENT = range(4)
"""Fields of a page. USED: bytes of its cells and their pointers. CELLS: its cells. NUMBER: its number in the file.
PARENT: the branch page above it (−1 for the root)."""
UPPER = 4
"""Field of a branch page: its upper bound."""

PAGES, MOST_PAGES, LEAVES, BRANCHES, PLACES = range(5)
"""Fields of `facts`. PAGES: branch pages ever taken. MOST_PAGES: the number of them at which memory grows. LEAVES:
leaves. BRANCHES: branch pages. PLACES: children for which a page has room in memory."""
ROOM, ROWS_IN_LEAVES, PAGE_BYTES, LAST, SHIFT, WORDS = 5, 7, 8, 9, 10, 11
"""More of them. ROOM: bytes for cells in a leaf; ROOM + 1: in a branch page. ROWS_IN_LEAVES: whether all rows are in
leaves (rowid tables). PAGE_BYTES: bytes of a page. LAST: the upper bound of the rightmost pages. SHIFT: log2 of the
divisor that turns upper bounds into slots. WORDS: the first word of ranks in the bitmaps."""
LARGEST, ABOVE, APPENDS, EDGES, INTERIORS, CELL_BYTES, USUAL = 12, 13, 14, 15, 16, 17, 19
"""More of them. LARGEST: the largest key. ABOVE: whether the new key is above all before. APPENDS, EDGES, INTERIORS:
new leaves by kind of split. CELL_BYTES: bytes of each cell with its pointer in leaves, CELL_BYTES + 1: in branch pages,
if all have one size in an index b-tree, else 0. USUAL: the largest cell of a leaf, which is the usual size for integers
and row numbers."""
KEY, BULK, RECYCLED, TOUCHES, ROW = range(20, 25)
"""The last ones. KEY: the key that is being inserted, −1 while one is deleted. BULK: whether sorted keys are built into
an index b-tree. RECYCLED: a branch page that is no longer used, plus one, whose NUMBER is the next one of these (0:
there is none). TOUCHES: touches that are listed. ROW: the row that is being inserted, if they are listed."""
_FACTS = 25

CHILD, OLD_END, END, FILLED, TAKEN, BORDER = range(6)
"""Fields of one of the siblings in a balancing (`Tree.pool`). CHILD: the page. OLD_END, END: the cell before which it
ended, and ends now. FILLED: bytes of its cells. TAKEN: its number in the file. BORDER: its upper bound."""

_MARGIN = 128  # maximum branch pages that one row takes: four for each level, and levels are few
_FILL = 0.85
"""Expected used share of a page, from which `new` computes the first memory. If it is less, memory grows later."""
_GROWTH = 1.25  # factor by which memory grows
_LARGEST_SIZE = 65_535  # maximum bytes of a cell
_NARROW = 1 << 31  # numbers below this one are 32-bit integers
_MOST_SHIFT = 4  # maximum of SHIFT: at most 16 successive ranks share a slot
_SPARE = 12  # children beyond those that fit a page for which it has room in memory: they make it overflow


NO_OVERFLOW = np.empty(0, np.uint16)
"""`Tree.overflow` where no record has overflow pages."""
NO_TOUCHES = np.empty((0, lru.COLUMNS), np.int32)
"""`Tree.touches` where nobody asks for them."""
_FIRST_PAGE = 1  # the file's first page: it says how many pages the file has, so that each new page changes it
_ROW_TOUCHES = 256
"""More pages than a row touches, without its overflow pages: 20 levels, and 10 for each where cells are spread."""


class Tree(NamedTuple):
    """The state of one b-tree. Its integers are int32, or int64 if there are too many rows for that."""

    marks: Marks
    """The ranks that arrived, and those that are upper bounds of leaves."""
    leaves: Ints
    """(slots, 4): leaves, by the names above."""
    branches: Ints
    """(pages, 5): branch pages, by the names above."""
    children: Ints
    """The children of each branch page, one more than its cells: upper bounds of leaves, or branch pages. In front lie
    those of pages that are being balanced."""
    facts: Ints
    """int64: by the names above."""
    sizes: Ints
    """uint16: bytes of the cell of each rank in a leaf, without its pointer; (1,) if all are the same."""
    dividers: Ints
    """uint16: bytes of the cell of each rank in a branch page; (0,) if that is the leaf's and four bytes."""
    overflow: Ints
    """uint16: overflow pages of each rank; (1,) if all have the same, (0,) if none has any."""
    pool: Ints
    """int64 (6, 8): the siblings of a balancing, by the names above."""
    pooled_keys: Ints
    """int64: the keys of the cells of a balancing."""
    pooled_sizes: Ints
    """int64: the bytes of those cells."""
    plans: Ints
    """int32 (2, …, 9): by kind of page and number of cells of the usual size, how they are distributed: over how many
    pages (0: not known yet), and the cell before which each page ends."""
    touches: Ints
    """int32 (touches, 4): the pages that rows touch, by the names of `costs.lru`; (0, 4) if nobody asks."""


def new(
    ranks: Integers,
    sizes: Sizes,
    dividers: Sizes | None,
    page_bytes: int,
    overflow: Sizes = NO_OVERFLOW,
    *,
    keys: int = 0,
) -> Tree:
    """A b-tree without pages (`make_root` gives it the first), but with room for those that its rows usually need;
    `grow` makes room for more.

    `ranks`: of all keys, in order of arrival; empty if keys ascend in that order. `sizes`: bytes of each key's cell in
    a leaf, in order of arrival, or one for all. `dividers`: the same for cells of branch pages, for rowid tables only.
    `overflow`: overflow pages, likewise; empty if there are none. `keys`: how many keys ever come to a b-tree that keys
    are also deleted from, where sizes are given by rank; else 0.
    """
    rows = keys or max(len(ranks), len(sizes))
    # Children and cells for which pages and a balancing need memory: as many as there are with the smallest cells.
    least = int(sizes.min(initial=_LARGEST_SIZE))
    smallest_divider = least + _CHILD if dividers is None else int(dividers.min(initial=_LARGEST_SIZE))
    smallest = POINTER + max(SMALLEST_CELL, least), POINTER + smallest_divider  # in a leaf, in a branch page
    rooms = page_bytes - _LEAF_HEADER, page_bytes - _BRANCH_HEADER
    places = [room // size + _SPARE for room, size in zip(rooms, smallest, strict=True)]
    pool_cells = 4 * max(places) + 64  # a balancing has the cells of three pages, and makes one page more
    # Branch pages for which there is memory at first.
    mean = POINTER + max(float(SMALLEST_CELL), float(sizes.mean()) if rows else 0.0)
    leaves = rows * mean / (rooms[0] * _FILL)
    branches = int(leaves * (mean + 2 * _CHILD) / (rooms[1] * _FILL)) + 2 * _MARGIN  # one _CHILD to be on the safe side
    facts = np.zeros(_FACTS, np.int64)
    if len(sizes) == 1 and dividers is None:
        facts[CELL_BYTES : CELL_BYTES + 2] = smallest
    facts[USUAL] = POINTER + max(SMALLEST_CELL, int(sizes.max(initial=0)))
    shift = _slot_shift(rooms[0], sizes, page_bytes, has_deletions=keys > 0, is_table=dividers is not None)
    last = rows + (1 << shift)  # in a slot of its own, behind those of all ranks
    marks, words = bitmaps.new(last + 1)
    facts[[MOST_PAGES, PLACES, LAST, SHIFT, WORDS, LARGEST]] = branches - _MARGIN, places[1], last, shift, words, -1
    facts[[ROOM, ROOM + 1, ROWS_IN_LEAVES, PAGE_BYTES]] = *rooms, dividers is not None, page_bytes
    kind = np.int32 if max(last + 1, 8 * branches * places[1]) < _NARROW else np.int64  # with what `grow` adds
    return Tree(
        marks=marks,
        leaves=np.empty(((last >> shift) + 1, 4), kind),
        branches=np.empty((branches, 5), kind),
        children=np.empty(pool_cells + branches * places[1], kind),
        facts=facts,
        sizes=_by_rank(sizes, ranks),
        dividers=np.empty(0, np.uint16) if dividers is None else _by_rank(dividers, ranks),
        overflow=_by_rank(overflow, ranks) if overflow.any() else NO_OVERFLOW,
        pool=np.empty((6, 8), np.int64),
        pooled_keys=np.empty(pool_cells, np.int64),
        pooled_sizes=np.empty(pool_cells, np.int64),
        plans=np.zeros((2, pool_cells, 9), np.int32),
        touches=NO_TOUCHES,
    )


def _slot_shift(room: int, sizes: Sizes, page_bytes: int, *, has_deletions: bool, is_table: bool) -> int:
    """SHIFT: log2 of the number of ranks that share a slot. These are no more than the rows that a leaf surely has, so
    that no two leaves have their upper bounds in one slot. `is_table`: whether it is a rowid table."""
    fewest = _fewest_cells(room, sizes)
    if has_deletions:  # in a rowid table a leaf may then have a single row
        fewest = 1 if is_table else _fewest_cells_after_deletions(room, sizes, page_bytes)
    return min(fewest.bit_length() - 1, _MOST_SHIFT)


def _fewest_cells(room: int, sizes: Sizes) -> int:
    """Minimum cells of a leaf (1 if not known) once it was balanced, or once a row was appended behind it. `room`:
    bytes for cells in a leaf. `sizes`: as of `new`.

    A balancing first fills pages: no page but the last has room for one cell more. Then cells go from each page to the
    next until the two differ by one cell at most: of cells of one size, half of what fits a page is left in each.

    Of cells of up to b bytes, the last two pages have room − b bytes together at first, and b less where a larger
    divider takes the place of a cell. The last step moves a cell of up to b bytes and adds one to the other page, so
    that the pages differ by 2 b at most. The smaller one keeps (room − 4 b) / 2 bytes or more: room / (2 b) − 2 cells,
    and one less for rounding and a pointer. Pages before them have more.
    """
    largest = POINTER + max(SMALLEST_CELL, int(sizes.max(initial=0)))
    if len(sizes) == 1:  # cells of one size
        return max(1, room // largest // 2)
    return max(1, room // (2 * largest) - 3)


def _fewest_cells_after_deletions(room: int, sizes: Sizes, page_bytes: int) -> int:
    """Minimum cells of a leaf of an index b-tree that keys are also deleted from: such a page is balanced only when two
    thirds of it are free. (In a rowid table a leaf between others can have a single row: dividers stay when their rows
    go, so that a row with a lower rowid than the divider can be appended.)"""
    largest = POINTER + max(SMALLEST_CELL, int(sizes.max(initial=0)))
    fewest = (room - 2 * page_bytes // 3) // largest  # in the third of a page that is in use
    return max(1, min(fewest, _fewest_cells(room, sizes)))


def _by_rank(sizes: Sizes, ranks: Integers) -> Sizes:
    """The sizes, which are in order of arrival, by rank. One for all stays as it is."""
    if len(sizes) == 1 or not len(ranks):
        return sizes
    placed = np.empty_like(sizes)
    placed[ranks] = sizes
    return placed


def grow(tree: Tree) -> None:
    """Makes room for a quarter more branch pages, in place."""
    pages, places = len(tree.branches), int(tree.facts[PLACES])
    more = int(pages * (_GROWTH - 1))
    tree.branches.resize((pages + more, tree.branches.shape[1]), refcheck=False)
    tree.children.resize(len(tree.children) + more * places, refcheck=False)
    tree.facts[MOST_PAGES] += more


@kernel
def take_overflow(tree: Tree, file: Ints, key: int) -> None:
    """Takes the overflow pages of a key's record, one after the other (fillInCell)."""
    near = 0
    for _ in range(overflow_of(tree, key)):
        near = take(file, near)
        touch_new(tree, near, lru.OTHER)


@inlined
def overflow_of(tree: Tree, key: int) -> int:
    """The number of overflow pages of a key's record."""
    if len(tree.overflow) == 0:  # no record has any
        return 0
    return int(tree.overflow[key] if len(tree.overflow) > 1 else tree.overflow[0])


@kernel
def cell_bytes(tree: Tree, key: int, level: int) -> int:
    """Bytes of a key's cell in a page of a level (0: leaves), with its pointer; cells of leaves have at least four."""
    raw = int(tree.sizes[key] if len(tree.sizes) > 1 else tree.sizes[0])
    if level == 0:
        return int(POINTER + max(raw, SMALLEST_CELL))
    if len(tree.dividers) > 0:  # a rowid table, whose dividers are no rows
        return int(POINTER + tree.dividers[key])
    return int(POINTER + raw + _CHILD)


@kernel
def upper_of(tree: Tree, page: int, level: int) -> int:
    """The upper bound of a page of a level. `page`: as `Tree.children` names it; a leaf is named by its upper bound."""
    return int(page if level == 0 else tree.branches[page, UPPER])


@inlined
def touch(tree: Tree, page: int, kind: int, use: int) -> None:
    """Lists a page that the row touches, if somebody asks. `kind`, `use`: by the names of `costs.lru`."""
    if len(tree.touches) > 0:
        entry = tree.touches[tree.facts[TOUCHES]]
        entry[lru.ROW], entry[lru.PAGE], entry[lru.KIND], entry[lru.USE] = tree.facts[ROW], page, kind, use
        tree.facts[TOUCHES] += 1


@kernel
def touch_new(tree: Tree, page: int, kind: int) -> None:
    """Lists a page that the row takes from the file, and the file's first page, which changes then."""
    touch(tree, _FIRST_PAGE, lru.OTHER, lru.CHANGED)
    touch(tree, page, kind, lru.NEW)


@inlined
def kind_of(level: int) -> int:
    """The kind of a page of a level, by the names of `costs.lru`."""
    return int(lru.LEAF if level == 0 else lru.BRANCH)


@inlined
def touch_path(tree: Tree, leaf: int) -> None:
    """Lists the pages of a row that goes into a leaf: the file's first page, which a transaction holds, the leaf, and
    the pages above it. `leaf`: its place in `Tree.leaves`."""
    touch(tree, _FIRST_PAGE, lru.OTHER, lru.LOOKED_AT)
    touch(tree, tree.leaves[leaf, NUMBER], lru.LEAF, lru.CHANGED)
    page = int64(tree.leaves[leaf, PARENT])
    while page >= 0:
        touch(tree, tree.branches[page, NUMBER], lru.BRANCH, lru.LOOKED_AT)
        page = int64(tree.branches[page, PARENT])


@inlined
def has_room_for_touches(tree: Tree, key: int) -> bool:
    """Whether there is room for all touches of a key's row, if somebody asks for them."""
    needed = tree.facts[TOUCHES] + _ROW_TOUCHES + 2 * overflow_of(tree, key)  # `touch_new` lists two
    return bool(len(tree.touches) == 0 or needed <= len(tree.touches))


@inlined
def children_of(tree: Tree, page: int) -> int:
    """The place in `Tree.children` where the children of a branch page begin: behind the part for balancings."""
    return int(len(tree.pooled_keys) + page * tree.facts[PLACES])


@inlined
def shift_of(tree: Tree, level: int) -> int:
    """log2 of the divisor that turns the name of a page in `Tree.children` into its place in `leaves` or `branches`."""
    return int(tree.facts[SHIFT] if level == 0 else 0)


@kernel
def new_branch(tree: Tree, number: int) -> int:
    """Makes an empty branch page with this file number, but for PARENT and UPPER. Returns its place in `branches`."""
    facts, branches = tree.facts, tree.branches
    page = facts[RECYCLED] - 1  # −1 if there is none to use again
    if page >= 0:
        facts[RECYCLED] = branches[page, NUMBER]
    else:
        page = facts[PAGES]
        facts[PAGES] += 1
    branches[page, USED] = branches[page, CELLS] = 0
    branches[page, NUMBER] = number
    facts[BRANCHES] += 1
    return int(page)


@kernel
def drop_branch(tree: Tree, page: int) -> None:
    """Puts a branch page that is no longer used at the head of those that `new_branch` takes."""
    tree.branches[page, NUMBER] = tree.facts[RECYCLED]
    tree.facts[RECYCLED] = page + 1
    tree.facts[BRANCHES] -= 1


@kernel
def make_root(tree: Tree, file: Ints) -> None:
    """Gives a new b-tree its root: an empty leaf, whose page is taken from the file."""
    facts, leaves = tree.facts, tree.leaves
    slot = facts[LAST] >> facts[SHIFT]  # of the rightmost leaf, whose upper bound is LAST
    leaves[slot, USED] = 0
    leaves[slot, CELLS] = 0
    leaves[slot, NUMBER] = take(file, 0)
    leaves[slot, PARENT] = -1
    facts[LEAVES] = 1
    add(tree.marks, facts[WORDS], BORDERS, facts[LAST])
