"""An index level by level, built by the kernel on as many threads as asked for, and the numbers of its pages.

The keys of a branch level are the borders that the splits below it made, in the sequence of those splits. The same
kernel simulates it, with the rule of branch pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError
from keybench.pagemodels.half_split import kernel
from keybench.pagemodels.half_split.kernel import (
    ALONE,
    APPEND,
    EDGE,
    FIRST,
    INTERIOR,
    LAST,
    SLOT_FIELDS,
    USED_SLOTS,
    Leaves,
    Rules,
)

_CHUNK = 1 << 20
"""Minimum rows that are sorted by group at a time."""
_GROUP_ROWS = 1 << 17
"""Rows of a group in the end: they fit a second-level cache with their leaves."""
_LEAVES_PER_THREAD = 64
"""Minimum leaves per thread before the index is divided among threads."""
_IMBALANCE = 1.1
"""How much of its share a thread may get at most."""

NO_SIZES = np.empty(0, np.uint16)
_NO_TIMES = np.empty(0, np.int32)
_PER_SLOT = ("slots", "births", "kinds", "content")


@dataclass(frozen=True)
class Rule:
    """When a page is full and how it splits. Room is in entries, or in bytes where entries have different sizes."""

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
    share: float = 0.5
    """Where entries have different sizes: the share of their bytes that stays left, except for ALONE appends."""
    at_insertion: bool = False
    """Whether insertions that ascend inside the index split at the new entry instead."""
    smallest: int = 1
    """Smallest size of an entry."""
    together: int = 1
    """Entries of each key, if splits between different keys are preferred; the key of a rank is rank // together."""
    choices: tuple[tuple[int, ...], ...] = ()
    """For each kind of split, if `together` is above 1: what may stay left, the best first. The first choice that parts
    no key is taken."""

    @property
    def entries(self) -> int:
        """Maximum entries of a page."""
        return max(self.room, self.room_last) // self.smallest

    def compiled(self) -> Rules:
        """As the kernel takes it."""
        choices = np.zeros((3, max(map(len, self.choices), default=0)), np.int64)
        for kind, given in enumerate(self.choices):
            choices[kind, : len(given)] = given
        keep = np.array([self.keep_append, self.keep_edge, self.keep_interior], np.int64)
        return Rules(self.room, self.room_last, keep, self.share, self.at_insertion, self.together, choices)


@dataclass(frozen=True)
class Level:
    """The pages of one level of an index, in key order: (pages,) each."""

    births: NDArray[np.int64]
    """The row that made the page, from 0; −1 for the first page."""
    kinds: NDArray[np.int8]
    """The kind of split that made the page; FIRST for the first page."""
    rows: NDArray[np.int64]
    """Entries on the page."""

    def __len__(self) -> int:
        return len(self.births)

    def count(self, kind: int) -> int:
        """Number of splits of that kind."""
        return int((self.kinds == kind).sum())


