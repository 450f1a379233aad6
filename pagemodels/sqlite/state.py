"""A b-tree of SQLite with a past: filled, deleted from, built again by VACUUM (docs/internals/sqlite.md §7)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import allocating, kernel
from keybench.errors import UsageError
from keybench.pagemodels.contract import ServerPages
from keybench.pagemodels.page_stats import Checkpoint, PageStats
from keybench.pagemodels.ranking import Integers, Sizes, earlier_equals, mask_of
from keybench.pagemodels.sqlite import file_pages
from keybench.pagemodels.sqlite import records as cells
from keybench.pagemodels.sqlite import tree as trees
from keybench.pagemodels.sqlite.bitmaps import ARRIVED, BORDERS, Marks, add, at_least, holds
from keybench.pagemodels.sqlite.file_pages import Ints
from keybench.pagemodels.sqlite.load import erase, erase_beside, load_all, resize
from keybench.pagemodels.sqlite.tree import Tree


def fill_tree(tree: Tree, file: Ints, present: Integers, pages: ServerPages, borders: Integers | None) -> None:
    """Gives an empty b-tree these pages. `present`: the ranks of its rows, ascending. `borders`: of a rowid table, the
    lowest rank that goes to each leaf but the first. If None, a divider counts as the last row on its left, as it is
    unless that row was deleted. UsageError for pages that do not belong to these rows."""
    facts, level = tree.facts, pages.levels[0]
    n, rows_in_leaves = len(level.numbers), bool(facts[trees.ROWS_IN_LEAVES])
    dividers = 0 if rows_in_leaves else 1  # rows behind each leaf but the last that are dividers
    pages.require(len(present) - dividers * (n - 1))
    ends = np.cumsum(level.entries + dividers)
    uppers = np.append(present[ends[:-1] - 1], facts[trees.LAST])
    if rows_in_leaves and borders is not None:
        uppers[:-1] = borders - 1
    slots = uppers >> facts[trees.SHIFT]
    if (np.diff(slots) <= 0).any():
        raise UsageError("leaves of this b-tree have fewer rows than SQLite leaves there: VACUUM it first.")
    leaf_bytes = np.maximum(_sizes_of(tree, present), trees.SMALLEST_CELL) + trees.POINTER  # `trees.cell_bytes`
    bytes_before = np.append(0, np.cumsum(leaf_bytes))
    starts = np.append(0, ends[:-1])
    tree.leaves[slots, trees.USED] = bytes_before[starts + level.entries] - bytes_before[starts]
    tree.leaves[slots, trees.CELLS] = level.entries
    tree.leaves[slots, trees.NUMBER] = level.numbers
    tree.leaves[slots, trees.PARENT] = -1
    _mark(tree.marks, int(facts[trees.WORDS]), ARRIVED, present)
    _mark(tree.marks, int(facts[trees.WORDS]), BORDERS, uppers)
    facts[trees.LEAVES], facts[trees.LARGEST] = n, present.max(initial=-1)
    _add_branches(tree, pages, uppers, slots)
    file[file_pages.LAST_PAGE] = pages.next_page - 1
    for page in pages.free.tolist():
        file_pages.lengthen(file)
        file_pages.give_back(file, page, file[file_pages.FREE])


def _add_branches(tree: Tree, pages: ServerPages, uppers: Integers, slots: Integers) -> None:
    """Makes the branch pages over leaves with these upper bounds, which lie in these slots, level by level."""
    children, places, below = uppers, slots, tree.leaves  # of the level below: names, places in the array `below`
    for level in pages.levels[1:]:
        while tree.facts[trees.PAGES] + len(level.numbers) > tree.facts[trees.MOST_PAGES]:
            trees.grow(tree)
        if below is not tree.leaves:
            below = tree.branches  # `grow` may have moved it
        of_level, begin = np.empty(len(level.numbers), np.int64), 0
        for i, (number, count) in enumerate(zip(level.numbers.tolist(), level.entries.tolist(), strict=True)):
            page, end = trees.new_branch(tree, number), begin + count
            place = trees.children_of(tree, page)
            tree.children[place : place + count] = children[begin:end]
            tree.branches[page, trees.USED] = _divider_bytes(tree, uppers[begin : end - 1]).sum()
            tree.branches[page, trees.CELLS], tree.branches[page, trees.UPPER] = count - 1, uppers[end - 1]
            tree.branches[page, trees.PARENT] = -1
            below[places[begin:end], trees.PARENT] = page
            of_level[i], begin = page, end
        uppers = uppers[np.cumsum(level.entries) - 1]
        children, places, below = of_level, of_level, tree.branches


def _sizes_of(tree: Tree, keys: Integers) -> Integers:
    """(keys,): bytes of each key's cell in a leaf, without its pointer, before a minimum applies."""
    of_all = len(tree.sizes) == 1
    return (np.full(len(keys), tree.sizes[0]) if of_all else tree.sizes[keys]).astype(np.int64)


