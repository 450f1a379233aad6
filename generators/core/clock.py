"""Clocks, and instants as the numbers that layouts store: ticks of 100 ns since 0001-01-01 UTC, one reading a key.

A tight loop makes a million keys within a few milliseconds; no application does. The virtual clock shows the arrival
times of a scenario, so that there are as many keys per clock tick as in the hours that the scenario stands for.
"""

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError
from keybench.generators.core.description import Timestamp

TICKS_PER_SECOND = 10_000_000
TICKS_PER_MS = 10_000
TICKS_PER_DAY = 86_400 * TICKS_PER_SECOND
UNIX_EPOCH = 621_355_968_000_000_000
"""The tick of 1970-01-01."""

Ticks = NDArray[np.int64]  # Instants: units of 100 ns since 0001-01-01 UTC


def ticks_of(moment: datetime) -> int:
    """The tick of an aware datetime; ValueError for a naive one."""
    offset = moment.utcoffset()
    if offset is None:
        raise ValueError(f"{moment.isoformat()} has no time zone: give one, such as +00:00")
    # Not by a conversion to UTC, where the moment may lie beyond datetime's years.
    since = moment.replace(tzinfo=None) - datetime(1, 1, 1) - offset
    return (since.days * 86_400 + since.seconds) * TICKS_PER_SECOND + since.microseconds * 10


class Clock(ABC):
    """Gives one reading a key. Readings can repeat and go back."""

    @abstractmethod
    def read(self, n: int) -> Ticks:
        """n readings in ticks of 100 ns: int64 (n,)."""

    def read_fine(self, n: int) -> tuple[Ticks, Ticks]:
        """n readings: ticks, and the odd nanoseconds (0–99) beyond each, which are 0 unless a clock counts them."""
        return self.read(n), np.zeros(n, np.int64)

    @abstractmethod
    def now(self) -> int:
        """The current tick, without using up a key's reading: for generators that read the clock once, at start."""


class SystemClock(Clock):
    """This machine's clock, read once for each key."""

    def read(self, n: int) -> Ticks:
        """n readings of `time.time_ns`, without the odd nanoseconds."""
        return self.read_fine(n)[0]

    def read_fine(self, n: int) -> tuple[Ticks, Ticks]:
        """n readings of `time.time_ns`, one after the other."""
        ns = np.fromiter((time.time_ns() for _ in range(n)), np.int64, n)
        return ns // 100 + UNIX_EPOCH, ns % 100

    def now(self) -> int:
        """This machine's clock."""
        return time.time_ns() // 100 + UNIX_EPOCH


@dataclass(eq=False)
class VirtualClock(Clock):
    """A clock that shows the given readings, one a key; LookupError when there are no more. `start` is what `now` shows
    before the first key: unless given, the first key's reading."""

    ticks: Ticks
    odd_ns: Ticks | None = None
    start: int | None = None
    position: int = field(default=0, init=False)

    def read_fine(self, n: int) -> tuple[Ticks, Ticks]:
        """The next n readings."""
        window = slice(self.position, self.position + n)  # before `read` moves the position
        return self.read(n), np.zeros(n, np.int64) if self.odd_ns is None else self.odd_ns[window]

    def read(self, n: int) -> Ticks:
        """The next n readings in ticks: a view of those given."""
        ticks = self.ticks[self.position : self.position + n]
        if len(ticks) < n:
            raise LookupError(f"the virtual clock holds {len(self.ticks)} readings, {self.position + n} were asked for")
        self.position += n
        return ticks

    def now(self) -> int:
        """The next key's reading (`start` before the first key), at the end the last one; LookupError if none exist."""
        if self.position == 0 and self.start is not None:
            return self.start
        if not len(self.ticks):
            raise LookupError("the virtual clock holds no readings")
        return int(self.ticks[min(self.position, len(self.ticks) - 1)])


DATETIME_LAST: Final = 3_155_378_975_999_999_999
"""The last tick of .NET's DateTime, 9999-12-31T23:59:59.9999999Z; its first is 0."""

UNIX_48_BIT_LAST: Final = UNIX_EPOCH + (TICKS_PER_MS << 48) - 1
"""The last tick of the last of 2^48 milliseconds since 1970, in 10889."""

UNIX_48_BIT_SPAN: Final = TICKS_PER_MS << 48
"""The ticks that 48 bits of milliseconds cover."""

UNIX_MILLISECONDS: Final = Timestamp("milliseconds since 1970", UNIX_EPOCH, UNIX_48_BIT_LAST, TICKS_PER_MS)
"""The time of keys with 48 bits of milliseconds since 1970."""

SQL_DATETIME_SPAN: Final = (100_000 << 48) // 3
"""The ticks that 48 bits of 1/300 s cover: the space of SQL Server's days and 1/300 s, of which most are refused."""

EPOCH_1900: Final = 599_266_080_000_000_000
"""The tick of 1900-01-01, where SQL Server's datetime begins."""

_UNITS_PER_MS: Final = 0.3  # units of 1/300 s, as in SQL Server's datetime


def iso_text(ticks: int) -> str:
    """The instant as ISO 8601 with seven decimals, in any year."""
    microseconds, odd = divmod(int(ticks) - UNIX_EPOCH, 10)
    return f"{np.datetime64(microseconds, 'us')}{odd}Z"


def as_datetime(ticks: int) -> datetime:
    """The instant in UTC, rounded down to the microsecond; UsageError outside the years 1 to 9999."""
    if not 0 <= ticks <= DATETIME_LAST:
        raise UsageError(f"{iso_text(ticks)} is no datetime, which has the years 1 to 9999: take the ticks.")
    return datetime(1, 1, 1, tzinfo=UTC) + timedelta(microseconds=ticks // 10)


def require_instants(layout: str, ticks: Ticks, first: int = 0, last: int = DATETIME_LAST) -> Ticks:
    """`ticks`; UsageError, naming the range and the reading, where one is outside first … last."""
    if not len(ticks):
        return ticks
    # From 0 on, the maximum alone decides: as unsigned numbers, those below 0 are above all others.
    refused = ticks.view(np.uint64).max() > last if first == 0 else ticks.min() < first or ticks.max() > last
    if refused:
        outside = ticks[(ticks < first) | (ticks > last)][0]
        raise UsageError(
            f"{layout} keys hold instants from {iso_text(first)} to {iso_text(last)}, and the clock shows "
            f"{iso_text(outside)}: set the clock inside that range."
        )
    return ticks


def milliseconds(ticks: Ticks) -> NDArray[np.uint64]:
    """Whole milliseconds in ticks that are not negative."""
    # numpy divides unsigned numbers at half the cost of signed ones.
    return ticks.view(np.uint64) // np.uint64(TICKS_PER_MS)


def since_midnight(ticks: Ticks) -> Ticks:
    """Ticks since the day began, of ticks that are not negative."""
    # numpy's remainder costs as much as two divisions.
    numbers, day = ticks.view(np.uint64), np.uint64(TICKS_PER_DAY)
    return (numbers - numbers // day * day).view(np.int64)


def sql_datetime(ticks: Ticks) -> NDArray[np.uint64]:
    """Days since 1900 modulo 2^16 in the high 16 of 48 bits, then 1/300 s since midnight, both as RT.Comb has them: it
    computes with doubles and truncates, where SQL Server rounds."""
    days = ((ticks - EPOCH_1900) / TICKS_PER_DAY).astype(np.int64)
    units = (since_midnight(ticks) / TICKS_PER_MS * _UNITS_PER_MS).astype(np.int64)
    return ((days & 0xFFFF) << 32 | units).view(np.uint64)
