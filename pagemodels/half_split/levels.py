"""The levels of an index: memory for the kernel, the order in which many rows are given to it, and the pages' numbers.

The keys of a branch level are the borders that the splits below it made, in the sequence of those splits. The same
kernel simulates it, with the rule of branch pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel
from keybench.errors import UsageError
from keybench.pagemodels.contract import ServerPages
from keybench.pagemodels.half_split import kernel as split_kernel
from keybench.pagemodels.half_split.kernel import FIRST, LAST, SLOT_FIELDS, USED_SLOTS, Leaves, Rule
from keybench.pagemodels.ranking import Integers, Sizes

NO_SIZES: Sizes = np.empty(0, np.uint16)
Kept = tuple[Integers, Integers]
"""The pages of a level that stay: their places among all pages of the level in key order, and their lower borders."""

FIRST_ROOT = -1
"""Height of the first root among pages that one row made, where it comes before the second leaf, whose height is 0."""

_CHUNK = 1 << 20  # minimum rows that are sorted by group at a time
_FEW = 1 << 12  # rows from which on it is worth the effort to sort them by group
_GROUP_ROWS = 1 << 17  # rows of a group once all keys are there: they fit a second-level cache with their leaves
_NONE = np.empty(0, np.int32)
_PER_SLOT = ("slots", "births", "kinds", "content")  # the arrays of `Leaves` with an element for each slot


class LevelMemory:
    """One level of an index of `keys` ranks, in memory that grows as needed."""

    def __init__(self, keys: int, rule: Rule, slots: int) -> None:
        """Makes room for `slots` pages; none is part of the level yet (`link`). `keys`: all ranks are below it."""
        self.keys, self.rules = keys, rule.for_kernel()
        self.page_of_row = _NONE
        """(rows,): room for the page into which each row goes, as `kernel.insert` numbers pages; (0,): not noted."""
        # A cell is a fourth to an eighth of a full page wide, so that few steps lead from its first leaf to any other.
        shift = max(0, (max(1, rule.room_last // rule.smallest) // 4).bit_length() - 1)
        self.leaves = Leaves(
            cells=np.zeros(max(1, (keys + (1 << shift) - 1) >> shift), np.int32),
            slots=np.empty((slots, SLOT_FIELDS), np.int32),
            births=np.empty(slots, np.int64),
            kinds=np.empty(slots, np.int8),
            content=np.empty((slots, rule.entries), np.int32),
            state=np.zeros(2, np.int64),
            scratch=np.empty(rule.entries + 1, np.int32),
            shift=shift,
        )

    @classmethod
    def empty(cls, keys: int, rule: Rule) -> LevelMemory:
        """A level of one empty page, with room for as many pages as ordinary splits make."""
        new = cls(keys, rule, cls.usual_pages(keys, rule))
        new.leaves.slots[0] = 0
        new.leaves.births[0], new.leaves.kinds[0] = -1, FIRST  # −1 − 0: its number in the file is 0
        new.link(slots=np.zeros(1, np.int64), lowers=np.zeros(1, np.int64))
        return new

    @staticmethod
    def usual_pages(n: int, rule: Rule) -> int:
        """How many pages ordinary splits make at most of n ranks: half-full ones, and a sixteenth more. (The system
        only gives a process the memory that it writes to, so that too much room costs nothing.)"""
        half = max(1, min(rule.room, rule.room_last) // rule.smallest // 2)
        return min(n, n // half + n // (half * 16)) + 2  # + 2: both divisions round down

    def link(self, slots: Integers, lowers: Integers) -> None:
        """Makes n slots the pages of the level, links them as a chain, and fills the directory of cells. `slots`: 0 …
        n − 1, in key order of their pages. `lowers`: the lower border of each of these pages."""
        leaves, uppers = self.leaves, np.append(lowers[1:], self.keys)
        leaves.slots[slots, split_kernel.LOWER], leaves.slots[slots, split_kernel.UPPER] = lowers, uppers
        leaves.slots[slots, split_kernel.NEXT] = np.append(slots[1:], -1)
        leaves.slots[slots, split_kernel.PREVIOUS] = np.append(-1, slots[:-1])
        firsts = np.arange(len(leaves.cells)) << leaves.shift
        # The page that holds each cell's first rank; `minimum`: without keys there is a cell, and no page above it.
        holders = np.searchsorted(uppers, firsts, side="right")
        leaves.cells[:] = slots[np.minimum(holders, len(slots) - 1)]
        leaves.state[USED_SLOTS], leaves.state[LAST] = len(slots), slots[-1]

    def keep(self, slots: Integers, lowers: Integers) -> None:
        """Keeps only these slots, given in key order, with these lower borders. The others have to be empty. The pages
        that stay move to the slots 0 … n − 1."""
        new_slots, must_move = slots.copy(), slots >= len(slots)
        new_slots[must_move] = np.setdiff1d(np.arange(len(slots)), slots)  # slots below n, whose pages go
        for name in _PER_SLOT:
            values = getattr(self.leaves, name)
            values[new_slots[must_move]] = values[slots[must_move]]
        self.link(new_slots, lowers)

    def column(self, field: int) -> NDArray[np.int32]:
        """A field (LOWER, COUNT … of `kernel`) of each slot in use: (slots in use,)."""
        return self.leaves.slots[: self.leaves.state[USED_SLOTS], field]

    def slots_by_key(self) -> Integers:
        """The slots in use in key order."""
        return np.argsort(self.column(split_kernel.LOWER), kind="stable")

    def insert(self, ranks: NDArray[Any], start: int, sizes: Sizes, times: NDArray[np.int32] = _NONE) -> None:
        """Inserts ranks. ranks[i] arrives as row start + times[i], or start + i if `times` is empty. `sizes`: of the
        entries by rank; empty if entries are counted."""
        while True:
            done = split_kernel.insert(self.leaves, self.rules, sizes, ranks, times, start, self.page_of_row)
            if done == len(ranks):
                return
            ranks, times = ranks[done:], times[done:]
            start += 0 if len(times) else done  # times count from `start` whatever is done
            self._grow()

    def make_room(self) -> None:
        """Makes sure that a slot is free."""
        if self.leaves.state[USED_SLOTS] == len(self.leaves.slots):
            self._grow()

    def insert_from(self, row: int, ranks: Integers, sizes: Sizes) -> None:
        """Inserts the ranks from ranks[row] on; ranks[i] arrives as row i. `sizes`: as of `insert`. Many rows at a time
        are sorted by groups of leaves beforehand. The rows of one group follow one another in their order of arrival,
        so that the group stays in the cache; rows of different groups do not depend on one another."""
        n = len(ranks)
        if n < _FEW:
            self.insert(ranks[row:], row, sizes)
            return
        while row < n:
            entries = int(self.column(split_kernel.COUNT).sum(dtype=np.int64))
            # In a large index more rows at a time, so that each group gets many.
            rows = ranks[row : row + max(_CHUNK, min(entries // 2, n // 8))]
            uppers = self._groups()
            if len(uppers) > 1:
                regrouped, times = self._regrouped(rows, uppers)
                self.insert(regrouped, row, sizes, times)
            else:
                self.insert(rows, row, sizes)
            row += len(rows)

    def _groups(self) -> Integers:
        """(groups,): upper borders of groups of leaves, of about equal width; one group where a few leaves are most of
        the range. In that case rows go to few leaves, which stay in the cache by themselves."""
        groups = self.keys // _GROUP_ROWS
        uppers = np.sort(self.column(split_kernel.UPPER)).astype(np.int64)
        if groups < 2 or len(uppers) < 4 * groups:  # one group: few keys, or few leaves for each group
            return uppers[-1:]
        # The leaves in which equal parts of the range end.
        ends = np.unique(np.searchsorted(uppers, self.keys * np.arange(1, groups + 1) // groups))
        borders = uppers[ends]
        return borders if np.diff(borders, prepend=0).max() <= 4 * _GROUP_ROWS else uppers[-1:]

    def _regrouped(self, ranks: Integers, uppers: Integers) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """(the ranks sorted by group, the place of each in `ranks`). `uppers`: the upper border of each group."""
        n = len(ranks)
        # Cells of a sixteenth of a mean group: from the group of a cell's first rank, few steps lead to any rank's.
        shift = max(0, (self.keys // (16 * len(uppers))).bit_length() - 1)
        firsts = np.searchsorted(uppers, np.arange(0, self.keys, 1 << shift), side="right").astype(np.int32)
        groups = split_kernel.Groups(uppers=uppers, shift=shift, firsts=firsts, scratch=np.empty(n, np.uint16))
        sorted_ranks, places = np.empty(n, np.int32), np.empty(n, np.int32)
        split_kernel.regroup(groups, ranks, sorted_ranks, places)
        return sorted_ranks, places

    def _grow(self) -> None:
        """Makes room for half as many pages more."""
        slots = len(self.leaves.slots) + len(self.leaves.slots) // 2 + 16
        larger: dict[str, Any] = {}
        for name in _PER_SLOT:
            old = getattr(self.leaves, name)
            larger[name] = np.empty((slots, *old.shape[1:]), old.dtype)
            larger[name][: len(old)] = old
        self.leaves = self.leaves._replace(**larger)


class LevelPages(NamedTuple):
    """The pages of one level in key order: (pages,) each."""

    lowers: Integers
    """The lower border of each page; 0 for the first."""
    births: Integers
    """The row that made each page, from 0; or −1 − the page's number in the file."""
    kinds: NDArray[np.int8]
    """The kind of split that made each page."""
    ends: Integers
    """Where the page's entries end in `entries`."""
    entries: NDArray[np.int32]
    """All entries, page after page: the lower borders of the pages below."""

    @classmethod
    def unsplit(cls, lowers: Integers, births: Integers, ends: Integers, entries: Integers) -> Self:
        """Pages that no split made."""
        kinds = np.full(len(lowers), FIRST, np.int8)
        return cls(lowers=lowers, births=births, kinds=kinds, ends=ends, entries=entries.astype(np.int32))


