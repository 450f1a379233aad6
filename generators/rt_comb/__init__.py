"""RT.Comb (Richard Tallent, 4.0.3): a GUID of which six bytes are overwritten with a date and time.

There is a layout for each of the three providers below with each of the two date strategies, and for each such pair
with timestamps that never repeat (`-no-repeat`: `providers.UtcNoRepeat`, 4 ms unless replaced). `Provider.Sql`,
`.PostgreSql` and `.Oracle` = `.SqliteBinary` use `UnixDates`; `Provider.Legacy` is `Provider.Sql` with `SqlDates`. The
stream's `guids` are RT.Comb's replaceable GUID provider. A base GUID takes 16 bytes of entropy, before the clock is
read.

Byte maps (G base GUID, T date and time):

SqlProvider         r0 … r9 G   r10 … r15 T      ascends in SQL Server's order
PostgreSqlProvider  r0 … r5 T   r6 … r15 G       ascends in RFC order
BinaryProvider      n0 … n5 T   n6 … n15 G       ascends in .NET order

T, most significant byte first: `UnixDates` has 48 bits of milliseconds since 1970; `SqlDates` has 16 bits of days since
1900 and 32 bits of 1/300 s since midnight, as in SQL Server's datetime. Version and variant are the base GUID's. Keys
of one millisecond (or 1/300 s) come in no order, except with timestamps that never repeat.

A layout here is one of RT.Comb's providers for single use too: `SQL.create(guid, time)` is `Provider.Sql.Create`, and
`SQL.timestamp(key)` is `Provider.Sql.GetTimestamp`. Strategies of four bytes leave two more bytes of G: T is r10 … r13,
r0 … r3 or n0 … n3. RT.Comb has none; `dataclasses.replace(SQL, dates=UnixSeconds())` has seconds since 1970.

RT.Comb's T-SQL functions make the same keys: `NewComb` those of rt-comb-sql, from whole milliseconds without the double
arithmetic below; `NewCombLegacy` those of rt-comb-legacy, from a time that SQL Server has rounded to 1/300 s. There all
rows of one statement get the same time.

Quirks, all kept (read in the source; .NET 5 and later for the arithmetic):

- Both strategies compute with doubles, which cannot distinguish all ticks: since 1998 the last tick of a millisecond
  (since 2027 the last two) is stored as the next millisecond. With `SqlDates`, the last ticks before midnight (since
  2014 four) get the next day's number with this day's time, a day too late.
- `UnixDates` stores instants before 1970 as the low 48 bits of a negative number, which is read as another date.
- `SqlDates` truncates to 1/300 s where SQL Server rounds, and days wrap: 2079-06-07 and 1900-01-01 are both 0. Where
  the cast of a double that fits no ushort differs between runtimes, this is .NET 8's and earlier on x64.
- Reading 1/300 s back: .NET 7 and later keep 100 ns (`ticks` here), earlier ones and .NET Framework round to
  milliseconds (the field `ticks_before_net7`).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import numpy as np

from keybench.errors import UsageError
from keybench.generators.core.clock import TICKS_PER_DAY, TICKS_PER_MS, UNIX_EPOCH, SystemClock, ticks_of
from keybench.generators.core.description import Ascent, Description, Timestamp
from keybench.generators.core.instants import (
    DATETIME_LAST,
    EPOCH_1900,
    SQL_DATETIME_SPAN,
    UNIX_48_BIT_SPAN,
    as_datetime,
    require_instants,
)
from keybench.generators.core.layout import Decoded, Halves, OneCall
from keybench.generators.core.stream import GuidStream, WriterLayout
from keybench.generators.rt_comb.dates import DateStrategy, SqlDates, UnixDates, UnixSeconds
from keybench.generators.rt_comb.providers import (
    BINARY_PROVIDER,
    POSTGRESQL_PROVIDER,
    SQL_PROVIDER,
    UTC_NOW,
    Provider,
    TimestampProvider,
    UtcNoRepeat,
)
from keybench.model.keys import Bytes, Ints, Keys

_UNIX_LAST: Final = DATETIME_LAST - 256
_SQL_LAST: Final = EPOCH_1900 + (TICKS_PER_DAY << 16) - 5


class Combs(GuidStream["Comb"]):
    """Base GUIDs, each with its own timestamp; the state is the last one."""

    _last = 0

    def fill(self, data: Bytes) -> None:
        """The next n COMBs; UsageError for a reading or a timestamp that .NET's DateTime cannot hold."""
        layout = self.layout
        self.writer.base_guids(data)
        readings = self.writer.readings(len(data))
        ticks = layout.timestamps.next(readings, self._last)
        if len(ticks):
            self._last = int(ticks[-1])
            self.writer.require(ticks[-1:])  # they never fall, and none is below its reading
        layout.provider.put(data, layout.dates.encode(ticks), layout.dates.width)


