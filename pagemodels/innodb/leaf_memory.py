"""The leaves of an index of InnoDB in memory: records by their place in a page's heap.

Rules: docs/internals/innodb.md §1, §2. A leaf's records lie in the places of its heap in the order in which they came:
row `page` of `heaps` has their ranks, and a freed place the number of the next free one. Only a split, and the rules of
an almost full leaf, need the order of records; otherwise a row costs one write.

Where records have different sizes, a place keeps its bytes: a shorter record that takes a freed place leaves the rest
of it unused, which counts as garbage. Where all have one size, nothing is kept about the bytes of single places.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import inlined, kernel

Ints = NDArray[Any]

LOWER, UPPER, NEXT, PREVIOUS, PAGE, RECORDS, TOP, FREE, LAST, HIGHEST, BYTES, GARBAGE = range(12)
"""Fields of a slot: its range of ranks, its neighbours (−1 none), its page; of that page the records, the places in its
heap, the first free place (−1 none), the rank inserted last (−1 forgotten) and the highest rank; where records differ
in size, the end of its heap, and the bytes of the heap that hold no record."""
_FIELDS = 16  # a cache line

ROW, WHAT, KIND, FULL, SEPARATOR, WITHIN, OTHER, MOVED = range(8)
"""Fields of an event: the row, what it did, the kind of split, the page that was full, the key of the new node pointer,
a key that still leads to the page whose node pointer changes, the other page, the records that moved to it."""
NEIGHBOUR, UP, DOWN = range(3)
"""The row went into the right neighbour; a new page took the upper part; a new page took the lower part."""
INTO_LEFT, INTO_RIGHT, DISCARDED, ALONE, LAST_ONE, TRIED = range(3, 9)
"""A purged page went into its left or right neighbour; was given back with its last record; is its level's only one;
was that and is now empty; stays, after an attempt that only the file noticed."""
APPEND, EDGE, INTERIOR = range(3)

LEAVES, EVENTS, SHIFT = range(3)
"""Fields of `facts`: pages, events, log2 of the width of a cell."""
SIZE, ROOM, SIXTEENTH, CLUSTERED, SHRINKS, SAFE = range(3, 9)
"""Bytes of a record, or of the smallest one; bytes of a page for records and directory; a sixteenth of a page; whether
that is kept free for updates; whether the heap shrinks when its topmost record is deleted (MariaDB); a number of
records below which no rule refuses another."""
IS_ROOT, GIVEN_BACK, SPARE = range(9, 12)
"""Whether the only leaf is the root; slots that were given back with their pages; the last one of them (−1 none), whose
NEXT is the one before."""
FACTS = 12

FREED = np.uint32(1 << 31)
"""Marks a free place, whose other bits are the next free place + 1; above all ranks."""
_GROWTH = 1.25
_FILL = 0.62
"""Expected used share of a page. If it is less, memory grows on the way."""


NO_SIZES = np.empty(0, np.uint16)


class LeafPages(NamedTuple):
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
    """uint64 (places + 1,): records of a leaf that is being split, each a rank and its place in the heap."""
    facts: Ints
    """int64: by the names above."""
    sizes: Ints
    """uint16: bytes of the record of each rank; (0,) if all have one size."""
    starts: Ints
    """uint16 (pages, places): where each place begins in its heap; (0, places) if all records have one size."""
    freed: Ints
    """uint16 (pages, places): bytes of the record that was freed in each free place; likewise."""


@kernel
def directory(records: int) -> int:
    """Bytes that InnoDB reserves for the directory: two for each four records, rounded up."""
    return (2 * records + 3) // 4


def new(
    size: int,
    page_bytes: int,
    room: int,
    rows: int,
    sizes: NDArray[np.uint16] = NO_SIZES,
    *,
    clustered: bool,
    shrinks: bool,
) -> LeafPages:
    """One empty leaf, and room for the leaves that so many rows usually need; `grow` makes room for more. `size`: bytes
    of a record. `sizes`: (rows,) by rank, where records differ; `size` is then that of the smallest."""
    places = next(n for n in range(room) if room - n * size - directory(n + 1) < size)
    usual = max(1, room * rows // max(1, int(sizes.sum(dtype=np.int64)))) if len(sizes) else places
    pages = int(rows / (usual * _FILL)) + 64
    shift = max(0, (usual // 12).bit_length() - 1)
    safe = 0 if len(sizes) else (room - page_bytes // 16 - 2 * size - 2) * 2 // (2 * size + 1) - 1
    facts = np.zeros(FACTS, np.int64)
    facts[[LEAVES, SHIFT, SIZE, ROOM, IS_ROOT, SPARE]] = 1, shift, size, room, 1, -1
    facts[[SIXTEENTH, CLUSTERED, SHRINKS, SAFE]] = page_bytes // 16, clustered, shrinks, safe
    sized_pages = pages if len(sizes) else 0
    leaves = LeafPages(
        np.empty((pages, places), np.uint32),
        np.empty((pages, _FIELDS), np.int32),
        np.zeros((max(rows, 1) - 1 >> shift) + 1, np.int32),
        np.empty((2 * pages, MOVED + 1), np.int64),
        np.empty(places + 1, np.uint64),
        facts,
        sizes,
        np.empty((sized_pages, places), np.uint16),
        np.empty((sized_pages, places), np.uint16),
    )
    leaves.slots[0, : GARBAGE + 1] = 0, rows, -1, -1, 0, 0, 0, -1, -1, -1, 0, 0
    return leaves


def grow(leaves: LeafPages) -> None:
    """Room for more pages and events, in place."""
    sized = (leaves.starts, leaves.freed) if len(leaves.sizes) else ()
    for array in (leaves.heaps, leaves.slots, leaves.events, *sized):
        array.resize((int(len(array) * _GROWTH) + 16, *array.shape[1:]), refcheck=False)


@inlined
def size_of(leaves: LeafPages, rank: int) -> int:
    """Bytes of a record."""
    return int(leaves.sizes[rank] if len(leaves.sizes) > 0 else leaves.facts[SIZE])


@kernel
def free_after_reorganisation(leaves: LeafPages, slot: int) -> int:
    """Bytes for one more record if the page is copied; 0 if there are none."""
    slots, facts, n = leaves.slots, leaves.facts, leaves.slots[slot, RECORDS]
    used = slots[slot, BYTES] - slots[slot, GARBAGE] if len(leaves.sizes) > 0 else n * facts[SIZE]
    return max(0, int(facts[ROOM] - used - directory(n + 1)))


@kernel
def free_on_top(leaves: LeafPages, slot: int) -> int:
    """Bytes for one more record on top of the heap; 0 if there are none."""
    slots, facts, top = leaves.slots, leaves.facts, leaves.slots[slot, TOP]
    used = slots[slot, BYTES] if len(leaves.sizes) > 0 else top * facts[SIZE]
    return max(0, int(facts[ROOM] - used - directory(top + 1)))


@kernel
def adjacent(heap: Ints, top: int, one: int, other: int) -> bool:
    """Whether no record lies between two keys."""
    low, high = np.uint32(min(one, other)), np.uint32(max(one, other))
    between = 0
    for i in range(top):
        between += (heap[i] > low) & (heap[i] < high)
    return between == 0


@kernel
def is_full(leaves: LeafPages, slot: int, rank: int) -> bool:
    """Whether a leaf takes no further record without a split."""
    facts, slots, size = leaves.facts, leaves.slots, size_of(leaves, rank)
    n, free = slots[slot, RECORDS], free_after_reorganisation(leaves, slot)
    if free < size:
        return True
    crowded = slots[slot, TOP] > n or (len(leaves.sizes) > 0 and slots[slot, GARBAGE] > 0)
    if crowded and free < facts[SIXTEENTH] // 2 and n > 1 and free_on_top(leaves, slot) < size:
        return True
    last = slots[slot, LAST]
    if not facts[CLUSTERED] or n < 2 or facts[SIXTEENTH] + size <= free or last < 0:
        return False
    if last == slots[slot, HIGHEST] and rank > last:
        return True
    return adjacent(leaves.heaps[slots[slot, PAGE]], slots[slot, TOP], last, rank)


@kernel
def fits(leaves: LeafPages, slot: int, rank: int) -> bool:
    """Whether the place freed last or the top of the heap takes a record as the page is."""
    slots, size, place = leaves.slots, size_of(leaves, rank), leaves.slots[slot, FREE]
    if place >= 0 and (len(leaves.sizes) == 0 or leaves.freed[slots[slot, PAGE], place] >= size):
        return True
    return free_on_top(leaves, slot) >= size


@inlined
def put_of_one_size(leaves: LeafPages, slot: int, rank: int) -> None:
    """Inserts a record, where all have one size, into the place freed last, or on top of the heap."""
    slots, heaps, page = leaves.slots, leaves.heaps, leaves.slots[slot, PAGE]
    place = slots[slot, FREE]
    if place >= 0:
        slots[slot, FREE] = np.int32(heaps[page, place] ^ FREED) - 1
    else:
        place = slots[slot, TOP]
        slots[slot, TOP] = place + 1
    heaps[page, place] = rank
    slots[slot, RECORDS] += 1
    slots[slot, LAST] = rank
    slots[slot, HIGHEST] = max(slots[slot, HIGHEST], rank)


@kernel
def put(leaves: LeafPages, slot: int, rank: int) -> bool:
    """Inserts a record that fits; a page in which it does not is copied first. Returns whether it fits then."""
    if len(leaves.sizes) == 0:
        put_of_one_size(leaves, slot, rank)
        return True
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
def release(leaves: LeafPages, slot: int, place: int) -> None:
    """Adds a place at the head of the free places."""
    slots, page = leaves.slots, leaves.slots[slot, PAGE]
    if len(leaves.sizes) > 0:
        size = leaves.sizes[leaves.heaps[page, place]]
        leaves.freed[page, place] = size
        slots[slot, GARBAGE] += size
    leaves.heaps[page, place] = FREED | np.uint32(slots[slot, FREE] + 1)
    slots[slot, FREE] = place


@kernel
def delete(leaves: LeafPages, slot: int, place: int) -> None:
    """Deletes a single record. In MariaDB the heap shrinks if the record was its topmost (page_mem_free)."""
    slots, page = leaves.slots, leaves.slots[slot, PAGE]
    if not leaves.facts[SHRINKS] or place != slots[slot, TOP] - 1:
        release(leaves, slot, place)
        return
    if len(leaves.sizes) > 0:
        unused = slots[slot, BYTES] - leaves.starts[page, place] - leaves.sizes[leaves.heaps[page, place]]
        slots[slot, GARBAGE] -= unused
        slots[slot, BYTES] = leaves.starts[page, place]
    slots[slot, TOP] -= 1


@kernel
def reorganise(leaves: LeafPages, slot: int) -> None:
    """Copies the records into a fresh page: the heap is then in key order, without free places."""
    slots, page = leaves.slots, leaves.slots[slot, PAGE]
    heap, n = leaves.heaps[page], 0
    for i in range(slots[slot, TOP]):
        if heap[i] < FREED:
            heap[n] = heap[i]
            n += 1
    heap[:n].sort()
    slots[slot, TOP], slots[slot, FREE], slots[slot, LAST] = n, -1, -1
    if len(leaves.sizes) > 0:
        end = 0
        for i in range(n):
            leaves.starts[page, i] = end
            end += leaves.sizes[heap[i]]
        slots[slot, BYTES], slots[slot, GARBAGE] = end, 0


@kernel
def gather(leaves: LeafPages, slot: int, low: int, high: int) -> int:
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


@kernel
def assign(leaves: LeafPages, slot: int, low: int, high: int) -> None:
    """Writes the slot to the cells whose first rank is from `low` to below `high`."""
    shift = leaves.facts[SHIFT]
    width = (1 << shift) - 1
    leaves.cells[(low + width) >> shift : min((high + width) >> shift, len(leaves.cells))] = slot


@kernel
def divide(leaves: LeafPages, slot: int, separator: int, new_is_left: bool) -> tuple[int, int]:
    """A new, empty page takes one part of a leaf's range. Returns the slots of the old page and of the new one."""
    slots, facts = leaves.slots, leaves.facts
    other, page = facts[SPARE], facts[LEAVES]
    if other < 0:  # pages are numbered in order of creation, as slots are
        other = page
        facts[LEAVES] += 1
    else:
        page = np.int64(slots[other, PAGE])
        facts[SPARE] = slots[other, NEXT]
        facts[GIVEN_BACK] -= 1
    lower, upper, before, after = slots[slot, LOWER], slots[slot, UPPER], slots[slot, PREVIOUS], slots[slot, NEXT]
    left_is_narrow = separator - lower < upper - separator
    slots[other] = slots[slot]
    old, new = (slot, other) if left_is_narrow == new_is_left else (other, slot)
    left, right = (new, old) if new_is_left else (old, new)
    slots[new, PAGE] = page
    slots[new, RECORDS] = slots[new, TOP] = 0
    slots[new, FREE] = slots[new, LAST] = slots[new, HIGHEST] = -1
    slots[new, BYTES] = slots[new, GARBAGE] = 0
    slots[left, LOWER], slots[left, UPPER], slots[left, PREVIOUS], slots[left, NEXT] = lower, separator, before, right
    slots[right, LOWER], slots[right, UPPER], slots[right, PREVIOUS], slots[right, NEXT] = separator, upper, left, after
    if before >= 0:
        slots[before, NEXT] = left
    if after >= 0:
        slots[after, PREVIOUS] = right
    if left_is_narrow:
        assign(leaves, other, lower, separator)
    else:
        assign(leaves, other, separator, upper)
    return old, new


