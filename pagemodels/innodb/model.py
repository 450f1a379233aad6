"""The page model of InnoDB: a clustered index, or a secondary index over an integer primary key or a key by date.

Rules: docs/internals/innodb.md. Every page number of all levels, records a page, garbage, split counter and file size
equal those of a live MariaDB (tests/databases/mysql/test_page_model.py). Where MySQL differs, the rules follow its
source; docs/internals/innodb.md §8 says how far it was compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError
from keybench.model.table import Table
from keybench.pagemodels.contract import PageModel, SizedByValue
from keybench.pagemodels.foreign_key_index import repeated
from keybench.pagemodels.innodb import branch_memory as pages
from keybench.pagemodels.innodb import leaf_memory as leaf
from keybench.pagemodels.innodb import tablespace as spaces
from keybench.pagemodels.innodb.branch_memory import ATTEMPTS, GIVEN_BACK, MERGES, NEIGHBOURS, PAGES, Tree
from keybench.pagemodels.innodb.branch_splits import start
from keybench.pagemodels.innodb.leaf_memory import APPEND, EDGE, INTERIOR, Leaves
from keybench.pagemodels.innodb.leaf_splits import chain, events_of, load
from keybench.pagemodels.innodb.records import PAGE_BYTES, PAGE_HEADER, branch_record, leaf_record, row_records
from keybench.pagemodels.innodb.replay import follow_both
from keybench.pagemodels.innodb.tablespace import SIZE, Space
from keybench.pagemodels.page_stats import Checkpoint, PageStats
from keybench.pagemodels.permutation import require

_MOST_ROWS = 1 << 31


@dataclass(frozen=True)
class Parameters:
    """None: InnoDB's rules leave nothing to choose."""


@dataclass(frozen=True)
class InnodbStats(PageStats):
    """The figures of InnoDB."""

    split_counter: int | None = 0
    """`index_page_splits`, with those of its table: MariaDB counts each attempt on any level, MySQL each split."""
    merges: int = 0
    """`index_page_merge_successful` of the index."""
    file_pages: int = 0
    """Pages of the table's file."""


@dataclass(frozen=True)
class InnodbModel:
    """An index with records of these sizes, in bytes, in leaves and in branch pages."""

    leaf_bytes: int
    branch_bytes: int
    clustered: bool = True
    table: InnodbModel | None = None
    """For a secondary index: the clustered index, by row id or date, of the table in the same file."""
    mysql: bool = False
    page_bytes: int = PAGE_BYTES
    rows: NDArray[np.int64] | None = field(default=None, compare=False)
    """(n,): ranks of the rows in that table, if they do not arrive in its order."""

    def __post_init__(self) -> None:
        for size in (self.leaf_bytes, self.branch_bytes):
            if not 6 <= size <= (self.page_bytes - PAGE_HEADER) // 2 - 1:
                raise UsageError(
                    f"a record of {size} bytes is too long for a page of {self.page_bytes}: the page model of "
                    "InnoDB takes shorter keys and payloads only."
                )

    def insert(self, ranks: NDArray[np.int64], checkpoints: Sequence[int] = ()) -> InnodbStats:
        """Builds the index from keys in order of arrival; see `PageModel.insert`."""
        if len(ranks) >= _MOST_ROWS:
            raise UsageError(
                f"the page model of InnoDB takes fewer than {_MOST_ROWS:,} rows, not {len(ranks):,}: use fewer --rows."
            )
        require(ranks, checkpoints)
        if self.rows is not None:
            require(self.rows)
        leaves = self._loaded(ranks, len(ranks))
        events = events_of(leaves)
        rows = (
            events_of(self.table._loaded(ranks[:0] if self.rows is None else self.rows, len(ranks)))
            if self.table
            else events[:0]
        )
        space = spaces.new(256, mysql=self.mysql)
        trees = [
            pages.new(model.branch_bytes, self.page_bytes, len(splits) + 1, 2 * i + 1, shrinks=not self.mysql)
            for i, (model, splits) in enumerate([(self.table, rows), (self, events)])
            if model
        ]
        for tree in trees:
            start(tree, space)
        done = begin = 0
        while (done, begin) != (len(rows), len(events)):
            done, begin = follow_both(trees[0], trees[-1], space, rows, events, done, begin)
            spaces.grow(space)
            for tree in trees:
                pages.grow(tree)
        noted = [self._noted(events, rows) for rows in (*checkpoints, len(ranks))]
        return self._stats(leaves, trees, space, noted)

    def _loaded(self, ranks: NDArray[np.int64], rows: int) -> Leaves:
        room = self.page_bytes - PAGE_HEADER
        shrinks = not self.mysql
        leaves = leaf.new(self.leaf_bytes, self.page_bytes, room, rows, clustered=self.clustered, shrinks=shrinks)
        begin = 0
        while (begin := load(leaves, ranks, begin, rows)) < rows:
            leaf.grow(leaves)
        return leaves

    def by_date(self, rows: NDArray[np.int64]) -> InnodbModel:
        """The model for rows of those ranks by (created, key) (`contract.BesideTableByDate`)."""
        return replace(self, rows=rows)

    def _noted(self, events: NDArray[np.int64], rows: int) -> Checkpoint:
        split = events[(events[:, leaf.ROW] < rows) & (events[:, leaf.WHAT] != leaf.NEIGHBOUR)]
        appends, edges, interiors = (int((split[:, leaf.KIND] == kind).sum()) for kind in (APPEND, EDGE, INTERIOR))
        density = 100 * rows * self.leaf_bytes / ((len(split) + 1) * (self.page_bytes - PAGE_HEADER))
        return Checkpoint(rows, len(split) + 1, appends, edges, interiors, density)

    def _stats(self, leaves: Leaves, trees: Sequence[Tree], space: Space, noted: Sequence[Checkpoint]) -> InnodbStats:
        facts, slots = trees[-1].facts, leaves.slots[chain(leaves)]
        return InnodbStats.from_chain(
            noted[-1],
            trees[-1].leaves[slots[:, leaf.PAGE]],
            slots[:, leaf.RECORDS].astype(np.int64),
            branch_pages=int(facts[PAGES] - facts[GIVEN_BACK]),
            garbage_bytes=int((slots[:, leaf.TOP] - slots[:, leaf.RECORDS]).sum()) * self.leaf_bytes,
            checkpoints=tuple(noted[:-1]),
            split_counter=int(
                sum(tree.facts[ATTEMPTS] - (tree.facts[NEIGHBOURS] if self.mysql else 0) for tree in trees)
            ),
            merges=int(facts[MERGES]),
            file_pages=int(space.facts[SIZE]),
        )


def page_model(table: Table, *, mysql: bool) -> PageModel | SizedByValue:
    """The model of the index that holds the table's key; UsageError where its records have no one size."""
    if table.measures_rows:
        raise UsageError("the page model of InnoDB describes the key's index, not the table by date.")
    if table.column.width == 0:
        raise UsageError(
            f"the column {table.column.name} is as wide as its keys: give it their width with `sized` first."
        )
    leaf, branch = leaf_record(table.column, table.payload, table.key), branch_record(table.column, table.key)
    if table.key == "clustered":
        return InnodbModel(leaf, branch, mysql=mysql)
    rows = InnodbModel(*row_records(table.column, table.payload, table.key), mysql=mysql)
    model = InnodbModel(leaf, branch, clustered=False, table=rows, mysql=mysql)
    return repeated(model, table.children) if table.key == "fk" else model
