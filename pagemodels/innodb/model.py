"""The page model of InnoDB: a clustered index, or a secondary index over an integer primary key or a key by date.

Rules: docs/internals/innodb.md. Every page number of all levels, records a page, garbage, split counter and file size
equal those of a live MariaDB and MySQL (tests/databases/mysql/test_page_model.py). docs/internals/innodb.md §9 says how
far they were compared, and §10 what is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from keybench.errors import UsageError
from keybench.model.table import Table
from keybench.pagemodels.contract import IndexState, PageModel, require_lengths, require_width
from keybench.pagemodels.foreign_key_index import Repeated
from keybench.pagemodels.innodb import branch_memory as branch
from keybench.pagemodels.innodb import leaf_memory as leaf
from keybench.pagemodels.innodb import records
from keybench.pagemodels.innodb import tablespace as spaces
from keybench.pagemodels.innodb.branch_memory import BranchTree, make_root
from keybench.pagemodels.innodb.leaf_memory import APPEND, EDGE, INTERIOR, LeafPages, events_of
from keybench.pagemodels.innodb.leaf_splits import UNNOTED, load
from keybench.pagemodels.innodb.node_pointers import follow_both
from keybench.pagemodels.innodb.state import MOST_ROWS, ClusteredState, IndexFormat, InnodbStats
from keybench.pagemodels.innodb.tablespace import Tablespace
from keybench.pagemodels.page_stats import Checkpoint, PageStats
from keybench.pagemodels.ranking import Integers, Sizes, require


@dataclass(frozen=True)
class Parameters:
    """The settings of server and table that change an index."""

    page_bytes: int = records.PAGE_BYTES
    """`innodb_page_size`."""
    merge_threshold: int = records.MERGE_THRESHOLD
    """MERGE_THRESHOLD of the table's indexes, in %: a page that is less full may be merged."""
    multibyte: bool = True
    """Whether characters can take several bytes in a column that names no character set."""

    def __post_init__(self) -> None:
        if self.page_bytes not in records.PAGE_SIZES:
            sizes = ", ".join(map(str, records.PAGE_SIZES))
            raise UsageError(f"InnoDB has no pages of {self.page_bytes} bytes: use one of {sizes}.")
        if not 1 <= self.merge_threshold <= records.MERGE_THRESHOLD:
            raise UsageError(
                f"MERGE_THRESHOLD is between 1 and {records.MERGE_THRESHOLD}, not {self.merge_threshold}: "
                f"the default is {records.MERGE_THRESHOLD}."
            )