@dataclass(frozen=True, kw_only=True)
class Comb(WriterLayout):
    """One pair of provider and date strategy, with a source of timestamps."""

    streams = Combs

    provider: Provider
    dates: DateStrategy
    timestamps: TimestampProvider = UTC_NOW

    def __post_init__(self) -> None:
        if self.dates.width not in (4, 6):
            raise UsageError(
                f"{type(self.dates).__name__} writes {self.dates.width} bytes: a date strategy writes 4 or 6 of them."
            )

    def create(self, guid: uuid.UUID | None = None, time: datetime | None = None) -> uuid.UUID:
        """`Create(guid, timestamp)`: the GUID with the time in it. Version and variant stay.

        Without a GUID it is a random one, without a time that of the call. UsageError for a time without a time zone or
        that .NET's DateTime cannot hold, and where timestamps never repeat and none is given: they need the one before,
        which a stream keeps (`generators.new`).
        """
        if time is None and self.timestamps is not UTC_NOW:
            raise UsageError(f"{self.name} needs the timestamp before: give a time, or call new({self.name!r}).")
        try:
            ticks = SystemClock().read(1) if time is None else np.array([ticks_of(time)])
        except ValueError as error:
            raise UsageError(f"{error}.") from None
        data = np.frombuffer((guid or uuid.uuid4()).bytes, np.uint8).reshape(1, 16).copy()
        self.provider.put(data, self.dates.encode(require_instants(self.name, ticks)), self.dates.width)
        return uuid.UUID(bytes=data.tobytes())

    def timestamp(self, comb: uuid.UUID) -> datetime:
        """`GetTimestamp`: the time in a COMB, in UTC, rounded down to the microsecond.

        UsageError where the original throws. A COMB of another provider or strategy gives a wrong time, or an error.
        """
        ticks = self.decode(Keys(np.frombuffer(comb.bytes, np.uint8).reshape(1, 16), "uuid")).ticks
        assert ticks is not None
        return as_datetime(int(ticks[0]))

    def one_call(self) -> OneCall | None:
        """One COMB over a random base GUID; None with timestamps that never repeat and for the binary provider."""
        rule = _RULES.get((self.provider, type(self.dates)))
        return OneCall(rule, random_bytes=16) if rule and self.timestamps is UTC_NOW else None

    def decode(self, keys: Keys) -> Decoded:
        """The instants; UsageError where the original throws."""
        return self.dates.decode(self.name, keys, self.provider.get(keys, self.dates.width))


_KEEP: Final = np.uint64((1 << 64) - 1 ^ 0xF << 12)
_KEEP_LAST: Final = np.uint64((1 << 62) - 1)
_VERSION: Final = np.uint64(4 << 12)
_VARIANT: Final = np.uint64(1 << 63)
_U48: Final = np.uint64((1 << 48) - 1)
_UNITS_PER_MS: Final = 0.3


def _one_sql(_state: Ints, tick: int, first: np.uint64, last: np.uint64) -> Halves:
    date = np.uint64(np.int64((tick - UNIX_EPOCH) / TICKS_PER_MS)) & _U48
    return first & _KEEP | _VERSION, (last & _KEEP_LAST | _VARIANT) >> np.uint64(48) << np.uint64(48) | date


def _one_postgresql(_state: Ints, tick: int, first: np.uint64, last: np.uint64) -> Halves:
    date = np.uint64(np.int64((tick - UNIX_EPOCH) / TICKS_PER_MS)) & _U48
    return date << np.uint64(16) | first & np.uint64(0xFFF) | _VERSION, last & _KEEP_LAST | _VARIANT


def _one_legacy(_state: Ints, tick: int, first: np.uint64, last: np.uint64) -> Halves:
    days = np.uint64(np.int64((tick - EPOCH_1900) / TICKS_PER_DAY)) & np.uint64(0xFFFF)
    units = np.uint64(np.int64(tick % TICKS_PER_DAY / TICKS_PER_MS * _UNITS_PER_MS))
    end = (last & _KEEP_LAST | _VARIANT) >> np.uint64(48) << np.uint64(48)
    return first & _KEEP | _VERSION, end | days << np.uint64(32) | units


_RULES: Final[Mapping[tuple[Provider, type[DateStrategy]], Callable[[Any, Any, Any, Any], Halves]]] = {
    (SQL_PROVIDER, UnixDates): _one_sql,
    (POSTGRESQL_PROVIDER, UnixDates): _one_postgresql,
    (SQL_PROVIDER, SqlDates): _one_legacy,
}
"""How compiled code makes one COMB (`OneCall.rule`): a random GUID, and the time as doubles give it."""

