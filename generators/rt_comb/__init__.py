"""RT.Comb (Richard Tallent, 4.0.3): a GUID of which six bytes are overwritten with a date and time.

Each of the three providers below comes with each of the two date strategies, and each pair once more with timestamps
that never repeat (`-no-repeat`: `rt_comb_timestamps.UtcNoRepeat`, 4 ms unless replaced). `Provider.Sql`, `.PostgreSql`
and `.Oracle` = `.SqliteBinary` have `UnixDates`; `Provider.Legacy` is the first with `SqlDates`. The replaceable GUID
provider is the stream's `guids`; a base GUID (16 bytes of entropy) is taken before the clock is read.

Byte maps (G base GUID, T date and time):

SqlProvider         r0 … r9 G   r10 … r15 T      ascends in SQL Server's order
PostgreSqlProvider  r0 … r5 T   r6 … r15 G       ascends in RFC order
BinaryProvider      the same in .NET order: n0 … n5 T, n6 … n15 G

T, most significant byte first: `UnixDates` 48 bits of milliseconds since 1970; `SqlDates` 16 bits of days since 1900
and 32 bits of 1/300 s since midnight, as in SQL Server's datetime. Version and variant are the base GUID's, untouched.
Keys of one millisecond (or 1/300 s) come in no order, save those that never repeat themselves.

RT.Comb's T-SQL functions make the same keys: `NewComb` those of rt-comb-sql, from whole milliseconds without the double
arithmetic below, `NewCombLegacy` those of rt-comb-legacy, from a time that SQL Server has rounded to 1/300 s. All rows
of one statement get the same time there.

Quirks, all kept (read in the source; .NET 5 and later for the arithmetic):

- Both strategies compute with doubles, which cannot tell every tick any more: since 1998 the last tick of a
  millisecond (since 2027 the last two) is stored as the next millisecond, and the last ticks before midnight (since
  2014 four) get the next day's number from `SqlDates` with this day's time, a day too late.
- `UnixDates` stores instants before 1970 as the low 48 bits of a negative number, which read back as another date.
- `SqlDates` truncates to 1/300 s where SQL Server rounds, and days wrap: 2079-06-07 and 1900-01-01 are both 0. Where
  the cast of a double that fits no ushort differs between runtimes, this is .NET 8's and earlier on x64.
- Reading 1/300 s back: .NET 7 and later keep 100 ns (`ticks` here), earlier ones and .NET Framework round to
  milliseconds (the field `ticks_before_net7`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from keybench.generators.core.bits import Words, get_u48, put_u48, put_u48_net
from keybench.generators.core.clock import TICKS_PER_MS, TICKS_PER_SECOND, UNIX_EPOCH, Ticks
from keybench.generators.core.description import Ascent, Description, Timestamp
from keybench.generators.core.instants import DATETIME_LAST, refuse_keys, require_instants, since_midnight
from keybench.generators.core.layout import Decoded, Stream
from keybench.generators.core.loops.choice import Elementwise
from keybench.generators.core.stream import GuidStream, Writer, WriterLayout
from keybench.generators.rt_comb.timestamps import UTC_NOW, TimestampProvider, UtcNoRepeat
from keybench.model.keys import Bytes, Keys, Order

EPOCH_1900: Final = 599_266_080_000_000_000
"""Ticks at 1900-01-01."""

_TICKS_PER_DAY: Final = 86_400 * TICKS_PER_SECOND
_UNITS_PER_DAY: Final = 86_400 * 300
_UNITS_PER_MS: Final = 0.3
_LAST_MS: Final = (DATETIME_LAST - UNIX_EPOCH) // TICKS_PER_MS
_UNIX_LAST: Final = DATETIME_LAST - 256
_SQL_LAST: Final = EPOCH_1900 + (_TICKS_PER_DAY << 16) - 5


class DateStrategy(ABC):
    """How an instant becomes six bytes."""

    @abstractmethod
    def encode(self, ticks: Ticks) -> Words:
        """The six bytes of each instant, as numbers of which the low 48 bits count."""

    @abstractmethod
    def decode(self, layout: str, keys: Keys, dates: Words) -> Decoded:
        """The instants of six bytes each; UsageError where the original throws. `dates` were taken from `keys`."""


@Elementwise
def _unix_milliseconds(ticks: Any) -> Any:
    return np.int64((ticks - UNIX_EPOCH) / TICKS_PER_MS)


@Elementwise
def _days_and_units(ticks: Any, since_midnight: Any) -> Any:
    days = np.int64((ticks - EPOCH_1900) / _TICKS_PER_DAY)
    units = np.int64(since_midnight / TICKS_PER_MS * _UNITS_PER_MS)
    return (days & 0xFFFF) << 32 | units


@dataclass(frozen=True)
class UnixDates(DateStrategy):
    """Milliseconds since 1970."""

    def encode(self, ticks: Ticks) -> Words:
        """Truncated towards 1970 after a division of doubles, negative numbers modulo 2^48."""
        milliseconds: Ticks = _unix_milliseconds(ticks)
        return milliseconds.view(np.uint64)

    def decode(self, layout: str, keys: Keys, dates: Words) -> Decoded:
        """The millisecond; UsageError beyond the year 9999, where .NET's DateTime ends."""
        refuse_keys(layout, keys, dates > _LAST_MS, "its time lies beyond the year 9999")
        return Decoded(dates.view(np.int64) * TICKS_PER_MS + UNIX_EPOCH)