@dataclass(frozen=True)
class InnodbModel(IndexFormat):
    """The page model of one index."""

    table: InnodbModel | None = None
    """For a secondary index: the clustered index, by row id or date, of the table in the same file."""
    rows: Integers | None = field(default=None, compare=False)
    """(n,): ranks of the rows in that table, if they do not arrive in its order."""
    most: int = 0
    """The most characters of a payload, if payloads vary; 0 if all are alike."""
    lengths: Integers | None = field(default=None, compare=False)
    """(n,): characters of each row's payload, in order of arrival."""

    def __post_init__(self) -> None:
        longest = records.payload_bytes(np.array([self.most]), self.most)[0] if self.most else 0  # bytes of a payload
        for size in (int(self.leaf_bytes + longest), self.branch_bytes):  # at least 5 of a header, and a key
            if not 6 <= size <= records.longest_record(self.page_bytes):
                raise UsageError(
                    f"a record of {size} bytes is too long for a page of {self.page_bytes}: the page model of "
                    "InnoDB takes shorter keys and payloads only."
                )

    def insert(self, ranks: Integers, checkpoints: Sequence[int] = ()) -> InnodbStats:
        """Builds the index, and that of the table in the same file, from keys in order of arrival, given by rank:
        int64 (n,), a permutation of 0 … n − 1. `checkpoints` are ascending numbers of rows, each from 1 to n, after
        which the leaf level is noted. UsageError for 2³¹ rows or more, and for other ranks or checkpoints."""
        if len(ranks) >= MOST_ROWS:
            raise UsageError(
                f"the page model of InnoDB takes fewer than {MOST_ROWS:,} rows, not {len(ranks):,}: use fewer --rows."
            )
        require(ranks, checkpoints)
        if self.rows is not None:
            require(self.rows)
        # Leaves first; what they ask of branch pages and file is then done in the same order.
        leaves, sizes = self._load_leaves(ranks, len(ranks))
        events = events_of(leaves)
        space, trees = self._replay(events, self._table_events(len(ranks)))
        points = []  # the leaf level at each checkpoint, and in the end
        for rows in (*checkpoints, len(ranks)):
            used = int(sizes[:rows].sum(dtype=np.int64)) if self.most else rows * self.leaf_bytes
            points.append(self._checkpoint(events, rows, used))
        attempts, neighbours = np.sum([tree.facts[[branch.ATTEMPTS, branch.NEIGHBOURS]] for tree in trees], axis=0)
        counters = attempts, neighbours, trees[-1].facts[branch.MERGES]  # merges of the index alone
        return self.figures(points, leaves, trees[-1], space, counters)

    def _table_events(self, rows: int) -> Integers:
        """The events of the table in the same file: int64 (events, 8); none if there is no such table."""
        if not self.table:
            return np.empty((0, leaf.MOVED + 1), np.int64)
        row_ranks = np.empty(0, np.int64) if self.rows is None else self.rows  # empty: rows arrive in the table's order
        return events_of(self.table._load_leaves(row_ranks, rows)[0])

    def _replay(self, events: Integers, table_events: Integers) -> tuple[Tablespace, Sequence[BranchTree]]:
        """(the file, the branch pages of the table, if there is one, and of the index), after all events of both."""
        space, trees = self.new_file(), list[BranchTree]()
        if self.table:
            trees.append(self.table.new_tree(len(table_events) + 1, segment=1))
        # Each index has two segments, so that the index behind a table begins with number 3.
        trees.append(self.new_tree(len(events) + 1, segment=2 * len(trees) + 1))
        for tree in trees:
            make_root(tree, space)
        table, index = trees[0], trees[-1]  # without a table both are the index's, and there are no table events
        table_done = done = 0
        while (table_done, done) != (len(table_events), len(events)):  # it returns early when memory is full
            table_done, done = follow_both(table, index, space, table_events, events, table_done, done)
            spaces.grow(space)
            for tree in trees:
                branch.grow(tree)
        return space, trees

    def _load_leaves(self, ranks: Integers, rows: int) -> tuple[LeafPages, Sizes]:
        """(the leaves after the last of these rows, bytes of each record in order of arrival; (0,) if all have one
        size). `ranks`: of the keys in order of arrival; empty if keys ascend in that order."""
        if self.most:
            payloads = records.payload_bytes(require_lengths(self.lengths, rows), self.most)
            sizes = sizes_by_rank = (self.leaf_bytes + payloads).astype(np.uint16)
            if len(ranks):
                sizes_by_rank = np.empty_like(sizes)
                sizes_by_rank[ranks] = sizes
        else:
            sizes = sizes_by_rank = leaf.NO_SIZES
        leaves = self.new_leaves(rows, sizes_by_rank)
        begin = 0
        while (begin := load(leaves, ranks, begin, rows, UNNOTED)) < rows:
            leaf.grow(leaves)
        return leaves, sizes

    def state(self, keys: int) -> IndexState:
        """An empty index into which `keys` keys will come in all (`contract.KeepsState`). UsageError for an index that
        is not clustered, and for rows whose payloads vary."""
        if self.table or not self.clustered:
            raise UsageError(
                "the page model of InnoDB knows the past of a clustered index only: take a scenario whose table has "
                'key = "clustered", or measure it on a server.'
            )
        if self.most:
            raise UsageError(
                "the page model of InnoDB knows no past of rows of different lengths: give one payload, or measure it "
                "on a server."
            )
        return ClusteredState(self, keys)

    def by_date(self, rows: Integers) -> InnodbModel:
        """The model beside a table whose rows have these ranks by (created, key) (`contract.BesideTableByDate`)."""
        return replace(self, rows=rows)

    def with_payloads(self, lengths: Integers) -> InnodbModel:
        """The model for rows whose payloads have `lengths` characters, in order of arrival (`contract.TakesPayloads`).
        They change nothing where the model's payloads do not vary."""
        table = self.table.with_payloads(lengths) if self.table else None
        return replace(self, table=table, lengths=lengths if self.most else None)

    def _checkpoint(self, events: Integers, rows: int, used: int) -> Checkpoint:
        """The leaf level after the first `rows` rows, whose records have `used` bytes together. `events`: (events,
        fields of an event in `leaf_memory`); those with NEIGHBOUR moved records to a neighbour and made no page."""
        splits = events[(events[:, leaf.ROW] < rows) & (events[:, leaf.WHAT] != leaf.NEIGHBOUR)]
        appends, edges, interiors = (int((splits[:, leaf.KIND] == kind).sum()) for kind in (APPEND, EDGE, INTERIOR))
        leaf_pages = len(splits) + 1
        density = 100 * used / (leaf_pages * self.room)
        return Checkpoint(rows, leaf_pages, appends, edges, interiors, density)


def page_model(table: Table, parameters: Parameters, *, mysql: bool) -> PageModel:
    """The model of the index that holds the table's key. UsageError for the index of the table by date itself, for a
    column without a width, and for records that are too long for a page."""
    if table.measures_rows:
        raise UsageError("the page model of InnoDB describes the key's index, not the table by date.")
    require_width(table.column)
    model = partial(
        InnodbModel, mysql=mysql, page_bytes=parameters.page_bytes, merge_threshold=parameters.merge_threshold
    )
    key = records.key_bytes(table.column, multibyte=parameters.multibyte)
    # A payload that varies counts row by row, up to `most` characters; one that does not, as part of each record.
    payload, most = (0, table.payload) if table.lengths else (table.payload, 0)
    leaf_bytes = records.leaf_record(key, payload, table.key, table.longest)
    leaf_bytes += records.STATUS_BYTES if table.status and table.key == "clustered" else 0
    branch_bytes = records.branch_record(key, table.key)
    if table.key == "clustered":
        return model(leaf_bytes, branch_bytes, most=most, payload=payload, status=table.status)
    rows = model(*records.row_records(key, payload, table.key), most=most)
    index = model(leaf_bytes, branch_bytes, clustered=False, table=rows)
    if table.parent is None:
        return index
    parent = page_model(table.parent, parameters, mysql=mysql)
    return WithParent(Repeated(table.children, model=index), parent)


@dataclass(frozen=True)
class WithParent:
    """The index of a foreign key. The server's counter of page splits has those of the parent's table too."""

    model: PageModel
    """Of the foreign key's index."""
    parent: PageModel
    """Of the index of the key to which it refers, in the parent's table."""

    def insert(self, ranks: Integers, checkpoints: Sequence[int] = ()) -> PageStats:
        """Builds both from keys in order of arrival; the figures are those of the foreign key's index."""
        stats = self.model.insert(ranks, checkpoints)
        parent = self.parent.insert(ranks)
        counter = (stats.split_counter or 0) + (parent.split_counter or 0)  # InnoDB's is never None
        return replace(stats, split_counter=counter)
