"""The leaves of an index of InnoDB: when and where a leaf splits, and how purge removes records and merges leaves.

Rules: docs/internals/innodb.md §2 and §7 (row0purge.cc; btr_cur_optimistic_delete and btr_cur_pessimistic_delete in
btr0cur.cc; btr_compress and btr_discard_page in btr0btr.cc). Nothing that happens above the leaves or in the file
changes what happens here. What a row asks of both is recorded as an event and done afterwards in the same order
(`node_pointers.py`).

The leaf of a rank is looked up as in `half_split/kernel.py`: a directory of equal cells names the leaf of each cell's
first rank, and a few steps along the chain lead on. When a range of ranks is divided, the narrower part takes the other
slot. A row thus costs the same few memory accesses at any size.
"""

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel
from keybench.pagemodels.innodb import leaf_memory as leaf
from keybench.pagemodels.innodb.leaf_memory import LeafPages
from keybench.pagemodels.memory import select, sort
from keybench.pagemodels.ranking import Integers

UNNOTED = np.empty(0, np.int32)
"""For `load`, if nobody wants to know which page each row went to."""
_MARGIN = 8  # pages and events that one row takes at most


@kernel
def _none_between(heap: NDArray[np.uint32], top: int, last: int, rank: int) -> bool:
    """Whether none of the records in the `top` places of a heap is between the ranks `last` and `rank`."""
    low, high = np.uint32(min(last, rank)), np.uint32(max(last, rank))
    between = 0
    for i in range(top):  # adds 1 for each record in between; the value of a free place is above all ranks
        between += (heap[i] > low) & (heap[i] < high)
    return between == 0


@kernel
def _is_full(leaves: LeafPages, slot: int, rank: int) -> bool:
    """Whether a leaf refuses the record of a rank, so that it must split (btr_cur_optimistic_insert)."""
    facts, slots, size = leaves.facts, leaves.slots, leaf.size_of(leaves, rank)
    n, free = slots[slot, leaf.RECORDS], leaf.free_after_reorganisation(leaves, slot)
    if free < size:
        return True
    # A page with unused places is not reorganised for less than half a sixteenth (BTR_CUR_PAGE_REORGANIZE_LIMIT).
    crowded = slots[slot, leaf.TOP] > n or (len(leaves.sizes) > 0 and slots[slot, leaf.GARBAGE] > 0)
    if crowded and free < facts[leaf.SIXTEENTH] // 2 and n > 1 and leaf.free_on_top(leaves, slot) < size:
        return True
    # A clustered index keeps a sixteenth free, but only if the record comes right beside the one inserted last.
    last = slots[slot, leaf.LAST]
    if not facts[leaf.CLUSTERED] or n < 2 or facts[leaf.SIXTEENTH] + size <= free or last < 0:
        return False
    if last == slots[slot, leaf.HIGHEST] and rank > last:  # nothing can be between
        return True
    return _none_between(leaves.heaps[slots[slot, leaf.PAGE]], slots[slot, leaf.TOP], last, rank)


@kernel
def _split(leaves: LeafPages, slot: int, rank: int, row: int) -> None:
    """Inserts the record of a rank, which `_is_full` refused, and notes the events of its row. The first split of a
    page goes by the number of its records. If the new record still does not fit its half, as can be where records
    differ in size, that half is split again, by bytes (btr_page_get_split_rec)."""
    facts, slots = leaves.facts, leaves.slots
    if facts[leaf.IS_ROOT]:
        leaf.reorganise(leaves, slot)  # the root's records are copied to a page below it
        facts[leaf.IS_ROOT] = 0
    again = False
    while True:
        right, page, last = slots[slot, leaf.NEXT], slots[slot, leaf.PAGE], slots[slot, leaf.LAST]
        at_end = rank > slots[slot, leaf.HIGHEST]
        # A record behind all others goes into the right neighbour without a split, if it fits there.
        if at_end and right >= 0 and leaf.fits(leaves, right, rank):
            within = slots[right, leaf.LOWER]
            slot, right = leaf.give_upper_range(leaves, slot, right, rank)
            leaf.put(leaves, right, rank)
            leaf.note(leaves, row, leaf.NEIGHBOUR, 0, page, rank, within, slots[right, leaf.PAGE])
            return
        kind = leaf.INTERIOR
        if right < 0:
            kind = leaf.APPEND if at_end else leaf.EDGE
        heap, top = leaves.heaps[page], slots[slot, leaf.TOP]
        # `beside`: no record is between the new one and the one inserted last. So keys seem to come in order.
        both_at_end = at_end and last == slots[slot, leaf.HIGHEST]
        beside = last >= 0 and (both_at_end or _none_between(heap, top, last, rank))
        if beside and not again and last > rank:
            slot = _split_down(leaves, slot, rank, row, kind)
        else:
            count = leaf.gather(leaves, slot, 0, int(leaf.FREED))  # FREED is above all ranks: all records
            first, pointer = _by_bytes(leaves, count, rank) if again else _by_number(leaves, count, rank, beside)
            slot = _split_up(leaves, slot, count, first, pointer, rank, row, kind)
        if leaf.put(leaves, slot, rank):
            return
        again = True  # the half is too full


