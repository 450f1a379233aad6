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
    APPEND,
    DOWN,
    EDGE,
    EVENTS,
    FREE,
    FREED,
    FULL,
    GIVEN_BACK,
    HIGHEST,
    INTERIOR,
    IS_ROOT,
    KIND,
    LAST,
    LEAVES,
    LOWER,
    MOVED,
    NEIGHBOUR,
    NEXT,
    OTHER,
    PAGE,
    PREVIOUS,
    RECORDS,
    ROW,
    SAFE,
    SEPARATOR,
    SHIFT,
    SHRINKS,
    SIZE,
    SPARE,
    TOP,
    UP,
    UPPER,
    WHAT,
    WITHIN,
    AnyLeaves,
    Leaves,
    adjacent,
    free_bytes,
    gather,
    is_full,
    place_of,
    put,
    rank_of,
    release,
    reorganise,
)
from keybench.pagemodels.memory import uncounted
from keybench.pagemodels.quickselect import select

UNNOTED = np.empty(0, np.int32)
"""For `load`, if nobody wants to know which page each row went to."""


@kernel
def assign(leaves: AnyLeaves, slot: int, low: int, high: int) -> None:
    """Writes the slot to the cells whose first rank is from `low` to below `high`."""
    shift = leaves.facts[SHIFT]
    width = (1 << shift) - 1
    leaves.cells[(low + width) >> shift : min((high + width) >> shift, len(leaves.cells))] = slot


@kernel
def divide(leaves: AnyLeaves, slot: int, separator: int, new_is_left: bool) -> tuple[int, int]:
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
def give(leaves: AnyLeaves, slot: int, right: int, border: int) -> tuple[int, int]:
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
def note(leaves: AnyLeaves, row: int, what: int, kind: int, full: int, separator: int, within: int, other: int) -> None:
    """Records an event."""
    event = leaves.events[leaves.facts[EVENTS]]
    event[ROW], event[WHAT], event[KIND], event[FULL] = row, what, kind, full
    event[SEPARATOR], event[WITHIN], event[OTHER] = separator, within, other
    leaves.facts[EVENTS] += 1


@kernel
def _split(leaves: Leaves, slot: int, rank: int, row: int) -> None:
    """Inserts a record that `is_full` refused."""
    facts, slots, scratch = leaves.facts, leaves.slots, leaves.scratch
    if facts[IS_ROOT]:
        reorganise(leaves, slot)  # the root's records are copied to a page below it
        facts[IS_ROOT] = 0
    right, n, page, last = slots[slot, NEXT], slots[slot, RECORDS], slots[slot, PAGE], slots[slot, LAST]
    at_end = rank > slots[slot, HIGHEST]
    if at_end and right >= 0 and (slots[right, FREE] >= 0 or free_bytes(facts, slots[right, TOP]) >= facts[SIZE]):
        within = slots[right, LOWER]
        slot, right = give(leaves, slot, right, rank)
        put(leaves, right, rank)
        note(leaves, row, NEIGHBOUR, 0, page, rank, within, slots[right, PAGE])
        return
    kind = INTERIOR if right >= 0 else APPEND if at_end else EDGE
    heap, top = leaves.heaps[page], slots[slot, TOP]
    beside = last >= 0 and ((at_end and last == slots[slot, HIGHEST]) or adjacent(heap, top, last, rank))
    if beside and last > rank:
        _split_down(leaves, slot, rank, row, kind)
        return
    highest = last
    if not beside:
        moved, kept = gather(leaves, slot, 0, int(FREED)), (n + 2) // 2 - 1
        select(scratch, moved, kept)
        highest = 0
        for i in range(kept):
            highest = max(highest, rank_of(scratch[i]))
        first = kept
    else:
        moved, first = 0 if at_end else gather(leaves, slot, rank, int(FREED)), 0
    scratch[first:moved].sort()
    if beside and moved > 1:  # the next record stays
        highest = rank_of(scratch[0])
        first = 1
    alone = beside and moved <= 1
    pointer = rank if alone else rank_of(scratch[first])
    slot, new = divide(leaves, slot, pointer, False)
    target = leaves.heaps[slots[new, PAGE]]
    count = moved - first
    if count > 0:
        for i in range(count):
            target[i] = rank_of(scratch[first + i])
        for i in range(moved - 1, first - 1, -1):
            release(leaves, slot, place_of(scratch[i]))
        slots[new, RECORDS] = slots[new, TOP] = count
        slots[new, HIGHEST] = target[count - 1]
        slots[slot, RECORDS] -= count
        slots[slot, LAST], slots[slot, HIGHEST] = -1, highest
    put(leaves, new if rank >= pointer else slot, rank)
    note(leaves, row, UP, kind, page, pointer, rank, slots[new, PAGE])
    leaves.events[facts[EVENTS] - 1, MOVED] = count


