"""RT.Comb's providers: which bytes of a GUID hold the date; and its timestamp providers: which time a COMB gets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from keybench.errors import UsageError
from keybench.generators.core.bits import Words, get_u48, put_u48, put_u48_net, swap_u16
from keybench.generators.core.clock import TICKS_PER_MS, Ticks
from keybench.generators.core.counters import strictly_increasing
from keybench.model.keys import Bytes, Keys, Order

_LONGEST: Final = 86_400_000.0
_U16: Final = np.uint64(0xFFFF)


@dataclass(frozen=True)
class Provider:
    """Which six bytes of a GUID hold the date: those from `at` on, in that byte order.

    Four bytes are for date strategies of your own, as both of RT.Comb's write six: they are the first four of the six.
    """

    name: str
    sorts: Order
    """The order in which its COMBs ascend."""
    at: Literal[0, 10]
    order: Order = "rfc"
    swaps_rest: bool = False
    """`PostgreSqlCombProvider.SwapByteOrderForStringOrder` means to swap Data2 for six bytes only, but compares the
    length of the whole GUID, so that it does so for four bytes too: r4 and r5 of the base GUID change places."""

    def put(self, guids: Bytes, dates: Words, width: int = 6) -> None:
        """Overwrites `width` bytes of each GUID, in place."""
        if width == 4:
            rest = get_u48(Keys(guids, "uuid"), self.at, self.order) & _U16
            dates = dates << np.uint64(16) | (swap_u16(rest) if self.swaps_rest else rest)
        if self.order == "net":
            put_u48_net(guids, dates)
        else:
            put_u48(guids, self.at, dates)

    def get(self, keys: Keys, width: int = 6) -> Words:
        """The `width` bytes of each key, as numbers."""
        dates = get_u48(keys, self.at, self.order)
        return dates if width == 6 else dates >> np.uint64(16)


SQL_PROVIDER: Final = Provider("SqlCombProvider", "mssql", 10)
"""Into the bytes that SQL Server compares first: r10 … r15."""

POSTGRESQL_PROVIDER: Final = Provider("PostgreSqlCombProvider", "rfc", 0, swaps_rest=True)
"""Into the first bytes of the text: r0 … r5."""

BINARY_PROVIDER: Final = Provider("BinaryCombProvider", "net", 0, "net")
"""Into the first bytes of `Guid.ToByteArray`, for Oracle's RAW and SQLite's BLOB as .NET binds them: n0 … n5."""


class TimestampProvider(ABC):
    """A layout's source of timestamps. Immutable; `dataclasses.replace(layout("rt-comb-sql"), timestamps=…)`."""

    @abstractmethod
    def next(self, readings: Ticks, last: int) -> Ticks:
        """The next timestamps, one for each clock reading; `last` is the stream's last one, 0 before the first."""


@dataclass(frozen=True)
class UtcNow(TimestampProvider):
    """The clock readings themselves."""

    def next(self, readings: Ticks, last: int) -> Ticks:  # noqa: ARG002
        """The readings."""
        return readings


@dataclass(frozen=True)
class UtcNoRepeat(TimestampProvider):
    """`UtcNoRepeatTimestampProvider`: each timestamp is at least `increment_ms` after the one before.

    So timestamps run ahead of the clock while more keys are made than fit, 250 a second with the default of 4 ms, and
    stay ahead when the clock steps back. Below 1 ms COMBs of `UnixDates` repeat, below 3.34 ms those of `SqlDates`.

    The increment becomes ticks as in `DateTime.AddMilliseconds` of .NET 7 and later: 3.34 ms are 33,399 ticks. Earlier
    versions round it to whole milliseconds. The original compares the milliseconds since the last timestamp with the
    increment, as doubles. At a distance of exactly `step` rounding can give either result, and both branches return
    the reading.
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

    def next(self, readings: Ticks, last: int) -> Ticks:
        """Each reading, or the timestamp before it plus the step, whichever is later."""
        return strictly_increasing(readings, last, self.step)


UTC_NOW: Final = UtcNow()
"""The default provider."""
