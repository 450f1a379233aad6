"""The page model of SQLite: a WITHOUT ROWID table, a rowid table, or an index beside one of them.

Rules: docs/internals/sqlite.md, and the modules beside this one. Every leaf's number and cells equal those of SQLite
3.54 (tests/databases/sqlite/test_page_model.py). The pages of an index lie among those of its table.

In an index b-tree, which a WITHOUT ROWID table is too, branch pages hold rows: `page_rows` are the cells of leaves,
together fewer than the rows. A balancing that adds a leaf counts by the leaf that overflowed: as an append where the
new key was above all before, as an edge split where it was the rightmost leaf, else as an interior split. A balancing
that gives a leaf back (three sparse siblings that fit two) counts −1. Their sum is leaf pages − 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np

from keybench.errors import UsageError
from keybench.model.keys import Keys
from keybench.model.table import Table
from keybench.pagemodels.contract import IndexState, PageModel, SizedByValue, require_lengths, require_width
from keybench.pagemodels.costs import lru
from keybench.pagemodels.costs.contract import Load, LoadCost, Log, Server
from keybench.pagemodels.costs.lru import LruCache
from keybench.pagemodels.foreign_key_index import repeated
from keybench.pagemodels.ranking import Integers, Sizes, require
from keybench.pagemodels.sqlite import file_pages
from keybench.pagemodels.sqlite import records as cells
from keybench.pagemodels.sqlite import state as states
from keybench.pagemodels.sqlite import tree as trees
from keybench.pagemodels.sqlite.file_pages import Ints
from keybench.pagemodels.sqlite.load import load_all
from keybench.pagemodels.sqlite.state import IndexedState, SqliteStats, TreeState, Values
from keybench.pagemodels.sqlite.tree import Tree

_ROWID_OVERHEAD = 55
"""Bytes of a page beside payload and key of a row that just fits it in a rowid table: 35 of the page (file format,
"Cell Payload Overflow Pages"), and about 20 of the record's header and the rowid."""
_LARGEST_INTEGER = 8  # bytes of an integer at most
_HIGHEST_STATUS = (1 << 31) - 1  # after more updates of a row than anybody does
_ROWS = 1 << 11
"""Rows whose touches are kept at a time: so few that they stay in the processor's cache until they are read again."""
_TOUCHES = 8 * _ROWS  # touches for which there is room at first
_PAGE_OVERHEAD = 136
"""Bytes of the cache that a page takes beside its own: sizeof(MemPage) on 64-bit machines, SQLite 3.40 to 3.54."""
_AUTOCHECKPOINT = 1000  # frames: SQLite's own setting (SQLITE_DEFAULT_WAL_AUTOCHECKPOINT)
_FRAME_HEADER = 24  # bytes of a frame of the WAL beside its page


@dataclass(frozen=True)
class Parameters:
    """The settings of a database that change its b-trees."""

    page_bytes: int = cells.PAGE_SIZE
    """SQLite's page_size: a power of two from 512 to 65536."""


@dataclass(frozen=True)
class _BTreeModel:
    """The b-tree that holds a table's key."""

    table: Table
    page_bytes: int = cells.PAGE_SIZE
    rows: Integers | None = field(default=None, compare=False)
    """(n,): ranks of the rows in a table by date, in order of arrival; None if they arrive in the table's order."""
    lengths: Integers | None = field(default=None, compare=False)
    """(n,): characters of each row's payload, in order of arrival, if they vary."""

    def by_date(self, rows: Integers) -> Self:
        """The model for rows with these ranks by (created, key), in order of arrival: int64 (n,)."""
        return replace(self, rows=rows)

    def with_payloads(self, lengths: Integers) -> Self:
        """The model for rows whose payloads have these numbers of characters, in order of arrival: int64 (n,)."""
        return replace(self, lengths=lengths)


@dataclass(frozen=True)
class FixedModel(_BTreeModel):
    """The b-tree of a table with keys of one width."""

    def insert(self, ranks: Integers, checkpoints: Sequence[int] = ()) -> SqliteStats:
        """Builds the b-tree from keys in order of arrival, given by rank: (n,), a permutation of 0 … n − 1.
        `checkpoints`: ascending numbers of rows after which the leaf level is noted."""
        return _build(self, ranks, checkpoints, np.zeros(1, np.uint16))

    def state(self, keys: int) -> IndexState:
        """The b-tree without rows, for `keys` keys in all. UsageError where the model knows no past (`_state`)."""
        return _state(self, keys, np.zeros(1, np.uint16))


