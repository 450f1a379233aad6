"""RT.Comb (Richard Tallent, 4.0.3): a GUID of which six bytes are overwritten with a date and time.

There is a layout for each of three providers with each of two date strategies, and for each such pair with timestamps
that never repeat (`-no-repeat`). `Provider.Sql`, `.PostgreSql` and `.Oracle` = `.SqliteBinary` write Unix dates;
`Provider.Legacy` is `Provider.Sql` with SQL dates. The stream's `guids` are RT.Comb's replaceable GUID provider. A base
GUID takes 16 bytes of entropy, before the clock is read.

Byte maps (G base GUID, T date and time, most significant byte first):

SqlProvider         r0 … r9 G   r10 … r15 T      ascends in SQL Server's order
PostgreSqlProvider  r0 … r5 T   r6 … r15 G       ascends in RFC order
BinaryProvider      n0 … n5 T   n6 … n15 G       ascends in .NET order

T of Unix dates is 48 bits of milliseconds since 1970; T of SQL dates is 16 bits of days since 1900 and 32 bits of 1/300
s since midnight, as in SQL Server's datetime. Version and variant are the base GUID's. Keys of one millisecond (or
1/300 s) come in no order, except with timestamps that never repeat: each is at least 4 ms after the one before. So they
run ahead of the clock, or stay ahead of it when it steps back.

`generators.timestamp(key, "rt-comb-sql")` is `Provider.Sql.GetTimestamp`. RT.Comb's T-SQL functions make the same keys:
`NewComb` those of rt-comb-sql from whole milliseconds, `NewCombLegacy` those of rt-comb-legacy from a time that is
rounded to 1/300 s.

Quirks, all kept (read in the source; .NET 5 and later for the arithmetic):

- Both strategies compute with doubles, which cannot distinguish all ticks: since 1998 the last tick of a millisecond
  (since 2027 the last two) is stored as the next millisecond. With SQL dates, the last ticks before midnight (since
  2014 four) get the next day's number with this day's time, a day too late.
- Unix dates before 1970 are the low 48 bits of a negative number, which is read as another date.
- SQL dates truncate to 1/300 s where SQL Server rounds, and days wrap: 2079-06-07 and 1900-01-01 are both 0. Where the
  cast of a double that fits no ushort differs between runtimes, this is .NET 8's and earlier on x64.
- Reading 1/300 s back: .NET 7 and later keep 100 ns (`ticks` here), earlier ones and .NET Framework round to
  milliseconds (the field `ticks_before_net7`).
"""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from keybench.generators.core.bits import Words, get_u48, put_u48, put_u48_net, refuse_keys
from keybench.generators.core.clock import (
    DATETIME_LAST,
    EPOCH_1900,
    SQL_DATETIME_SPAN,
    TICKS_PER_DAY,
    TICKS_PER_MS,
    UNIX_48_BIT_SPAN,
    UNIX_EPOCH,
    Ticks,
    sql_datetime,
)
from keybench.generators.core.counters import strictly_increasing
from keybench.generators.core.description import Ascent, Description, Timestamp
from keybench.generators.core.layout import Decoded
from keybench.generators.core.stream import GuidStream, WriterLayout
from keybench.model.keys import Bytes, Keys, Order

_UNITS_PER_DAY: Final = 86_400 * 300
_UNITS_PER_MS: Final = 0.3  # units of 1/300 s
_LAST_MS: Final = (DATETIME_LAST - UNIX_EPOCH) // TICKS_PER_MS
_APART: Final = 4 * TICKS_PER_MS  # RT.Comb's increment where timestamps never repeat


@dataclass(frozen=True)
class Provider:
    """Which six bytes of a GUID hold the date: those from `at` on, in the byte order `order`."""

    name: str
    sorts: Order
    """The order in which its COMBs ascend."""
    at: Literal[0, 10]
    order: Order = "rfc"


SQL_PROVIDER: Final = Provider("SqlCombProvider", "mssql", 10)
POSTGRESQL_PROVIDER: Final = Provider("PostgreSqlCombProvider", "rfc", 0)
BINARY_PROVIDER: Final = Provider("BinaryCombProvider", "net", 0, "net")


class Combs(GuidStream["Comb"]):
    """Base GUIDs, each with its own timestamp; the state is the last one."""

    _last = 0

    def fill(self, data: Bytes) -> None:
        """Puts the next COMBs into `data`; UsageError for a reading or a timestamp that .NET's DateTime cannot hold."""
        self.writer.base_guids(data)
        ticks = self.writer.readings(len(data))
        if self.layout.step and len(ticks):
            ticks = strictly_increasing(ticks, self._last, self.layout.step)  # at least `step` apart
            self._last = int(ticks[-1])
            self.writer.require(ticks[-1:])  # the last is the highest, and none is below its reading
        self.layout.put(data, ticks)