def _divider_bytes(tree: Tree, keys: Integers) -> Integers:
    """(keys,): bytes of each key's cell in a branch page, with its pointer (`trees.cell_bytes` of many keys)."""
    if len(tree.dividers):  # a rowid table, whose dividers are no rows
        return tree.dividers[keys].astype(np.int64) + trees.POINTER
    return _sizes_of(tree, keys) + cells.CHILD_BYTES + trees.POINTER


@kernel
def _mark(marks: Marks, first: int, which: int, ranks: Integers) -> None:
    """Adds ranks to a set. The other parameters are those of `bitmaps.add`."""
    for rank in ranks:
        add(marks, first, which, rank)


@dataclass(frozen=True)
class SqliteStats(PageStats):
    """The figures of SQLite. Overflow pages are neither leaf nor branch pages."""

    overflow_pages: int = 0
    """Overflow pages of the b-tree."""


@allocating
def chain(tree: Tree) -> Integers:
    """The leaves' slots in key order: int64 (leaves,)."""
    facts = tree.facts
    slots, upper = np.empty(facts[trees.LEAVES], np.int64), -1
    for i in range(len(slots)):
        upper = at_least(tree.marks, facts[trees.WORDS], BORDERS, upper + 1)
        slots[i] = upper >> facts[trees.SHIFT]
    return slots


def checkpoint_of(tree: Tree, rows: int) -> Checkpoint:
    """The leaf level as it is now. `rows`: how many rows the b-tree has."""
    facts = tree.facts
    used = int(tree.leaves[chain(tree), trees.USED].sum(dtype=np.int64))
    fields = trees.LEAVES, trees.APPENDS, trees.EDGES, trees.INTERIORS
    leaves, appends, edges, interiors = (int(facts[field]) for field in fields)
    return Checkpoint(rows, leaves, appends, edges, interiors, 100 * used / (leaves * int(facts[trees.ROOM])))


def stats_of(tree: Tree, points: Sequence[Checkpoint], rows: int, *, among_others: bool = False) -> SqliteStats:
    """The figures of the b-tree as it is now. `points`: the leaf level at checkpoints, and now. `rows`: how many rows
    it has. `among_others`: whether another table takes pages in between, so that only the order of page numbers is
    known. A parent table does; how many pages at a time depends on the size of transactions."""
    leaves = tree.leaves[chain(tree)].astype(np.int64)
    return SqliteStats.from_chain(
        points[-1],
        leaves[:, trees.NUMBER].copy(),
        leaves[:, trees.CELLS].copy(),
        among_others=among_others,
        branch_pages=int(tree.facts[trees.BRANCHES]),
        checkpoints=tuple(points[:-1]),
        overflow_pages=int(tree.overflow.sum(dtype=np.int64)) * (rows if len(tree.overflow) == 1 else 1),
    )


NO_RANKS = np.empty(0, np.int64)  # for `trees.new`: sizes are by rank
_SPLITS = [trees.APPENDS, trees.EDGES, trees.INTERIORS]  # fields of `Tree.facts` that stay when a b-tree is built again


@dataclass(frozen=True)
class Values:
    """The columns of a row that updates change."""

    payload: int
    """Characters of the payload with which a row comes."""
    status: bool
    """Whether rows have a status, 0 at first, with an index of its own in the file."""
    largest: int
    """Bytes that `cells` gives at most."""
    cells: Callable[[Integers, Integers, Integers], Sizes]
    """(n,): bytes, without a rowid beside a key, of the cells of rows of these ranks, characters and statuses."""


