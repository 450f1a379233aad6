"""Scales of axes: places of values, and ticks at round values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from matplotlib.ticker import LogLocator, MaxNLocator
from numpy.typing import NDArray

_ROUND: Final = (
    1.0,
    *(base * 10.0**power for base in (1, 2, 5, 3, 7) for power in range(-6, 7)),
    *(1.5, 1.2, 0.8, 1.1, 0.9, 1.05, 0.95, 1.02, 0.98, 1.01, 0.99),
)
"""Ratios that can be ticks, the roundest first."""


@dataclass(frozen=True)
class Scale:
    """Maps values to places between 0 and 1; `ticks` are pairs of value and label."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    log: bool = False

    @staticmethod
    def linear(low: float, high: float, most: int = 3, write: Callable[[float], str] = "{:,g}".format) -> Scale:
        """Ticks at round values, about `most` at most."""
        values = MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
        return Scale(low, high, tuple((float(v), write(float(v))) for v in values if low <= v <= high))

    @staticmethod
    def logarithmic(low: float, high: float, write: Callable[[float], str] = "{:,g}".format) -> Scale:
        """Ticks at 1, 2 and 5 times powers of ten, or at powers of ten alone."""
        subs = (1.0, 2.0, 5.0) if high / low < 200 else (1.0,)
        values = LogLocator(10, subs, numticks=5).tick_values(low, high)
        return Scale(low, high, tuple((float(v), write(float(v))) for v in values if low <= v <= high), log=True)

    @staticmethod
    def fitting(values: NDArray[np.float64]) -> Scale:
        """From 0; logarithmic if the largest value is more than 8 times the smallest."""
        low, high = float(values.min()), float(values.max())
        if low > 0 and high / low > 8:
            return Scale.logarithmic(low / 1.15, high * 1.15)
        return Scale.linear(0.0, high * 1.08 or 1.0)

    @staticmethod
    def ratios(low: float, high: float, room: float) -> Scale:
        """A logarithmic scale of ratios between these limits, with room for about `room` ticks."""
        ticks = tuple((tick, f"{tick:g}×") for tick in _ratio_ticks(low, high, room))
        return Scale(low, high, ticks, log=True)

    def __call__(self, values: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Places of the values."""
        numbers = np.asarray(values, np.float64)
        if self.log:
            place: NDArray[np.float64] = np.log(numbers / self.low) / np.log(self.high / self.low)
            return place
        span = self.high - self.low
        return (numbers - self.low) / (span or 1.0)


def ratio_limits(values: Sequence[float]) -> tuple[float, float]:
    """Limits of a logarithmic scale that includes 1 and all the values, with a margin."""
    low, high = min([1.0, *values]), max([1.0, *values])
    margin = max((high / low) ** 0.06, 1.01)
    return low / margin, high * margin


def _ratio_ticks(low: float, high: float, room: float) -> list[float]:
    """Round ratios between the limits: 1 first, then the roundest that are far enough from the ones before."""
    least = np.log(high / low) / room
    ticks: list[float] = []
    for tick in _ROUND:
        if low <= tick <= high and all(abs(np.log(tick / other)) >= least for other in ticks):
            ticks.append(tick)
    return ticks
