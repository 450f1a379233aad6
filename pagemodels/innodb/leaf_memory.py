"""The leaves of an index of InnoDB in memory: records by their place in a page's heap.

Rules: docs/internals/innodb.md §1, §2. Only a split, and the rules of an almost full leaf, need the order of records;
otherwise a row costs one write.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel

Ints = NDArray[Any]

LOWER, UPPER, NEXT, PREVIOUS, PAGE, RECORDS, TOP, FREE, LAST, HIGHEST = range(10)
"""Fields of a slot: its range of ranks, its neighbours (−1 none), its page; of that page the records, the places in its
heap, the first free place (−1 none), the rank inserted last (−1 forgotten) and the highest rank."""
_FIELDS = 16  # a cache line

ROW, WHAT, KIND, FULL, SEPARATOR, WITHIN, OTHER, MOVED = range(8)
"""Fields of an event: the row, what it did, the kind of split, the page that was full, the key of the new node pointer,
a key that still leads to the page whose node pointer changes, the other page, the records that moved to it by a split
of records of one size."""
NEIGHBOUR, UP, DOWN = range(3)
"""The row went into the right neighbour; a new page took the upper part; a new page took the lower part."""
INTO_LEFT, INTO_RIGHT, DISCARDED, ALONE, LAST_ONE, TRIED = range(3, 9)
"""A purged page went into its left or right neighbour; was given back with its last record; is its level's only one;
was that and is now empty; stays, after an attempt that only the file noticed."""
APPEND, EDGE, INTERIOR = range(3)

LEAVES, EVENTS, SHIFT = range(3)
"""Fields of `facts`: pages, events, log2 of the width of a cell."""
SIZE, ROOM, SIXTEENTH, CLUSTERED, SHRINKS, SAFE = range(3, 9)
"""Bytes of a record; bytes of a page for records and directory; a sixteenth of a page; whether that is kept free for
updates; whether the heap shrinks when its topmost record is deleted (MariaDB); a number of records below which no rule
refuses another."""
IS_ROOT, GIVEN_BACK, SPARE = range(9, 12)
"""Whether the only leaf is the root; slots that were given back with their pages; the last one of them (−1 none), whose
NEXT is the one before."""
FACTS = 12

FREED = np.uint32(1 << 31)
"""Marks a free place, whose other bits are the next free place + 1; above all ranks."""
_GROWTH = 1.25
_FILL = 0.62
"""Expected used share of a page. If it is less, memory grows on the way."""


class AnyLeaves(Protocol):
    """What leaves have whether their records are of one size or not; `Leaves` explains it."""

    @property
    def heaps(self) -> Ints: ...  # noqa: D102
    @property
    def slots(self) -> Ints: ...  # noqa: D102
    @property
    def cells(self) -> Ints: ...  # noqa: D102
    @property
    def events(self) -> Ints: ...  # noqa: D102
    @property
    def scratch(self) -> Ints: ...  # noqa: D102
    @property
    def facts(self) -> Ints: ...  # noqa: D102


class Leaves(NamedTuple):
    """The state of the leaves of one index."""

    heaps: Ints
    """uint32 (pages, places): ranks."""
    slots: Ints
    """int32 (pages, 16): by the names above."""
    cells: Ints
    """int32: the slot of each cell's first rank."""
    events: Ints
    """int64 (events, 8): by the names above."""
    scratch: Ints
    """uint64 (places,)."""
    facts: Ints
    """int64: by the names above."""


@kernel
def directory(records: int) -> int:
    """Bytes that InnoDB reserves for the directory: two for each four records, rounded up."""
    return (2 * records + 3) // 4