def pages_of(level: LevelMemory) -> LevelPages:
    """The pages of a level of branch pages, without their entries; `rebuilt_above` fills `ends` and `entries`."""
    slots, leaves = level.slots_by_key(), level.leaves
    return LevelPages(
        lowers=leaves.slots[slots, split_kernel.LOWER].astype(np.int64),
        births=leaves.births[slots],
        kinds=leaves.kinds[slots],
        ends=np.zeros(len(slots), np.int64),
        entries=np.empty(0, np.int32),
    )


def rebuilt_above(pages: LevelPages, kept: Kept, below: Integers) -> LevelPages:
    """The branch pages of a level that stay, with their entries: the lower borders of the pages below them. `pages`:
    all pages of the level until now. `below`: the lower borders of all pages of the level below."""
    places, lowers = kept
    return LevelPages(
        lowers=lowers,
        births=pages.births[places],
        kinds=pages.kinds[places],
        ends=np.append(np.searchsorted(below, lowers[1:]), len(below)),  # where the next page's entries begin
        entries=below.astype(np.int32),
    )


def level_of(keys: int, rule: Rule, pages: LevelPages) -> LevelMemory:
    """A level of these pages, in memory with room for some more. `keys`: ranks are below this number."""
    n = len(pages.lowers)
    new = LevelMemory(keys, rule, n + n // 4 + 16)
    leaves, counts = new.leaves, np.diff(pages.ends, prepend=0)
    # Entries are counted, not weighed, so that a page's used room is their number; all were there before this call.
    for field in (split_kernel.USED, split_kernel.COUNT, split_kernel.SETTLED):
        leaves.slots[:n, field] = counts
    leaves.births[:n], leaves.kinds[:n] = pages.births, pages.kinds
    _scatter(pages.entries, pages.ends, leaves.content)
    new.link(np.arange(n), pages.lowers)
    return new


def levels_of(
    keys: int, leaf: Rule, branch: Rule, present: Integers, sizes: Sizes, pages: ServerPages, borders: Integers | None
) -> list[LevelMemory]:
    """The levels of an index with these pages of a server, leaves first. `keys`: ranks are below this number. `leaf`,
    `branch`: how pages split. `present`: the ranks of its rows, ascending. `sizes`: of entries by rank; empty if
    entries are counted. `borders`: the lower borders of all leaves but the first; if None, a leaf's first row counts as
    its border. UsageError for pages that do not fit the rows, and for leaves that no row can come to."""
    pages.require(len(present))
    levels: list[LevelMemory] = []
    entries, rule = present, leaf
    for level in pages.levels:
        ends = np.cumsum(level.entries)
        lowers = _lowers(entries, ends - level.entries, level.entries > 0)
        if borders is not None and not levels:
            lowers[1:] = borders
        if (np.diff(lowers) <= 0).any():
            raise UsageError("no row can come to some leaves of the index: let the server clean up, and read it again.")
        memory = level_of(keys, rule, LevelPages.unsplit(lowers, -1 - level.numbers, ends, entries))
        if len(sizes) and not levels:
            bytes_before = np.append(0, np.cumsum(sizes[present], dtype=np.int64))
            used = bytes_before[ends] - bytes_before[ends - level.entries]
            memory.leaves.slots[: len(ends), split_kernel.USED] = used
        levels.append(memory)
        entries, rule = lowers, branch  # of the level above
    return levels


def _lowers(entries: Integers, starts: Integers, filled: NDArray[np.bool_]) -> Integers:
    """(pages,): the first entry of each page, or the rank after the last entry before it if it has none; 0 for the
    first page. `entries`: of all pages in order. `starts`: where each page's begin. `filled`: whether it has any."""
    first_entries = np.append(entries, 0)[starts]  # an empty last page starts behind all entries
    entries_before = np.append(-1, entries)[starts]
    lowers = np.where(filled, first_entries, entries_before + 1)
    lowers[0] = 0
    return lowers


@kernel
def _scatter(entries: NDArray[np.int32], ends: Integers, content: NDArray[np.int32]) -> None:
    """Writes the entries of page after page into the slots 0, 1, 2 … `ends`: where each page's entries end."""
    at = 0
    for i in range(len(ends)):
        begin = at
        while at < ends[i]:
            content[i, at - begin] = entries[at]
            at += 1


@dataclass(frozen=True)
class TreeLevel:
    """The pages of one level of an index, in key order: (pages,) each."""

    births: Integers
    """The row that made the page, from 0; −1 for the first page."""
    kinds: NDArray[np.int8]
    """The kind of split that made the page; FIRST for the first page."""
    rows: Integers
    """Entries on the page."""
    page_of_row: NDArray[np.int32] | None = None
    """(rows,): the number of the page into which each row went (numbers of `kernel.insert`)."""
    places: NDArray[np.int32] | None = None
    """(pages,): the place in key order of the page with each of those numbers."""

    def __len__(self) -> int:
        return len(self.births)


def build_level(ranks: Integers, rule: Rule, sizes: Sizes = NO_SIZES, *, notes_pages: bool = False) -> TreeLevel:
    """A level after its last row. `ranks`: int64 (n,), a permutation of 0 … n − 1, in order of arrival. `sizes`: (n,)
    by rank, in the unit of the rule's room; empty if all are alike. `notes_pages`: fills `page_of_row` and `places`."""
    if (n := len(ranks)) >= 1 << 31:
        raise UsageError(f"a page model takes fewer than {1 << 31:,} rows, not {n:,}: use fewer --rows.")
    level = LevelMemory.empty(n, rule)
    if notes_pages:
        level.page_of_row = np.empty(n, np.int32)
    level.insert_from(0, ranks, sizes)
    slots, leaves = level.slots_by_key(), level.leaves
    fields = leaves.slots[slots]
    built = TreeLevel(leaves.births[slots], leaves.kinds[slots], fields[:, split_kernel.COUNT].astype(np.int64))
    if not notes_pages:
        return built
    places = np.empty(len(slots), np.int32)
    places[fields[:, split_kernel.PAGE]] = np.arange(len(slots), dtype=np.int32)
    return replace(built, page_of_row=level.page_of_row, places=places)


def build_branches(leaves: TreeLevel, rule: Rule) -> list[TreeLevel]:
    """The levels above the leaves, up to the root; empty if there is one leaf. Their births are rows of the table, like
    those of the leaves. `rule`: how branch pages split."""
    levels, below = [], leaves
    while len(below) > 1:
        ranks = np.argsort(below.births, kind="stable")  # an entry for each page below, in order of arrival
        rows = below.births[ranks]  # with which the entries arrive
        built = build_level(ranks.astype(np.int64), rule)  # with births that are numbers of such entries
        is_first = built.births < 0  # a level's first page comes with the second page below it
        below = replace(built, births=np.where(is_first, rows[1], rows[built.births]))
        levels.append(below)
    return levels


def numbers_by_birth(births: Sequence[Integers], *, root_before_leaf: bool = False) -> list[Integers]:
    """The page numbers of each level, leaves first, in key order. Each new page gets the next number. If one row makes
    several pages, the lowest level comes first; with `root_before_leaf` the first root comes before the second leaf.
    `births`: the rows that made the pages of each level, leaves first, in key order."""
    heights = np.repeat(np.arange(len(births)), [len(level) for level in births])
    if root_before_leaf and len(births) > 1:
        heights[len(births[0])] = FIRST_ROOT  # the leftmost page above the leaves was the first root
    numbers = np.empty(len(heights), np.int64)
    numbers[np.lexsort((heights, np.concatenate(births)))] = np.arange(len(heights))
    return list(np.split(numbers, np.cumsum([len(level) for level in births])[:-1]))