@kernel
def _count_below(leaves: LeafPages, count: int, rank: int) -> int:
    """How many of the first `count` records in `scratch` are below a rank."""
    below = 0
    for i in range(count):  # adds 1 for each
        below += leaf.rank_of(leaves.scratch[i]) < rank
    return below


@kernel
def _by_number(leaves: LeafPages, count: int, rank: int, beside: bool) -> tuple[int, int]:
    """Divides the `count` records in `scratch` by their number: in the middle, or if `beside`, at the new record.
    Returns (how many of the lowest stay; lowest rank of the new page, −1 for that of the first record that moves)."""
    if not beside:  # those below the middle one stay (page_get_middle_rec, which counts from a system record)
        return (count + 2) // 2 - 1, -1
    below = _count_below(leaves, count, rank)
    if below + 1 < count:
        return below + 1, -1  # the new record's successor stays
    return below, rank  # the new record is the lowest of the new page


@kernel
def _by_bytes(leaves: LeafPages, count: int, rank: int) -> tuple[int, int]:
    """Sorts the `count` records in `scratch`, and divides them and the new one so that both halves have about equal
    bytes. Returns (index in `scratch` of the first that moves up, lowest rank of the upper half: maybe the new one)."""
    sort(leaves.scratch, count)
    # Records count from 0 in key order, with the new one, which is number `new`. The index in `scratch` of a record
    # behind it is its number less 1.
    sizes, scratch, new = leaves.sizes, leaves.scratch, _count_below(leaves, count, rank)
    total = int(sizes[rank])
    for i in range(count):
        total += sizes[leaf.rank_of(scratch[i])]
    half = (total + leaf.directory(count + 1)) // 2
    used, lower = 0, 0  # bytes and number of the records in the lower half
    while True:
        following = rank if lower == new else leaf.rank_of(scratch[lower - 1 if lower > new else lower])
        used += int(sizes[following])
        lower += 1
        if used + leaf.directory(lower) >= half or lower == count + 1:
            break
    if used + leaf.directory(lower) > leaves.facts[leaf.ROOM] or lower == count + 1:
        lower -= 1  # the last one goes to the upper half
    if lower == new:  # the new record is the lowest of the upper half
        if new == 0:  # but then all others are there too: so it goes alone to the lower half
            return 0, leaf.rank_of(scratch[0])
        return new, rank
    first = lower - 1 if lower > new else lower
    return first, leaf.rank_of(scratch[first])


