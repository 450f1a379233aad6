"""Instants as the numbers that layouts store, and the error for an instant that a layout cannot hold.

An instant is a tick: 100 ns since 0001-01-01 UTC (`clock`).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError
from keybench.generators.core.clock import TICKS_PER_DAY, TICKS_PER_MS, UNIX_EPOCH, Ticks
from keybench.generators.core.description import Timestamp

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

_UNITS_PER_MS: Final = 0.3


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
    # As unsigned numbers, those below 0 are above all others: the maximum alone decides.
    if ticks.view(np.uint64).max() > last if first == 0 else ticks.min() < first or ticks.max() > last:
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
    """Days since 1900 modulo 2^16 in the high 16 of 48 bits, then 1/300 s since midnight, as RT.Comb computes both.

    RT.Comb computes with doubles and truncates, where SQL Server rounds.
    """
    days = ((ticks - EPOCH_1900) / TICKS_PER_DAY).astype(np.int64)
    units = (since_midnight(ticks) / TICKS_PER_MS * _UNITS_PER_MS).astype(np.int64)
    return ((days & 0xFFFF) << 32 | units).view(np.uint64)
