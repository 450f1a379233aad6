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

from keybench.compiled import allocating, inlined, kernel
from keybench.pagemodels.innodb.records import PAGE_HEADER
from keybench.pagemodels.memory import sort
from keybench.pagemodels.ranking import Integers, Sizes

Ints = NDArray[Any]

LOWER, UPPER, NEXT, PREVIOUS, PAGE, RECORDS, TOP, FREE, LAST, HIGHEST, BYTES, GARBAGE = range(12)
"""Fields of a slot, which is where a leaf is in `slots`. LOWER, UPPER: its range of ranks. NEXT, PREVIOUS: the slots of
its neighbours (−1 none). PAGE: its page, numbered in order of creation. Of that page: RECORDS; TOP, the places in its
heap; FREE, the place freed last (−1 none); LAST, the rank inserted last (−1 forgotten); HIGHEST, the highest rank.
Where records differ in size: BYTES, the end of its heap; GARBAGE, the bytes of the heap that hold no record."""
_FIELDS = 16  # a cache line

ROW, WHAT, KIND, FULL, SEPARATOR, WITHIN, OTHER, MOVED = range(8)
"""Fields of an event. ROW: the row. WHAT: what it did, by the names below. KIND: the kind of split. FULL: the page that
was full, or was purged. SEPARATOR: the key of the new node pointer. WITHIN: a key that still leads to the page whose
node pointer changes. OTHER: the other page. MOVED: the records that moved to it."""
NEIGHBOUR, UP, DOWN = range(3)
"""Events of a full leaf: the row went into the right neighbour; a new page took the upper, or the lower, records."""
INTO_LEFT, INTO_RIGHT, DISCARDED, ALONE, LAST_ONE, TRIED = range(3, 9)
"""Events of a purged leaf. INTO_LEFT, INTO_RIGHT: its records went into that neighbour. DISCARDED: its page was given
back with its last record. ALONE: it is the only leaf. LAST_ONE: it was the only leaf, and is now empty. TRIED: it
stays, after an attempt to merge it that may only have made the file longer."""
APPEND, EDGE, INTERIOR = range(3)
"""Kinds of split."""

LEAVES, EVENTS, SHIFT = range(3)
"""Fields of `facts`: pages, events, log2 of the width of a cell."""
SIZE, ROOM, SIXTEENTH, CLUSTERED, SHRINKS, SAFE = range(3, 9)
"""More of them. SIZE: bytes of a record, or of the smallest one. ROOM: bytes of a page for records and directory.
SIXTEENTH: a sixteenth of a page, in bytes. CLUSTERED: whether that is kept free for updates. SHRINKS: whether the heap
shrinks when its topmost record is deleted (MariaDB). SAFE: as long as a page has fewer records, no rule refuses
another."""
IS_ROOT, GIVEN_BACK, SPARE = range(9, 12)
"""The last ones. IS_ROOT: whether the only leaf is the root. GIVEN_BACK: slots that were given back with their pages.
SPARE: the last one of them (−1 none), whose NEXT is the one before."""
FACTS = 12

FREED = np.uint32(1 << 31)
"""Marks a free place, whose other bits are the next free place + 1; above all ranks."""
_GROWTH = 1.25  # factor by which memory grows
_FILL = 0.62
"""Expected used share of a page. If it is less, memory grows on the way."""


NO_SIZES = np.empty(0, np.uint16)
"""In place of the sizes of records, if all have one size."""


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


