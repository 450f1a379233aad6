"""A clustered index of InnoDB with a past: filled, deleted from, purged and rebuilt (docs/internals/innodb.md §7).

Leaves change first, and note what that asks of branch pages and of the file; this is done in the same order afterwards.
A deletion alone marks records and moves nothing. Purge then removes them, in the order of the deletions. An index can
also begin as it is on a server (`InnodbPages`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError
from keybench.pagemodels.contract import ServerPages
from keybench.pagemodels.innodb import branch_memory as branch
from keybench.pagemodels.innodb import leaf_memory as leaf
from keybench.pagemodels.innodb import tablespace as spaces
from keybench.pagemodels.innodb.branch_memory import BranchTree, make_root
from keybench.pagemodels.innodb.leaf_memory import LeafPages, chain, events_of
from keybench.pagemodels.innodb.leaf_splits import UNNOTED, load, purge
from keybench.pagemodels.innodb.node_pointers import build, follow, records_of_full_page
from keybench.pagemodels.innodb.records import MERGE_THRESHOLD, PAGE_BYTES, PAGE_HEADER
from keybench.pagemodels.innodb.server_pages import InnodbPages, fill_branches, fill_heaps, fill_space
from keybench.pagemodels.innodb.tablespace import Tablespace
from keybench.pagemodels.page_stats import Checkpoint, PageStats
from keybench.pagemodels.ranking import Integers, Sizes, mask_of

MOST_ROWS = 1 << 31
"""Ranks are 32-bit integers."""
_ALL_ROWS = 1 << 62  # a row above all others
_EXTENTS = 256  # extents for which a new file has memory at first


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
class IndexFormat:
    """Sizes of an index's records, in bytes, and what else the rules of its pages depend on."""

    leaf_bytes: int
    """Of a record in a leaf; without its payload where payloads vary."""
    branch_bytes: int
    """Of a node pointer."""
    clustered: bool = True
    mysql: bool = False
    page_bytes: int = PAGE_BYTES
    merge_threshold: int = MERGE_THRESHOLD
    """In %: a page that is less full may be merged."""
    payload: int = 0
    """Characters of a clustered row's payload."""
    status: bool = False
    """Whether rows have a status, with an index of its own in the file."""

    @property
    def room(self) -> int:
        """Bytes of a page for records and directory."""
        return self.page_bytes - PAGE_HEADER

    def new_leaves(self, rows: int, sizes: Sizes = leaf.NO_SIZES) -> LeafPages:
        """An empty leaf, with memory for those of `rows` rows. `sizes`: of records by rank, (rows,); (0,) if alike."""
        smallest = int(sizes.min()) if len(sizes) else self.leaf_bytes
        return leaf.new(smallest, self.page_bytes, rows, sizes, clustered=self.clustered, shrinks=not self.mysql)

    def new_tree(self, leaves: int, segment: int = 1) -> BranchTree:
        """A tree without branch pages, with memory for those over `leaves` leaves. `segment`: its segment's number."""
        sparse = self.page_bytes * self.merge_threshold // 100
        return branch.new(self.branch_bytes, self.page_bytes, leaves, segment, shrinks=not self.mysql, sparse=sparse)

    def new_file(self) -> Tablespace:
        """A new file, without index pages."""
        return spaces.new(_EXTENTS, self.page_bytes, mysql=self.mysql)

    def figures(
        self,
        points: Sequence[Checkpoint],
        leaves: LeafPages,
        tree: BranchTree,
        space: Tablespace,
        counters: Iterable[int],
    ) -> InnodbStats:
        """The figures of an index. `points`: the leaf level at checkpoints, and now. `counters`: split attempts, those
        that ended in the right neighbour, merges."""
        slots = leaves.slots[chain(leaves)]
        unused_places = int((slots[:, leaf.TOP] - slots[:, leaf.RECORDS]).sum())  # of the heaps: without a record
        attempts, neighbours, merges = map(int, counters)
        return InnodbStats.from_chain(
            points[-1],
            page_numbers=tree.leaves[slots[:, leaf.PAGE]],
            page_rows=slots[:, leaf.RECORDS].astype(np.int64),
            branch_pages=int(tree.facts[branch.PAGES] - tree.facts[branch.GIVEN_BACK]),
            garbage_bytes=int(slots[:, leaf.GARBAGE].sum()) if len(leaves.sizes) else unused_places * self.leaf_bytes,
            checkpoints=tuple(points[:-1]),
            split_counter=attempts - neighbours if self.mysql else attempts,  # MySQL counts splits alone
            merges=merges,
            file_pages=int(space.facts[spaces.SIZE]),
        )