@dataclass(frozen=True, kw_only=True)
class Comb(WriterLayout):
    """One provider with Unix dates or SQL dates; timestamps are the clock's, or at least `step` ticks apart."""

    streams = Combs

    provider: Provider
    sql_dates: bool = False
    step: int = 0
    """The least ticks from each timestamp to the next; 0: timestamps can repeat."""

    def put(self, guids: Bytes, ticks: Ticks) -> None:
        """Overwrites six bytes of each GUID with the date; numbers are truncated to 48 bits."""
        dates: Ticks | Words = (
            sql_datetime(ticks) if self.sql_dates else ((ticks - UNIX_EPOCH) / TICKS_PER_MS).astype(np.int64)
        )
        if self.provider.order == "net":
            put_u48_net(guids, dates)
        else:
            put_u48(guids, self.provider.at, dates)

    def decode(self, keys: Keys) -> Decoded:
        """The tick at which the millisecond or the 1/300 s begins; UsageError where the original throws."""
        dates = get_u48(keys, self.provider.at, self.provider.order)
        if not self.sql_dates:
            refuse_keys(self.name, keys, dates > _LAST_MS, "its time lies beyond the year 9999")
            return Decoded(dates.view(np.int64) * TICKS_PER_MS + UNIX_EPOCH)
        units = dates.astype(np.uint32).view(np.int32).astype(np.int64)  # the original has a signed int
        refuse_keys(self.name, keys, units < 0, "its time component is negative")
        refuse_keys(self.name, keys, units > _UNITS_PER_DAY, "its time component exceeds 24 hours")
        midnight = (dates >> np.uint64(32)).view(np.int64) * TICKS_PER_DAY + EPOCH_1900
        milliseconds = units / _UNITS_PER_MS
        fraction, whole = np.modf(milliseconds)
        ticks = midnight + whole.astype(np.int64) * TICKS_PER_MS + (fraction * TICKS_PER_MS).astype(np.int64)
        rounded = midnight + (milliseconds + 0.5).astype(np.int64) * TICKS_PER_MS  # to whole milliseconds
        return Decoded(ticks, {"ticks_before_net7": rounded})


_UNCHANGED: Final = "the base GUID's version and variant stay: a key has version 4, random, although it ascends"
_MARIADB: Final = "MariaDB's uuid sorts version 4 by its end, which is random here"
_LATE: Final = "the last four ticks before midnight are read back a day late"
_MEANINGS: Final = {"U": "milliseconds since 1970", "D": "days since 1900", "T": "1/300 s since midnight"}
_NO_REPEAT: Final = (
    "timestamps are 4 ms apart: more than 250 keys a second run ahead of the clock, and fewer do where two come closer",
    "several processes run ahead by different spans, so their keys do not ascend together",
    "after the clock steps back, timestamps stay ahead of it",
)
# The last 256 ticks of the year 9999 round up to the next one, which .NET's DateTime does not have.
_UNIX_TIME: Final = Timestamp(
    "milliseconds since 1970", UNIX_EPOCH, DATETIME_LAST - 256, TICKS_PER_MS, "another instant", span=UNIX_48_BIT_SPAN
)
_SQL_LAST: Final = EPOCH_1900 + (TICKS_PER_DAY << 16) - 5
_SQL_TIME: Final = Timestamp("1/300 s", EPOCH_1900, _SQL_LAST, 33_334, "another instant", span=SQL_DATETIME_SPAN)


def _comb(name: str, summary: str, provider: Provider, diagram: str, *aliases: str) -> tuple[Comb, Comb]:
    """(the layout with the clock's timestamps, that with timestamps that never repeat) of a provider and a strategy.
    The strategy follows from the diagram: it has `U48` for Unix dates."""
    unix, order = "U48" in diagram, provider.sorts
    shuffled = ", in .NET's byte order" if order == "net" else ""
    legend = {letter: meaning + shuffled for letter, meaning in _MEANINGS.items() if letter in diagram}
    caveats = (_UNCHANGED, *([] if order == "mssql" else [_MARIADB]), *([] if unix else [_LATE]))

    def layout(suffix: str, feature: str, step: int, within: Ascent, first_caveats: tuple[str, ...]) -> Comb:
        """The layout with the clock's timestamps (`step` 0), or with timestamps at least `step` ticks apart."""
        return Comb(
            name + suffix,
            summary + feature,
            f"github.com/richardtallent/RT.Comb {provider.name} + {'Unix' if unix else 'Sql'}DateTimeStrategy",
            order=order,
            aliases=tuple(alias + suffix for alias in aliases),
            provider=provider,
            sql_dates=not unix,
            step=step,
            description=Description(
                diagram,
                legend,
                within=within,
                across="no" if step else "by time",
                time=_UNIX_TIME if unix else _SQL_TIME,
                caveats=(*first_caveats, *caveats),
            ),
        )

    return (
        layout("", "", 0, "by time", ("keys of one quantum come in no order",)),
        layout("-no-repeat", ", never repeated", _APART, "always", _NO_REPEAT),
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
