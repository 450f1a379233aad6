"""The kernel of page models whose leaf splits in two by count or bytes: PostgreSQL, SQL Server, Oracle.

A leaf holds the ranks that arrived in its range, in any sequence: only a split needs to know which of them are the
lower ones, and selecting them once costs less than keeping them sorted. The leaf of a rank is looked up: the ranks are
0 … n − 1, so a directory of equal cells names the leaf of each cell's first rank, and a few steps along the chain lead
to borders inside a cell. When a leaf splits, the narrower part takes the new slot, so that each cell changes hands at
most log2(n) times, whatever the order of arrival. A row thus costs the same few memory accesses at any size.

A split changes nothing outside its leaf's range. Each page remembers the row that made it, and sorting by those rows
numbers the pages at the end (`levels.numbers_by_birth`). So of many rows those of one range can go before those of
another (`regroup`), which keeps a range in the cache.
"""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import allocating, inlined, int64, kernel
from keybench.pagemodels.memory import prefetch, select, sort
from keybench.pagemodels.ranking import Integers, Sizes

FIRST, APPEND, EDGE, INTERIOR = -1, 0, 1, 2
"""Why a page exists: it is the first one, or a split of this kind made it."""

LOWER, UPPER, USED, COUNT, NEXT, PREVIOUS, SETTLED, PAGE = range(8)
"""Fields of a slot. LOWER, UPPER: its range of ranks. USED: the size of its entries together. COUNT: their number.
NEXT, PREVIOUS: the slots of its neighbours (−1 none). SETTLED: how many of the entries came by a split rather than by a
later insertion. PAGE: the number of its page, where `insert` notes pages."""
SLOT_FIELDS: Final = 8  # half a cache line

USED_SLOTS, LAST = range(2)
"""Fields of the state: slots in use; the slot of the rightmost leaf."""

_AHEAD: Final = 32
"""Rows before a page is noted at which its place in memory is prefetched."""
ALONE: Final = -1
"""Value of `keep_append`: all entries stay, and the new one goes to the new page alone."""

AT_MOST_HALF, LESS_THAN_HALF, HALF_OF_PRESENT = range(3)
"""Values of `half`, for splits by bytes: the left page gets at most half of all bytes, or less than half, the new entry
counted; or at most half of the bytes that were there before the new entry came."""


class Leaves(NamedTuple):
    """The leaves of a level. A slot is a leaf's place in `slots`, `births`, `kinds` and `content`."""

    cells: NDArray[np.int32]
    """The slot of each cell's first rank."""
    slots: NDArray[np.int32]
    """(slots, 8): by the names above."""
    births: Integers
    """The row that made each leaf, from 0; −1 for the first leaf."""
    kinds: NDArray[np.int8]
    """The kind of split that made each leaf."""
    content: NDArray[np.int32]
    """(slots, entries): the ranks in each leaf, in any order but for the last one inserted."""
    state: Integers
    """(2,): by the names above."""
    scratch: NDArray[np.int32]
    """(entries + 1,): the entries of a leaf that is being split."""
    shift: int
    """A cell is 1 << shift ranks wide."""


class SplitRules(NamedTuple):
    """When a leaf is full and how it splits; `Rule` explains each."""

    room: int
    room_last: int
    keep: Integers
    """(3,): what stays left by number of entries, by kind of split."""
    half: int
    after_latest: bool
    before_latest: bool
    together: int
    choices: Integers
    """(3, most): what may stay left by kind of split, the best first, zeros behind the last; (3, 0) for no choices."""


