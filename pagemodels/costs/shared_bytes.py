"""How many bytes keys share with their neighbours in the index, from a sample."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Stored = NDArray[np.uint8] | NDArray[np.int64]

_SAMPLE = 2000


def shared_bytes(stored: Stored, ranks: NDArray[np.int64], ends: Sequence[int]) -> list[float]:
    """For each part of a load, the mean bytes at its beginning that a key shares with its predecessor when it arrives.

    `stored`: the keys as the index has them, (n, width) bytes or (n,) integers, whose high bytes come first; in order
    of arrival, as `ranks`. It looks at 2,000 rows in the middle of each part.
    """
    if stored.ndim == 1:
        stored = stored.astype(">i8").view(np.uint8).reshape(len(stored), -1)
    rows = np.empty(len(ranks), np.int64)
    rows[ranks] = np.arange(len(ranks))
    means, begin = [], 0
    for end in ends:
        first = (begin + end) // 2
        sample = ranks[first : min(first + _SAMPLE, end)]
        before = np.sort(ranks[:first])
        at = np.searchsorted(before, sample) - 1
        own, others = stored[rows[sample[at >= 0]]], stored[rows[before[at[at >= 0]]]]
        same = np.cumprod(own == others, axis=1).sum(axis=1)
        means.append(float(same.sum() / max(1, len(sample))))
        begin = end
    return means
