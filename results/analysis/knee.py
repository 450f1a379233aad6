"""How much the cost of a row rises as the table grows (the growth ratio), and where it begins to rise (the knee)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

TENTH = 0.1
"""The growth ratio compares the cost of this share of the rows at either end of the load."""

_FEWEST = 4
"""Minimum number of intervals on either side of a knee."""
_GAIN = 0.5
"""Two lines must leave at most this share of the sum of squares that one line leaves."""
_RISE = 1.2
"""The costs after a knee must be at least this many times those before it."""


def growth(cost: NDArray[np.float64]) -> float:
    """Cost of a row in the last tenth of the load over that in the first; `cost` per equal interval (n,), n ≥ 1."""
    n = max(1, round(len(cost) * TENTH))
    return float(np.mean(cost[-n:]) / np.mean(cost[:n]))


def knee(cost: NDArray[np.float64]) -> int | None:
    """The index of the interval at which the cost of a row begins to rise; None if it does not.

    `cost` per equal interval: (n,). For each interval, two straight lines are fitted to the logarithms, one on either
    side. The interval with the smallest sum of squares is the knee if that sum is at most half of the sum around a
    single line, and if a row costs at least a fifth more after it.
    """
    n = len(cost)
    if n < 2 * _FEWEST or not (cost > 0).all():
        return None
    logs = np.log(cost)
    before, after = _squares(logs), _squares(logs[::-1])[::-1]
    places = np.arange(_FEWEST, n - _FEWEST + 1)
    squares = before[places - 1] + after[places]
    best = int(places[np.argmin(squares)])
    rises = np.median(cost[best:]) >= _RISE * np.median(cost[:best])
    return best if rises and squares.min() <= _GAIN * before[-1] else None


def _squares(y: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n,): the sum of squares around the least-squares line through the first 1, 2 … n values."""
    x, n = np.arange(len(y), dtype=np.float64), np.arange(1, len(y) + 1)
    sx, sy, sxx, sxy, syy = (np.cumsum(part) for part in (x, y, x * x, x * y, y * y))
    spread = np.maximum(sxx - sx * sx / n, 1e-12)
    squares: NDArray[np.float64] = np.maximum(syy - sy * sy / n - (sxy - sx * sy / n) ** 2 / spread, 0.0)
    return squares
