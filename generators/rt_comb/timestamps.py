"""RT.Comb's timestamp providers: which time a COMB gets, the clock's reading or one that never repeats.

A provider is part of a layout (`Comb.timestamps`) and starts anew with each stream. It can be replaced:
`dataclasses.replace(layout("rt-comb-sql"), timestamps=…)`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final

from keybench.errors import UsageError
from keybench.generators.core.clock import TICKS_PER_MS, Ticks
from keybench.generators.core.counters import strictly_increasing

_LONGEST: Final = 86_400_000.0


class Timestamps(ABC):
    """The timestamps of one stream, with the state between them. Can be pickled."""

    @abstractmethod
    def next(self, readings: Ticks) -> Ticks:
        """The next timestamps, one for each clock reading, in order."""


class TimestampProvider(ABC):
    """A layout's source of timestamps. Immutable."""

    @abstractmethod
    def start(self) -> Timestamps:
        """The timestamps of a new stream."""


@dataclass(frozen=True)
class UtcNow(TimestampProvider):
    """The clock readings themselves."""

    def start(self) -> Timestamps:
        """Timestamps without state."""
        return Readings()


class Readings(Timestamps):
    """Clock readings as they are."""

    def next(self, readings: Ticks) -> Ticks:
        """The readings."""
        return readings


@dataclass(frozen=True)
class UtcNoRepeat(TimestampProvider):
    """`UtcNoRepeatTimestampProvider`: each timestamp is at least `increment_ms` after the one before.

    So timestamps run ahead of the clock while more keys are made than fit, 250 a second with the default of 4 ms, and
    stay ahead when the clock steps back. Below 1 ms COMBs of `UnixDates` repeat, below 3.34 ms those of `SqlDates`.

    The increment becomes ticks as in `DateTime.AddMilliseconds` of .NET 7 and later: 3.34 ms are 33,399 ticks. Earlier
    versions round it to whole milliseconds.
    """

    increment_ms: float = 4.0

    def __post_init__(self) -> None:
        if not 1 / TICKS_PER_MS <= self.increment_ms <= _LONGEST:
            raise UsageError(
                f"timestamps cannot be {self.increment_ms} ms apart: choose an increment from one tick (0.0001) "
                "to a day (86400000)."
            )

    @property
    def step(self) -> int:
        """The increment in ticks."""
        whole = int(self.increment_ms)
        return whole * TICKS_PER_MS + int((self.increment_ms - whole) * TICKS_PER_MS)

    def start(self) -> Timestamps:
        """Timestamps that start from 0001-01-01."""
        return Spaced(self.step)


class Spaced(Timestamps):
    """Timestamps at least `step` apart.

    The original compares the milliseconds since the last timestamp with the increment, as doubles. At a distance of
    exactly `step` rounding can give either result, and both branches return the reading.
    """

    def __init__(self, step: int) -> None:
        self._step = step
        self._last = 0

    def next(self, readings: Ticks) -> Ticks:
        """Each reading, or the timestamp before it plus the step, whichever is later."""
        spaced = strictly_increasing(readings, self._last, self._step)
        if len(spaced):
            self._last = int(spaced[-1])
        return spaced


UTC_NOW: Final = UtcNow()
"""The default provider."""
