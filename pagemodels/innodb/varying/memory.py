"""The leaves of a clustered index of InnoDB in memory, where records have different sizes.

Rules: docs/internals/innodb.md §2. As in `leaf_memory.py`, a record lies in a place of the heap. A place keeps its
bytes: a shorter record that takes a freed place leaves the rest of it unused, which counts as garbage.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel
from keybench.pagemodels.innodb.leaf_memory import (
    FACTS,
    FREE,
    FREED,
    HIGHEST,
    IS_ROOT,
    LAST,
    LEAVES,
    PAGE,
    RECORDS,
    ROOM,
    SHIFT,
    SHRINKS,
    SIXTEENTH,
    SPARE,
    TOP,
    adjacent,
    directory,
)

Ints = NDArray[Any]

BYTES, GARBAGE = 10, 11
"""More fields of a slot: the end of its page's heap; bytes of the heap that hold no record."""
_FIELDS = 16
_EVENT_FIELDS = 7
_FILL = 0.62
"""Expected used share of a page. If it is less, memory grows on the way."""


class VaryingLeaves(NamedTuple):
    """The state of the leaves; those of `leaf_memory.Leaves`, and what sizes need."""

    heaps: Ints
    """uint32 (pages, places): ranks."""
    slots: Ints
    """int32 (pages, 16): by the names of `leaf_memory` and above."""
    cells: Ints
    """int32: the slot of each cell's first rank."""
    events: Ints
    """int64 (events, 8): as in `leaf_memory`."""
    scratch: Ints
    """uint64 (places,)."""
    facts: Ints
    """int64: as in `leaf_memory`."""
    starts: Ints
    """uint16 (pages, places): where each place begins in its heap."""
    freed: Ints
    """uint16 (pages, places): bytes of the record that was freed in each free place."""
    sizes: Ints
    """uint16: bytes of the record of each rank."""