@dataclass(frozen=True)
class CostModel(FixedModel):
    """The same with the cache of a connection and the log behind it: a `costs.contract.PredictsCost`. Rows of an index
    b-tree with overflow pages have none: to compare a key with such a row, SQLite reads all of it, also from its
    overflow pages (sqlite3BtreeIndexMoveto), so that reads depend on which rows a search meets."""

    def load_cost(self, load: Load, server: Server) -> LoadCost:
        """By part of the load: pages read into the cache, pages that checkpoints copy to the file, bytes of the WAL."""
        return _load_cost(self, load, np.zeros(1, np.uint16), server)


@dataclass(frozen=True)
class IntegerModel(_BTreeModel):
    """The b-tree of a table with integer keys, which take as many bytes as their values need."""

    def sizes(self, keys: Keys) -> Sizes:
        """Bytes of each key in its cell: as a varint if it is the rowid, else as a value of a record."""
        return (cells.varint_bytes if cells.is_rowid(self.table) else cells.integer_bytes)(keys.data.astype(np.int64))

    def insert(self, ranks: Integers, checkpoints: Sequence[int] = (), *, sizes: Sizes) -> SqliteStats:
        """As `FixedModel.insert`. `sizes`: of the keys, in order of arrival: (n,). UsageError for another length."""
        if len(sizes) != len(ranks):
            raise UsageError("one size for each row is needed: make them with `sizes`.")
        return _build(self, ranks, checkpoints, sizes)

    def sized_state(self, sizes: Sizes) -> IndexState:
        """As `FixedModel.state`, for keys of these sizes, by rank: (keys,)."""
        return _state(self, len(sizes), sizes)


@dataclass(frozen=True)
class IntegerCostModel(IntegerModel):
    """The same with a cache and log, as `CostModel`: a `costs.contract.PredictsCost`."""

    def load_cost(self, load: Load, server: Server) -> LoadCost:
        """As `CostModel.load_cost`. UsageError if the load does not have the size of each key."""
        if load.sizes is None or len(load.sizes) != len(load.ranks):
            raise UsageError("one size for each row is needed: make them with `sizes`.")
        return _load_cost(self, load, load.sizes, server)


def page_model(table: Table, parameters: Parameters) -> PageModel | SizedByValue:
    """The model of the b-tree that holds the table's key; UsageError if the size of its cells is not known."""
    if parameters.page_bytes not in cells.PAGE_SIZES:
        raise UsageError(
            f"SQLite has no pages of {parameters.page_bytes} bytes: take a power of two from 512 to 65536."
        )
    require_width(table.column)
    if table.measures_rows:
        raise UsageError("the page model of SQLite describes the key's index, not the table by date.")
    model = _class_of_model(table, parameters.page_bytes)(table, parameters.page_bytes)
    return repeated(model, table.children) if table.key == "fk" else model


def _class_of_model(table: Table, page_bytes: int) -> type[FixedModel | IntegerModel]:
    """The class of the model: for integers, or for keys of one width; with costs where these are known."""
    integers = table.column.form == "int"
    # What rows with overflow pages cost is not modelled.
    has_cost = table.key in ("clustered", "nonclustered") and table.lengths is None
    if has_cost:
        payload = cells.text_bytes(np.array([table.payload])) if table.payload else np.zeros(1, np.int64)
        longest_key = np.full(1, _LARGEST_INTEGER if integers else 0, np.uint16)
        if table.key == "clustered" and not cells.is_rowid(table):
            has_cost = not _cells(table, page_bytes, longest_key, payload).overflow.any()
        else:
            has_cost = int(payload[0]) + table.column.width + _ROWID_OVERHEAD <= page_bytes
    if integers:
        return IntegerCostModel if has_cost else IntegerModel
    return CostModel if has_cost else FixedModel


def _build(model: FixedModel | IntegerModel, ranks: Integers, checkpoints: Sequence[int], sizes: Sizes) -> SqliteStats:
    """The figures of the b-tree that these keys make, in order of arrival. `sizes`: bytes of each key that
    `cells.record` does not count, in order of arrival: an integer's; or one 0 for all."""
    n, table, page_bytes = len(ranks), model.table, model.page_bytes
    require(ranks, checkpoints)
    if model.rows is not None:
        require(model.rows)
    rows = ranks[:0] if model.rows is None else model.rows  # empty: they arrive in the table's order
    beside, tree = _trees(table, page_bytes, ranks, rows, sizes, _payload_bytes(model, n))
    file = _file_with_roots(beside, tree, page_bytes)

    def grow() -> None:
        file_pages.lengthen(file)
        for each in filter(None, (beside, tree)):
            trees.grow(each)

    points = []
    for begin, end in pairwise((0, *checkpoints, n)):
        load_all(tree, beside, file, ranks, rows, begin, end, grow)
        points.append(states.checkpoint_of(tree, end))
    return states.stats_of(tree, points, n, among_others=table.key == "fk")