_UNCHANGED: Final = "the base GUID's version and variant stay: a key has version 4, random, although it ascends"
_MARIADB: Final = "MariaDB's uuid sorts version 4 by its end, which is random here"
_LATE: Final = "the last four ticks before midnight are read back a day late"
_MEANINGS: Final = {"U": "milliseconds since 1970", "D": "days since 1900", "T": "1/300 s since midnight"}
_NO_REPEAT: Final = (
    "timestamps are 4 ms apart: more than 250 keys a second run ahead of the clock, and fewer do where two come closer",
    "several processes run ahead by different spans, so their keys do not ascend together",
    "after the clock steps back, timestamps stay ahead of it",
)


def _comb(name: str, called: str, provider: Provider, diagram: str, *aliases: str) -> tuple[Comb, Comb]:
    """One pair of provider and strategy, with the clock's timestamps, and with timestamps that never repeat."""
    unix, order = "U48" in diagram, provider.sorts
    dates, strategy = (UnixDates(), "UnixDateTimeStrategy") if unix else (SqlDates(), "SqlDateTimeStrategy")
    shuffled = ", in .NET's byte order" if order == "net" else ""
    legend = {letter: meaning + shuffled for letter, meaning in _MEANINGS.items() if letter in diagram}
    # The last 256 ticks of the year 9999 round up to the next one, which .NET's DateTime does not have.
    time = (
        Timestamp(
            "milliseconds since 1970", UNIX_EPOCH, _UNIX_LAST, TICKS_PER_MS, "another instant", span=UNIX_48_BIT_SPAN
        )
        if unix
        else Timestamp("1/300 s", EPOCH_1900, _SQL_LAST, 33_334, "another instant", span=SQL_DATETIME_SPAN)
    )
    caveats = (_UNCHANGED, *([] if order == "mssql" else [_MARIADB]), *([] if unix else [_LATE]))
    source = f"github.com/richardtallent/RT.Comb {provider.name}"

    def layout(suffix: str, feature: str, timestamps: TimestampProvider, ascent: Ascent, more: tuple[str, ...]) -> Comb:
        return Comb(
            name + suffix,
            f"{called}{feature}",
            f"{source} + {strategy}",
            order=order,
            aliases=tuple(alias + suffix for alias in aliases),
            provider=provider,
            dates=dates,
            timestamps=timestamps,
            description=Description(
                diagram,
                legend,
                within=ascent,
                across="by time" if timestamps is UTC_NOW else "no",
                time=time,
                caveats=(*more, *caveats),
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
        SQL_PROVIDER,
        "R48 V4:4 R12 X2:2 R14 U48",
    ),
    *_comb(
        "rt-comb-postgresql",
        "RT.Comb Provider.PostgreSql: a random GUID whose first six bytes are Unix milliseconds",
        POSTGRESQL_PROVIDER,
        "U48 V4:4 R12 X2:2 R62",
    ),
    *_comb(
        "rt-comb-oracle",
        "RT.Comb Provider.Oracle, .SqliteBinary: a random GUID, Unix milliseconds in .NET's first bytes",
        BINARY_PROVIDER,
        "U48 V4:4 R12 X2:2 R62",
        "rt-comb-sqlite-binary",
    ),
    *_comb(
        "rt-comb-legacy",
        "RT.Comb Provider.Legacy: the COMB of 2002, last six bytes days and 1/300 s",
        SQL_PROVIDER,
        "R48 V4:4 R12 X2:2 R14 D16 T32",
    ),
    *_comb(
        "rt-comb-postgresql-legacy",
        "RT.Comb PostgreSqlCombProvider with days and 1/300 s in the first six bytes",
        POSTGRESQL_PROVIDER,
        "D16 T32 V4:4 R12 X2:2 R62",
    ),
    *_comb(
        "rt-comb-oracle-legacy",
        "RT.Comb BinaryCombProvider with days and 1/300 s in the first .NET bytes",
        BINARY_PROVIDER,
        "T16 D16 T16 V4:4 R12 X2:2 R62",
        "rt-comb-sqlite-binary-legacy",
    ),
)

_NAMED: Final = {one.name: one for one in LAYOUTS}
SQL, POSTGRESQL, ORACLE, LEGACY = (_NAMED[f"rt-comb-{name}"] for name in ("sql", "postgresql", "oracle", "legacy"))
"""`Provider.Sql`, `.PostgreSql`, `.Oracle` = `.SqliteBinary` and `.Legacy`."""

__all__ = ["LAYOUTS", "LEGACY", "ORACLE", "POSTGRESQL", "SQL", "Comb", "DateStrategy", "UnixSeconds"]
