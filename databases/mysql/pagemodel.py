"""The page model of InnoDB: a table's clustered index, or a secondary index over an integer primary key.

Rules: btree.md B, and the modules beside this one. Found equal to MariaDB 10.11 in every page number of all levels, in
records a page, garbage, split counter and file size (tests/databases/mysql/test_pagemodel.py). MySQL differs where
`mysql` is read; that is from its source and has not been run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from keybench.databases.engine import Table
from keybench.databases.mysql import pagemodel_pages as pages
from keybench.databases.mysql import pagemodel_space as spaces
from keybench.databases.mysql.pagemodel_load import chain, load, load_beside
from keybench.databases.mysql.pagemodel_pages import (
    APPENDS,
    ATTEMPTS,
    EDGES,
    FREED,
    GIVEN_BACK,
    INTERIORS,
    LEAVES,
    MERGES,
    NEIGHBOURS,
    NUMBER,
    PAGE_HEADER,
    PAGES,
    RECORDS,
    Tree,
)
from keybench.databases.mysql.pagemodel_space import SIZE, Space
from keybench.databases.mysql.pagemodel_tree import start
from keybench.databases.mysql.table import PAGE_BYTES, branch_record, leaf_record, row_records
from keybench.databases.pagemodel import Checkpoint, PageModel, PageStats, SizedByValue
from keybench.databases.repeating import repeated
from keybench.errors import UsageError


@dataclass(frozen=True)
class Parameters:
    """None: InnoDB's rules leave nothing to choose."""


@dataclass(frozen=True)
class InnodbStats(PageStats):
    """What InnoDB has besides."""

    split_counter: int | None = 0
    """Of `index_page_splits`: MariaDB counts each attempt on any level, MySQL each split."""
    merges: int = 0
    """What it adds to `index_page_merge_successful`."""
    file_pages: int = 0
    """Pages of the table's file."""


@dataclass(frozen=True)
class InnodbModel:
    """An index by the sizes of its records in bytes: in leaves and in branch pages."""

    leaf_bytes: int
    branch_bytes: int
    clustered: bool = True
    table: InnodbModel | None = None
    """The clustered index of a table by row id or date, which takes pages of the same file, for a secondary index."""
    mysql: bool = False
    page_bytes: int = PAGE_BYTES
    rows: NDArray[np.int64] | None = field(default=None, compare=False)
    """(n,): ranks of the rows in that table, where they do not arrive in its order."""

    def __post_init__(self) -> None:
        for size in (self.leaf_bytes, self.branch_bytes):
            if not 6 <= size <= (self.page_bytes - PAGE_HEADER) // 2 - 1:
                raise UsageError(
                    f"a record of {size} bytes does not lie whole in a page of {self.page_bytes}: the page model of "
                    "InnoDB takes shorter keys and payloads only."
                )

    def insert(self, ranks: NDArray[np.int64], checkpoints: Sequence[int] = ()) -> InnodbStats:
        """Builds the index from keys in order of arrival; see `PageModel.insert`."""
        n, shrinks = len(ranks), not self.mysql
        rows = ranks[:0] if self.rows is None else self.rows
        space = spaces.new(256, mysql=self.mysql)
        trees = [
            pages.new(model._sizes, self.page_bytes, n, 2 * i + 1, clustered=model.clustered, shrinks=shrinks)
            for i, model in enumerate(filter(None, (self.table, self)))
        ]
        for tree in trees:
            start(tree, space)
        index, noted = trees[-1], []
        for begin, end in pairwise((0, *checkpoints, n)):
            while True:
                if self.table:
                    begin = load_beside(trees[0], index, space, rows, ranks, begin, end)
                else:
                    begin = load(index, space, ranks, begin, end, True)
                if begin == end:
                    break
                spaces.grow(space)
                for tree in trees:
                    pages.grow(tree)
            noted.append(self._noted(index, end))
        return self._stats(index, space, noted)

    def by_date(self, rows: NDArray[np.int64]) -> InnodbModel:
        """The model for rows of those ranks by (created, key) (`pagemodel.BesideDated`)."""
        return replace(self, rows=rows)

    @property
    def _sizes(self) -> tuple[int, int]:
        return self.leaf_bytes, self.branch_bytes

    def _density(self, rows: int, leaves: int) -> float:
        return 100 * rows * self.leaf_bytes / (leaves * (self.page_bytes - PAGE_HEADER))

    def _noted(self, tree: Tree, rows: int) -> Checkpoint:
        leaves, appends, edges, interiors = (int(fact) for fact in tree.facts[[LEAVES, APPENDS, EDGES, INTERIORS]])
        return Checkpoint(rows, leaves, appends, edges, interiors, self._density(rows, leaves))

    def _stats(self, tree: Tree, space: Space, noted: Sequence[Checkpoint]) -> InnodbStats:
        facts, end = tree.facts, noted[-1]
        state = tree.state[chain(tree)]
        steps = np.diff(state[:, NUMBER])
        back = 100 * int((steps < 0).sum()) / len(state)
        return InnodbStats(
            rows=end.rows,
            leaf_pages=end.leaf_pages,
            branch_pages=int(facts[PAGES] - facts[LEAVES] - facts[GIVEN_BACK]),
            appends=end.appends,
            edge_splits=end.edge_splits,
            interior_splits=end.interior_splits,
            density=end.density,
            fragmentation=back,
            back_links=back,
            nonadjacent=100 * int((steps != 1).sum()) / max(1, len(steps)),
            page_numbers=state[:, NUMBER].copy(),
            page_rows=state[:, RECORDS].copy(),
            garbage_bytes=int(state[:, FREED].sum()) * self.leaf_bytes,
            checkpoints=tuple(noted[:-1]),
            split_counter=int(facts[ATTEMPTS] - (facts[NEIGHBOURS] if self.mysql else 0)),
            merges=int(facts[MERGES]),
            file_pages=int(space.facts[SIZE]),
        )


def of(table: Table, *, mysql: bool) -> PageModel | SizedByValue:
    """The model of the index that holds the table's key; UsageError where its records have no one size."""
    if table.rows:
        raise UsageError("the page model of InnoDB is that of the key's index, not of the table by date.")
    if table.column.width == 0:
        raise UsageError(f"the width of the column {table.column.name} is not known: size it by a layout's keys first.")
    leaf, branch = leaf_record(table.column, table.payload, table.key), branch_record(table.column, table.key)
    if table.key == "clustered":
        return InnodbModel(leaf, branch, mysql=mysql)
    rows = InnodbModel(*row_records(table.column, table.payload, table.key), mysql=mysql)
    model = InnodbModel(leaf, branch, clustered=False, table=rows, mysql=mysql)
    return repeated(model, table.children) if table.key == "fk" else model