@kernel
def give(leaves: LeafPages, slot: int, right: int, border: int) -> tuple[int, int]:
    """The ranks from `border` on go from a leaf to its right neighbour. Returns the new slots of both."""
    slots = leaves.slots
    lower, old, upper = slots[slot, LOWER], slots[slot, UPPER], slots[right, UPPER]
    if old - border > border - lower + upper - old:
        first, second = slots[slot].copy(), slots[right].copy()
        slots[slot], slots[right] = second, first
        slot, right = right, slot
        slots[slot, NEXT], slots[right, PREVIOUS] = right, slot
        if slots[slot, PREVIOUS] >= 0:
            slots[slots[slot, PREVIOUS], NEXT] = slot
        if slots[right, NEXT] >= 0:
            slots[slots[right, NEXT], PREVIOUS] = right
        assign(leaves, slot, lower, border)
        assign(leaves, right, old, upper)
    else:
        assign(leaves, right, border, old)
    slots[slot, UPPER] = slots[right, LOWER] = border
    return slot, right


@kernel
def note(leaves: LeafPages, row: int, what: int, kind: int, full: int, separator: int, within: int, other: int) -> None:
    """Records an event."""
    event = leaves.events[leaves.facts[EVENTS]]
    event[ROW], event[WHAT], event[KIND], event[FULL] = row, what, kind, full
    event[SEPARATOR], event[WITHIN], event[OTHER] = separator, within, other
    leaves.facts[EVENTS] += 1


def events_of(leaves: LeafPages) -> NDArray[np.int64]:
    """All events in order of the rows: int64 (events, 8)."""
    return leaves.events[: leaves.facts[EVENTS]]


@kernel
def chain(leaves: LeafPages) -> NDArray[np.int64]:
    """The slots in key order: int64 (leaves,)."""
    slots, ordered = leaves.slots, np.empty(leaves.facts[LEAVES] - leaves.facts[GIVEN_BACK], np.int64)
    slot = leaves.cells[0]
    for i in range(len(ordered)):
        ordered[i] = slot
        slot = slots[slot, NEXT]
    return ordered
