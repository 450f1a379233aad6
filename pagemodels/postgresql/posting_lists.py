"""The index of a foreign key with deduplication, PostgreSQL's default (docs/internals/postgresql.md §4).

A leaf that has no room for a new entry first merges the entries of each key into one item with a list of row addresses,
of at most a sixth of a page (nbtdedup.c, _bt_dedup_pass). Only if that makes too little room, it splits. Later entries
of a key stay alone until their leaf is full again. So when pages split depends on when each was full, and the model
follows every row.

A new entry has a higher address than all others of its key, and splits part no key. So a leaf is a set of keys, and of
each key two numbers say what its items are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import allocating, int64, kernel
from keybench.errors import UsageError
from keybench.pagemodels.half_split import kernel as split_kernel
from keybench.pagemodels.half_split.kernel import APPEND, COUNT, EDGE, INTERIOR, LAST, NEXT, USED, USED_SLOTS, find
from keybench.pagemodels.half_split.levels import NO_SIZES, LevelMemory, TreeLevel, build_branches, numbers_by_birth
from keybench.pagemodels.memory import sort
from keybench.pagemodels.page_stats import Checkpoint, PageStats
from keybench.pagemodels.postgresql.records import LINE_POINTER
from keybench.pagemodels.postgresql.split_point import SPACE, best_between_keys
from keybench.pagemodels.ranking import Integers, require

TID = 6
"""Bytes of a row's address in a merged item."""
_LONGEST = 1352  # most bytes of a merged item (nbtdedup.c, maxpostingsize: half of BTMaxItemSize)

Counts = NDArray[np.int32]
"""(keys, 2): entries of each key, by rank, and how many of them are in merged items."""
ALL, MERGED = range(2)


