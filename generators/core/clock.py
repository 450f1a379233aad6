"""Clocks: ticks of 100 ns since 0001-01-01 UTC, one reading a key.

A tight loop makes a million keys within a few milliseconds; no application does. The virtual clock shows the arrival
times of a scenario, so that there are as many keys per clock tick as in the hours that the scenario stands for.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

TICKS_PER_SECOND = 10_000_000
TICKS_PER_MS = 10_000
TICKS_PER_DAY = 86_400 * TICKS_PER_SECOND
UNIX_EPOCH = 621_355_968_000_000_000
"""The tick of 1970-01-01."""

Ticks = NDArray[np.int64]


def ticks_of(moment: datetime) -> int:
    """The tick of an aware datetime; ValueError for a naive one."""
    offset = moment.utcoffset()
    if offset is None:
        raise ValueError(f"{moment.isoformat()} has no time zone: give one, such as +00:00")
    since = moment.replace(tzinfo=None) - datetime(1, 1, 1) - offset  # in UTC it may lie beyond datetime's years
    return (since.days * 86_400 + since.seconds) * TICKS_PER_SECOND + since.microseconds * 10


class Clock(ABC):
    """Gives one reading a key. Readings can repeat and go back."""

    @abstractmethod
    def read_fine(self, n: int) -> tuple[Ticks, Ticks]:
        """n readings: ticks, and the odd nanoseconds (0–99) beyond each."""

    def read(self, n: int) -> Ticks:
        """n readings in ticks of 100 ns: int64 (n,)."""
        return self.read_fine(n)[0]

    @abstractmethod
    def now(self) -> int:
        """The current tick, without using up a key's reading: for generators that read the clock once, at start."""


class SystemClock(Clock):
    """This machine's clock, read once for each key."""

    def read_fine(self, n: int) -> tuple[Ticks, Ticks]:
        """n readings of `time.time_ns`, one after the other."""
        ns = np.fromiter((time.time_ns() for _ in range(n)), np.int64, n)
        return ns // 100 + UNIX_EPOCH, ns % 100

    def now(self) -> int:
        """This machine's clock."""
        return time.time_ns() // 100 + UNIX_EPOCH


@dataclass(eq=False)
class VirtualClock(Clock):
    """A clock that shows the given readings, one a key; LookupError when there are no more.

    `start` is what `now` shows before the first key: unless given, the first key's reading.
    """

    ticks: Ticks
    odd_ns: Ticks | None = None
    start: int | None = None
    position: int = field(default=0, init=False)

    def read_fine(self, n: int) -> tuple[Ticks, Ticks]:
        """The next n readings."""
        window = slice(self.position, self.position + n)
        return self.read(n), np.zeros(n, np.int64) if self.odd_ns is None else self.odd_ns[window]

    def read(self, n: int) -> Ticks:
        """The next n readings in ticks: a view of those given."""
        ticks = self.ticks[self.position : self.position + n]
        if len(ticks) < n:
            raise LookupError(f"the virtual clock holds {len(self.ticks)} readings, {self.position + n} were asked for")
        self.position += n
        return ticks

    def now(self) -> int:
        """The next key's reading, or the last one when all are used; LookupError for a clock without readings."""
        if self.position == 0 and self.start is not None:
            return self.start
        if not len(self.ticks):
            raise LookupError("the virtual clock holds no readings")
        return int(self.ticks[min(self.position, len(self.ticks) - 1)])
