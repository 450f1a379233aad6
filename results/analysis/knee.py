"""How much the cost of a row rises as its table grows, and where it begins to rise: growth ratio and knee."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

TENTH = 0.1
"""Share of the rows at either end of the load whose cost the growth ratio compares."""

_FEWEST = 4
"""Intervals on either side of a knee."""
_GAIN = 0.5
"""Two lines must leave at most this share of the squares that one line leaves."""
_RISE = 1.2
"""The costs after a knee are at least this many times those before it."""


def growth(cost: NDArray[np.float64]) -> float:
    """Cost of a row in the last tenth of the load over that in the first; costs in equal intervals (n,), n ≥ 1."""
    n = max(1, round(len(cost) * TENTH))
    return float(np.mean(cost[-n:]) / np.mean(cost[:n]))


def knee(cost: NDArray[np.float64]) -> int | None:
    """The interval at which the cost of a row begins to rise, of costs in equal intervals (n,); None where it does not.

    Two straight lines are fitted to the logarithms, one on either side of each interval, and the place that leaves the
    least squares is the knee: if they are half of those around one line, and a row costs a fifth more after it.
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
    """Sum of squares around the straight line of least squares through the first 1, 2 … n values: (n,)."""
    x, n = np.arange(len(y), dtype=np.float64), np.arange(1, len(y) + 1)
    sx, sy, sxx, sxy, syy = (np.cumsum(part) for part in (x, y, x * x, x * y, y * y))
    spread = np.maximum(sxx - sx * sx / n, 1e-12)
    squares: NDArray[np.float64] = np.maximum(syy - sy * sy / n - (sxy - sx * sy / n) ** 2 / spread, 0.0)
    return squares