@dataclass(frozen=True)
class SqlDates(DateStrategy):
    """Days since 1900 and 1/300 s since midnight, as the original COMB of 2002."""

    def encode(self, ticks: Ticks) -> Words:
        """Both truncated after computing with doubles; days modulo 2^16."""
        dates: Ticks = _days_and_units(ticks, since_midnight(ticks))
        return dates.view(np.uint64)

    def decode(self, layout: str, keys: Keys, dates: Words) -> Decoded:
        """The instant; UsageError for a time component that is negative or exceeds 24 hours (exactly 24 are read)."""
        units = dates.astype(np.uint32).view(np.int32).astype(np.int64)
        refuse_keys(layout, keys, units < 0, "its time component is negative")
        refuse_keys(layout, keys, units > _UNITS_PER_DAY, "its time component exceeds 24 hours")
        midnight = (dates >> np.uint64(32)).view(np.int64) * _TICKS_PER_DAY + EPOCH_1900
        milliseconds = units / _UNITS_PER_MS
        fraction, whole = np.modf(milliseconds)
        ticks = midnight + whole.astype(np.int64) * TICKS_PER_MS + (fraction * TICKS_PER_MS).astype(np.int64)
        rounded = midnight + (milliseconds + 0.5).astype(np.int64) * TICKS_PER_MS
        return Decoded(ticks, {"ticks_before_net7": rounded})


class Provider(ABC):
    """Where the six bytes go."""

    @abstractmethod
    def put(self, guids: Bytes, dates: Words, version: int | None = None) -> None:
        """Overwrites six bytes of each GUID, in place, and sets the version where one is given."""

    @abstractmethod
    def get(self, keys: Keys) -> Words:
        """The six bytes of each key, as numbers."""


@dataclass(frozen=True)
class SqlProvider(Provider):
    """Into the bytes that SQL Server compares first."""

    def put(self, guids: Bytes, dates: Words, version: int | None = None) -> None:
        """Overwrites r10 … r15."""
        put_u48(guids, 10, dates, version)

    def get(self, keys: Keys) -> Words:
        """r10 … r15."""
        return get_u48(keys, 10)


@dataclass(frozen=True)
class PostgreSqlProvider(Provider):
    """Into the first bytes of the text."""

    def put(self, guids: Bytes, dates: Words, version: int | None = None) -> None:
        """Overwrites r0 … r5."""
        put_u48(guids, 0, dates, version)

    def get(self, keys: Keys) -> Words:
        """r0 … r5."""
        return get_u48(keys, 0)


@dataclass(frozen=True)
class BinaryProvider(Provider):
    """Into the first bytes of `Guid.ToByteArray`, for Oracle's RAW and SQLite's BLOB as .NET binds them."""

    def put(self, guids: Bytes, dates: Words, version: int | None = None) -> None:
        """Overwrites n0 … n5."""
        put_u48_net(guids, dates, version)

    def get(self, keys: Keys) -> Words:
        """n0 … n5."""
        return get_u48(keys, 0, "net")


@dataclass(frozen=True, kw_only=True)
class Comb(WriterLayout):
    """One pair of provider and date strategy, and where its timestamps come from."""

    provider: Provider
    dates: DateStrategy
    timestamps: TimestampProvider = UTC_NOW

    def start(self, writer: Writer) -> Stream:
        """A stream of COMBs over the writer's base GUIDs."""
        return Combs(self, writer)

    def decode(self, keys: Keys) -> Decoded:
        """The instants; UsageError where the original throws."""
        return self.dates.decode(self.name, keys, self.provider.get(keys))


class Combs(GuidStream):
    """Base GUIDs, each with a timestamp of its own."""

    def __init__(self, layout: Comb, writer: Writer) -> None:
        self._layout = layout
        self._guids = writer.guids
        self._clock = writer.clock
        self._timestamps = layout.timestamps.start()

    def fill(self, data: Bytes) -> None:
        """The next n COMBs; UsageError for a reading or a timestamp that .NET's DateTime cannot hold."""
        version = self._guids.draw(data)
        readings = require_instants(self._layout.name, self._clock.read(len(data)))
        ticks = self._timestamps.of(readings)
        if ticks is not readings:
            require_instants(self._layout.name, ticks[-1:])  # they never fall, and each is a reading or later
        self._layout.provider.put(data, self._layout.dates.encode(ticks), version)