class State:
    """The b-tree of a key; an `IndexState`."""

    def __init__(self, empty: Callable[[], Tree], page_bytes: int, keys: int, values: Values | None = None) -> None:
        """`empty`: makes a b-tree for `keys` keys: how many ever come. `values`: None if rows keep their sizes."""
        self._empty, self._page_bytes, self._keys = empty, page_bytes, keys
        self._values = values or Values(0, status=False, largest=0, cells=lambda ranks, *_: self._first_sizes[ranks])
        self._characters, self._statuses = np.full(keys, self._values.payload), np.zeros(keys, np.int64)
        self._tree, self._file = self._empty_trees()
        self._first_sizes = self._tree.sizes.copy()  # of cells before any update

    def build(self, ranks: Integers, fill: int) -> None:
        """Replaces the b-tree by the one that VACUUM makes of these keys, in any order. UsageError for wrong `fill`."""
        self._replace(np.flatnonzero(mask_of(ranks, self._keys)), fill)

    def rebuild(self, fill: int) -> None:
        """Replaces the b-tree by the one that VACUUM makes of it. UsageError for a `fill` but 100 %."""
        self._replace(np.flatnonzero(self._present()), fill)

    def insert(self, ranks: Integers) -> None:
        """Inserts keys in order of arrival. UsageError for a rank that is there, comes twice or is out of range."""
        if bool((mask_of(ranks, self._keys) & self._present()).any()):
            raise UsageError("some of the keys are there already: leave them out.")
        self._load(ranks)

    def delete(self, ranks: Integers) -> None:
        """Deletes keys, in order; pages are balanced and given back at once. UsageError for a key that is not there."""
        if bool((mask_of(ranks, self._keys) & ~self._present()).any()):
            raise UsageError(f"{len(ranks):,} keys cannot be deleted: not all of them are there.")
        self._erase(ranks)
        self._characters[ranks], self._statuses[ranks] = self._values.payload, 0
        self._tree.facts[trees.LARGEST] = np.flatnonzero(self._present()).max(initial=-1)  # −1: no key is left

    def update(self, ranks: Integers, rows_per_tx: int, characters: Integers | None = None) -> None:  # noqa: ARG002
        """Updates rows, in order (`contract.KnowsUpdates`). UsageError for a key that is not there."""
        if not self._present()[ranks].all():
            raise UsageError(f"{len(ranks):,} keys cannot be updated: not all of them are there.")
        statuses = self._statuses[ranks]
        if characters is None:
            np.add.at(self._statuses, ranks, 1)
            statuses += 1 + earlier_equals(ranks)  # a row that comes again gets the next higher status each time
        else:
            self._characters[ranks] = characters
        sizes = self._values.cells(ranks, self._characters[ranks], statuses)  # after the update
        if (self._characters[ranks] < self._values.payload).any() or sizes.max(initial=0) > self._values.largest:
            raise UsageError("rows get payloads of a length that the table was not made for.")  # nor is the memory
        self._resize(ranks, sizes)

    def read(self, ranks: Integers, *, by_key: bool) -> None:
        """Nothing: readers change no page."""

    def clean(self) -> None:
        """Nothing: SQLite leaves nothing to clean up later."""

    def stats(self) -> SqliteStats:
        """The b-tree as it is now. Splits are those of insertions and updates since it was first empty."""
        rows = int(np.count_nonzero(self._present()))
        stats = stats_of(self._tree, [checkpoint_of(self._tree, rows)], rows)
        return stats.without_order() if self._values.status else stats

    def _present(self) -> NDArray[np.bool_]:
        """(keys,): whether each key is there."""
        first = 2 * int(self._tree.facts[trees.WORDS]) + ARRIVED
        words = np.ascontiguousarray(self._tree.marks[first::2])  # the words of both sets alternate
        return np.unpackbits(words.view(np.uint8), count=self._keys, bitorder="little").view(np.bool_)

    def _empty_trees(self) -> tuple[Tree, Ints]:
        """(the b-tree with an empty root, the state of its file)."""
        tree, file = self._empty(), file_pages.new_file(self._page_bytes)
        trees.make_root(tree, file)
        return tree, file

    def _replace(self, ranks: Integers, fill: int) -> None:
        """Replaces the b-tree by the one that VACUUM makes of these keys, ascending. UsageError for a wrong `fill`."""
        cells.require_fill(fill)
        splits = self._tree.facts[_SPLITS].copy()
        self._tree, self._file = self._empty_trees()
        self._fill(ranks)
        self._tree.facts[_SPLITS] = splits

    def _fill(self, ranks: Integers) -> None:
        """Builds the b-tree of sorted ranks into its empty root: rowid tables by insertions, others as BULK says."""
        facts = self._tree.facts
        facts[trees.BULK] = not facts[trees.ROWS_IN_LEAVES]
        State._load(self, ranks)  # into this b-tree alone: a subclass's `_load` inserts into the table too
        facts[trees.BULK] = 0
        self._tree.plans[:] = 0  # they were made under BULK and do not hold without it

    def _load(self, ranks: Integers) -> None:
        """Inserts keys that are known to be absent. Without a table, `load_all` uses no `rows`: any array will do."""
        load_all(self._tree, None, self._file, ranks, ranks, 0, len(ranks), self._grow)

    def _erase(self, ranks: Integers) -> None:
        """Deletes keys that are known to be present."""
        self._for_all(lambda begin, end: erase(self._tree, self._file, ranks, begin, end), len(ranks))
        if len(self._first_sizes) > 1:  # keys that come again have their first size
            self._tree.sizes[ranks] = self._first_sizes[ranks]

    def _resize(self, ranks: Integers, sizes: Sizes) -> None:
        """Gives the cells of rows these sizes."""
        if len(self._first_sizes) > 1:  # else no update changes a size
            self._for_all(lambda begin, end: resize(self._tree, self._file, ranks, sizes, begin, end), len(ranks))

    def _for_all(self, change_rows: Callable[[int, int], int], rows: int) -> None:
        """Calls `change_rows(begin, rows)`, which returns the row to go on from, until all are done; makes memory."""
        begin = 0
        while (begin := change_rows(begin, rows)) < rows:
            self._grow()

    def _grow(self) -> None:
        """Makes memory for more pages."""
        file_pages.lengthen(self._file)
        trees.grow(self._tree)