@dataclass(frozen=True)
class PostingLists:
    """The index of a key that has `times` entries; a PageModel that `RepeatsKeys`. Checkpoints are in keys."""

    times: int
    entry: int
    """Bytes of an entry, with its line pointer."""
    fillfactor: int
    branch: split_kernel.Rule
    """How pages above the leaves split."""
    parents: Integers | None = None
    """As of `interleaved`; None if the entries of each key arrive together."""

    def interleaved(self, parents: Integers) -> PostingLists:
        """The model where entries of other keys arrive between those of one key (`RepeatsKeys`)."""
        return replace(self, parents=parents)

    def insert(self, ranks: Integers, checkpoints: Sequence[int] = ()) -> PageStats:
        """Builds the index from keys in order of arrival, given by rank: int64 (n,). `checkpoints`: numbers of keys.
        UsageError for a leaf that can only split within a key's entries."""
        require(ranks, checkpoints)
        entries = np.repeat(ranks, self.times) if self.parents is None else ranks[self.parents]
        rule = split_kernel.Rule(room=SPACE, room_last=SPACE, smallest=self.entry)
        level, counts = LevelMemory.empty(len(ranks), rule), np.zeros((len(ranks), 2), np.int32)
        points = []  # the leaf level at each checkpoint, and in the end
        for begin, end in pairwise([0, *(keys * self.times for keys in checkpoints), len(entries)]):
            self._insert(level, counts, entries[:end], begin)
            points.append(self._checkpoint(level, end))
        slots, leaves = level.slots_by_key(), level.leaves
        rows = rows_of(leaves, counts[:, ALL])[slots]
        leaf_level = TreeLevel(leaves.births[slots], leaves.kinds[slots], rows)
        levels = [leaf_level, *build_branches(leaf_level, self.branch)]
        return PageStats.from_chain(
            points[-1],
            numbers_by_birth([each.births for each in levels])[0],
            rows,
            branch_pages=sum(map(len, levels[1:])),
            checkpoints=tuple(replace(point, rows=point.rows // self.times) for point in points[:-1]),
        )

    def _insert(self, level: LevelMemory, counts: Counts, entries: Integers, row: int) -> None:
        """Inserts entries, by the ranks of their keys, from this row on."""
        while (row := _put(level.leaves, counts, self.entry, entries, row)) < len(entries):
            level.make_room()
            if not _split(level.leaves, counts, self.entry, self.fillfactor, int(entries[row]), row):
                raise UsageError(
                    f"a page of the index splits within the {self.times} entries of a key, which the page model of "
                    "PostgreSQL does not know: take fewer children."
                )
            row += 1

    def _checkpoint(self, level: LevelMemory, rows: int) -> Checkpoint:
        """The leaf level as it is now. `rows`: its entries."""
        kinds = level.leaves.kinds[: level.leaves.state[USED_SLOTS]]
        appends, edge, interior = (int(np.count_nonzero(kinds == kind)) for kind in (APPEND, EDGE, INTERIOR))
        return Checkpoint(rows, len(kinds), appends, edge, interior, density_of(level.leaves, self.entry))


def density_of(leaves: split_kernel.Leaves, high_key: int) -> float:
    """Density of the leaves in %, as pgstatindex computes it, where USED is in bytes. `high_key`: bytes of one."""
    slots = leaves.slots[: leaves.state[USED_SLOTS]]
    high_keys = np.where(slots[:, NEXT] >= 0, high_key, 0)
    free = np.maximum(SPACE - slots[:, USED] - high_keys - LINE_POINTER, 0).sum(dtype=np.int64)  # 0 of a full page
    return float(100 - 100 * free / (SPACE * len(slots)))


def rows_of(leaves: split_kernel.Leaves, entries: NDArray[Any]) -> Integers:
    """(slots in use,): the entries of each leaf. `entries`: (keys,), how many each key has."""
    used = int(leaves.state[USED_SLOTS])
    within = np.arange(leaves.content.shape[1]) < leaves.slots[:used, COUNT, None]
    keys = np.where(within, leaves.content[:used], 0)  # any key where there is none: the next line leaves it out
    rows: Integers = np.where(within, entries[keys], 0).sum(1, np.int64)
    return rows


@kernel
def merged_bytes(entry: int, entries: int) -> int:
    """Bytes, aligned to 8, and 4 of the line pointer, of an item with this number of entries of a key; one entry is as
    it came: `entry` bytes."""
    return entry if entries == 1 else LINE_POINTER + (entry - LINE_POINTER + TID * entries + 7) // 8 * 8


@kernel
def _most_entries(entry: int) -> int:
    """How many entries an item holds at most."""
    return (_LONGEST - entry + LINE_POINTER) // TID


@kernel
def _bytes(counts: Counts, entry: int, rank: int) -> int:
    """Bytes of all items of a key: full ones, one with the rest of the merged entries, and those that are alone."""
    merged, most = int64(counts[rank, MERGED]), _most_entries(entry)
    rest = merged % most
    items = merged // most * merged_bytes(entry, most) + (merged_bytes(entry, rest) if rest else 0)
    return int64(items + (counts[rank, ALL] - merged) * entry)


@kernel
def _put(leaves: split_kernel.Leaves, counts: Counts, entry: int, entries: Integers, row: int) -> int:
    """Adds entries, by their keys' ranks, from this row on. Returns the row whose leaf has no room, or their number."""
    slots = leaves.slots
    while row < len(entries):
        rank = entries[row]
        slot = find(leaves, rank)
        room = SPACE - (0 if slot == leaves.state[LAST] else entry)  # all others have a high key
        if slots[slot, USED] + entry > room:  # merges the entries of each key on the leaf
            used = int64(0)
            for i in range(slots[slot, COUNT]):
                key = leaves.content[slot, i]
                counts[key, MERGED] = counts[key, ALL]
                used += _bytes(counts, entry, key)
            slots[slot, USED] = used
            if used + entry > room:
                return row
        slots[slot, USED] += entry
        if not counts[rank, ALL]:
            leaves.content[slot, slots[slot, COUNT]] = rank
            slots[slot, COUNT] += 1
        counts[rank, ALL] += 1
        row += 1
    return row


@allocating
def _split(leaves: split_kernel.Leaves, counts: Counts, entry: int, fillfactor: int, rank: int, row: int) -> bool:
    """Splits the leaf that has no room for an entry of this rank, which comes as this row, after the leaf's other
    entries were merged. False if the model does not know where. `fillfactor`: of the rightmost leaf, in %."""
    # The leaf's n keys, with the new one.
    slot = find(leaves, rank)
    slots, scratch = leaves.slots, leaves.scratch
    n, is_last = int(slots[slot, COUNT]), slot == leaves.state[LAST]
    scratch[:n] = leaves.content[slot, :n]
    if not counts[rank, ALL]:
        scratch[n] = rank
        n += 1
    counts[rank, ALL] += 1
    sort(scratch, n)
    # Their items: the bytes of each, and its key's place among the n. `new`: the place of the new item.
    items, keys = np.empty(SPACE // entry + 2, np.int64), np.empty(SPACE // entry + 2, np.int64)
    total, new = 0, 0
    for i in range(n):
        rest = int64(counts[scratch[i], MERGED])
        while rest:
            together = min(rest, _most_entries(entry))
            items[total], keys[total] = merged_bytes(entry, together), i
            rest -= together
            total += 1
        if scratch[i] == rank:
            items[total], keys[total], new = entry, i, total
            total += 1
    first = best_between_keys(items[:total], keys[:total], new, entry, fillfactor if is_last else 0)
    if not first:
        return False
    keep, kind = keys[first], INTERIOR  # `keep`: the keys that stay left
    if is_last:
        kind = APPEND if new == total - 1 else EDGE
    free = leaves.state[USED_SLOTS]
    leaves.state[USED_SLOTS] = free + 1
    left_part, right_part = split_kernel.divide(leaves, slot, scratch[keep], row, kind, free)
    split_kernel.fill(leaves, NO_SIZES, left_part, 0, keep, rank)
    split_kernel.fill(leaves, NO_SIZES, right_part, keep, n, rank)
    slots[left_part, USED], slots[right_part, USED] = items[:first].sum(), items[first:total].sum()
    return True
