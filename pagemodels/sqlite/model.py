"""The page model of SQLite: a WITHOUT ROWID table, a rowid table, or an index beside one of them.

Rules: docs/internals/sqlite.md, and the modules beside this one. Every leaf's number and cells equal those of SQLite
3.54 (tests/databases/sqlite/test_page_model.py). The pages of an index lie among those of its table.

In an index b-tree, which a WITHOUT ROWID table is too, branch pages hold rows: `page_rows` are the cells of leaves,
together fewer than the rows. A balancing that adds a leaf counts by the leaf that overflowed: as an append where the
new key was above all before, as an edge split where it was the rightmost leaf, else as an interior split. A balancing
that gives a leaf back (three sparse siblings that fit two) counts −1. Their sum is leaf pages − 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError
from keybench.model.keys import Keys
from keybench.model.table import Table
from keybench.pagemodels.contract import PageModel, SizedByValue, given_lengths
from keybench.pagemodels.foreign_key_index import repeated
from keybench.pagemodels.page_stats import Checkpoint, PageStats
from keybench.pagemodels.permutation import require
from keybench.pagemodels.sqlite import records as cells
from keybench.pagemodels.sqlite import tree as trees
from keybench.pagemodels.sqlite.load import load, load_beside
from keybench.pagemodels.sqlite.tree import CELLS, NUMBER, USED, Tree, chain

Ranks = NDArray[np.int64]
Sizes = NDArray[np.uint16]


@dataclass(frozen=True)
class SqliteStats(PageStats):
    """The figures of SQLite. Overflow pages are neither leaf nor branch pages."""

    overflow_pages: int = 0
    """Overflow pages of the b-tree."""


@dataclass(frozen=True)
class Parameters:
    """What can be set."""

    page_bytes: int = cells.PAGE_SIZE
    """SQLite's page_size: a power of two from 512 to 65536."""


@dataclass(frozen=True)
class FixedModel:
    """The b-tree of a table with keys of one width."""

    table: Table
    page_bytes: int = cells.PAGE_SIZE
    rows: Ranks | None = field(default=None, compare=False)
    """(n,): ranks of the rows in a table by date, if they do not arrive in its order."""
    lengths: Ranks | None = field(default=None, compare=False)
    """(n,): characters of each row's payload, in order of arrival, if they vary."""

    def insert(self, ranks: Ranks, checkpoints: Sequence[int] = ()) -> SqliteStats:
        """Builds the b-tree from keys in order of arrival; see `PageModel.insert`."""
        return _build(self, ranks, checkpoints, np.zeros(1, np.uint16))

    def by_date(self, rows: Ranks) -> FixedModel:
        """The model for rows of those ranks by (created, key) (`contract.BesideTableByDate`)."""
        return replace(self, rows=rows)

    def with_payloads(self, lengths: Ranks) -> FixedModel:
        """The model for payloads of those lengths (`contract.TakesPayloads`)."""
        return replace(self, lengths=lengths)


@dataclass(frozen=True)
class IntegerModel:
    """The b-tree of a table with integer keys, which take as many bytes as their values need."""

    table: Table
    page_bytes: int = cells.PAGE_SIZE
    rows: Ranks | None = field(default=None, compare=False)
    """As of `FixedModel`."""
    lengths: Ranks | None = field(default=None, compare=False)
    """As of `FixedModel`."""

    def sizes(self, keys: Keys) -> Sizes:
        """Bytes of each key in its cell: as a varint if it is the rowid, else as a value of a record."""
        return (cells.varint_bytes if cells.is_rowid(self.table) else cells.integer_bytes)(keys.data.astype(np.int64))

    def insert(self, ranks: Ranks, checkpoints: Sequence[int] = (), *, sizes: Sizes) -> SqliteStats:
        """As `FixedModel.insert`."""
        if len(sizes) != len(ranks):
            raise UsageError("one size for each row is needed: make them with `sizes`.")
        return _build(self, ranks, checkpoints, sizes)

    def by_date(self, rows: Ranks) -> IntegerModel:
        """As `FixedModel.by_date`."""
        return replace(self, rows=rows)

    def with_payloads(self, lengths: Ranks) -> IntegerModel:
        """As `FixedModel.with_payloads`."""
        return replace(self, lengths=lengths)


def page_model(table: Table, given: Parameters) -> PageModel | SizedByValue:
    """The model of the b-tree that holds the table's key; UsageError if the size of its cells is not known."""
    if given.page_bytes not in cells.PAGE_SIZES:
        raise UsageError(f"SQLite has no pages of {given.page_bytes} bytes: take a power of two from 512 to 65536.")
    if table.column.width == 0:
        raise UsageError(
            f"the column {table.column.name} is as wide as its keys: give it their width with `sized` first."
        )
    if table.measures_rows:
        raise UsageError("the page model of SQLite describes the key's index, not the table by date.")
    model = (IntegerModel if table.column.form == "int" else FixedModel)(table, given.page_bytes)
    return repeated(model, table.children) if table.key == "fk" else model