class TreeState(State):
    """The b-tree of a table whose key is its primary key."""

    def begin(self, ranks: Integers, pages: ServerPages, borders: Integers | None = None) -> None:
        """Replaces the b-tree by one of these keys, in any order, with these pages of a server. `borders`: as of
        `fill_tree`. UsageError if keys and pages do not fit together."""
        tree, file = self._empty(), file_pages.new_file(self._page_bytes)
        tree.facts[_SPLITS] = self._tree.facts[_SPLITS]
        fill_tree(tree, file, np.flatnonzero(mask_of(ranks, self._keys)), pages, borders)
        self._tree, self._file = tree, file


_ROWIDS = 2  # rowids for each key that ever comes: a key that comes again gets another one


class IndexedState(State):
    """The index of a key, and the rowid table beside it. A row's rowid is the highest one in the table plus one, so the
    sizes of its cells depend on when the row came."""

    def __init__(self, rows: Sizes, entries: Sizes, page_bytes: int, keys: int, values: Values | None = None) -> None:
        """`rows`, `entries`: bytes, but for rowids, of cells in the table, of records in the index: (keys,) or (1,)."""
        self._rows, self._entries = np.broadcast_to(rows, keys), np.broadcast_to(entries, keys)
        largest = max(int(rows.max()), values.largest if values else 0)  # of a row, without its rowid
        self._numbers = np.zeros(keys, np.int64)
        """(keys,): the rowid of each key that is there, less one: its rank in the table."""
        # Cells of the table have one byte of rowid or more, those of the index none or more.
        rowids = _ROWIDS * keys
        varints = cells.varint_bytes(np.arange(1, rowids + 1))
        row_sizes = bounded_sizes(rowids, int(rows.min()) + 1, largest + int(varints.max(initial=1)))
        largest_rowid_bytes = int(cells.integer_bytes(np.array([rowids]))[0])
        bounds = np.array([entries.min(), entries.max() + largest_rowid_bytes])
        least, most = map(int, cells.stored(bounds, page_bytes, table=False).sizes)
        entry_sizes = bounded_sizes(keys, least, most)
        dividers = (cells.CHILD_BYTES + varints).astype(np.uint16)
        self._empty_table = partial(trees.new, NO_RANKS, row_sizes, dividers, page_bytes, keys=max(1, rowids))
        # For `new`, 0 means no deletions.
        empty_index = partial(trees.new, NO_RANKS, entry_sizes, None, page_bytes, keys=max(1, keys))
        super().__init__(empty_index, page_bytes, keys, values)

    def build(self, ranks: Integers, fill: int) -> None:
        """Replaces both b-trees by those that VACUUM makes of these keys, which came in this order. UsageError for a
        `fill` but 100 %, and for ranks that come twice or are out of range."""
        present = mask_of(ranks, self._keys)
        cells.require_fill(fill)
        self._give_rowids(ranks, 0)
        self._replace(np.flatnonzero(present), fill)

    def _empty_trees(self) -> tuple[Tree, Ints]:
        """(the index with an empty root, the state of its file, where the table's empty root is the first)."""
        self._table = self._empty_table()
        tree, file = self._empty(), file_pages.new_file(self._page_bytes)
        for each in (self._table, tree):
            trees.make_root(each, file)
        return tree, file

    def _fill(self, ranks: Integers) -> None:
        """Builds the table in order of rowids, then the index of sorted ranks."""
        rows = np.sort(self._numbers[ranks])
        load_all(self._table, None, self._file, rows, rows, 0, len(rows), self._grow)
        super()._fill(ranks)

    def _load(self, ranks: Integers) -> None:
        """Inserts keys that are known to be absent into index and table."""
        rows = self._give_rowids(ranks, int(self._table.facts[trees.LARGEST]) + 1)
        load_all(self._tree, self._table, self._file, ranks, rows, 0, len(rows), self._grow)

    def _erase(self, ranks: Integers) -> None:
        """Deletes keys that are known to be present from table and index."""
        rows, table = self._numbers[ranks], self._table
        self._for_all(
            lambda begin, end: erase_beside(table, self._tree, self._file, rows, ranks, begin, end), len(rows)
        )
        # The highest rowid that is left is in the last word that is not zero; the words of both sets alternate.
        words = np.flatnonzero(table.marks[2 * int(table.facts[trees.WORDS]) + ARRIVED :: 2])
        last = 64 * int(words.max(initial=-1)) + 63
        while last >= 0 and not holds(table.marks, int(table.facts[trees.WORDS]), ARRIVED, last):
            last -= 1
        table.facts[trees.LARGEST] = last

    def _resize(self, ranks: Integers, sizes: Sizes) -> None:
        """Gives the cells of rows in the table these sizes, and the bytes of their rowids: the key's entries stay."""
        rows, table = self._numbers[ranks], self._table
        whole = sizes + cells.varint_bytes(rows + 1)
        self._for_all(lambda begin, end: resize(table, self._file, rows, whole, begin, end), len(rows))

    def _give_rowids(self, ranks: Integers, first: int) -> Integers:
        """Gives keys the next rowids, and computes the sizes of their cells. Returns their ranks in the table, which
        are their rowids less one: `first`, `first` + 1 … UsageError if there is no memory for these."""
        rows = np.arange(first, first + len(ranks))
        if first + len(ranks) > _ROWIDS * self._keys:
            raise UsageError("too many keys came again for this state: make one for more keys.")
        self._numbers[ranks] = rows
        self._table.sizes[rows] = self._rows[ranks] + cells.varint_bytes(rows + 1)
        entries = self._entries[ranks] + cells.integer_bytes(rows + 1)
        self._tree.sizes[ranks] = cells.stored(entries, self._page_bytes, table=False).sizes
        return rows

    def _grow(self) -> None:
        """Makes memory for more pages of both b-trees."""
        super()._grow()
        trees.grow(self._table)


def bounded_sizes(n: int, least: int, most: int) -> Sizes:
    """(n + 2,): the largest size for n cells that are not known yet; then both bounds, which `trees.new` needs."""
    sizes = np.full(n + 2, most, np.uint16)
    sizes[n] = least
    return sizes