@dataclass(frozen=True)
class Rule:
    """When a page is full and how it splits. Room is in entries; in bytes where entries have different sizes: then
    `half` says how much stays left, except in ALONE appends."""

    room: int
    """Room of any page but the rightmost."""
    room_last: int
    """Room of the rightmost page."""
    keep_append: int = ALONE
    """Entries that stay left when the rightmost page splits for a key above all present: a number, or all (ALONE)."""
    keep_edge: int = 0
    """Entries that stay left when the rightmost page splits for any other key."""
    keep_interior: int = 0
    """Entries that stay left when any other page splits."""
    half: int = AT_MOST_HALF
    """What the half of a page is; HALF_OF_PRESENT also holds where entries have one size, in place of `keep_…`."""
    after_latest: bool = False
    """Whether an entry that comes right after the page's latest one splits the page there: what lies above moves, and
    where nothing does, the new entry goes to the new page alone."""
    before_latest: bool = False
    """Whether an entry that comes right before the page's latest one becomes the second of the new page: it, the entry
    below it and all above move. The page is halved where fewer than two entries lie below."""
    smallest: int = 1
    """Smallest size of an entry."""
    together: int = 1
    """Entries of each key, if splits between different keys are preferred; the key of a rank is rank // together."""
    choices: tuple[tuple[int, ...], ...] = ()
    """For each kind of split, if `together` is above 1: what may stay left, the best first that parts no key."""

    @classmethod
    def halves(cls, room: int, keep_append: int | None = None) -> Self:
        """Pages of `room` entries: half of these and the new one stay left in a split, `keep_append` in an append."""
        half = max(1, (room + 1) // 2)
        append = half if keep_append is None else keep_append
        return cls(room=room, room_last=room, keep_append=append, keep_edge=half, keep_interior=half)

    @property
    def entries(self) -> int:
        """Maximum entries of a page."""
        return max(self.room, self.room_last) // self.smallest

    def for_kernel(self) -> SplitRules:
        """The rule as the kernel takes it: arrays in place of tuples."""
        choices = np.zeros((3, max(map(len, self.choices), default=0)), np.int64)
        for kind, of_kind in enumerate(self.choices):
            choices[kind, : len(of_kind)] = of_kind
        keep = np.array([self.keep_append, self.keep_edge, self.keep_interior], np.int64)
        return SplitRules(
            self.room, self.room_last, keep, self.half, self.after_latest, self.before_latest, self.together, choices
        )


@kernel
def _kept_near_latest(rules: SplitRules, items: NDArray[np.int32], n: int, rank: int, latest: int) -> int:
    """How many of the first n items stay left if `rank`, the new one, comes right after or right before `latest`, the
    entry that arrived before it. 0 if it comes elsewhere, or the rules do not split there."""
    below = 0  # items below `rank`, which is one of the items
    for i in range(n):
        if min(latest, rank) < items[i] < max(latest, rank):
            return 0  # an entry lies between
        below += items[i] < rank
    if latest < rank:
        if not rules.after_latest:
            return 0
        above = n - 1 - below
        return below + 1 if above else below  # the new entry stays too, unless it is the highest: then it goes alone
    # The new entry goes to the new page with its predecessor and all above it.
    return below - 1 if rules.before_latest and below > 1 else 0


@inlined
def _weight(sizes: Sizes, item: int, left_out: int) -> int:
    """What an entry counts in a split by bytes: its size, 1 if all have one size (`sizes` is empty), 0 for `left_out`,
    the new entry where only those present count."""
    if item == left_out:
        return int64(0)
    return int64(sizes[item]) if len(sizes) else int64(1)


@kernel
def _kept_by_size(items: NDArray[np.int32], n: int, sizes: Sizes, half: int, rank: int) -> int:
    """Sorts the first n items, of which `rank` is the new one. Returns how many of the lowest stay left: at least 1,
    not all. `sizes`: of entries by rank; empty if all are alike. `half`: AT_MOST_HALF, or a name beside it."""
    sort(items, n)
    left_out = int64(rank) if half == HALF_OF_PRESENT else int64(-1)  # no entry has rank −1
    total = int64(0)
    for i in range(n):
        total += _weight(sizes, items[i], left_out)
    used, kept = int64(0), 0
    while kept < n - 1:
        used += _weight(sizes, items[kept], left_out)
        if kept > 0 and (2 * used > total or (half == LESS_THAN_HALF and 2 * used == total)):
            break  # one more would be more than half, or just half where that is too much
        kept += 1
    return kept


@kernel
def _kept_between_keys(items: NDArray[np.int32], n: int, choices: Integers, together: int) -> int:
    """Sorts the first n items. Returns the first of the `choices` of how many stay left that parts no key's entries;
    0 for none. The key of an item is item // `together`; zeros follow the last choice."""
    sort(items, n)
    for keep in choices:
        if keep > 0 and items[keep - 1] // together != items[keep] // together:
            return int(keep)
    return 0


@inlined
def find(leaves: Leaves, rank: int) -> int:
    """The slot of the leaf to which a rank belongs: from the leaf of its cell's first rank along the chain."""
    slot = int64(leaves.cells[rank >> leaves.shift])
    while rank >= leaves.slots[slot, UPPER]:
        slot = int64(leaves.slots[slot, NEXT])
    return slot


@kernel
def assign(leaves: Leaves, slot: int, low: int, high: int) -> None:
    """Makes a slot the one of all cells whose first rank is from `low` to below `high`."""
    round_up = (1 << leaves.shift) - 1  # a shift then leads to the first cell that begins there or later
    for cell in range((low + round_up) >> leaves.shift, min((high + round_up) >> leaves.shift, len(leaves.cells))):
        leaves.cells[cell] = slot


@kernel
def _gather(leaves: Leaves, slot: int, rank: int) -> bool:
    """Writes a leaf's entries to `scratch`, and `rank` behind them. Returns whether `rank` is above all of them."""
    scratch, count, is_highest = leaves.scratch, leaves.slots[slot, COUNT], True
    for i in range(count):
        scratch[i] = leaves.content[slot, i]
        is_highest &= scratch[i] < rank
    scratch[count] = rank
    return bool(is_highest)


@kernel
def _select_lower(
    leaves: Leaves, rules: SplitRules, sizes: Sizes, slot: int, rank: int, is_highest: bool, kind: int
) -> int:
    """Moves those entries in `scratch` to its front that stay left in a split of this kind. Returns their number; the
    lowest of the others is directly behind them. `is_highest`: whether `rank`, the new one, is above all others."""
    count, scratch = leaves.slots[slot, COUNT], leaves.scratch
    total, keep = count + 1, 0  # `keep` is 0 until a rule decides
    if kind == APPEND and rules.keep[APPEND] == ALONE:
        return int(count)  # the new entry, which moves alone, is behind the others already
    if rules.after_latest and count > leaves.slots[slot, SETTLED]:  # else nobody knows which entry came last
        keep = _kept_near_latest(rules, scratch, total, rank, scratch[count - 1])
    if not keep and (len(sizes) or rules.half == HALF_OF_PRESENT):
        keep = _kept_by_size(scratch, total, sizes, rules.half, rank)
        if is_highest and keep == count:
            _gather(leaves, slot, rank)  # only the new entry moves: the others again in order of arrival, not sorted
        return keep
    if not keep and rules.together > 1:
        return _kept_between_keys(scratch, total, rules.choices[kind], rules.together)  # not 0: choices suffice
    keep = keep or rules.keep[kind]
    if not is_highest or keep < count:  # else only the new entry moves, and the others stay in order of arrival
        select(scratch, total, keep)
    return int(keep)


@kernel
def divide(leaves: Leaves, slot: int, separator: int, time: int, kind: int, new: int) -> tuple[int, int]:
    """Divides a leaf's range: a new page takes the part from `separator` on. The narrower part goes to the free slot
    `new`. Returns (slot of the left part, slot of the right part). `time`, `kind`: the row and the kind of split."""
    slots, births, kinds, state = leaves.slots, leaves.births, leaves.kinds, leaves.state
    lower, upper = slots[slot, LOWER], slots[slot, UPPER]
    before, after = slots[slot, PREVIOUS], slots[slot, NEXT]
    if upper - separator <= separator - lower:
        left, right = slot, new
        assign(leaves, new, separator, upper)
    else:
        left, right = new, slot
        assign(leaves, new, lower, separator)
    births[left], births[right] = births[slot], time
    kinds[left], kinds[right] = kinds[slot], kind
    slots[left, PAGE], slots[right, PAGE] = slots[slot, PAGE], new  # the new page has the number of the new slot
    slots[left, LOWER], slots[left, UPPER] = lower, separator
    slots[right, LOWER], slots[right, UPPER] = separator, upper
    slots[left, PREVIOUS], slots[left, NEXT] = before, right
    slots[right, PREVIOUS], slots[right, NEXT] = left, after
    if before >= 0:
        slots[before, NEXT] = left
    if after >= 0:
        slots[after, PREVIOUS] = right
    if slot == state[LAST]:
        state[LAST] = right
    return left, right


@kernel
def fill(leaves: Leaves, sizes: Sizes, slot: int, begin: int, end: int, rank: int) -> None:
    """Gives a leaf the entries of `scratch` from `begin` to `end`. If the new entry `rank` is among them, it goes
    behind the others: the last entry of a page is the last one inserted."""
    slots, content, scratch = leaves.slots, leaves.content, leaves.scratch
    count, new_at = end - begin, -1  # −1: the new entry is not among them
    used = 0 if len(sizes) else count
    for i in range(count):
        content[slot, i] = scratch[begin + i]
        if content[slot, i] == rank:
            new_at = i
    if len(sizes):
        for i in range(begin, end):
            used += sizes[scratch[i]]
    slots[slot, USED], slots[slot, COUNT], slots[slot, SETTLED] = used, count, count
    if new_at >= 0:
        content[slot, new_at], content[slot, count - 1] = content[slot, count - 1], rank
        slots[slot, SETTLED] = count - 1


@kernel
def split(leaves: Leaves, rules: SplitRules, sizes: Sizes, slot: int, rank: int, time: int, new: int) -> None:
    """Splits the leaf in `slot`, which has no room for `rank`, the row with number `time`. The new page takes the upper
    part of the entries. Of both pages, the one with the narrower range goes to the free slot `new`."""
    total, settled = leaves.slots[slot, COUNT] + 1, leaves.slots[slot, SETTLED]
    is_highest, kind = _gather(leaves, slot, rank), INTERIOR
    if slot == leaves.state[LAST]:
        kind = APPEND if is_highest else EDGE
    keep = _select_lower(leaves, rules, sizes, slot, rank, is_highest, kind)
    if kind == APPEND and rules.after_latest and keep < total - 1:
        kind = EDGE  # entries move, which the server's log tells apart from an append
    left, right = divide(leaves, slot, leaves.scratch[keep], time, kind, new)  # the lowest entry that moves separates
    fill(leaves, sizes, left, 0, keep, rank)
    fill(leaves, sizes, right, keep, total, rank)
    if is_highest and keep == total - 1:
        leaves.slots[left, SETTLED] = settled  # only the new entry moved: the page's latest one is known as before


@kernel
def insert(
    leaves: Leaves,
    rules: SplitRules,
    sizes: Sizes,
    ranks: NDArray[Any],
    times: NDArray[np.int32],
    start: int,
    pages: NDArray[np.int32],
) -> int:
    """Inserts ranks in order of arrival. ranks[i] arrives as row start + times[i], or start + i if `times` is empty.

    Writes to `pages`, if it is not empty, the number of the page into which each row goes, after a split that the row
    caused: 0 for the first page, else the slot that was new when the page was made. An entry takes `sizes[rank]` of a
    page's room, or 1 if `sizes` is empty. All ranks lie in 0 … (len(cells) << shift) − 1. Returns how many were
    inserted: fewer than all if the slots are used up.
    """
    one_size, has_times, notes_pages = len(sizes) == 0, len(times) > 0, len(pages) > 0
    cells, slots, content, state = leaves.cells, leaves.slots, leaves.content, leaves.state
    shift, room, room_last = leaves.shift, rules.room, rules.room_last
    last = state[LAST]
    for i in range(len(ranks)):
        if notes_pages and has_times:  # the places of such rows in `pages` are far apart
            prefetch(pages, start + times[min(i + _AHEAD, len(ranks) - 1)])
        rank = ranks[i]
        slot = int(cells[rank >> shift])  # as in `find`
        while rank >= slots[slot, UPPER]:
            slot = int(slots[slot, NEXT])
        used = slots[slot, USED] + (1 if one_size else int(sizes[rank]))
        if used <= (room_last if slot == last else room):
            count = slots[slot, COUNT]
            content[slot, count] = rank
            slots[slot, COUNT] = count + 1
            slots[slot, USED] = used
            if notes_pages:
                pages[start + (times[i] if has_times else i)] = slots[slot, PAGE]
            continue
        new = state[USED_SLOTS]
        if new == len(slots):
            return i
        state[USED_SLOTS] = new + 1
        split(leaves, rules, sizes, slot, rank, start + (times[i] if has_times else i), new)
        last = state[LAST]
        if notes_pages:
            leaf = slot if slots[slot, LOWER] <= rank < slots[slot, UPPER] else new
            pages[start + (times[i] if has_times else i)] = slots[leaf, PAGE]
    return len(ranks)


class Groups(NamedTuple):
    """Groups of leaves that follow one another."""

    uppers: Integers
    """The upper border of each group."""
    shift: int
    """log2 of the distance between the ranks whose groups `firsts` has."""
    firsts: NDArray[np.int32]
    """The group of each rank c << shift."""
    scratch: NDArray[np.uint16]
    """(n,): room for the group of each of n ranks."""


@allocating
def regroup(groups: Groups, ranks: Integers, sorted_ranks: NDArray[np.int32], places: NDArray[np.int32]) -> None:
    """Writes the ranks, sorted stably by their group, to `sorted_ranks`, and where each was in `ranks` to `places`."""
    uppers, shift, firsts, group_of = groups.uppers, groups.shift, groups.firsts, groups.scratch
    nexts = np.zeros(len(uppers), np.int64)  # of each group: its number of rows; later, where its next row goes
    for i in range(len(ranks)):
        group = int(firsts[ranks[i] >> shift])
        while ranks[i] >= uppers[group]:
            group += 1
        nexts[group] += 1
        group_of[i] = group
    total = 0
    for group in range(len(uppers)):  # a group's first row goes behind all rows of the groups before
        total, nexts[group] = total + nexts[group], total
    for i in range(len(ranks)):
        at = nexts[group_of[i]]
        sorted_ranks[at], places[at] = ranks[i], i
        nexts[group_of[i]] = at + 1
