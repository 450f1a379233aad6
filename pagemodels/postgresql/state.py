"""An nbtree with a past whose rows are updated and read.

An update gives every index an entry for the row's new version, unless it is HOT. Within one transaction no older
version is dead yet, so all entries stay. The rules, of nbtinsert.c and nbtdedup.c (docs/internals/postgresql.md §7):

- A full leaf first merges the entries of each key (`_bt_dedup_pass`), if the new entry is one of an update; an inserted
  key splits the leaf at once, as the index is unique.
- Entries of dead rows that a reader has marked go before a leaf splits. nbtree then looks at the pages of the table on
  which their rows lie, and at that of the new row, and deletes all entries of dead rows there (`_bt_simpledel_pass`).
- A split takes the best place between two different keys (nbtsplitloc.c), by the bytes of the items.

A key has at most two entries here, which lie on one leaf. So a leaf is still a set of ranks, and `RowFacts` says which
items each rank has.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel
from keybench.errors import UsageError
from keybench.pagemodels.contract import ServerPages
from keybench.pagemodels.half_split import kernel as split_kernel
from keybench.pagemodels.half_split.build import ABSENT, DELETED, PRESENT, States
from keybench.pagemodels.half_split.kernel import APPEND, COUNT, EDGE, INTERIOR, LAST, USED, USED_SLOTS, Leaves, find
from keybench.pagemodels.half_split.levels import NO_SIZES, LevelMemory
from keybench.pagemodels.half_split.model import SplitModel, SplitState
from keybench.pagemodels.page_stats import PageStats
from keybench.pagemodels.postgresql.posting_lists import density_of, merged_bytes, rows_of
from keybench.pagemodels.postgresql.records import HEAP_OVERHEAD, LINE_POINTER, PAGE_BYTES
from keybench.pagemodels.postgresql.split_point import SPACE, best_between_keys
from keybench.pagemodels.ranking import Integers, mask_of

ONE, TWO, MERGED = range(3)
"""One entry; two entries of two versions; one item for both."""
_HEAP_ROOM = PAGE_BYTES - HEAP_OVERHEAD


@dataclass(frozen=True)
class Heap:
    """The pages of the table, which rows fill in order of arrival as long as no row's room is free."""

    row: int
    """Bytes of a row, with its line pointer; 0 if rows differ, or parts of them lie elsewhere."""
    fillfactor: int = 100

    @property
    def rows(self) -> int:
        """Rows of a page that inserts have filled; 0 if nobody knows."""
        return (_HEAP_ROOM - self._left_free) // self.row if self.row else 0

    def is_pruned(self, rows: int) -> bool:
        """Whether a reader takes the room of dead rows from a page with this number of rows: if less than a tenth is
        free, or less than the fill factor leaves (pruneheap.c, heap_page_prune_opt)."""
        return _HEAP_ROOM - rows * self.row - LINE_POINTER < max(self._left_free, PAGE_BYTES // 10)

    @property
    def _left_free(self) -> int:
        """Bytes that inserts leave free on a page, by the fill factor."""
        return PAGE_BYTES * (100 - self.fillfactor) // 100


class RowFacts(NamedTuple):
    """What is known of the rows: (keys,) each, by rank."""

    states: States
    versions: NDArray[np.uint8]
    """Which items the leaves have of each key, by the names above."""
    marked: NDArray[np.bool_]
    """Whether a reader has marked the entry of a deleted row."""
    blocks: NDArray[np.int32]
    """The page of the table on which the row lies, if nothing but inserts has filled the table; −1 for no row."""


class NbtreeState(SplitState):
    """One nbtree with a past. While there are `RowFacts`, USED of the leaves is in bytes, not in entries."""

    def __init__(self, model: SplitModel, keys: int, *, entry: int, fillfactor: int, heap: Heap) -> None:
        """`entry`: its bytes, with the line pointer. `fillfactor`: of the rightmost leaf, in %. `heap`: the table."""
        super().__init__(model, keys)
        self._heap = heap
        self._rows: RowFacts | None = None  # while keys have two entries, or entries are marked
        self._blocks = np.full(keys, -1, np.int32)  # `RowFacts.blocks`
        self._rows_sent = 0  # rows that the table got
        self._knows_next_place = heap.rows > 0  # whether the next rows will lie where `_mark_as_present` says
        self._knows_places = heap.rows > 0  # whether all rows lie where `_blocks` says
        self._sizes_of = np.array([entry, 2 * entry, merged_bytes(entry, 2)], np.int64)
        """Bytes of all items of a key, by `RowFacts.versions`."""
        self._entry, self._fill = entry, fillfactor

    def update(self, ranks: Integers, rows_per_tx: int, characters: Integers | None = None) -> None:
        """Adds an entry of a new version of each of these rows, in order. UsageError for a key that is not there, and
        for what the model does not know: new payloads, several transactions, or entries of dead rows in the index,
        which PostgreSQL then deletes by rules that depend on the pages of the table."""
        if characters is not None:
            raise UsageError(
                "on PostgreSQL a new payload adds an entry to the key's index only if the row's page of the table is "
                "full, which the page model does not follow: phases that update the payload are measured alone."
            )
        if len(ranks) > rows_per_tx:
            raise UsageError(
                f"{len(ranks):,} rows are updated in transactions of {rows_per_tx:,}: PostgreSQL then deletes entries "
                "of dead versions before a page splits, page by page of the table, which its page model does not "
                "follow. Updates in one transaction are predicted."
            )
        if self._deleted or self._rows is not None:
            raise UsageError(
                "rows are updated while the index has entries of dead rows, which PostgreSQL deletes before a page "
                "splits, and its page model does not follow that: vacuum first (clean = true)."
            )
        if (self._states[mask_of(ranks, self._keys)] != PRESENT).any():
            raise UsageError(f"{len(ranks):,} keys cannot be updated: not all of them are there.")
        self._changed |= len(ranks) > 0
        self._knows_next_place = self._knows_places = False
        self._row_facts()
        self._insert_by(partial(self._put, ranks, update=True))

    def insert(self, ranks: Integers) -> None:
        """Inserts keys in order of arrival. UsageError as for any index."""
        self._note_last_page()
        if self._rows is None:
            super().insert(ranks)
            return
        if self._rows.marked.any():
            self._require_places()
        self._mark_as_present(ranks)
        self._insert_by(partial(self._put, ranks, update=False))

    def delete(self, ranks: Integers) -> None:
        """Deletes keys. UsageError where the index has entries of old versions, which a deletion meets and marks."""
        self._require_no_versions()
        super().delete(ranks)

    def read(self, ranks: Integers, *, by_key: bool) -> None:
        """Rows are read (`contract.KnowsUpdates`): entries of dead rows that the reader meets are marked (nbtutils.c,
        _bt_killitems). UsageError where nobody knows which others a page drops with a marked one."""
        self._require_no_versions()
        met = ranks if by_key else np.arange(int(ranks.max(initial=-1)) + 1)
        met = met[self._states[met] == DELETED]
        if not len(met):
            return
        self._require_places()
        self._row_facts().marked[met] = True

    def clean(self) -> None:
        """VACUUM: removes the entries of old versions too."""
        if self._rows is not None:
            self._deleted += int(np.count_nonzero(self._rows.versions))  # one old version of each such key
            level = self._levels[0]
            level.column(USED)[:] = level.column(COUNT)  # in entries again, not in bytes
            self._rows = None
        self._knows_next_place &= not self._deleted  # the next rows fill holes of the table
        is_shorter = self._shorten_table()
        super().clean()
        # Cutting off takes a lock, which is logged and takes a transaction number: so deleted pages wait no longer.
        self._changed |= is_shorter

    def rebuild(self, fill: int) -> None:
        """REINDEX, at a fill factor in %, of the versions that are alive."""
        super().rebuild(fill)
        self._rows, self._fill = None, fill

    def begin(self, ranks: Integers, pages: ServerPages, borders: Integers | None = None) -> None:
        """Goes on from pages of a server, in which each key has one entry."""
        super().begin(ranks, pages, borders)
        self._rows, self._knows_next_place, self._knows_places = None, False, False

    def stats(self) -> PageStats:
        """The index as it is now."""
        stats = super().stats()
        if self._rows is None:
            return stats
        leaves = self._levels[0].leaves
        rows = rows_of(leaves, np.where(self._rows.versions == ONE, 1, 2))[self._levels[0].slots_by_key()]
        return replace(stats, rows=int(rows.sum()), page_rows=rows, density=density_of(leaves, self._entry))

    def _require_no_versions(self) -> None:
        """UsageError while the index has entries of old versions."""
        if self._rows is not None and self._rows.versions.any():
            raise UsageError(
                "old versions of updated rows are in the index: who looks such a row up, to read or to delete it, "
                "marks their entries, which the page model of PostgreSQL does not follow. Vacuum first (clean = true)."
            )

    def _require_places(self) -> None:
        """UsageError unless the model knows on which pages of the table all rows lie, and the next ones will."""
        if not self._knows_next_place:
            raise UsageError(
                "readers mark the entries of deleted rows that they meet. Before a page splits, PostgreSQL drops these "
                "and others whose rows lie on the same pages of the table: its page model only knows where rows lie "
                "until the first VACUUM or update, if all have one length below 2,000 bytes. Such reads are measured "
                "alone."
            )

    def _note_last_page(self) -> None:
        """Notes if a reader may have made room on the table's last page: then nobody knows where the next rows go."""
        if self._knows_next_place and self._rows_sent:
            last = (self._rows_sent - 1) // self._heap.rows
            gone = (self._states[self._blocks == last] != PRESENT).any()
            self._knows_next_place = not (gone and self._heap.is_pruned(self._rows_sent - last * self._heap.rows))

    def _shorten_table(self) -> bool:
        """Cuts empty pages off the table's end if VACUUM does. Returns whether (should_attempt_truncation)."""
        if not (self._knows_places and self._deleted):
            return False
        present = self._blocks[self._states == PRESENT]
        pages, empty = int(self._blocks.max()) + 1, int(self._blocks.max() - present.max(initial=-1))
        shortens = empty > 0 and empty >= min(1000, pages // 16)  # 1,000 pages, or a sixteenth of the table
        if shortens:
            self._blocks[self._states != PRESENT] = -1
        return shortens

    def _mark_as_present(self, ranks: Integers) -> None:
        """Also notes on which pages of the table the rows of these keys go."""
        super()._mark_as_present(ranks)
        if self._knows_next_place:
            self._blocks[ranks] = np.arange(self._rows_sent, self._rows_sent + len(ranks)) // self._heap.rows
            self._rows_sent += len(ranks)
        self._knows_places &= self._knows_next_place

    def _row_facts(self) -> RowFacts:
        """Returns `_rows`. Makes it if there is none yet: from then on USED of the leaves is in bytes, not entries."""
        if self._rows is None:
            versions, marked = np.zeros(self._keys, np.uint8), np.zeros(self._keys, np.bool_)
            self._rows = RowFacts(self._states, versions, marked, self._blocks)
            self._levels[0].column(USED)[:] *= self._entry
        return self._rows

    def _put(self, ranks: Integers, *, update: bool) -> None:
        """Adds entries to the leaves: of new versions, or of new keys."""
        level, rows, done = self._levels[0], self._row_facts(), 0
        while True:
            done += put(level.leaves, rows, self._sizes_of, ranks[done:], update)
            if done == len(ranks):
                return
            level.make_room()
            self._split(level, rows.versions, int(ranks[done]), done, update=update)
            done += 1

    def _split(self, level: LevelMemory, versions: NDArray[np.uint8], rank: int, row: int, *, update: bool) -> None:
        """Splits the leaf that has no room for an entry of this rank, which comes as this row."""
        leaves = level.leaves
        slot = find(leaves, rank)
        count, entry = int(leaves.slots[slot, COUNT]), self._entry
        ranks = leaves.content[slot, :count].copy()
        if update:
            versions[rank] = TWO
        else:
            ranks = np.append(ranks, np.int32(rank))
        ranks = np.sort(ranks)
        is_last, kind = slot == leaves.state[LAST], INTERIOR
        if is_last:
            kind = APPEND if rank == ranks[-1] else EDGE
        # The leaf's items: the bytes of each, and its key's place in `ranks`. `new`: the new one, its key's last.
        times = np.where(versions[ranks] == TWO, 2, 1)
        items = np.repeat(np.where(versions[ranks] == MERGED, self._sizes_of[MERGED], entry), times)
        keys = np.repeat(np.arange(len(ranks)), times)
        new = int(np.searchsorted(keys, np.searchsorted(ranks, rank), side="right")) - 1
        first = best_between_keys(items, keys, new, entry, self._fill if is_last else 0)
        if not first:  # 0: nobody knows which item is the first of the right leaf
            raise UsageError(
                "no place near the middle of a page is between two keys: the page model does not know its split."
            )
        keep = int(keys[first])
        leaves.scratch[: len(ranks)] = ranks
        free = int(leaves.state[USED_SLOTS])
        leaves.state[USED_SLOTS] = free + 1
        left, right = split_kernel.divide(leaves, slot, int(ranks[keep]), row, kind, free)
        for part, begin, end in ((left, 0, keep), (right, keep, len(ranks))):
            split_kernel.fill(leaves, NO_SIZES, part, begin, end, rank)
            leaves.slots[part, USED] = self._sizes_of[versions[ranks[begin:end]]].sum()


@kernel
def _merge(leaves: Leaves, rows: RowFacts, sizes: Integers, slot: int) -> None:
    """Merges the entries of each key of a leaf. `sizes`: bytes of a key's items by `RowFacts.versions`."""
    for i in range(leaves.slots[slot, COUNT]):
        rank = leaves.content[slot, i]
        if rows.versions[rank] == TWO:
            rows.versions[rank] = MERGED
            leaves.slots[slot, USED] += sizes[MERGED] - sizes[TWO]


@kernel
def _drop(leaves: Leaves, rows: RowFacts, sizes: Integers, slot: int, rank: int) -> None:
    """Deletes the entries of dead rows on the pages of the table at which nbtree looks (`blocks`): those of marked
    entries of the leaf, and that of `rank`, the new one. None if no entry is marked."""
    slots, content, blocks = leaves.slots, leaves.content, leaves.scratch
    looked_at, count = 1, 0
    blocks[0] = rows.blocks[rank]
    for i in range(slots[slot, COUNT]):
        if rows.marked[content[slot, i]]:
            blocks[looked_at] = rows.blocks[content[slot, i]]
            looked_at += 1
    for i in range(slots[slot, COUNT]):
        key, goes = content[slot, i], False
        if looked_at > 1 and rows.states[key] == DELETED:
            for j in range(looked_at):
                goes |= blocks[j] == rows.blocks[key]
        if goes:
            rows.states[key], rows.marked[key] = ABSENT, False
            slots[slot, USED] -= sizes[ONE]
        else:
            content[slot, count] = key
            count += 1
    slots[slot, COUNT] = count


@kernel
def put(leaves: Leaves, rows: RowFacts, sizes: Integers, ranks: Integers, update: bool) -> int:
    """Adds an entry of each rank in order, until a leaf has no room: returns how many were added. `sizes`: as of
    `_merge`. `update`: whether they are new versions of keys that are there, or new keys."""
    slots = leaves.slots
    for i in range(len(ranks)):
        rank = ranks[i]
        slot = find(leaves, rank)
        room = SPACE - (0 if slot == leaves.state[LAST] else sizes[ONE])  # all others have a high key
        if slots[slot, USED] + sizes[ONE] > room:
            if update:
                _merge(leaves, rows, sizes, slot)
            else:
                _drop(leaves, rows, sizes, slot, rank)
            if slots[slot, USED] + sizes[ONE] > room:
                return i
        slots[slot, USED] += sizes[ONE]
        if update:
            rows.versions[rank] = TWO
        else:
            leaves.content[slot, slots[slot, COUNT]] = rank
            slots[slot, COUNT] += 1
    return len(ranks)
