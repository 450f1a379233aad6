"""Payloads of varying length: how many characters each row has.

A length depends on the seed and the row's number alone, so that every writer, engine and page model finds the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

Distribution = Literal["uniform", "zipfian", "row-number"]
DISTRIBUTIONS: Final[tuple[str, ...]] = get_args(Distribution)

_THETA = 0.99
"""Exponent of YCSB's Zipfian distribution (site.ycsb.generator.ZipfianGenerator.ZIPFIAN_CONSTANT)."""
_STEP, _FIRST, _SECOND = (np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
"""Constants of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014)."""
_BITS = np.uint64(32)
_ROUNDING = 1e-6


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
        if self.distribution == "row-number" or not self.varying:
            return self.most
        shares = np.diff(self._borders, prepend=0) / 2**32
        return ceil(float(np.dot(shares, np.arange(self.least, self.most + 1))) - _ROUNDING)

    @property
    def _borders(self) -> NDArray[np.int64]:
        """Numbers of 32 bits: a number below the first one gives the shortest text, and so on."""
        count = self.most - self.least + 1
        weights = np.ones(count) if self.distribution == "uniform" else np.arange(1, count + 1) ** -_THETA
        borders: NDArray[np.int64] = np.floor(np.cumsum(weights) / weights.sum() * 2.0**32).astype(np.int64)
        borders[-1] = 1 << 32
        return borders

    def of(self, seed: Sequence[int], rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The lengths of the rows of these numbers, from 0: int64 (n,)."""
        if self.distribution == "row-number":
            digits = np.ones(len(rows), np.int64)
            for power in range(1, 19):
                digits += rows >= 10**power
            return np.minimum(self.least - 1 + digits, self.most)
        state = np.zeros(1, np.uint64)
        for part in seed:
            state = _mixed(state + np.array([part & 0xFFFFFFFFFFFFFFFF], np.uint64))
        drawn = _mixed(state + rows.astype(np.uint64)) >> _BITS
        lengths: NDArray[np.int64] = self.least + np.searchsorted(self._borders, drawn.astype(np.int64), side="right")
        return lengths


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's output for each state: every bit depends on every bit."""
    z = (numbers + np.uint64(1)) * _STEP
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))