class _Range:
    """The leaves of a range of ranks, low … high − 1, in memory that grows as needed."""

    def __init__(self, low: int, high: int, rule: Rule, slots: int) -> None:
        self.low, self.high, self._rules = low, high, rule.compiled()
        shift = max(0, (max(1, rule.room_last // rule.smallest) // 4).bit_length() - 1)
        self.leaves = Leaves(
            cells=np.zeros(max(1, (high - low + (1 << shift) - 1) >> shift), np.int32),
            slots=np.empty((slots, SLOT_FIELDS), np.int32),
            births=np.empty(slots, np.int64),
            kinds=np.empty(slots, np.int8),
            content=np.empty((slots, rule.entries), np.int32),
            state=np.zeros(2, np.int64),
            scratch=np.empty(rule.entries + 1, np.int32),
            low=low,
            shift=shift,
        )

    @classmethod
    def whole(cls, n: int, rule: Rule) -> _Range:
        """One empty leaf for all n ranks, and room for as many leaves as ordinary splits make."""
        half = max(1, min(rule.room, rule.room_last) // rule.smallest // 2)
        new = cls(0, n, rule, min(n, n // half + n // (half * 16)) + 2)
        leaves = new.leaves
        leaves.slots[0] = 0
        leaves.slots[0, [kernel.UPPER, kernel.NEXT, kernel.PREVIOUS]] = n, -1, -1
        leaves.births[0], leaves.kinds[0], leaves.state[USED_SLOTS] = -1, FIRST, 1
        return new

    def used(self, field: int) -> NDArray[np.int32]:
        """A field of the slots in use."""
        return self.leaves.slots[: self.leaves.state[USED_SLOTS], field]

    def order(self) -> NDArray[np.int64]:
        """The slots in use in key order."""
        return np.argsort(self.used(kernel.LOWER), kind="stable")

    def insert(
        self, ranks: NDArray[Any], start: int, sizes: NDArray[np.uint16], times: NDArray[np.int32] = _NO_TIMES
    ) -> None:
        """Inserts ranks of this range that arrive as rows start + times, or one after another from start."""
        while True:
            done = kernel.insert(self.leaves, self._rules, sizes, ranks, times, start)
            if done == len(ranks):
                return
            ranks, times = ranks[done:], times[done:]
            start += 0 if len(times) else done
            self._grow()

    def insert_from(self, row: int, ranks: NDArray[np.int64], sizes: NDArray[np.uint16]) -> None:
        """Inserts those of the ranks from `row` on that lie in this range.

        Many rows at a time are sorted by groups of leaves beforehand. The rows of one group follow one another in their
        order of arrival, so that the group stays in the cache; rows of different groups do not depend on one another.
        """
        n, everything = len(ranks), self.high - self.low == len(ranks)
        while row < n:
            rows: NDArray[Any] = ranks[row : row + max(_CHUNK, min(row // 2, n // 8))]
            uppers, inside, times = self._groups(), rows, _NO_TIMES
            if not everything:
                inside, times = np.empty(len(rows), np.int32), np.empty(len(rows), np.int32)
                m = kernel.within(rows, self.low, self.high, inside, times)
                inside, times = inside[:m], times[:m]
            if len(uppers) > 1:
                inside, times = self._regrouped(inside, times, uppers)
            self.insert(inside, row, sizes, times)
            row += len(rows)

    def _groups(self) -> NDArray[np.int64]:
        """Upper borders of groups of leaves, of about equal width; one group where a few leaves are most of the range.

        In that case rows go to few places, which stay in the cache by themselves.
        """
        width = self.high - self.low
        wanted = width // _GROUP_ROWS
        uppers = np.sort(self.used(kernel.UPPER)).astype(np.int64)
        if wanted < 2 or len(uppers) < 4 * wanted:
            return uppers[-1:]
        ends = np.unique(np.searchsorted(uppers, self.low + width * np.arange(1, wanted + 1) // wanted))
        borders = uppers[ends]
        return borders if np.diff(borders, prepend=self.low).max() <= 4 * _GROUP_ROWS else uppers[-1:]

    def _regrouped(
        self, ranks: NDArray[Any], times: NDArray[np.int32], uppers: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Ranks of this range sorted by group, and their times, or places where there are none."""
        n = len(ranks)
        shift = max(0, ((self.high - self.low) // (16 * len(uppers))).bit_length() - 1)
        firsts = np.searchsorted(uppers, np.arange(self.low, self.high, 1 << shift), side="right").astype(np.int32)
        groups = kernel.Groups(self.low, uppers, shift, firsts, np.empty(n, np.uint16))
        kept, places = np.empty(n, np.int32), np.empty(n, np.int32)
        kernel.regroup(groups, ranks, times, kept, places)
        return kept, places

    def _grow(self) -> None:
        slots = len(self.leaves.slots) + len(self.leaves.slots) // 2 + 16
        larger: dict[str, Any] = {}
        for name in _PER_SLOT:
            old = getattr(self.leaves, name)
            larger[name] = np.empty((slots, *old.shape[1:]), old.dtype)
            larger[name][: len(old)] = old
        self.leaves = self.leaves._replace(**larger)

    def part(self, slots: NDArray[np.int64], rule: Rule) -> _Range:
        """A range of its own of some successive leaves, given in key order."""
        old = self.leaves
        low, high = int(old.slots[slots[0], kernel.LOWER]), int(old.slots[slots[-1], kernel.UPPER])
        share = (high - low) / (self.high - self.low)
        part = _Range(low, high, rule, int(len(old.slots) * share * _IMBALANCE) + len(slots) + 16)
        new, n = part.leaves, len(slots)
        for name in _PER_SLOT:
            getattr(new, name)[:n] = getattr(old, name)[slots]
        new.slots[:n, kernel.PREVIOUS] = np.arange(-1, n - 1)
        new.slots[:n, kernel.NEXT] = np.append(np.arange(1, n), -1)
        firsts = low + (np.arange(len(new.cells)) << new.shift)
        new.cells[:] = np.searchsorted(new.slots[:n, kernel.UPPER], firsts, side="right")
        new.state[USED_SLOTS] = n
        new.state[LAST] = n - 1 if slots[-1] == old.state[LAST] else -1
        return part


def _divided(whole: _Range, rule: Rule, threads: int) -> list[_Range]:
    """Parts with about the same number of ranks; none if the leaves are not spread evenly enough."""
    slots = whole.order()
    if len(slots) < threads * _LEAVES_PER_THREAD:
        return []
    uppers = whole.leaves.slots[slots, kernel.UPPER].astype(np.int64)
    share = whole.high / threads
    ends = np.searchsorted(uppers, share * np.arange(1, threads)).tolist()
    borders = [0, *(end + 1 for end in ends), len(slots)]
    parts = [slots[a:b] for a, b in pairwise(borders)]
    widths = np.diff([0, *uppers[[border - 1 for border in borders[1:]]]])
    if min(map(len, parts)) == 0 or widths.max() > _IMBALANCE * share:
        return []
    return [whole.part(part, rule) for part in parts]


def _level(ranges: Sequence[_Range]) -> Level:
    """The pages of successive ranges."""
    births, kinds, rows = [], [], []
    for part in ranges:
        order = part.order()
        births.append(part.leaves.births[order])
        kinds.append(part.leaves.kinds[order])
        rows.append(part.leaves.slots[order, kernel.COUNT].astype(np.int64))
    return Level(np.concatenate(births), np.concatenate(kinds), np.concatenate(rows))


def build_level(ranks: NDArray[np.int64], rule: Rule, sizes: NDArray[np.uint16] = NO_SIZES, threads: int = 1) -> Level:
    """One level after its last row. `ranks`: int64 (n,), a permutation of 0 … n − 1, in order of arrival.

    `sizes`: uint16 (n,) by rank, in the unit of the rule's room; empty if all entries have one size. The level is
    divided among `threads` once its leaves are spread over all ranks. Keys that go to a few places stay on one thread.
    """
    n = len(ranks)
    if n >= 1 << 31:
        raise UsageError(f"a page model takes fewer than {1 << 31:,} rows, not {n:,}: take --rows down.")
    whole = _Range.whole(n, rule)
    done, step = 0, rule.entries * _LEAVES_PER_THREAD * threads
    while threads > 1 and done < n // 8:
        whole.insert(ranks[done : done + step], done, sizes)
        done += len(ranks[done : done + step])
        step = done
        if parts := _divided(whole, rule, threads):
            del whole
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(lambda part, row: part.insert_from(row, ranks, sizes), parts, repeat(done)))
            return _level(parts)
    whole.insert_from(done, ranks, sizes)
    return _level([whole])


def build_branches(leaves: Level, rule: Rule) -> list[Level]:
    """The levels above the leaves, up to the root. Births are rows, like those of the leaves."""
    above, below = [], leaves
    while len(below) > 1:
        order = np.argsort(below.births, kind="stable")
        rows = below.births[order]
        built = build_level(order.astype(np.int64), rule)
        first = built.births < 0  # made together with the second page below it
        below = replace(built, births=np.where(first, rows[1], rows[built.births]))
        above.append(below)
    return above


def page_numbers(levels: Sequence[Level]) -> NDArray[np.int64]:
    """The page numbers of the lowest level, in key order. Each new page gets the next number.

    If one row makes several pages, the lowest level comes first.
    """
    births = np.concatenate([level.births for level in levels])
    heights = np.concatenate([np.full(len(level), height) for height, level in enumerate(levels)])
    places = np.empty(len(births), np.int64)
    places[np.lexsort((heights, births))] = np.arange(len(births))
    return places[: len(levels[0])]


__all__ = [
    "ALONE",
    "APPEND",
    "EDGE",
    "INTERIOR",
    "NO_SIZES",
    "Level",
    "Rule",
    "build_branches",
    "build_level",
    "page_numbers",
]