class ClusteredState:
    """One clustered index of records of one size (`contract.IndexState`), to which `keys` keys ever come."""

    def __init__(self, index_format: IndexFormat, keys: int) -> None:
        if keys >= MOST_ROWS:
            raise UsageError(f"the page model of InnoDB takes fewer than {MOST_ROWS:,} rows, not {keys:,}.")
        self._format, self._keys = index_format, keys
        self._present = np.zeros(keys, np.bool_)  # by rank: whether the key is there and not deleted
        self._marked = np.zeros(keys, np.bool_)  # by rank: whether it is deleted and not yet purged
        self._deleted: list[Integers] = []  # the ranks of marked keys, in order of deletion
        self._splits = np.zeros(3, np.int64)  # of leaves, by kind
        self._earlier_counters = np.zeros(3, np.int64)  # those of `_tree_counters` before the last rebuild
        self._begin_file(self._format.new_leaves(self._keys), np.zeros(1, np.int64))

    def build(self, ranks: Integers, fill: int) -> None:
        """Replaces the index by one that is built from these keys, in any order, at a fill factor in %."""
        full_pages = self._full_pages(fill)
        self._build_from(mask_of(ranks, self._keys), *full_pages)

    def rebuild(self, fill: int) -> None:
        """Replaces the index by one that is built from the keys that are not deleted."""
        self._build_from(self._present, *self._full_pages(fill))

    def begin(self, ranks: Integers, pages: ServerPages, borders: Integers | None = None) -> None:
        """Replaces the index by one of these keys, in any order, with these pages (`contract.BeginsFromPages`).
        `borders`: the lowest rank that goes to each leaf but the first; None: the rank of its first key. UsageError for
        pages that are not `InnodbPages`, or do not fit."""
        pages.require(len(ranks))
        if not isinstance(pages, InnodbPages) or pages.extents is None:
            raise UsageError("the page model of InnoDB goes on from InnoDB's own pages only: read them from its file.")
        present, entries = mask_of(ranks, self._keys), pages.levels[0].entries
        self._earlier_counters += self._tree_counters()
        self._present, self._deleted = present, []
        self._marked[:] = False
        # 1. Leaves, with their heaps.
        keys = np.flatnonzero(present)
        starts = np.cumsum(entries) - entries
        lowers = np.append(0, keys[starts[1:]] if borders is None else borders).astype(np.int64)
        highest = keys[starts + entries - 1] if len(keys) else np.array([-1])  # −1: of a leaf without records
        leaves = self._leaves_without_heaps(lowers, entries, highest)
        leaves.facts[leaf.IS_ROOT] = len(pages.levels) == 1
        fill_heaps(leaves, pages.heaps[0], entries, keys)
        # 2. Branch pages and file.
        self._begin_file(leaves, lowers)
        self._tree.leaves[: len(lowers)] = pages.levels[0].numbers
        while len(self._tree.state) < sum(len(level.numbers) for level in pages.levels[1:]) + 2 * branch.MARGIN:
            branch.grow(self._tree)
        if len(pages.levels) > 1:
            fill_branches(self._tree, pages, lowers)
        fill_space(self._space, pages.extents)

    def insert(self, ranks: Integers) -> None:
        """Inserts keys in order of arrival. UsageError for a rank that is there, comes twice or is out of range."""
        if bool((mask_of(ranks, self._keys) & (self._present | self._marked)).any()):
            raise UsageError("some of the keys are there already, or not cleaned up yet: leave them out.")
        self._present[ranks] = True
        begin = 0
        while (begin := load(self._leaves, ranks, begin, len(ranks), UNNOTED)) < len(ranks):
            leaf.grow(self._leaves)
        self._follow()

    def delete(self, ranks: Integers) -> None:
        """Marks keys as deleted, in order; `clean` then removes them. UsageError for a key that is not there."""
        if bool((mask_of(ranks, self._keys) & ~self._present).any()):
            raise UsageError(f"{len(ranks):,} keys cannot be deleted: not all of them are there.")
        self._present[ranks] = False
        self._marked[ranks] = True
        self._deleted.append(ranks.astype(np.int64))

    def delete_by_statement(self, ranks: Integers, rows: int) -> None:
        """Marks keys as deleted by statements of `rows` keys each: the optimizer sorts those of one statement."""
        statements = [np.sort(ranks[at : at + rows]) for at in range(0, len(ranks), rows)]
        self.delete(np.concatenate(statements or [ranks]))  # no keys are no statement, which numpy refuses

    def update(self, ranks: Integers, rows_per_tx: int, characters: Integers | None = None) -> None:  # noqa: ARG002
        """Nothing (`contract.KnowsUpdates`): values of the same length are written in their place
        (btr_cur_update_in_place). UsageError for a key that is not there, and for a payload of another length."""
        if not self._present[ranks].all():
            raise UsageError(f"{len(ranks):,} keys cannot be updated: not all of them are there.")
        if characters is not None and (characters != self._format.payload).any():
            raise UsageError(
                "rows get payloads of another length: InnoDB then moves them within their page, or splits it, which "
                "its page model does not follow. Such updates are measured alone."
            )

    def read(self, ranks: Integers, *, by_key: bool) -> None:
        """Nothing: readers change no page."""

    def clean(self) -> None:
        """Purges the deleted keys in the order of their deletion."""
        ranks = np.concatenate([np.empty(0, np.int64), *self._deleted])
        begin, sparse = 0, int(self._tree.facts[branch.SPARSE])
        while begin < len(ranks):
            small_file = bool(self._space.facts[spaces.SIZE] < self._space.facts[spaces.EXTENT])
            begin = purge(self._leaves, sparse, small_file, ranks, begin, len(ranks))
            self._follow()
        self._marked[:] = False
        self._deleted = []

    def stats(self) -> InnodbStats:
        """The index as it is now, with deleted rows that are not purged. Splits are those since it was first empty."""
        slots, index_format = self._leaves.slots[chain(self._leaves)], self._format
        records = int(slots[:, leaf.RECORDS].sum(dtype=np.int64))
        density = 100 * records * index_format.leaf_bytes / (len(slots) * index_format.room)
        appends, edge_splits, interior_splits = map(int, self._splits)  # by kind: APPEND, EDGE, INTERIOR
        now = Checkpoint(records, len(slots), appends, edge_splits, interior_splits, density)
        counters = self._earlier_counters + self._tree_counters()
        stats = index_format.figures([now], self._leaves, self._tree, self._space, counters)
        return stats.without_order() if index_format.status else stats

    def _full_pages(self, fill: int) -> tuple[int, int]:
        """(records of a full leaf, node pointers of a full branch page) in a sorted build at a fill factor in %."""
        page_bytes, room = self._format.page_bytes, self._format.room
        leaf_records = records_of_full_page(self._format.leaf_bytes, page_bytes, room, fill)
        return leaf_records, records_of_full_page(self._format.branch_bytes, page_bytes, room, fill)

    def _tree_counters(self) -> Integers:
        """(split attempts, attempts that used the right neighbour instead, merges) of the index since it was built."""
        return self._tree.facts[[branch.ATTEMPTS, branch.NEIGHBOURS, branch.MERGES]]

    def _begin_file(self, leaves: LeafPages, lowers: Integers, keep: int = 0) -> None:
        """Begins a new file for these leaves, whose lowest ranks are `lowers`, and builds the branch pages over them.
        `keep`: node pointers on a full branch page; 0 if the caller makes the branch pages, or one leaf needs none."""
        self._leaves, n = leaves, len(lowers)
        self._space = self._format.new_file()
        self._tree = self._format.new_tree(len(leaves.slots))
        make_root(self._tree, self._space)
        if keep:
            # Memory for all branch pages, each with at least keep − 1 children, and for three times the leaves' pages.
            while len(self._tree.state) < n // max(1, keep - 1) + 2 * branch.MARGIN:
                branch.grow(self._tree)
            while len(self._space.extents) * self._space.facts[spaces.EXTENT] < 3 * n:
                spaces.grow(self._space)
            build(self._tree, self._space, lowers, keep)

    def _build_from(self, present: NDArray[np.bool_], keep: int, keep_above: int) -> None:
        """Replaces the index by one that is built from the keys that are `present`, (keys,) by rank. `keep`: records of
        a full leaf. `keep_above`: node pointers of a full branch page."""
        self._earlier_counters += self._tree_counters()
        self._present, self._deleted = present, []
        self._marked[:] = False
        entries = np.flatnonzero(present)
        if not len(entries):
            self._begin_file(self._format.new_leaves(self._keys), np.zeros(1, np.int64))
            return
        starts = np.arange(0, len(entries), keep)
        counts = np.diff(np.append(starts, len(entries)))
        lowers, highest = np.append(0, entries[starts[1:]]), entries[starts + counts - 1]
        leaves = self._leaves_without_heaps(lowers, counts, highest)
        if self._format.mysql:  # which notes, as MariaDB does not, which record of a built page came last
            leaves.slots[: len(starts), leaf.LAST] = highest
        full = len(entries) // keep  # full leaves; a last one has the rest, and is not written if nothing is left
        leaves.heaps[:full, :keep] = entries[: full * keep].reshape(full, keep)
        leaves.heaps[full : full + 1, : len(entries) - full * keep] = entries[full * keep :]
        self._begin_file(leaves, lowers, keep_above)

    def _leaves_without_heaps(self, lowers: Integers, counts: Integers, highest: Integers) -> LeafPages:
        """Leaves in key order whose heaps are left to the caller. (leaves,) each: `lowers`, where their ranges of ranks
        begin; `counts`, their records; `highest`, their highest ranks."""
        n, leaves = len(lowers), self._format.new_leaves(self._keys)
        while len(leaves.slots) < n + n // 4:
            leaf.grow(leaves)
        fields: dict[int, Any] = {
            leaf.LOWER: lowers,
            leaf.UPPER: np.append(lowers[1:], self._keys),
            leaf.NEXT: np.append(np.arange(1, n), -1),
            leaf.PREVIOUS: np.arange(-1, n - 1),
            leaf.PAGE: np.arange(n),
            leaf.RECORDS: counts,
            leaf.TOP: counts,
            leaf.FREE: -1,
            leaf.LAST: -1,
            leaf.HIGHEST: highest,
        }
        for field, values in fields.items():
            leaves.slots[:n, field] = values
        # The slot of each cell's first rank: the first one whose range ends above it.
        firsts = np.arange(len(leaves.cells), dtype=np.int64) << leaves.facts[leaf.SHIFT]
        leaves.cells[:] = np.searchsorted(fields[leaf.UPPER], firsts, side="right")
        leaves.facts[[leaf.LEAVES, leaf.IS_ROOT]] = n, n == 1
        return leaves

    def _follow(self) -> None:
        """Does to branch pages and file what the events of the leaves ask for, and forgets the events."""
        leaves, tree, space = self._leaves, self._tree, self._space
        if len(tree.leaves) < len(leaves.slots):
            tree.leaves.resize(len(leaves.slots), refcheck=False)
        events, done = events_of(leaves), 0
        while (done := follow(tree, space, events, done, _ALL_ROWS)) < len(events):
            spaces.grow(space)
            branch.grow(tree)
        kinds = events[(events[:, leaf.WHAT] == leaf.UP) | (events[:, leaf.WHAT] == leaf.DOWN), leaf.KIND]
        self._splits += np.bincount(kinds, minlength=3)[:3]
        leaves.facts[leaf.EVENTS] = 0
        if tree.facts[branch.ROOT] < 0 and not leaves.facts[leaf.IS_ROOT]:
            (only,) = chain(leaves)
            leaf.reorganise(leaves, only)  # its records were copied to the root, which is now the only leaf
            leaves.facts[leaf.IS_ROOT] = 1