def _build(model: FixedModel | IntegerModel, ranks: Ranks, checkpoints: Sequence[int], sizes: Sizes) -> SqliteStats:
    """`sizes`: bytes of the keys beyond `cells.record`, in order of arrival; or one 0 for all."""
    n, table, page_bytes = len(ranks), model.table, model.page_bytes
    require(ranks, checkpoints)
    if model.rows is not None:
        require(model.rows)
    order = ranks[:0] if model.rows is None else model.rows
    rows, tree = _trees(table, page_bytes, ranks, order, sizes, _payload_bytes(model, n))
    file, reached = trees.new_file(page_bytes), 0
    for each in filter(None, (rows, tree)):
        trees.start(each, file)
    noted = []
    for begin, end in pairwise((0, *checkpoints, n)):
        while True:
            if rows:
                begin, reached = load_beside(rows, tree, file, order, ranks, begin, end, reached)
            else:
                begin = load(tree, file, ranks, begin, end, True)
            if begin == end:
                break
            for each in filter(None, (rows, tree)):
                trees.grow(each)
        noted.append(_noted(tree, end))
    return _stats(tree, noted, n, among_others=table.key == "fk")


def _payload_bytes(model: FixedModel | IntegerModel, rows: int) -> Ranks:
    """Bytes of the payload in each row's record, or of one row if all are alike."""
    if not model.table.payload:
        return np.zeros(1, np.int64)
    if model.table.lengths is None:
        return cells.text_bytes(np.array([model.table.payload]))
    return cells.text_bytes(given_lengths(model.lengths, rows))


def _trees(
    table: Table, page_bytes: int, ranks: Ranks, order: Ranks, sizes: Sizes, payload: Ranks
) -> tuple[Tree | None, Tree]:
    """(the b-tree of a table by rowid or date, if the key has an index beside it; the b-tree of the key).

    `order`: ranks of rows by date; empty if they arrive in that order. `payload`: bytes of the rows' payloads.
    """
    column, n = table.column, len(ranks)
    if cells.is_rowid(table):
        rest, pages = cells.stored(cells.ROWID_RECORD + payload, page_bytes, table=True)
        return None, trees.new(ranks, rest + sizes, 4 + sizes, page_bytes, pages)
    if table.key == "clustered":
        cell, pages = cells.stored(cells.record(column) + payload + sizes, page_bytes, table=False)
        return None, trees.new(ranks, cell, None, page_bytes, pages)
    if table.by_date:
        key = cells.record(column, rowid=True) + cells.MOMENT_BYTES + sizes
        row, pages = cells.stored(key + payload, page_bytes, table=False)
        entry, none = cells.stored(key, page_bytes, table=False)
        return (
            trees.new(order, _each(row, n), None, page_bytes, pages),
            trees.new(ranks, entry, None, page_bytes, none),
        )
    rowids = np.arange(1, n + 1)
    varints = cells.varint_bytes(rowids)
    row, pages = cells.stored(cells.record(column) + payload + sizes, page_bytes, table=True)
    entries = cells.record(column, rowid=True) + sizes + cells.integer_bytes(rowids)
    entry, none = cells.stored(entries, page_bytes, table=False)
    return (
        trees.new(ranks[:0], row + varints, 4 + varints, page_bytes, pages),
        trees.new(ranks, entry, None, page_bytes, none),
    )


def _each(sizes: Sizes, n: int) -> Sizes:
    """A size for each of n rows: without ranks, `trees.new` takes the number of rows from the sizes."""
    return np.broadcast_to(sizes, n).copy() if len(sizes) == 1 else sizes


def _noted(tree: Tree, rows: int) -> Checkpoint:
    facts = tree.facts
    used = int(tree.leaves[chain(tree), USED].sum(dtype=np.int64))
    kinds = (int(facts[kind]) for kind in (trees.LEAVES, trees.APPENDS, trees.EDGES, trees.INTERIORS))
    leaves, appends, edges, interiors = kinds
    return Checkpoint(rows, leaves, appends, edges, interiors, 100 * used / (leaves * int(facts[trees.ROOM])))


def _stats(tree: Tree, noted: Sequence[Checkpoint], rows: int, *, among_others: bool) -> SqliteStats:
    """`among_others`: whether another table takes pages in between, so that page numbers are not known but their order.

    A parent table does; how many pages at a time depends on the size of transactions.
    """
    leaves = tree.leaves[chain(tree)].astype(np.int64)
    return SqliteStats.from_chain(
        noted[-1],
        leaves[:, NUMBER].copy(),
        leaves[:, CELLS].copy(),
        among_others=among_others,
        branch_pages=int(tree.facts[trees.BRANCHES]),
        checkpoints=tuple(noted[:-1]),
        overflow_pages=int(tree.overflow.sum(dtype=np.int64)) * (rows if len(tree.overflow) == 1 else 1),
    )
