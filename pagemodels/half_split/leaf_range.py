"""The leaves of a range of ranks: memory for the kernel, and the order in which many rows are given to it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from keybench.pagemodels.half_split import kernel
from keybench.pagemodels.half_split.kernel import FIRST, LAST, SLOT_FIELDS, USED_SLOTS, Leaves
from keybench.pagemodels.half_split.rule import Rule

_CHUNK = 1 << 20
"""Minimum rows that are sorted by group at a time."""
_FEW = 1 << 12
"""Rows from which on it is worth the effort to sort them by group."""
_GROUP_ROWS = 1 << 17
"""Rows of a group in the end: they fit a second-level cache with their leaves."""
_NO_TIMES = np.empty(0, np.int32)
_UNNOTED = np.empty(0, np.int32)
_PER_SLOT = ("slots", "births", "kinds", "content")
_SPARE = 1.1
"""Room for leaves in a part of a range, relative to its share of the ranks."""


class LeafRange:
    """The leaves of a range of ranks, low … high − 1, in memory that grows as needed."""

    def __init__(self, low: int, high: int, rule: Rule, slots: int) -> None:
        self.low, self.high, self.rules = low, high, rule.compiled()
        self.noted = _UNNOTED
        """(rows,): room for the page into which each row goes, as `kernel.insert` numbers pages; (0,): not noted."""
        self._whole = False
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
    def whole(cls, n: int, rule: Rule) -> LeafRange:
        """One empty leaf for all n ranks, and room for as many leaves as ordinary splits make."""
        new = cls.of_all(n, rule, cls.usual(n, rule))
        new.leaves.slots[0] = 0
        new.leaves.births[0], new.leaves.kinds[0] = -1, FIRST
        new.link(np.zeros(1, np.int64), np.zeros(1, np.int64))
        return new

    @classmethod
    def of_all(cls, n: int, rule: Rule, slots: int) -> LeafRange:
        """So many slots for leaves of all n ranks, none linked yet."""
        new = cls(0, n, rule, slots)
        new._whole = True
        return new

    @staticmethod
    def usual(n: int, rule: Rule) -> int:
        """How many leaves ordinary splits make at most of n ranks. Memory that is never written to is never taken."""
        half = max(1, min(rule.room, rule.room_last) // rule.smallest // 2)
        return min(n, n // half + n // (half * 16)) + 2

    def link(self, slots: NDArray[np.int64], lowers: NDArray[np.int64]) -> None:
        """Makes these slots, 0 … n − 1 in key order, the leaves, with these lower borders."""
        leaves, uppers = self.leaves, np.append(lowers[1:], self.high)
        leaves.slots[slots, kernel.LOWER], leaves.slots[slots, kernel.UPPER] = lowers, uppers
        leaves.slots[slots, kernel.NEXT] = np.append(slots[1:], -1)
        leaves.slots[slots, kernel.PREVIOUS] = np.append(-1, slots[:-1])
        firsts = self.low + (np.arange(len(leaves.cells)) << leaves.shift)
        leaves.cells[:] = slots[np.minimum(np.searchsorted(uppers, firsts, side="right"), len(slots) - 1)]
        leaves.state[USED_SLOTS], leaves.state[LAST] = len(slots), slots[-1]

    def keep(self, slots: NDArray[np.int64], lowers: NDArray[np.int64]) -> None:
        """Keeps only these slots, given in key order, with these lower borders. The others have to be empty."""
        renamed, beyond = slots.copy(), slots >= len(slots)
        renamed[beyond] = np.setdiff1d(np.arange(len(slots)), slots)
        for name in _PER_SLOT:
            values = getattr(self.leaves, name)
            values[renamed[beyond]] = values[slots[beyond]]
        self.link(renamed, lowers)

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
            done = kernel.insert(self.leaves, self.rules, sizes, ranks, times, start, self.noted)
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
        n = len(ranks)
        if n < _FEW and self._whole:
            self.insert(ranks[row:], row, sizes)
            return
        while row < n:
            there = int(self.used(kernel.COUNT).sum(dtype=np.int64)) if self._whole else row
            rows: NDArray[Any] = ranks[row : row + max(_CHUNK, min(there // 2, n // 8))]
            uppers, inside, times = self._groups(), rows, _NO_TIMES
            if not self._whole:
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

    def part(self, slots: NDArray[np.int64], rule: Rule) -> LeafRange:
        """A range of its own of some successive leaves, given in key order."""
        old = self.leaves
        low, high = int(old.slots[slots[0], kernel.LOWER]), int(old.slots[slots[-1], kernel.UPPER])
        share = (high - low) / (self.high - self.low)
        part = LeafRange(low, high, rule, int(len(old.slots) * share * _SPARE) + len(slots) + 16)
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
