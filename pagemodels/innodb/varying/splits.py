"""The leaves of a clustered index of InnoDB under insertion, where records have different sizes.

Rules: docs/internals/innodb.md §2. The first split of a page goes by the number of its records. If the new record still
does not fit its half, that is split again, by bytes (btr_page_get_split_rec). Events are those of `leaf_splits.py`.
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
    HIGHEST,
    INTERIOR,
    IS_ROOT,
    LAST,
    LEAVES,
    LOWER,
    NEIGHBOUR,
    NEXT,
    PAGE,
    RECORDS,
    ROOM,
    SHIFT,
    TOP,
    UP,
    UPPER,
    adjacent,
    directory,
    gather,
    place_of,
    rank_of,
)
from keybench.pagemodels.innodb.leaf_splits import divide, give, note
from keybench.pagemodels.innodb.varying.memory import (
    BYTES,
    GARBAGE,
    VaryingLeaves,
    delete,
    fits,
    is_full,
    put,
    release,
    reorganise,
)
from keybench.pagemodels.memory import uncounted

_MARGIN = 8
"""Pages and events that one row takes at most."""


@kernel
def _split(leaves: VaryingLeaves, slot: int, rank: int, row: int) -> None:
    """Inserts a record that `is_full` refused."""
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
            scratch[:count].sort()
            first, pointer = (n + 2) // 2 - 1, -1
            if again:
                first, pointer = _by_bytes(leaves, count, rank)
            elif beside:
                at = _position(leaves, count, rank)
                first = at + 1  # the next record stays
                if first >= count:  # or goes with the new one
                    first, pointer = at, rank
            slot = _split_up(leaves, slot, count, first, pointer, rank, row, kind)
        if put(leaves, slot, rank):
            return
        again = True


@kernel
def _position(leaves: VaryingLeaves, count: int, rank: int) -> int:
    """Number of the sorted records in `scratch` that are below a rank."""
    at = 0
    while at < count and rank_of(leaves.scratch[at]) < rank:
        at += 1
    return at


@kernel
def _by_bytes(leaves: VaryingLeaves, count: int, rank: int) -> tuple[int, int]:
    """(the first record that moves up, its rank or else the new one's) so that both halves have about equal bytes."""
    sizes, scratch, at = leaves.sizes, leaves.scratch, _position(leaves, count, rank)
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
    leaves: VaryingLeaves, slot: int, count: int, first: int, pointer: int, rank: int, row: int, kind: int
) -> int:
    """Moves the records of `scratch` from `first` on to a new right page. Returns the slot that the new one belongs to.

    `pointer`: the lowest rank of the new page; −1 for that of the first record that moves.
    """
    slots, scratch, page = leaves.slots, leaves.scratch, leaves.slots[slot, PAGE]
    pointer = pointer if pointer >= 0 else rank_of(scratch[first])
    slot, new = divide(leaves, slot, pointer, False)
    slots[new, BYTES] = slots[new, GARBAGE] = 0
    other = slots[new, PAGE]
    moved = count - first
    if moved > 0:
        end = 0
        for i in range(moved):
            one = rank_of(scratch[first + i])
            leaves.heaps[other, i] = one
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
        slots[slot, LAST] = -1
        slots[slot, HIGHEST] = rank_of(scratch[first - 1]) if first > 0 else -1
    note(leaves, row, UP, kind, page, pointer, rank, other)
    return int(new if rank >= pointer else slot)


@kernel
def _split_down(leaves: VaryingLeaves, slot: int, rank: int, row: int, kind: int) -> int:
    """The last insertion was the new record's successor: records below its predecessor move to a new left page.

    Returns the slot that the new one belongs to.
    """
    slots, scratch, page = leaves.slots, leaves.scratch, leaves.slots[slot, PAGE]
    at = gather(leaves, slot, 0, rank)
    scratch[:at].sort()
    count = at - 1 if at > 1 else at
    pointer = rank_of(scratch[count]) if at > 1 else int(slots[slot, LAST])
    slot, new = divide(leaves, slot, pointer, True)
    slots[new, BYTES] = slots[new, GARBAGE] = 0
    for i in range(count):
        put(leaves, new, rank_of(scratch[i]))
    for i in range(count):
        delete(leaves, slot, place_of(scratch[i]))
    if count > 0:
        slots[slot, RECORDS] -= count
        slots[slot, LAST] = -1
    note(leaves, row, DOWN, kind, page, pointer, rank, slots[new, PAGE])
    return int(new if rank < pointer else slot)


@kernel
def load(leaves: VaryingLeaves, ranks: NDArray[np.int64], begin: int, end: int) -> int:
    """Inserts rows from `begin` until `end`, or until memory must grow. Returns the row to go on from.

    Without ranks, keys are in order of arrival.
    """
    leaves = uncounted(leaves)
    slots, cells, facts = leaves.slots, leaves.cells, leaves.facts
    shift, given = facts[SHIFT], len(ranks) > 0
    for row in range(begin, end):
        rank = ranks[row] if given else row
        slot = int(cells[rank >> shift])
        while rank >= slots[slot, UPPER]:
            slot = int(slots[slot, NEXT])
        if not is_full(leaves, slot, rank):
            put(leaves, slot, rank)
        elif facts[LEAVES] + _MARGIN > len(slots) or facts[EVENTS] + _MARGIN > len(leaves.events):
            return row
        else:
            _split(leaves, slot, rank, row)
    return end
