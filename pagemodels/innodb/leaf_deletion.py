"""The leaves of a clustered index of InnoDB under purge: records go for good, and leaves with few of them are merged.

Rules: docs/internals/innodb.md §7 (row0purge.cc; btr_cur_optimistic_delete and btr_cur_pessimistic_delete in
btr0cur.cc; btr_compress and btr_discard_page in btr0btr.cc). What that asks of branch pages and of the file is recorded
as an event and done afterwards (`node_pointers.leave`), as for insertions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel
from keybench.pagemodels.innodb.leaf_memory import (
    ALONE,
    DISCARDED,
    EVENTS,
    FREE,
    FREED,
    GIVEN_BACK,
    HIGHEST,
    INTO_LEFT,
    INTO_RIGHT,
    IS_ROOT,
    LAST,
    LAST_ONE,
    LEAVES,
    LOWER,
    NEXT,
    PAGE,
    PREVIOUS,
    RECORDS,
    ROOM,
    SHIFT,
    SHRINKS,
    SIZE,
    SPARE,
    TOP,
    TRIED,
    UPPER,
    LeafPages,
    directory,
    gather,
    put,
    rank_of,
    release,
    reorganise,
)
from keybench.pagemodels.innodb.leaf_splits import assign, note
from keybench.pagemodels.memory import uncounted


@kernel
def _remove(leaves: LeafPages, slot: int, rank: int) -> None:
    """Removes a record. In MariaDB the heap shrinks if it was the topmost (page_mem_free)."""
    slots, facts = leaves.slots, leaves.facts
    heap, wanted, place = leaves.heaps[slots[slot, PAGE]], np.uint32(rank), np.uint32(0)
    for i in range(slots[slot, TOP]):  # without a branch: the compiler then compares several at a time
        place |= np.uint32(i) if heap[i] == wanted else np.uint32(0)
    if facts[SHRINKS] and place == slots[slot, TOP] - 1:
        slots[slot, TOP] -= 1
    else:
        release(leaves, slot, int(place))
    slots[slot, RECORDS] -= 1
    slots[slot, LAST] = -1
    if slots[slot, HIGHEST] == rank:
        highest = np.int64(-1)
        for i in range(slots[slot, TOP]):
            if heap[i] < FREED:
                highest = max(highest, np.int64(heap[i]))
        slots[slot, HIGHEST] = highest


@kernel
def empty(leaves: LeafPages, slot: int) -> None:
    """Takes all records out of the root (btr_page_empty)."""
    slots = leaves.slots
    slots[slot, RECORDS] = slots[slot, TOP] = 0
    slots[slot, FREE] = slots[slot, LAST] = slots[slot, HIGHEST] = -1


@kernel
def _takes(leaves: LeafPages, slot: int, records: int) -> bool:
    """Whether a leaf takes so many records more. It is reorganised if its free places are in the way."""
    if slot < 0:
        return False
    slots, facts = leaves.slots, leaves.facts
    needed = records * facts[SIZE]
    n, top = slots[slot, RECORDS], slots[slot, TOP]
    if needed > facts[ROOM] - n * facts[SIZE] - directory(n + records):
        return False
    if needed > facts[ROOM] - top * facts[SIZE] - directory(top + records):
        reorganise(leaves, slot)
    return True


@kernel
def _absorb(leaves: LeafPages, slot: int, other: int) -> None:
    """A leaf's range goes to its neighbour `other`, and its slot and page are free for later ones.

    The wider of both ranges keeps its slot, so that few cells change.
    """
    slots, facts = leaves.slots, leaves.facts
    before = slots[slot, PREVIOUS] if slots[slot, PREVIOUS] != other else slots[other, PREVIOUS]
    after = slots[slot, NEXT] if slots[slot, NEXT] != other else slots[other, NEXT]
    lower = min(slots[slot, LOWER], slots[other, LOWER])
    upper = max(slots[slot, UPPER], slots[other, UPPER])
    keeps, gone = other, slot
    if slots[slot, UPPER] - slots[slot, LOWER] > slots[other, UPPER] - slots[other, LOWER]:
        keeps, gone = slot, other
    low, high = slots[gone, LOWER], slots[gone, UPPER]
    if keeps == slot:
        stays = slots[other].copy()
        slots[other, PAGE] = slots[slot, PAGE]
        slots[slot] = stays
    slots[keeps, LOWER], slots[keeps, UPPER] = lower, upper
    slots[keeps, PREVIOUS], slots[keeps, NEXT] = before, after
    if before >= 0:
        slots[before, NEXT] = keeps
    if after >= 0:
        slots[after, PREVIOUS] = keeps
    assign(leaves, keeps, low, high)
    slots[gone, NEXT] = facts[SPARE]
    facts[SPARE] = gone
    facts[GIVEN_BACK] += 1


@kernel
def _shrink(leaves: LeafPages, slot: int, rank: int, row: int, sparse: int, small: bool) -> bool:
    """Removes a record of a leaf that may have few of them then. Returns whether the level may have one leaf left."""
    slots, facts, scratch = leaves.slots, leaves.facts, leaves.scratch
    left, right, page = slots[slot, PREVIOUS], slots[slot, NEXT], slots[slot, PAGE]
    within, alone = slots[slot, LOWER], left < 0 and right < 0
    if slots[slot, RECORDS] < 2:
        if alone:
            note(leaves, row, LAST_ONE, 0, page, 0, within, page)
            empty(leaves, slot)
            return True
        other = left if left >= 0 else right
        note(leaves, row, DISCARDED, 0, page, slots[other, LOWER], within, slots[other, PAGE])
        _absorb(leaves, slot, other)
        return bool(facts[LEAVES] - facts[GIVEN_BACK] == 1)
    _remove(leaves, slot, rank)
    n = slots[slot, RECORDS]
    if alone:
        note(leaves, row, ALONE, 0, page, 0, within, page)
        return True
    if n * facts[SIZE] >= sparse:
        return False
    other, what = left, INTO_LEFT
    if not _takes(leaves, left, n):
        other, what = right, INTO_RIGHT
        if not _takes(leaves, right, n):
            if small:
                note(leaves, row, TRIED, 0, page, 0, within, page)
            return False
    note(leaves, row, what, 0, page, slots[other, LOWER], within, slots[other, PAGE])
    count = gather(leaves, slot, 0, int(FREED))
    scratch[:count].sort()
    for i in range(count):
        put(leaves, other, rank_of(scratch[i]))
    _absorb(leaves, slot, other)
    return False


@kernel
def purge(leaves: LeafPages, sparse: int, small: bool, ranks: NDArray[np.int64], begin: int, end: int) -> int:
    """Removes records from `begin` until `end`, or until events must be applied. Returns the row to go on from.

    `sparse`: bytes of records below which a leaf may be merged. `small`: whether the file is shorter than an extent, so
    that each attempt may make it longer.
    """
    leaves = uncounted(leaves)
    slots, cells, facts, events = leaves.slots, leaves.cells, leaves.facts, leaves.events
    shift, size = facts[SHIFT], facts[SIZE]
    for row in range(begin, end):
        rank = ranks[row]
        slot = int(cells[rank >> shift])
        while rank >= slots[slot, UPPER]:
            slot = int(slots[slot, NEXT])
        n = slots[slot, RECORDS]
        single = slots[slot, PREVIOUS] < 0 and slots[slot, NEXT] < 0
        if facts[IS_ROOT] and n == 1:
            empty(leaves, slot)
        elif facts[IS_ROOT] or (not single and n >= 2 and (n - 1) * size >= sparse):
            _remove(leaves, slot, rank)
        elif facts[EVENTS] == len(events):
            return row
        elif _shrink(leaves, slot, rank, row, sparse, small):
            return row + 1
    return end