def new(size: int, page_bytes: int, room: int, rows: int, *, clustered: bool, shrinks: bool) -> Leaves:
    """One empty leaf, and room for the leaves that so many rows usually need; `grow` makes room for more."""
    places = next(n for n in range(room) if room - n * size - directory(n + 1) < size)
    pages = int(rows / (places * _FILL)) + 64
    shift = max(0, (places // 12).bit_length() - 1)
    safe = (room - page_bytes // 16 - 2 * size - 2) * 2 // (2 * size + 1) - 1
    facts = np.zeros(FACTS, np.int64)
    facts[[LEAVES, SHIFT, SIZE, ROOM, IS_ROOT, SPARE]] = 1, shift, size, room, 1, -1
    facts[[SIXTEENTH, CLUSTERED, SHRINKS, SAFE]] = page_bytes // 16, clustered, shrinks, safe
    leaves = Leaves(
        np.empty((pages, places), np.uint32),
        np.empty((pages, _FIELDS), np.int32),
        np.zeros((max(rows, 1) - 1 >> shift) + 1, np.int32),
        np.empty((2 * pages, MOVED + 1), np.int64),
        np.empty(places + 1, np.uint64),
        facts,
    )
    leaves.slots[0, : HIGHEST + 1] = 0, rows, -1, -1, 0, 0, 0, -1, -1, -1
    return leaves


def grow(leaves: Leaves) -> None:
    """Room for more pages and events, in place."""
    for array in (leaves.heaps, leaves.slots, leaves.events):
        array.resize((int(len(array) * _GROWTH) + 16, *array.shape[1:]), refcheck=False)


@kernel
def free_bytes(facts: Ints, records: int) -> int:
    """Free bytes with so many records, after a directory for one more; negative if there are none."""
    return int(facts[ROOM] - records * facts[SIZE] - directory(records + 1))


@kernel
def adjacent(heap: Ints, top: int, one: int, other: int) -> bool:
    """Whether no record lies between two keys."""
    low, high = np.uint32(min(one, other)), np.uint32(max(one, other))
    between = 0
    for i in range(top):
        between += (heap[i] > low) & (heap[i] < high)
    return between == 0


@kernel
def is_full(leaves: Leaves, slot: int, rank: int) -> bool:
    """Whether a leaf takes no further record without a split."""
    facts, slots = leaves.facts, leaves.slots
    n, top, size = slots[slot, RECORDS], slots[slot, TOP], facts[SIZE]
    free = max(0, free_bytes(facts, n))
    if free < size:
        return True
    if top > n and free < facts[SIXTEENTH] // 2 and n > 1 and free_bytes(facts, top) < size:
        return True
    last = slots[slot, LAST]
    if not facts[CLUSTERED] or n < 2 or facts[SIXTEENTH] + size <= free or last < 0:
        return False
    if last == slots[slot, HIGHEST] and rank > last:
        return True
    return adjacent(leaves.heaps[slots[slot, PAGE]], top, last, rank)


@kernel
def put(leaves: Leaves, slot: int, rank: int) -> None:
    """Inserts a record into the place freed last, or on top of the heap."""
    slots = leaves.slots
    heap, place = leaves.heaps[slots[slot, PAGE]], slots[slot, FREE]
    if place >= 0:
        slots[slot, FREE] = np.int32(heap[place] ^ FREED) - 1
    else:
        place = slots[slot, TOP]
        slots[slot, TOP] += 1
    heap[place] = rank
    slots[slot, RECORDS] += 1
    slots[slot, LAST] = rank
    slots[slot, HIGHEST] = max(slots[slot, HIGHEST], rank)


@kernel
def release(leaves: Leaves, slot: int, place: int) -> None:
    """Adds a place at the head of the free places."""
    slots = leaves.slots
    leaves.heaps[slots[slot, PAGE], place] = FREED | np.uint32(slots[slot, FREE] + 1)
    slots[slot, FREE] = place


@kernel
def reorganise(leaves: Leaves, slot: int) -> None:
    """Copies the records into a fresh page: the heap is then in key order, without free places."""
    slots = leaves.slots
    heap = leaves.heaps[slots[slot, PAGE]]
    n = 0
    for i in range(slots[slot, TOP]):
        if heap[i] < FREED:
            heap[n] = heap[i]
            n += 1
    heap[:n].sort()
    slots[slot, TOP], slots[slot, FREE], slots[slot, LAST] = n, -1, -1


@kernel
def gather(leaves: AnyLeaves, slot: int, low: int, high: int) -> int:
    """Writes the records from `low` to below `high`, with their places, to `scratch`. Returns their number."""
    slots, scratch = leaves.slots, leaves.scratch
    heap = leaves.heaps[slots[slot, PAGE]]
    n = 0
    for i in range(slots[slot, TOP]):
        scratch[n] = np.uint64(heap[i]) << np.uint64(16) | np.uint64(i)
        n += low <= heap[i] < high
    return n


@kernel
def rank_of(item: Any) -> int:
    """The rank of an item of `scratch`."""
    return int(np.int64(item >> np.uint64(16)))


@kernel
def place_of(item: Any) -> int:
    """The place in the heap of an item of `scratch`."""
    return int(np.int64(item & np.uint64(0xFFFF)))