@kernel
def _split_up(
    leaves: LeafPages, slot: int, count: int, first: int, pointer: int, rank: int, row: int, kind: int
) -> int:
    """Moves all but the `first` lowest of the `count` records in `scratch` to a new right page, and notes the event.
    Returns the slot that the new record belongs to. `pointer`: the lowest rank of the new page; −1 for that of the
    first record that moves. `rank`, `row`: of the new record. `kind`: of the split."""
    slots, scratch, page = leaves.slots, leaves.scratch, leaves.slots[slot, leaf.PAGE]
    # 1. Sort the records that move.
    if first < count:
        select(scratch, count, first)
        sort(scratch[first:], count - first)
        pointer = pointer if pointer >= 0 else leaf.rank_of(scratch[first])
    highest = -1  # of those that stay
    for i in range(first):
        highest = max(highest, leaf.rank_of(scratch[i]))
    # 2. Give them a page, whose heap is in key order; free their places from the last one to the first.
    slot, new = leaf.divide(leaves, slot, pointer, False)  # False: the new page is not the left one
    new_page, moved, end = slots[new, leaf.PAGE], count - first, 0  # `end`: of the new heap, in bytes
    if moved > 0:
        for i in range(moved):
            moved_rank = leaf.rank_of(scratch[first + i])
            leaves.heaps[new_page, i] = moved_rank
            if len(leaves.sizes) > 0:
                leaves.starts[new_page, i] = end
                end += leaves.sizes[moved_rank]
        for i in range(count - 1, first - 1, -1):
            leaf.release(leaves, slot, leaf.place_of(scratch[i]))
        slots[new, leaf.RECORDS] = slots[new, leaf.TOP] = moved
        slots[new, leaf.BYTES] = end
        slots[new, leaf.HIGHEST] = leaf.rank_of(scratch[count - 1])
        slots[slot, leaf.RECORDS] -= moved
        if first == 0:  # a page that loses all of its records is made anew
            slots[slot, leaf.TOP] = slots[slot, leaf.BYTES] = slots[slot, leaf.GARBAGE] = 0
            slots[slot, leaf.FREE] = -1
        slots[slot, leaf.LAST], slots[slot, leaf.HIGHEST] = -1, highest
    # 3. Note what branch pages and file have to do.
    leaf.note(leaves, row, leaf.UP, kind, page, pointer, rank, new_page)
    leaves.events[leaves.facts[leaf.EVENTS] - 1, leaf.MOVED] = moved
    return int(new if rank >= pointer else slot)


@kernel
def _split_down(leaves: LeafPages, slot: int, rank: int, row: int, kind: int) -> int:
    """Splits a page into which the new record's successor was inserted last: the records below the new one's
    predecessor move to a new left page. Notes the event. Returns the slot that the new record belongs to."""
    slots, scratch, page = leaves.slots, leaves.scratch, leaves.slots[slot, leaf.PAGE]
    below = leaf.gather(leaves, slot, 0, rank)
    sort(scratch, below)
    moved = below - 1 if below > 1 else below  # the predecessor stays, unless it would be the only one to move
    # The lowest rank of the old page from now on: that of the predecessor, or else of the successor, inserted last.
    pointer = leaf.rank_of(scratch[moved]) if below > 1 else int(slots[slot, leaf.LAST])
    slot, new = leaf.divide(leaves, slot, pointer, True)  # True: the new page is the left one
    for i in range(moved):
        leaf.put(leaves, new, leaf.rank_of(scratch[i]))
    for i in range(moved):
        leaf.delete(leaves, slot, leaf.place_of(scratch[i]))
    if moved > 0:
        slots[slot, leaf.RECORDS] -= moved
        slots[slot, leaf.LAST] = -1
    leaf.note(leaves, row, leaf.DOWN, kind, page, pointer, rank, slots[new, leaf.PAGE])
    leaves.events[leaves.facts[leaf.EVENTS] - 1, leaf.MOVED] = moved
    return int(new if rank < pointer else slot)


@kernel
def load(leaves: LeafPages, ranks: Integers, begin: int, end: int, page_of_row: NDArray[np.int32]) -> int:
    """Inserts the rows from number `begin` to below `end`, or until memory must grow. Returns the row to go on from.
    `ranks`: of all rows in order of arrival; empty if keys ascend in that order. `page_of_row`: UNNOTED, or (rows,)
    with row `end` − 1 as the last. Gets the page of each row, or −1 where that was full: its event says more."""
    slots, cells, facts, one_size = leaves.slots, leaves.cells, leaves.facts, len(leaves.sizes) == 0
    shift, safe, ascends = facts[leaf.SHIFT], facts[leaf.SAFE], len(ranks) == 0
    notes_pages, first = len(page_of_row) > 0, end - len(page_of_row)
    for row in range(begin, end):
        rank = row if ascends else ranks[row]
        # The cell names the leaf of its own first rank; the rank's leaf is the same or a few steps on.
        slot = int(cells[rank >> shift])
        while rank >= slots[slot, leaf.UPPER]:
            slot = int(slots[slot, leaf.NEXT])
        if slots[slot, leaf.RECORDS] >= safe and _is_full(leaves, slot, rank):
            if facts[leaf.LEAVES] + _MARGIN > len(slots) or facts[leaf.EVENTS] + _MARGIN > len(leaves.events):
                return row
            _split(leaves, slot, rank, row)
            if notes_pages:
                page_of_row[row - first] = -1
            continue
        if notes_pages:
            page_of_row[row - first] = slots[slot, leaf.PAGE]
        if one_size:
            leaf.put_of_one_size(leaves, slot, rank)
        else:
            leaf.put(leaves, slot, rank)
    return end


