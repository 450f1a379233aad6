"""The columns besides the key: a text, which is the same for the same row on every engine, and the time of creation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil
from typing import Literal

import numpy as np
from numpy.typing import NDArray

_DISTINCT_ROWS = 4096
_DRAWN_ROWS = 64
"""Rows drawn at once. A number takes 8 bytes, so all rows of 60,000 characters at once would take two billion bytes."""
_FIRST_MOMENT = 1_767_225_600_000_000
"""1 January 2026, in microseconds since 1970."""


@dataclass(frozen=True)
class Payload:
    """`width` ASCII letters per row, or the first of them. Texts repeat every 4,096 rows, which saves memory."""

    width: int
    created: NDArray[np.int64] | None = field(default=None, compare=False)
    """(all rows of a writer,): the times of creation in microseconds since 1970; None for one row per microsecond."""
    lengths: NDArray[np.int64] | None = field(default=None, compare=False)
    """(all rows of a writer,): letters of each row, `width` at most; None if all rows have `width`."""

    @cached_property
    def pool(self) -> NDArray[np.uint8]:
        """The distinct rows: uint8 (4096, width)."""
        draw = np.random.Generator(np.random.PCG64(20_120))  # any seed, but always the same
        letters = np.empty((_DISTINCT_ROWS, self.width), np.uint8)
        for first in range(0, _DISTINCT_ROWS, _DRAWN_ROWS):
            letters[first : first + _DRAWN_ROWS] = draw.integers(97, 123, (_DRAWN_ROWS, self.width))  # a … z
        return letters

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The distinct rows as text, if all rows have the same length; else TypeError."""
        if self.lengths is not None:
            raise TypeError("payloads of different lengths are not the same every few rows: take row_texts")
        return tuple(row.tobytes().decode("ascii") for row in self.pool)

    def rows(self, start: int, n: int) -> NDArray[np.uint8]:
        """Rows start … start+n-1: uint8 (n, width), with zeros behind shorter texts."""
        letters = self.pool[np.arange(start, start + n) % _DISTINCT_ROWS]
        if self.lengths is not None:
            letters[~self.kept(start, n)] = 0
        return letters

    def kept(self, start: int, n: int) -> NDArray[np.bool_]:
        """Which letters of the pool belong to rows start … start+n-1: (n, width)."""
        if self.lengths is None:
            return np.ones((n, self.width), np.bool_)
        return np.arange(self.width) < self.lengths[start : start + n, None]

    def row_texts(self, start: int, n: int) -> Sequence[str]:
        """Rows start … start+n-1 as texts: n of them."""
        if self.lengths is None:
            first = start % _DISTINCT_ROWS
            repetitions = -(-(first + n) // _DISTINCT_ROWS)  # rounded up
            return (self.texts * repetitions)[first : first + n]
        texts: list[str] = []
        for first in range(start, start + n, _DISTINCT_ROWS):  # pieces, so that letters take little memory
            letters = self.rows(first, min(_DISTINCT_ROWS, start + n - first))
            texts += letters.view(f"S{self.width}")[:, 0].astype(np.str_).tolist()  # drops the zeros at the end
        return texts

    def moments(self, start: int, n: int) -> NDArray[np.int64]:
        """The times of creation of rows start … start+n-1: int64 (n,), microseconds since 1970."""
        if self.created is None:
            return np.arange(start, start + n, dtype=np.int64) + _FIRST_MOMENT
        return self.created[start : start + n]


Distribution = Literal["uniform", "zipfian", "row-number"]

_THETA = 0.99
"""Exponent of YCSB's Zipfian distribution (site.ycsb.generator.ZipfianGenerator.ZIPFIAN_CONSTANT)."""
_STEP, _FIRST, _SECOND = (np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
"""Constants of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014)."""
_BITS = np.uint64(32)  # the high half of 64 bits is used
_ROUNDING = 1e-6  # more than the rounding errors of a mean


@dataclass(frozen=True, order=True)
class PayloadLengths:
    """From `least` to `most` characters, both included.

    `uniform`: every length is equally frequent. `zipfian`: the shortest is the most frequent, the next k times longer
    one 1 / k^0.99 times as frequent, as with YCSB's `fieldlengthdistribution`. `row-number`: the text ends in the row's
    number, counted from 0: `least` characters with one digit, one more for each further digit, and `most` at most.
    """

    least: int
    most: int
    distribution: Distribution = "uniform"

    def __str__(self) -> str:
        return f"{self.least} to {self.most} characters, {self.distribution}"

    @property
    def varying(self) -> PayloadLengths | None:
        """These lengths, or None if all rows have the same."""
        return self if self.least < self.most else None

    @property
    def mean(self) -> int:
        """The mean length, rounded up; of `row-number`, the longest, which most rows have."""
        if self.distribution == "row-number" or self.varying is None:
            return self.most
        shares = np.diff(self._borders, prepend=0) / 2**32
        return ceil(float(np.dot(shares, np.arange(self.least, self.most + 1))) - _ROUNDING)

    @property
    def _borders(self) -> NDArray[np.int64]:
        """(lengths,): the upper border, not included, of the 32-bit numbers that give each length, shortest first."""
        count = self.most - self.least + 1
        weights = np.ones(count) if self.distribution == "uniform" else np.arange(1, count + 1) ** -_THETA
        borders: NDArray[np.int64] = np.floor(np.cumsum(weights) / weights.sum() * 2.0**32).astype(np.int64)
        borders[-1] = 1 << 32  # despite rounding errors
        return borders

    def of(self, seed: Sequence[int], rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Lengths, in characters, of the rows with these numbers, from 0: int64 (n,); the same for the same seed."""
        if self.distribution == "row-number":
            digits = np.ones(len(rows), np.int64)
            for power in range(1, 19):  # 10^18 is the last that 64 bits hold
                digits += rows >= 10**power
            return np.minimum(self.least - 1 + digits, self.most)  # `least` with one digit
        state = np.zeros(1, np.uint64)  # mixed from the seed's parts, one after another
        for part in seed:
            state = _mixed(state + np.array([part & 0xFFFFFFFFFFFFFFFF], np.uint64))
        numbers = _mixed(state + rows.astype(np.uint64)) >> _BITS
        lengths: NDArray[np.int64] = self.least + np.searchsorted(self._borders, numbers.astype(np.int64), side="right")
        return lengths


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's output for each state: every bit depends on every bit."""
    z = (numbers + np.uint64(1)) * _STEP
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))