def new(sizes: NDArray[np.uint16], page_bytes: int, room: int, *, shrinks: bool) -> VaryingLeaves:
    """One empty leaf, and room for the leaves that records of these sizes, by rank, usually need."""
    rows, smallest = len(sizes), int(sizes.min(initial=page_bytes))
    places = next(n for n in range(room) if room - n * smallest - directory(n + 1) < smallest)
    pages = int(int(sizes.sum(dtype=np.int64)) / (room * _FILL)) + 64
    shift = max(0, (max(1, room * rows // max(1, int(sizes.sum(dtype=np.int64)))) // 12).bit_length() - 1)
    facts = np.zeros(FACTS, np.int64)
    facts[[LEAVES, SHIFT, ROOM, SIXTEENTH, SHRINKS]] = 1, shift, room, page_bytes // 16, shrinks
    facts[[IS_ROOT, SPARE]] = 1, -1
    leaves = VaryingLeaves(
        np.empty((pages, places), np.uint32),
        np.empty((pages, _FIELDS), np.int32),
        np.zeros((max(rows, 1) - 1 >> shift) + 1, np.int32),
        np.empty((2 * pages, _EVENT_FIELDS), np.int64),
        np.empty(places + 1, np.uint64),
        facts,
        np.empty((pages, places), np.uint16),
        np.empty((pages, places), np.uint16),
        sizes,
    )
    leaves.slots[0, : GARBAGE + 1] = 0, rows, -1, -1, 0, 0, 0, -1, -1, -1, 0, 0
    return leaves


def grow(leaves: VaryingLeaves) -> None:
    """Room for more pages and events, in place."""
    for array in (leaves.heaps, leaves.slots, leaves.events, leaves.starts, leaves.freed):
        array.resize((len(array) * 5 // 4 + 16, *array.shape[1:]), refcheck=False)


@kernel
def free_after_reorganisation(leaves: VaryingLeaves, slot: int) -> int:
    """Bytes for one more record if the page is copied; 0 if there are none."""
    slots = leaves.slots
    used = slots[slot, BYTES] - slots[slot, GARBAGE] + directory(slots[slot, RECORDS] + 1)
    return max(0, int(leaves.facts[ROOM] - used))


@kernel
def free_on_top(leaves: VaryingLeaves, slot: int) -> int:
    """Bytes for one more record on top of the heap; 0 if there are none."""
    slots = leaves.slots
    return max(0, int(leaves.facts[ROOM] - slots[slot, BYTES] - directory(slots[slot, TOP] + 1)))


@kernel
def is_full(leaves: VaryingLeaves, slot: int, rank: int) -> bool:
    """Whether a leaf takes no further record without a split."""
    facts, slots, size = leaves.facts, leaves.slots, int(leaves.sizes[rank])
    free = free_after_reorganisation(leaves, slot)
    if facts[SIXTEENTH] + size <= free:
        return False
    if free < size:
        return True
    n = slots[slot, RECORDS]
    if slots[slot, GARBAGE] > 0 and free < facts[SIXTEENTH] // 2 and n > 1 and free_on_top(leaves, slot) < size:
        return True
    last = slots[slot, LAST]
    if n < 2 or last < 0:
        return False
    if last == slots[slot, HIGHEST] and rank > last:
        return True
    return adjacent(leaves.heaps[slots[slot, PAGE]], slots[slot, TOP], last, rank)


@kernel
def fits(leaves: VaryingLeaves, slot: int, rank: int) -> bool:
    """Whether the place freed last or the top of the heap takes a record as the page is."""
    slots, size, place = leaves.slots, int(leaves.sizes[rank]), leaves.slots[slot, FREE]
    return bool((place >= 0 and leaves.freed[slots[slot, PAGE], place] >= size) or free_on_top(leaves, slot) >= size)


@kernel
def put(leaves: VaryingLeaves, slot: int, rank: int) -> bool:
    """Inserts a record that fits; a page in which it does not is copied first. Returns whether it fits then."""
    slots, size = leaves.slots, int(leaves.sizes[rank])
    if not fits(leaves, slot, rank):
        reorganise(leaves, slot)
        slots[slot, LAST] = slots[slot, HIGHEST]  # copied one by one in key order
        if not fits(leaves, slot, rank):
            return False
    page, place = slots[slot, PAGE], slots[slot, FREE]
    heap = leaves.heaps[page]
    if place >= 0 and leaves.freed[page, place] >= size:
        slots[slot, FREE] = np.int32(heap[place] ^ FREED) - 1
        slots[slot, GARBAGE] -= size
    else:
        place = slots[slot, TOP]
        slots[slot, TOP] += 1
        leaves.starts[page, place] = slots[slot, BYTES]
        slots[slot, BYTES] += size
    heap[place] = rank
    slots[slot, RECORDS] += 1
    slots[slot, LAST] = rank
    slots[slot, HIGHEST] = max(slots[slot, HIGHEST], rank)
    return True


@kernel
def release(leaves: VaryingLeaves, slot: int, place: int) -> None:
    """Adds a record's place at the head of the free places."""
    slots, page = leaves.slots, leaves.slots[slot, PAGE]
    size = leaves.sizes[leaves.heaps[page, place]]
    leaves.freed[page, place] = size
    slots[slot, GARBAGE] += size
    leaves.heaps[page, place] = FREED | np.uint32(slots[slot, FREE] + 1)
    slots[slot, FREE] = place


@kernel
def delete(leaves: VaryingLeaves, slot: int, place: int) -> None:
    """Deletes a single record. In MariaDB the heap shrinks if the record was its topmost (page_mem_free)."""
    slots, page = leaves.slots, leaves.slots[slot, PAGE]
    if not leaves.facts[SHRINKS] or place != slots[slot, TOP] - 1:
        release(leaves, slot, place)
        return
    unused = slots[slot, BYTES] - leaves.starts[page, place] - leaves.sizes[leaves.heaps[page, place]]
    slots[slot, GARBAGE] -= unused
    slots[slot, BYTES] = leaves.starts[page, place]
    slots[slot, TOP] -= 1


@kernel
def reorganise(leaves: VaryingLeaves, slot: int) -> None:
    """Copies the records into a fresh page: the heap is then in key order, without free places."""
    slots, page = leaves.slots, leaves.slots[slot, PAGE]
    heap = leaves.heaps[page]
    n = 0
    for i in range(slots[slot, TOP]):
        if heap[i] < FREED:
            heap[n] = heap[i]
            n += 1
    heap[:n].sort()
    end = 0
    for i in range(n):
        leaves.starts[page, i] = end
        end += leaves.sizes[heap[i]]
    slots[slot, TOP], slots[slot, FREE], slots[slot, LAST] = n, -1, -1
    slots[slot, BYTES], slots[slot, GARBAGE] = end, 0