_UNCHANGED: Final = "whatever version and variant the base GUID has stay: a key says 4, random, whatever it sorts like"
_MARIADB: Final = "MariaDB's uuid sorts version 4 by its end: there these keys are random"
_LATE: Final = "the last four ticks before midnight read back a day late"
_MEANINGS: Final = {"U": "milliseconds since 1970", "D": "days since 1900", "T": "1/300 s since midnight"}
_NO_REPEAT: Final = (
    "timestamps lie 4 ms apart: more than 250 keys a second run ahead of the clock",
    "after a step back of the clock timestamps stay ahead of it",
)


def _comb(
    name: str, called: str, provider: Provider, order: Order, unix: bool, diagram: str, *aliases: str
) -> tuple[Comb, Comb]:
    """One pair of provider and strategy: with a timestamp for each reading, and with timestamps that never repeat."""
    dates, strategy = (UnixDates(), "UnixDateTimeStrategy") if unix else (SqlDates(), "SqlDateTimeStrategy")
    shuffled = ", in .NET's byte order" if order == "net" else ""
    legend = {letter: meaning + shuffled for letter, meaning in _MEANINGS.items() if letter in diagram}
    # The last 256 ticks of the year 9999 round up to the next one, which .NET's DateTime does not have.
    time = (
        Timestamp("milliseconds since 1970", UNIX_EPOCH, _UNIX_LAST, TICKS_PER_MS, "another instant")
        if unix
        else Timestamp("1/300 s", EPOCH_1900, _SQL_LAST, 33_334, "another instant")
    )
    caveats = (_UNCHANGED, *([] if order == "mssql" else [_MARIADB]), *([] if unix else [_LATE]))
    source = f"github.com/richardtallent/RT.Comb {type(provider).__name__.removesuffix('Provider')}CombProvider"

    def layout(suffix: str, told: str, timestamps: TimestampProvider, ascent: Ascent, more: tuple[str, ...]) -> Comb:
        return Comb(
            name + suffix,
            f"{called}{told}",
            f"{source} + {strategy}",
            order=order,
            aliases=tuple(alias + suffix for alias in aliases),
            provider=provider,
            dates=dates,
            timestamps=timestamps,
            description=Description(
                diagram, legend, within=ascent, across="by time", time=time, caveats=(*more, *caveats)
            ),
        )

    return (
        layout("", "", UTC_NOW, "by time", ("keys of one quantum come in no order",)),
        layout("-no-repeat", ", never repeated", UtcNoRepeat(), "always", _NO_REPEAT),
    )


LAYOUTS = (
    *_comb(
        "rt-comb-sql",
        "RT.Comb Provider.Sql: a random GUID whose last six bytes are Unix milliseconds",
        SqlProvider(),
        "mssql",
        True,
        "R48 V4:4 R12 X2:2 R14 U48",
    ),
    *_comb(
        "rt-comb-postgresql",
        "RT.Comb Provider.PostgreSql: a random GUID whose first six bytes are Unix milliseconds",
        PostgreSqlProvider(),
        "rfc",
        True,
        "U48 V4:4 R12 X2:2 R62",
    ),
    *_comb(
        "rt-comb-oracle",
        "RT.Comb Provider.Oracle, .SqliteBinary: a random GUID, Unix milliseconds in .NET's first bytes",
        BinaryProvider(),
        "net",
        True,
        "U48 V4:4 R12 X2:2 R62",
        "rt-comb-sqlite-binary",
    ),
    *_comb(
        "rt-comb-legacy",
        "RT.Comb Provider.Legacy: the COMB of 2002, last six bytes days and 1/300 s",
        SqlProvider(),
        "mssql",
        False,
        "R48 V4:4 R12 X2:2 R14 D16 T32",
    ),
    *_comb(
        "rt-comb-postgresql-legacy",
        "RT.Comb PostgreSqlCombProvider with days and 1/300 s in the first six bytes",
        PostgreSqlProvider(),
        "rfc",
        False,
        "D16 T32 V4:4 R12 X2:2 R62",
    ),
    *_comb(
        "rt-comb-oracle-legacy",
        "RT.Comb BinaryCombProvider with days and 1/300 s in the first .NET bytes",
        BinaryProvider(),
        "net",
        False,
        "T16 D16 T16 V4:4 R12 X2:2 R62",
        "rt-comb-sqlite-binary-legacy",
    ),
)
