"""RT.Comb's date strategies: how an instant becomes six bytes or four, and back.

`UnixDates` and `SqlDates` are the two that RT.Comb has; both write six bytes. Its interface `ICombDateTimeStrategy`
also takes strategies of four bytes, such as `UnixSeconds` here, which is none of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from keybench.generators.core.bits import Words
from keybench.generators.core.clock import TICKS_PER_DAY, TICKS_PER_MS, TICKS_PER_SECOND, UNIX_EPOCH, Ticks
from keybench.generators.core.instants import DATETIME_LAST, EPOCH_1900, sql_datetime
from keybench.generators.core.layout import Decoded
from keybench.generators.core.uuids import refuse_keys
from keybench.model.keys import Keys

_UNITS_PER_DAY: Final = 86_400 * 300
_UNITS_PER_MS: Final = 0.3
_LAST_MS: Final = (DATETIME_LAST - UNIX_EPOCH) // TICKS_PER_MS


class DateStrategy(ABC):
    """How an instant becomes bytes. A strategy of your own has these two methods and, if it writes four, `width`."""

    width: ClassVar[int] = 6
    """How many bytes it writes: 4 or 6 (`ICombDateTimeStrategy.NumDateBytes`)."""

    @abstractmethod
    def encode(self, ticks: Ticks) -> Words:
        """The bytes of each instant, most significant first, as the low bits of numbers; higher bits are ignored."""

    @abstractmethod
    def decode(self, layout: str, keys: Keys, dates: Words) -> Decoded:
        """The instants of such numbers, which come from `keys`; UsageError where the original throws."""


@dataclass(frozen=True)
class UnixDates(DateStrategy):
    """Milliseconds since 1970."""

    def encode(self, ticks: Ticks) -> Words:
        """Divided as doubles, then truncated towards 1970; negative numbers modulo 2^48."""
        return ((ticks - UNIX_EPOCH) / TICKS_PER_MS).astype(np.int64).view(np.uint64)

    def decode(self, layout: str, keys: Keys, dates: Words) -> Decoded:
        """The millisecond; UsageError beyond the year 9999, where .NET's DateTime ends."""
        refuse_keys(layout, keys, dates > _LAST_MS, "its time lies beyond the year 9999")
        return Decoded(dates.view(np.int64) * TICKS_PER_MS + UNIX_EPOCH)


@dataclass(frozen=True)
class UnixSeconds(DateStrategy):
    """Whole seconds since 1970, in four bytes: a COMB with 90 random bits. They wrap in 2106, and before 1970."""

    width: ClassVar[int] = 4

    def encode(self, ticks: Ticks) -> Words:
        """Rounded down; modulo 2^32."""
        seconds: Ticks = (ticks - UNIX_EPOCH) // TICKS_PER_SECOND
        return seconds.view(np.uint64) & np.uint64(0xFFFF_FFFF)

    def decode(self, layout: str, keys: Keys, dates: Words) -> Decoded:  # noqa: ARG002
        """The second; every number is one."""
        return Decoded(dates.view(np.int64) * TICKS_PER_SECOND + UNIX_EPOCH)


@dataclass(frozen=True)
class SqlDates(DateStrategy):
    """Days since 1900 and 1/300 s since midnight, as the original COMB of 2002."""

    def encode(self, ticks: Ticks) -> Words:
        """Both computed as doubles, then truncated; days modulo 2^16."""
        return sql_datetime(ticks)

    def decode(self, layout: str, keys: Keys, dates: Words) -> Decoded:
        """The instant; UsageError for a time component that is negative or above 24 hours."""
        units = dates.astype(np.uint32).view(np.int32).astype(np.int64)
        refuse_keys(layout, keys, units < 0, "its time component is negative")
        refuse_keys(layout, keys, units > _UNITS_PER_DAY, "its time component exceeds 24 hours")
        midnight = (dates >> np.uint64(32)).view(np.int64) * TICKS_PER_DAY + EPOCH_1900
        milliseconds = units / _UNITS_PER_MS
        fraction, whole = np.modf(milliseconds)
        ticks = midnight + whole.astype(np.int64) * TICKS_PER_MS + (fraction * TICKS_PER_MS).astype(np.int64)
        rounded = midnight + (milliseconds + 0.5).astype(np.int64) * TICKS_PER_MS
        return Decoded(ticks, {"ticks_before_net7": rounded})
