"""The leaves of an index of InnoDB under insertion: when and where a leaf splits (docs/internals/innodb.md §2).

Nothing that happens above the leaves or in the file changes what happens here. What a row that did not fit asks of both
is recorded as an event and done afterwards in the same order (`load.py`).

The leaf of a rank is looked up as in `half_split/kernel.py`: a directory of equal cells names the leaf of each cell's
first rank, and a few steps along the chain lead on. When a range of ranks is divided, the narrower part takes the other
slot. A row thus costs the same few memory accesses at any size.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel
from keybench.pagemodels.innodb.leaf_memory import (
    ALONE,
    APPEND,
    BYTES,
    DISCARDED,
    DOWN,
    EDGE,
    EVENTS,
    FREE,
    FREED,
    FULL,
    GARBAGE,
    GIVEN_BACK,
    HIGHEST,
    INTERIOR,
    INTO_LEFT,
    INTO_RIGHT,
    IS_ROOT,
    KIND,
    LAST,
    LAST_ONE,
    LEAVES,
    LOWER,
    MOVED,
    NEIGHBOUR,
    NEXT,
    OTHER,
    PAGE,
    PREVIOUS,
    RECORDS,
    ROOM,
    ROW,
    SAFE,
    SEPARATOR,
    SHIFT,
    SHRINKS,
    SIZE,
    SPARE,
    TOP,
    TRIED,
    UP,
    UPPER,
    WHAT,
    WITHIN,
    LeafPages,
    adjacent,
    delete,
    directory,
    fits,
    gather,
    is_full,
    place_of,
    put,
    put_of_one_size,
    rank_of,
    release,
    reorganise,
)
from keybench.pagemodels.memory import select, uncounted

UNNOTED = np.empty(0, np.int32)
"""For `load`, if nobody wants to know which page each row went to."""
_MARGIN = 8
"""Pages and events that one row takes at most."""


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


@kernel
def _split(leaves: LeafPages, slot: int, rank: int, row: int) -> None:
    """Inserts a record that `is_full` refused.

    The first split of a page goes by the number of its records. If the new record still does not fit its half, as can
    be where records differ in size, that is split again, by bytes (btr_page_get_split_rec).
    """
    facts, slots, scratch = leaves.facts, leaves.slots, leaves.scratch
    if facts[IS_ROOT]:
        reorganise(leaves, slot)  # the root's records are copied to a page below it
        facts[IS_ROOT] = 0
    again = False
    while True:
        right, n, page, last = slots[slot, NEXT], slots[slot, RECORDS], slots[slot, PAGE], slots[slot, LAST]
        at_end = rank > slots[slot, HIGHEST]
        if at_end and right >= 0 and fits(leaves, right, rank):
            within = slots[right, LOWER]
            slot, right = give(leaves, slot, right, rank)
            put(leaves, right, rank)
            note(leaves, row, NEIGHBOUR, 0, page, rank, within, slots[right, PAGE])
            return
        kind = INTERIOR if right >= 0 else APPEND if at_end else EDGE
        heap, top = leaves.heaps[page], slots[slot, TOP]
        beside = last >= 0 and ((at_end and last == slots[slot, HIGHEST]) or adjacent(heap, top, last, rank))
        if beside and not again and last > rank:
            slot = _split_down(leaves, slot, rank, row, kind)
        else:
            count = gather(leaves, slot, 0, int(FREED))
            first, pointer = (n + 2) // 2 - 1, -1
            if again:
                scratch[:count].sort()
                first, pointer = _by_bytes(leaves, count, rank)
            elif beside:
                below = _below(leaves, count, rank)
                first = below + 1  # the next record stays
                if first >= count:  # or goes with the new one
                    first, pointer = below, rank
            slot = _split_up(leaves, slot, count, first, pointer, rank, row, kind)
        if put(leaves, slot, rank):
            return
        again = True


@kernel
def _below(leaves: LeafPages, count: int, rank: int) -> int:
    """How many of the records in `scratch` are below a rank."""
    below = 0
    for i in range(count):
        below += rank_of(leaves.scratch[i]) < rank
    return below


@kernel
def _by_bytes(leaves: LeafPages, count: int, rank: int) -> tuple[int, int]:
    """(the first record that moves up, its rank or else the new one's) so that both halves have about equal bytes.

    The records in `scratch` are sorted.
    """
    sizes, scratch, at = leaves.sizes, leaves.scratch, _below(leaves, count, rank)
    total = int(sizes[rank])
    for i in range(count):
        total += sizes[rank_of(scratch[i])]
    half = (total + directory(count + 1)) // 2
    used, taken = 0, 0
    while True:  # the new record is number `at`
        used += int(sizes[rank] if taken == at else sizes[rank_of(scratch[taken - (taken > at)])])
        taken += 1
        if used + directory(taken) >= half or taken == count + 1:
            break
    if used + directory(taken) > leaves.facts[ROOM] or taken == count + 1:
        taken -= 1  # the last one goes to the upper half
    if taken == at:
        if at == 0:
            return 0, rank_of(scratch[0])
        return at, rank
    first = taken - (taken > at)
    return first, rank_of(scratch[first])


@kernel
def _split_up(
    leaves: LeafPages, slot: int, count: int, first: int, pointer: int, rank: int, row: int, kind: int
) -> int:
    """Moves all but the `first` lowest of the records in `scratch` to a new right page. Returns the slot that the new
    record belongs to.

    `pointer`: the lowest rank of the new page; −1 for that of the first record that moves.
    """
    slots, scratch, page = leaves.slots, leaves.scratch, leaves.slots[slot, PAGE]
    if first < count:
        select(scratch, count, first)
        scratch[first:count].sort()
        pointer = pointer if pointer >= 0 else rank_of(scratch[first])
    highest = -1
    for i in range(first):
        highest = max(highest, rank_of(scratch[i]))
    slot, new = divide(leaves, slot, pointer, False)
    other, moved, end = slots[new, PAGE], count - first, 0
    if moved > 0:
        for i in range(moved):
            one = rank_of(scratch[first + i])
            leaves.heaps[other, i] = one
            if len(leaves.sizes) > 0:
                leaves.starts[other, i] = end
                end += leaves.sizes[one]
        for i in range(count - 1, first - 1, -1):
            release(leaves, slot, place_of(scratch[i]))
        slots[new, RECORDS] = slots[new, TOP] = moved
        slots[new, BYTES] = end
        slots[new, HIGHEST] = rank_of(scratch[count - 1])
        slots[slot, RECORDS] -= moved
        if first == 0:  # a page that loses all of its records is made anew
            slots[slot, TOP] = slots[slot, BYTES] = slots[slot, GARBAGE] = 0
            slots[slot, FREE] = -1
        slots[slot, LAST], slots[slot, HIGHEST] = -1, highest
    note(leaves, row, UP, kind, page, pointer, rank, other)
    leaves.events[leaves.facts[EVENTS] - 1, MOVED] = moved
    return int(new if rank >= pointer else slot)


@kernel
def _split_down(leaves: LeafPages, slot: int, rank: int, row: int, kind: int) -> int:
    """The last insertion was the new record's successor: records below its predecessor move to a new left page.

    Returns the slot that the new one belongs to.
    """
    slots, scratch, page = leaves.slots, leaves.scratch, leaves.slots[slot, PAGE]
    below = gather(leaves, slot, 0, rank)
    scratch[:below].sort()
    moved = below - 1 if below > 1 else below
    pointer = rank_of(scratch[moved]) if below > 1 else int(slots[slot, LAST])
    slot, new = divide(leaves, slot, pointer, True)
    for i in range(moved):
        put(leaves, new, rank_of(scratch[i]))
    for i in range(moved):
        delete(leaves, slot, place_of(scratch[i]))
    if moved > 0:
        slots[slot, RECORDS] -= moved
        slots[slot, LAST] = -1
    note(leaves, row, DOWN, kind, page, pointer, rank, slots[new, PAGE])
    leaves.events[leaves.facts[EVENTS] - 1, MOVED] = moved
    return int(new if rank < pointer else slot)


@kernel
def load(leaves: LeafPages, ranks: NDArray[np.int64], begin: int, end: int, at: NDArray[np.int32]) -> int:
    """Inserts rows from `begin` until `end`, or until memory must grow. Returns the row to go on from.

    Without ranks, keys are in order of arrival. Writes to the end of `at`, if it is not empty, the page of each row;
    −1 if a page was full: the row's event knows more.
    """
    leaves = uncounted(leaves)
    slots, cells, facts, one_size = leaves.slots, leaves.cells, leaves.facts, len(leaves.sizes) == 0
    shift, safe, given = facts[SHIFT], facts[SAFE], len(ranks) > 0
    noted, first = len(at) > 0, end - len(at)
    for row in range(begin, end):
        rank = ranks[row] if given else row
        slot = int(cells[rank >> shift])
        while rank >= slots[slot, UPPER]:
            slot = int(slots[slot, NEXT])
        if slots[slot, RECORDS] >= safe and is_full(leaves, slot, rank):
            if facts[LEAVES] + _MARGIN > len(slots) or facts[EVENTS] + _MARGIN > len(leaves.events):
                return row
            _split(leaves, slot, rank, row)
            if noted:
                at[row - first] = -1
            continue
        if noted:
            at[row - first] = slots[slot, PAGE]
        if one_size:
            put_of_one_size(leaves, slot, rank)
        else:
            put(leaves, slot, rank)
    return end


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