def new(size: int, page_bytes: int, rows: int, sizes: Sizes, *, clustered: bool, shrinks: bool) -> LeafPages:
    """One empty leaf, and memory for the leaves that `rows` rows usually need; `grow` gives more. `size`: bytes of a
    record, or of the smallest one. `sizes`: (rows,), bytes of each record by rank; (0,) if all have one size.
    `clustered`: whether a sixteenth of a page is kept free. `shrinks`: as the field of that name."""
    room = page_bytes - PAGE_HEADER
    places = places_of_page(size, room)
    usual_records = max(1, room * rows // max(1, int(sizes.sum(dtype=np.int64)))) if len(sizes) else places
    pages = int(rows / (usual_records * _FILL)) + 64
    shift = max(0, (usual_records // 12).bit_length() - 1)  # a cell is about a tenth of a page wide
    # SAFE: with fewer records, two more fit beside the sixteenth kept free; each takes its bytes and half of one in the
    # directory. Twice the bytes, divided by twice a record's, keep the numbers whole.
    safe = 0 if len(sizes) else (room - page_bytes // 16 - 2 * size - 2) * 2 // (2 * size + 1) - 1
    facts = np.zeros(FACTS, np.int64)
    facts[[LEAVES, SHIFT, SIZE, ROOM, IS_ROOT, SPARE]] = 1, shift, size, room, 1, -1
    facts[[SIXTEENTH, CLUSTERED, SHRINKS, SAFE]] = page_bytes // 16, clustered, shrinks, safe
    sized_pages = pages if len(sizes) else 0
    leaves = LeafPages(
        heaps=np.empty((pages, places), np.uint32),
        slots=np.empty((pages, _FIELDS), np.int32),
        cells=np.zeros((max(rows, 1) - 1 >> shift) + 1, np.int32),  # up to the cell of the highest rank
        events=np.empty((2 * pages, MOVED + 1), np.int64),  # MOVED is the last field
        scratch=np.empty(places + 1, np.uint64),
        facts=facts,
        sizes=sizes,
        starts=np.empty((sized_pages, places), np.uint16),
        freed=np.empty((sized_pages, places), np.uint16),
    )
    first = leaves.slots[0]
    first[: GARBAGE + 1] = 0
    first[UPPER] = rows
    first[[NEXT, PREVIOUS, FREE, LAST, HIGHEST]] = -1
    return leaves


def places_of_page(size: int, room: int) -> int:
    """How many records of `size` bytes fit a page with `room` bytes for records and directory, until none fits."""
    return next(n for n in range(room) if room - n * size - directory(n + 1) < size)


def grow(leaves: LeafPages) -> None:
    """Makes memory for more pages and events: the arrays grow in place."""
    sized = (leaves.starts, leaves.freed) if len(leaves.sizes) else ()
    for array in (leaves.heaps, leaves.slots, leaves.events, *sized):
        array.resize((int(len(array) * _GROWTH) + 16, *array.shape[1:]), refcheck=False)


@inlined
def size_of(leaves: LeafPages, rank: int) -> int:
    """Bytes of the record of a rank."""
    return int(leaves.sizes[rank] if len(leaves.sizes) > 0 else leaves.facts[SIZE])


@kernel
def free_after_reorganisation(leaves: LeafPages, slot: int) -> int:
    """Bytes that a leaf has for one more record once it is reorganised, so that no place is unused; 0 for none."""
    slots, facts, n = leaves.slots, leaves.facts, leaves.slots[slot, RECORDS]
    used = slots[slot, BYTES] - slots[slot, GARBAGE] if len(leaves.sizes) > 0 else n * facts[SIZE]
    return max(0, int(facts[ROOM] - used - directory(n + 1)))


@kernel
def free_on_top(leaves: LeafPages, slot: int) -> int:
    """Bytes that a leaf has for one more record on top of its heap, as the page is; 0 if there are none."""
    slots, facts, top = leaves.slots, leaves.facts, leaves.slots[slot, TOP]
    used = slots[slot, BYTES] if len(leaves.sizes) > 0 else top * facts[SIZE]
    return max(0, int(facts[ROOM] - used - directory(top + 1)))


@kernel
def fits(leaves: LeafPages, slot: int, rank: int) -> bool:
    """Whether a leaf takes the record of a rank as the page is: in the place freed last, or on top of its heap."""
    slots, size, place = leaves.slots, size_of(leaves, rank), leaves.slots[slot, FREE]
    if place >= 0 and (len(leaves.sizes) == 0 or leaves.freed[slots[slot, PAGE], place] >= size):
        return True
    return free_on_top(leaves, slot) >= size


@inlined
def put_of_one_size(leaves: LeafPages, slot: int, rank: int) -> None:
    """Inserts the record of a rank into a leaf: in the place freed last, or on top of the heap. All have one size."""
    slots, heaps, page = leaves.slots, leaves.heaps, leaves.slots[slot, PAGE]
    place = slots[slot, FREE]
    if place >= 0:  # the place holds, beside the mark, the next free one + 1
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
    """Inserts the record of a rank into a leaf, which is reorganised if need be. Returns whether it fits then."""
    if len(leaves.sizes) == 0:
        put_of_one_size(leaves, slot, rank)
        return True
    slots, size = leaves.slots, int(leaves.sizes[rank])
    if not fits(leaves, slot, rank):
        reorganise(leaves, slot)
        slots[slot, LAST] = slots[slot, HIGHEST]  # copied in key order, so that the highest record came last
        if not fits(leaves, slot, rank):
            return False
    page, place = slots[slot, PAGE], slots[slot, FREE]
    heap = leaves.heaps[page]
    if place >= 0 and leaves.freed[page, place] >= size:  # the place holds, beside the mark, the next free one + 1
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
    """Frees a place of a leaf's heap, which the next insertion then takes. RECORDS is left to the caller."""
    slots, page = leaves.slots, leaves.slots[slot, PAGE]
    if len(leaves.sizes) > 0:
        size = leaves.sizes[leaves.heaps[page, place]]
        leaves.freed[page, place] = size
        slots[slot, GARBAGE] += size
    leaves.heaps[page, place] = FREED | np.uint32(slots[slot, FREE] + 1)
    slots[slot, FREE] = place


@kernel
def delete(leaves: LeafPages, slot: int, place: int) -> None:
    """Frees the place of a deleted record in a leaf's heap. In MariaDB the heap shrinks instead if that is its topmost
    place (page_mem_free). RECORDS is left to the caller."""
    slots, page = leaves.slots, leaves.slots[slot, PAGE]
    if not leaves.facts[SHRINKS] or place != slots[slot, TOP] - 1:
        release(leaves, slot, place)
        return
    if len(leaves.sizes) > 0:
        # The place may be longer than its record: what is left of it counted as garbage.
        unused = slots[slot, BYTES] - leaves.starts[page, place] - leaves.sizes[leaves.heaps[page, place]]
        slots[slot, GARBAGE] -= unused
        slots[slot, BYTES] = leaves.starts[page, place]
    slots[slot, TOP] -= 1


@kernel
def reorganise(leaves: LeafPages, slot: int) -> None:
    """Copies a leaf's records into a fresh page: its heap is then in key order, without free places."""
    slots, page = leaves.slots, leaves.slots[slot, PAGE]
    heap, n = leaves.heaps[page], 0
    for i in range(slots[slot, TOP]):
        if heap[i] < FREED:  # a record, not a free place
            heap[n] = heap[i]
            n += 1
    sort(heap, n)
    slots[slot, TOP], slots[slot, FREE], slots[slot, LAST] = n, -1, -1  # no free place, the last record forgotten
    if len(leaves.sizes) > 0:
        end = 0
        for i in range(n):
            leaves.starts[page, i] = end
            end += leaves.sizes[heap[i]]
        slots[slot, BYTES], slots[slot, GARBAGE] = end, 0


@kernel
def gather(leaves: LeafPages, slot: int, low: int, high: int) -> int:
    """Writes a leaf's records with ranks from `low` to below `high` to `scratch`: each its rank, then its place in the
    lower 16 bits, so that they can be sorted. Returns their number."""
    slots, scratch = leaves.slots, leaves.scratch
    heap = leaves.heaps[slots[slot, PAGE]]
    n = 0
    for i in range(slots[slot, TOP]):
        scratch[n] = np.uint64(heap[i]) << np.uint64(16) | np.uint64(i)
        n += low <= heap[i] < high  # else the next one overwrites it; a free place has FREED, which is above all ranks
    return n


@kernel
def rank_of(item: Any) -> int:
    """The rank of an item of `LeafPages.scratch`."""
    return int(np.int64(item >> np.uint64(16)))


@kernel
def place_of(item: Any) -> int:
    """The place in its heap of an item of `LeafPages.scratch`."""
    return int(np.int64(item & np.uint64(0xFFFF)))


@kernel
def assign(leaves: LeafPages, slot: int, low: int, high: int) -> None:
    """Enters a slot into all cells whose first rank is from `low` to below `high`."""
    shift = leaves.facts[SHIFT]
    # Adding a cell's width less 1 rounds up: the first cell that begins there or later.
    round_up = (1 << shift) - 1
    leaves.cells[(low + round_up) >> shift : min((high + round_up) >> shift, len(leaves.cells))] = slot


@kernel
def divide(leaves: LeafPages, slot: int, separator: int, new_is_left: bool) -> tuple[int, int]:
    """Divides a leaf's range of ranks at `separator`: a new, empty page takes the left or the right part. Returns (slot
    of the old page, slot of the new one), of which the narrower part has the slot that is new."""
    slots, facts = leaves.slots, leaves.facts
    # 1. A slot and a page: those given back last, or else new ones.
    other, page = facts[SPARE], facts[LEAVES]
    if other < 0:  # pages are numbered in order of creation, as slots are
        other = page
        facts[LEAVES] += 1
    else:
        page = np.int64(slots[other, PAGE])
        facts[SPARE] = slots[other, NEXT]
        facts[GIVEN_BACK] -= 1
    # 2. The old page keeps its slot or moves to the other one, so that few cells change.
    lower, upper, before, after = slots[slot, LOWER], slots[slot, UPPER], slots[slot, PREVIOUS], slots[slot, NEXT]
    left_is_narrow = separator - lower < upper - separator
    for field in range(_FIELDS):
        slots[other, field] = slots[slot, field]
    old, new = (slot, other) if left_is_narrow == new_is_left else (other, slot)  # `other` gets the narrower part
    left, right = (new, old) if new_is_left else (old, new)
    slots[new, PAGE] = page
    slots[new, RECORDS] = slots[new, TOP] = 0
    slots[new, FREE] = slots[new, LAST] = slots[new, HIGHEST] = -1
    slots[new, BYTES] = slots[new, GARBAGE] = 0
    # 3. Both ranges, and the chain.
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
def give_upper_range(leaves: LeafPages, slot: int, right: int, border: int) -> tuple[int, int]:
    """Moves the border between a leaf and its right neighbour down to `border`; no record moves. Returns the slots that
    both have then: (of the leaf, of the neighbour)."""
    slots = leaves.slots
    lower, old, upper = slots[slot, LOWER], slots[slot, UPPER], slots[right, UPPER]
    if old - border > border - lower + upper - old:  # fewer cells change if both swap their slots
        for field in range(_FIELDS):
            slots[slot, field], slots[right, field] = slots[right, field], slots[slot, field]
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
    """Adds an event with these fields (ROW to OTHER, above); MOVED is left to the caller."""
    event = leaves.events[leaves.facts[EVENTS]]
    event[ROW], event[WHAT], event[KIND], event[FULL] = row, what, kind, full
    event[SEPARATOR], event[WITHIN], event[OTHER] = separator, within, other
    leaves.facts[EVENTS] += 1


def events_of(leaves: LeafPages) -> Integers:
    """All events in order of the rows: int64 (events, 8)."""
    return leaves.events[: leaves.facts[EVENTS]]


@allocating
def chain(leaves: LeafPages) -> Integers:
    """The slots of all leaves in key order: int64 (leaves,)."""
    slots, ordered = leaves.slots, np.empty(leaves.facts[LEAVES] - leaves.facts[GIVEN_BACK], np.int64)
    slot = leaves.cells[0]  # the leaf of rank 0
    for i in range(len(ordered)):
        ordered[i] = slot
        slot = slots[slot, NEXT]
    return ordered