@kernel
def _remove(leaves: LeafPages, slot: int, rank: int) -> None:
    """Finds the record of a rank in its leaf's heap and removes it, without any merge."""
    slots = leaves.slots
    heap, record, place = leaves.heaps[slots[slot, leaf.PAGE]], np.uint32(rank), np.uint32(0)
    # Only the record's own place is added to 0. Without a branch, the compiler compares several places at a time.
    for i in range(slots[slot, leaf.TOP]):
        place |= np.uint32(i) if heap[i] == record else np.uint32(0)
    leaf.delete(leaves, slot, int(place))
    slots[slot, leaf.RECORDS] -= 1
    slots[slot, leaf.LAST] = -1
    if slots[slot, leaf.HIGHEST] == rank:  # look for the highest one of those that are left
        highest = np.int64(-1)
        for i in range(slots[slot, leaf.TOP]):
            if heap[i] < leaf.FREED:
                highest = max(highest, np.int64(heap[i]))
        slots[slot, leaf.HIGHEST] = highest


@kernel
def empty_root(leaves: LeafPages, slot: int) -> None:
    """Takes all records out of the root (btr_page_empty)."""
    slots = leaves.slots
    slots[slot, leaf.RECORDS] = slots[slot, leaf.TOP] = 0
    slots[slot, leaf.FREE] = slots[slot, leaf.LAST] = slots[slot, leaf.HIGHEST] = -1


@kernel
def _makes_room_for(leaves: LeafPages, slot: int, records: int) -> bool:
    """Whether further records fit a leaf, which is reorganised if only that helps; not if `slot` is −1, for no leaf."""
    if slot < 0:
        return False
    slots, facts = leaves.slots, leaves.facts
    needed = records * facts[leaf.SIZE]
    n, top = slots[slot, leaf.RECORDS], slots[slot, leaf.TOP]
    if needed > facts[leaf.ROOM] - n * facts[leaf.SIZE] - leaf.directory(n + records):  # even if reorganised
        return False
    # As the page is: its heap also has the places of records that are gone.
    if needed > facts[leaf.ROOM] - top * facts[leaf.SIZE] - leaf.directory(top + records):
        leaf.reorganise(leaves, slot)
    return True


@kernel
def _absorb(leaves: LeafPages, slot: int, other: int) -> None:
    """Gives the range of a leaf to its neighbour `other`, and frees the leaf's page and one of the two slots for later
    leaves. The wider of both ranges keeps its slot, so that few cells change."""
    slots, facts = leaves.slots, leaves.facts
    # The neighbours and the range of both together; `other` may be on either side.
    before = slots[slot, leaf.PREVIOUS] if slots[slot, leaf.PREVIOUS] != other else slots[other, leaf.PREVIOUS]
    after = slots[slot, leaf.NEXT] if slots[slot, leaf.NEXT] != other else slots[other, leaf.NEXT]
    lower = min(slots[slot, leaf.LOWER], slots[other, leaf.LOWER])
    upper = max(slots[slot, leaf.UPPER], slots[other, leaf.UPPER])
    kept_slot, free_slot = other, slot
    if slots[slot, leaf.UPPER] - slots[slot, leaf.LOWER] > slots[other, leaf.UPPER] - slots[other, leaf.LOWER]:
        kept_slot, free_slot = slot, other
    low, high = slots[free_slot, leaf.LOWER], slots[free_slot, leaf.UPPER]
    if kept_slot == slot:  # the neighbour's page moves there; the leaf's page stays with the slot that is free
        page = slots[slot, leaf.PAGE]
        for field in range(slots.shape[1]):
            slots[slot, field] = slots[other, field]
        slots[other, leaf.PAGE] = page
    slots[kept_slot, leaf.LOWER], slots[kept_slot, leaf.UPPER] = lower, upper
    slots[kept_slot, leaf.PREVIOUS], slots[kept_slot, leaf.NEXT] = before, after
    if before >= 0:
        slots[before, leaf.NEXT] = kept_slot
    if after >= 0:
        slots[after, leaf.PREVIOUS] = kept_slot
    leaf.assign(leaves, kept_slot, low, high)
    # Free slots are a list that begins at SPARE and goes on by NEXT.
    slots[free_slot, leaf.NEXT] = facts[leaf.SPARE]
    facts[leaf.SPARE] = free_slot
    facts[leaf.GIVEN_BACK] += 1