@kernel
def _split_down(leaves: Leaves, slot: int, rank: int, row: int, kind: int) -> None:
    """The last insertion was the new record's successor: records below its predecessor move to a new left page."""
    facts, slots, scratch, page = leaves.facts, leaves.slots, leaves.scratch, leaves.slots[slot, PAGE]
    at = gather(leaves, slot, 0, rank)
    scratch[:at].sort()
    count = at - 1 if at > 1 else at
    pointer = rank_of(scratch[count]) if at > 1 else int(slots[slot, LAST])
    slot, new = divide(leaves, slot, pointer, True)
    for i in range(count):
        put(leaves, new, rank_of(scratch[i]))
    for i in range(count):
        place = place_of(scratch[i])
        if facts[SHRINKS] and place == slots[slot, TOP] - 1:
            slots[slot, TOP] -= 1
        else:
            release(leaves, slot, place)
    if count > 0:
        slots[slot, RECORDS] -= count
        slots[slot, LAST] = -1
    put(leaves, new if rank < pointer else slot, rank)
    note(leaves, row, DOWN, kind, page, pointer, rank, slots[new, PAGE])
    leaves.events[facts[EVENTS] - 1, MOVED] = count


@kernel
def load(leaves: Leaves, ranks: NDArray[np.int64], begin: int, end: int, at: NDArray[np.int32]) -> int:
    """Inserts rows from `begin` until `end`, or until memory must grow. Returns the row to go on from.

    Without ranks, keys are in order of arrival. Writes to the end of `at`, if it is not empty, the page of each row;
    −1 if a page was full: the row's event knows more.
    """
    leaves = uncounted(leaves)
    heaps, slots, cells, facts = leaves.heaps, leaves.slots, leaves.cells, leaves.facts
    shift, safe, given = facts[SHIFT], facts[SAFE], len(ranks) > 0
    noted, first = len(at) > 0, end - len(at)
    for row in range(begin, end):
        rank = ranks[row] if given else row
        slot = int(cells[rank >> shift])
        while rank >= slots[slot, UPPER]:
            slot = int(slots[slot, NEXT])
        if slots[slot, RECORDS] >= safe and is_full(leaves, slot, rank):
            if facts[LEAVES] == len(slots) or facts[EVENTS] == len(leaves.events):
                return row
            _split(leaves, slot, rank, row)
            if noted:
                at[row - first] = -1
            continue
        page, place = slots[slot, PAGE], slots[slot, FREE]
        if noted:
            at[row - first] = page
        if place >= 0:
            slots[slot, FREE] = np.int32(heaps[page, place] ^ FREED) - 1
        else:
            place = slots[slot, TOP]
            slots[slot, TOP] = place + 1
        heaps[page, place] = rank
        slots[slot, RECORDS] += 1
        slots[slot, LAST] = rank
        slots[slot, HIGHEST] = max(slots[slot, HIGHEST], rank)
    return end


def events_of(leaves: AnyLeaves) -> NDArray[np.int64]:
    """All events in order of the rows: int64 (events, 8)."""
    return leaves.events[: leaves.facts[EVENTS]]


@kernel
def chain(leaves: AnyLeaves) -> NDArray[np.int64]:
    """The slots in key order: int64 (leaves,)."""
    slots, ordered = leaves.slots, np.empty(leaves.facts[LEAVES] - leaves.facts[GIVEN_BACK], np.int64)
    slot = leaves.cells[0]
    for i in range(len(ordered)):
        ordered[i] = slot
        slot = slots[slot, NEXT]
    return ordered
