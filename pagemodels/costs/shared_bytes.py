"""How many bytes keys share with their neighbours in the index, from a sample."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Stored = NDArray[np.uint8] | NDArray[np.int64]

_SAMPLE = 2000
_MOST_PARTS = 8


def shared_bytes(stored: Stored, ranks: NDArray[np.int64], ends: Sequence[int] | NDArray[np.int64]) -> list[float]:
    """For each part of a load, the mean bytes at its beginning that a key shares with its predecessor when it arrives.

    `stored`: the keys as the index has them, (n, width) bytes or (n,) integers, whose high bytes come first; in order
    of arrival, as `ranks`. It looks at 2,000 rows in the middle of each part, and of many parts at some.
    """
    if stored.ndim == 1:
        stored = stored.astype(">i8").view(np.uint8).reshape(len(stored), -1)
    rows = np.empty(len(ranks), np.int64)
    rows[ranks] = np.arange(len(ranks))
    bounds = np.array([0, *ends])
    middles = (bounds[:-1] + bounds[1:]) // 2
    chosen = np.unique(np.linspace(0, len(middles) - 1, _MOST_PARTS).astype(np.int64))
    means = [_mean(stored, ranks, rows, int(middles[part]), int(bounds[part + 1])) for part in chosen]
    return [float(mean) for mean in np.interp(middles, middles[chosen], means)]


def _mean(stored: Stored, ranks: NDArray[np.int64], rows: NDArray[np.int64], first: int, end: int) -> float:
    sample = ranks[first : min(first + _SAMPLE, end)]
    before = np.sort(ranks[:first])
    at = np.searchsorted(before, sample) - 1
    own, others = stored[rows[sample[at >= 0]]], stored[rows[before[at[at >= 0]]]]
    return float(np.cumprod(own == others, axis=1).sum() / max(1, len(sample)))