@kernel
def _shrink(leaves: LeafPages, slot: int, rank: int, row: int, sparse: int, small_file: bool) -> bool:
    """Removes the record of a rank from a leaf that may have few records then; merges that leaf with a neighbour or
    gives it back, and notes the event. Returns whether a leaf may now be the only one. `sparse`: bytes of records below
    which a leaf may be merged. `small_file`: whether each attempt to merge may make the file longer."""
    slots, facts, scratch = leaves.slots, leaves.facts, leaves.scratch
    left, right, page = slots[slot, leaf.PREVIOUS], slots[slot, leaf.NEXT], slots[slot, leaf.PAGE]
    within, alone = slots[slot, leaf.LOWER], left < 0 and right < 0
    if slots[slot, leaf.RECORDS] < 2:  # the page goes with its last record
        if alone:
            leaf.note(leaves, row, leaf.LAST_ONE, 0, page, 0, within, page)  # 0: no split, no separator
            empty_root(leaves, slot)
            return True
        other = left if left >= 0 else right
        leaf.note(leaves, row, leaf.DISCARDED, 0, page, slots[other, leaf.LOWER], within, slots[other, leaf.PAGE])
        _absorb(leaves, slot, other)
        return bool(facts[leaf.LEAVES] - facts[leaf.GIVEN_BACK] == 1)
    _remove(leaves, slot, rank)
    n = slots[slot, leaf.RECORDS]
    if alone:
        leaf.note(leaves, row, leaf.ALONE, 0, page, 0, within, page)
        return True
    if n * facts[leaf.SIZE] >= sparse:
        return False
    other, what = left, leaf.INTO_LEFT
    if not _makes_room_for(leaves, left, n):
        other, what = right, leaf.INTO_RIGHT
        if not _makes_room_for(leaves, right, n):
            if small_file:
                leaf.note(leaves, row, leaf.TRIED, 0, page, 0, within, page)
            return False
    leaf.note(leaves, row, what, 0, page, slots[other, leaf.LOWER], within, slots[other, leaf.PAGE])
    count = leaf.gather(leaves, slot, 0, int(leaf.FREED))
    sort(scratch, count)
    for i in range(count):
        leaf.put(leaves, other, leaf.rank_of(scratch[i]))
    _absorb(leaves, slot, other)
    return False


@kernel
def purge(leaves: LeafPages, sparse: int, small_file: bool, ranks: Integers, begin: int, end: int) -> int:
    """Removes the records of `ranks[begin:end]`, or stops when the caller has to apply the events. Returns the index in
    `ranks` to go on from. `sparse`: bytes of records below which a leaf may be merged. `small_file`: whether the file
    is shorter than an extent, so that each attempt may make it longer."""
    slots, cells, facts, events = leaves.slots, leaves.cells, leaves.facts, leaves.events
    shift, size = facts[leaf.SHIFT], facts[leaf.SIZE]
    for row in range(begin, end):
        rank = ranks[row]
        slot = int(cells[rank >> shift])
        while rank >= slots[slot, leaf.UPPER]:
            slot = int(slots[slot, leaf.NEXT])
        n = slots[slot, leaf.RECORDS]
        alone = slots[slot, leaf.PREVIOUS] < 0 and slots[slot, leaf.NEXT] < 0
        if facts[leaf.IS_ROOT] and n == 1:
            empty_root(leaves, slot)
        elif facts[leaf.IS_ROOT] or (not alone and n >= 2 and (n - 1) * size >= sparse):
            _remove(leaves, slot, rank)  # enough records stay, or there is nothing to merge with
        elif facts[leaf.EVENTS] == len(events):
            return row
        elif _shrink(leaves, slot, rank, row, sparse, small_file):
            return row + 1  # a leaf may be the only one: when the caller has applied the events, it may be the root
    return end