def _file_with_roots(beside: Tree | None, tree: Tree, page_bytes: int) -> Ints:
    """Gives both b-trees their roots, the table's first. Returns the state of the file that has them."""
    file = file_pages.new_file(page_bytes)
    for each in filter(None, (beside, tree)):
        trees.make_root(each, file)
    return file


def _load_cost(model: FixedModel | IntegerModel, load: Load, sizes: Sizes, server: Server) -> LoadCost:
    """What the load costs: rows go into b-trees, their pages through the cache, in turn. `sizes`: as of `_build`."""
    page_bytes, ranks, n = model.page_bytes, load.ranks, len(load.ranks)
    require(ranks)
    # The b-trees, which list the pages that rows touch.
    in_order = ranks[:0]  # rows arrive in the table's order
    beside, tree = _trees(model.table, page_bytes, ranks, in_order, sizes, _payload_bytes(model, n))
    file = _file_with_roots(beside, tree, page_bytes)
    tree = tree._replace(touches=np.empty((_TOUCHES, lru.COLUMNS), np.int32))
    if beside is not None:
        beside = beside._replace(touches=np.empty((_TOUCHES, lru.COLUMNS), np.int32))
    b_trees = [tree] if beside is None else [beside, tree]
    # The cache, and how many frames the log has between two checkpoints: of a sample, its share of both.
    frame_bytes = page_bytes + _FRAME_HEADER
    frames = _AUTOCHECKPOINT if server.checkpoint_bytes is None else server.checkpoint_bytes // frame_bytes
    cache = LruCache.empty(
        replace(load, rows_per_tx=max(1, round(load.rows_per_tx * server.share))),
        room=server.pages(page_bytes + _PAGE_OVERHEAD),
        private=True,
        checkpoint=max(1, round(frames * server.share)),
    )

    def grow() -> None:
        for each in b_trees:
            if each.facts[trees.PAGES] >= each.facts[trees.MOST_PAGES]:
                trees.grow(each)
            each.touches.resize((2 * len(each.touches), lru.COLUMNS), refcheck=False)
        file_pages.lengthen(file)

    for first in range(0, n, _ROWS):
        load_all(tree, beside, file, ranks, in_order, first, min(n, first + _ROWS), grow)
        cache.use(_touches_by_row(tree, beside))
        for each in b_trees:
            each.facts[trees.TOUCHES] = 0
    log = Log(bytes=cache.counted(lru.LOGGED).all * frame_bytes)
    return LoadCost(read=cache.counted(lru.READ), written=cache.counted(lru.COPIED), log=log)


def _touches_by_row(tree: Tree, beside: Tree | None) -> lru.Touches:
    """The pages that the last rows touched in both b-trees, row by row; of a row, those of the table first."""
    of_key: lru.Touches = tree.touches[: tree.facts[trees.TOUCHES]]
    if beside is None:
        return of_key
    of_table = beside.touches[: beside.facts[trees.TOUCHES]]
    of_table[of_table[:, lru.KIND] != lru.OTHER, lru.KIND] = lru.TABLE  # its b-tree calls them leaves and branches
    touches: lru.Touches = np.concatenate([of_table, of_key])
    return touches[np.argsort(touches[:, lru.ROW], kind="stable")]


def _state(model: FixedModel | IntegerModel, keys: int, sizes: Sizes) -> IndexState:
    """The b-tree without rows, into which `keys` keys will come in all. `sizes`: as of `_build`, but by rank.
    UsageError for a foreign key, a table by date, payloads of different lengths, and rows with overflow pages."""
    table, page_bytes = model.table, model.page_bytes
    if table.key not in ("clustered", "nonclustered"):
        raise UsageError(
            f'the page model of SQLite knows no index with a past where key = "{table.key}": measure it on a server.'
        )
    if table.lengths is not None:
        raise UsageError("the page model of SQLite knows no past of rows of different lengths: give one payload.")

    def row_cells(ranks: Integers | slice, characters: Integers, statuses: Integers) -> _RowCells:
        payload = cells.text_bytes(characters) if table.payload else np.zeros(len(characters), np.int64)
        if table.status:
            payload = payload + 1 + cells.integer_bytes(statuses)  # a serial type of one byte
        return _cells(table, page_bytes, sizes if len(sizes) == 1 else sizes[ranks], payload)

    # The cells of all rows as they come, and at their longest.
    everywhere, first_status = slice(None), np.zeros(1, np.int64)  # all ranks; a status of 0
    first = row_cells(everywhere, np.full(1, table.payload), first_status)
    longest = row_cells(everywhere, np.full(1, max(table.payload, table.longest)), first_status + _HIGHEST_STATUS)
    entries = cells.fixed_bytes(table.column, rowid=True) + sizes
    entry_overflow = cells.stored(entries + _LARGEST_INTEGER, page_bytes, table=False).overflow  # with the widest rowid
    if longest.overflow.any() or (table.key == "nonclustered" and entry_overflow.any()):
        raise UsageError(
            f"the page model of SQLite knows no past of rows with overflow pages, as a payload of "
            f"{max(table.payload, table.longest):,} characters makes them: give a shorter one."
        )
    values = Values(table.payload, table.status, int(longest.leaf.max()), lambda *arguments: row_cells(*arguments).leaf)
    if table.key == "nonclustered":
        return IndexedState(first.leaf, entries, page_bytes, keys, values)
    leaf = first.leaf
    if (first.leaf != longest.leaf).any():  # updates change the size of a row: then each has a size of its own
        leaf = states.bounded_sizes(keys, int(first.leaf.min()), values.largest)
        leaf[:keys] = first.leaf
    return TreeState(
        lambda: trees.new(states.NO_RANKS, leaf, first.dividers, page_bytes, keys=keys), page_bytes, keys, values
    )


def _payload_bytes(model: FixedModel | IntegerModel, rows: int) -> Integers:
    """Bytes of the payload in each row's record: (rows,), or (1,) if all are alike. UsageError for unknown lengths."""
    if not model.table.payload:
        return np.zeros(1, np.int64)
    if model.table.lengths is None:
        return cells.text_bytes(np.array([model.table.payload]))
    return cells.text_bytes(require_lengths(model.lengths, rows))


def _trees(
    table: Table, page_bytes: int, ranks: Integers, rows: Integers, sizes: Sizes, payload: Integers
) -> tuple[Tree | None, Tree]:
    """(the b-tree of a table by rowid or date, if the key has an index beside it, else None; the b-tree of the key),
    both without pages. `rows`: ranks of rows by date, in order of arrival; empty if they arrive by date. `sizes`: as of
    `_build`. `payload`: bytes of each row's payload, or one for all."""
    column, n = table.column, len(ranks)
    if table.key == "clustered":
        row_cells = _cells(table, page_bytes, sizes, payload)
        return None, trees.new(ranks, row_cells.leaf, row_cells.dividers, page_bytes, row_cells.overflow)
    if table.by_date:  # both b-trees are index b-trees whose records have the moment and the key
        key = cells.fixed_bytes(column, rowid=True) + cells.MOMENT_BYTES + sizes
        row, row_overflow = cells.stored(key + payload, page_bytes, table=False)
        entry, entry_overflow = cells.stored(key, page_bytes, table=False)
        return (
            trees.new(rows, _one_for_each(row, n), None, page_bytes, row_overflow),
            trees.new(ranks, entry, None, page_bytes, entry_overflow),
        )
    rowids = np.arange(1, n + 1)
    varints = cells.varint_bytes(rowids)
    row, row_overflow = cells.stored(cells.fixed_bytes(column) + payload + sizes, page_bytes, table=True)
    entries = cells.fixed_bytes(column, rowid=True) + sizes + cells.integer_bytes(rowids)
    entry, entry_overflow = cells.stored(entries, page_bytes, table=False)
    return (
        trees.new(ranks[:0], row + varints, cells.CHILD_BYTES + varints, page_bytes, row_overflow),
        trees.new(ranks, entry, None, page_bytes, entry_overflow),
    )


class _RowCells(NamedTuple):
    """The cells of a table's rows: (rows,) each, or (1,) if all are alike."""

    leaf: Sizes
    """Bytes of the cell in a leaf."""
    dividers: Sizes | None
    """Bytes of the cell in a branch page, if dividers are no rows: in a table whose key is the rowid."""
    overflow: Sizes
    """Overflow pages."""


def _cells(table: Table, page_bytes: int, sizes: Sizes, payload: Integers) -> _RowCells:
    """The cells of the table's rows, with the rowid if that is the key. `sizes`, `payload`: as of `_trees`."""
    if cells.is_rowid(table):
        record, overflow = cells.stored(cells.ROWID_RECORD + payload, page_bytes, table=True)
        return _RowCells(leaf=record + sizes, dividers=cells.CHILD_BYTES + sizes, overflow=overflow)
    record_bytes = cells.fixed_bytes(table.column) + payload + sizes
    row, overflow = cells.stored(record_bytes, page_bytes, table=table.key == "nonclustered")
    return _RowCells(leaf=row, dividers=None, overflow=overflow)


def _one_for_each(sizes: Sizes, n: int) -> Sizes:
    """A size for each of n rows: without ranks, `trees.new` takes the number of rows from the sizes."""
    return np.broadcast_to(sizes, n).copy() if len(sizes) == 1 else sizes
