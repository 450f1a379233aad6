"""GUIDs with a date and time in place of random bytes, as NHibernate, Marten and Pomelo make them."""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from keybench.generators.core import bits
from keybench.generators.core.clock import (
    DATETIME_LAST,
    EPOCH_1900,
    SQL_DATETIME_SPAN,
    TICKS_PER_DAY,
    TICKS_PER_MS,
    UNIX_EPOCH,
    UNIX_MILLISECONDS,
    require_instants,
    since_midnight,
    sql_datetime,
)
from keybench.generators.core.description import Description, Timestamp, timed
from keybench.generators.core.layout import Decoded
from keybench.generators.core.stream import GuidLayout, Writer
from keybench.model.keys import Bytes, Keys

_MS_PER_UNIT: Final = 3.333333
_UNITS_PER_DAY: Final = 25_920_003  # units that begin within a day
_LAST_DAY: Final = EPOCH_1900 + (TICKS_PER_DAY << 16) - 1  # the last tick of the last of 2^16 days


class NHibernateComb(GuidLayout):
    """NHibernate's `guid.comb` (`GuidCombGenerator`): the COMB of 2002 with another divisor.

    Byte map (G base GUID: `Guid.NewGuid`, 16 bytes of entropy, or the stream's `guids`; most significant byte first):

    r0 … r9 G   r10 r11 days since 1900   r12 … r15 milliseconds since midnight ÷ 3.333333, truncated

    Quirks, kept: the divisor is 3.333333, and SQL Server's unit is 10/3 ms. So by the end of the day the time is up to
    three units ahead of a COMB's, and in the day's last 5 ms it is above 25,920,000 units, which RT.Comb's reader and
    SQL Server's CAST AS DATETIME refuse. The quotient is computed with doubles. Days wrap: 2079-06-07 and 1900-01-01
    are both 0. Version and variant are the base GUID's. The time is UTC since 4.1 (2015); before, it was local. Nothing
    upstream reads it; `decode` reads the byte map.
    """

    def fill(self, data: Bytes, writer: Writer) -> None:
        """Puts the next GUIDs into `data`."""
        writer.base_guids(data)
        ticks = writer.readings(len(data))
        units = (since_midnight(ticks) / TICKS_PER_MS / _MS_PER_UNIT).astype(np.int64)
        # TimeSpan.Days truncates towards zero (numpy rounds down), so the day before 1900-01-01 is day 0, too.
        since_1900 = ticks - EPOCH_1900
        days = (np.abs(since_1900).view(np.uint64) // np.uint64(TICKS_PER_DAY)).view(np.int64)
        np.negative(days, out=days, where=since_1900 < 0)
        days &= 0xFFFF
        bits.put_u48(data, 10, days << 32 | units)

    def decode(self, keys: Keys) -> Decoded:
        """The first tick of the key's unit, or the tick before it; UsageError where the time is longer than a day."""
        dates = bits.get_u48(keys, 10)
        units = (dates & np.uint64(0xFFFF_FFFF)).view(np.int64)
        bits.refuse_keys(self.name, keys, units >= _UNITS_PER_DAY, "its time component exceeds 24 hours")
        ticks_of_day = (units * _MS_PER_UNIT * TICKS_PER_MS).astype(np.int64)
        return Decoded((dates >> np.uint64(32)).view(np.int64) * TICKS_PER_DAY + EPOCH_1900 + ticks_of_day)


_MARTEN_UNITS_PER_DAY: Final = 86_400 * 300
_HIGH_UNITS: Final = np.uint64(0xFFFF << 12)
_DAYS_AND_LOW_UNITS: Final = np.uint64(0xFFFF << 32 | 0xFFF)
"""Masks for `sql_datetime`: U27 … U12 of the units, and the days with U11 … U0."""
_LAST_2016: Final = EPOCH_1900 + 65_535 * TICKS_PER_DAY  # the last tick that the keys of 2016 can hold


class Marten(GuidLayout):
    """Marten's and JasperFx's `CombGuidIdGeneration`: the current one, and that of its first months.

    Byte maps (G base GUID: `Guid.NewGuid`, 16 bytes of entropy, or the stream's `guids`):

    marten        r0 … r5 T                                            r6 … r15 G    since 2016-10
    marten-2016   n0 n1 D   n2 n3 U27 … U12   n4 4 and U11 … U8   n5 U7 … U0   n6 … n15 G   2016-03 … 2016-10

    T: milliseconds since 1970, most significant byte first, the low 48 bits of a whole number, as RT.Comb's PostgreSql
    provider but without its double arithmetic. D: days since 1900; U: the low 28 bits of the 1/300 s since midnight;
    both as RT.Comb's SqlDateTimeStrategy computes them.

    Quirks, kept. marten: instants before 1970 become other instants; version and variant are the base GUID's.
    marten-2016: the time was written to .NET's bytes without swapping, so the text and PostgreSQL's uuid compare the
    wrong bytes first (issue 579); the digit 4 is in n4, which is not where a version belongs; dates outside 1900-01-01
    … 2079-06-06T00:00 were refused. Nothing upstream reads marten-2016 keys; `decode` reads the byte map. The current
    `GetTimestamp` throws beyond the year 9999, where `decode` still gives the tick.
    """

    def fill(self, data: Bytes, writer: Writer) -> None:
        """Puts the next GUIDs into `data`; UsageError for a reading before the year 1, none after the year 9999."""
        writer.base_guids(data)
        ticks = require_instants(self.name, writer.clock.read(len(data)), 0, np.iinfo(np.int64).max)
        bits.put_u48(data, 0, (ticks - UNIX_EPOCH) // TICKS_PER_MS)


class Marten2016(GuidLayout):
    """`CombGuidIdGeneration` before issue 579: `Marten` has the byte map."""

    def fill(self, data: Bytes, writer: Writer) -> None:
        """Puts the next GUIDs into `data`."""
        writer.base_guids(data)
        dates = sql_datetime(writer.readings(len(data)))
        # U27 … U12 move up by four bits, to make room for the digit 4.
        bits.put_u48_net(data, (dates & _HIGH_UNITS) << np.uint64(4) | np.uint64(4 << 12) | dates & _DAYS_AND_LOW_UNITS)

    def decode(self, keys: Keys) -> Decoded:
        """The unit's first tick; UsageError for a key without the digit 4 or with a time of more than a day."""
        dates = bits.get_u48(keys, 0, "net")
        without_4 = dates >> np.uint64(12) & np.uint64(15) != 4
        bits.refuse_keys(self.name, keys, without_4, "there is no 4 in its fifth byte")
        high, low = dates >> np.uint64(16) & np.uint64(0xFFFF), dates & np.uint64(0xFFF)  # U27 … U12, U11 … U0
        units = (high << np.uint64(12) | low).view(np.int64)
        bits.refuse_keys(self.name, keys, units >= _MARTEN_UNITS_PER_DAY, "its time component exceeds 24 hours")
        days = (dates >> np.uint64(32)).view(np.int64)
        return Decoded(EPOCH_1900 + days * TICKS_PER_DAY + -(-units * 100_000 // 3))  # 1/300 s in ticks, rounded up


_SOURCE: Final = "CombGuidIdGeneration: github.com/JasperFx/marten, github.com/JasperFx/jasperfx"

_RANDOM_AT: Final = 9  # r9 … r15 are random
_VERSION: Final = np.uint64(0x4000)  # the digit 4 at the start of r6 r7, in the word r0 … r7


@dataclass(frozen=True)
class Pomelo(GuidLayout):
    """Pomelo.EntityFrameworkCore.MySql's MySqlSequentialGuidValueGenerator: ticks first, then seven random bytes.

    Byte maps (T the 64 bits of ticks since 0001-01-01, most significant first; R0 … R6 the random bytes of a key):

    pomelo-mysql                 r0 … r5 T63 … T16   r6 4 T15 … T12   r7 T11 … T4   r8 8 T3 … T0   r9 … r15 R0 … R6
    pomelo-mysql-little-endian   n0 … n5 T63 … T16   n6 T11 … T4   n7 4 T15 … T12   n8 8 T3 … T0   n9 … n15 R0 … R6

    The second is for connections with `GuidFormat=LittleEndianBinary16`, which store .NET's bytes. Its version and
    variant are where GUIDs have them, so T11 … T4 come before T15 … T12: its order breaks every 65,536 ticks (6.5 ms).

    The keys have version 4 (random) and the variant digit 8. They take seven bytes of entropy each; keys of one tick
    come in no order.
    """

    little_endian: bool = False

    def fill(self, data: Bytes, writer: Writer) -> None:
        """Puts the next GUIDs into `data`."""
        bits.draw_bytes(data, _RANDOM_AT, writer.entropy, 16 - _RANDOM_AT)  # first: it overwrites the whole row
        ticks = writer.readings(len(data)).view(np.uint64)
        first_48_bits = ticks & ~np.uint64(0xFFFF)
        bits_15_to_4 = ticks >> np.uint64(4) & np.uint64(0xFFF)
        bits.put_word(data, 0, first_48_bits | _VERSION | bits_15_to_4)  # r0 … r5, then r6 r7
        data[:, 8] = ticks & np.uint64(0xF) | np.uint64(0x80)
        if self.little_endian:
            # In .NET's bytes n6 n7 are r7 r6, as the map wants: only r0 … r5 are still in the wrong order.
            bits.swap_first_fields(data)

    def decode(self, keys: Keys) -> Decoded:
        """The tick; UsageError for a key without the digits 4 and 8, or beyond the year 9999."""
        high, low = bits.read_words(keys)
        wrong = (high >> np.uint64(12) & np.uint64(15) != 4) | (low >> np.uint64(60) != 8)
        bits.refuse_keys(self.name, keys, wrong, "version and variant are not 4 and 8")
        if self.little_endian:  # n0 … n5 in place of r0 … r5
            first = bits.read_words(keys, "net")[0]
            high = first & ~np.uint64(0xFFFF) | high & np.uint64(0xFFFF)
        # T63 … T16, T15 … T4 behind the digit 4, and T3 … T0 behind the digit 8
        ticks = (high >> np.uint64(16)) << np.uint64(16) | (high & np.uint64(0xFFF)) << np.uint64(4)
        ticks |= low >> np.uint64(56) & np.uint64(15)
        bits.refuse_keys(self.name, keys, ticks > DATETIME_LAST, "its time lies beyond the year 9999")
        return Decoded(ticks.view(np.int64))


def _description(diagram: str, time: str, resolution: int, *caveats: str) -> Description:
    """What both of Pomelo's layouts declare; `time` explains the time's bits, `resolution` is in ticks."""
    return timed(
        diagram,
        {"T": time, "X": "a digit 8 where RFC 9562 has its variant"},
        Timestamp("100 ns since 0001-01-01", 0, DATETIME_LAST, resolution, span=1 << 64),
        "keys of one tick come in no order",
        "the keys have version 4: MariaDB's uuid sorts them by their end, which is random",
        *caveats,
    )


_POMELO_SOURCE: Final = "github.com/PomeloFoundation/Pomelo.EntityFrameworkCore.MySql MySqlSequentialGuidValueGenerator"


LAYOUTS = (
    NHibernateComb(
        "nhibernate-comb",
        "NHibernate guid.comb: a random GUID whose last six bytes are days and about 1/300 s",
        "github.com/nhibernate/nhibernate-core GuidCombGenerator",
        order="mssql",
        aliases=("nhibernate-guid-comb",),
        description=timed(
            "R48 V4:4 R12 X2:2 R14 D16 T32",
            {"D": "days since 1900", "T": "milliseconds since midnight ÷ 3.333333"},
            Timestamp("3.333333 ms", EPOCH_1900, _LAST_DAY, 33_334, "another instant", span=SQL_DATETIME_SPAN),
            "keys of one unit come in no order",
            "RT.Comb and CAST AS DATETIME refuse the times of a day's last 5 ms",
            "version and variant are the base GUID's",
        ),
    ),
    Marten(
        "marten",
        "Marten / JasperFx CombGuidIdGeneration: a random GUID whose first six bytes are Unix milliseconds",
        _SOURCE,
        aliases=("jasperfx", "marten-comb"),
        description=timed(
            "T48 V4:4 R12 X2:2 R62",
            {"T": "milliseconds since 1970"},
            replace(UNIX_MILLISECONDS, outside="another instant"),
            "keys of one millisecond come in no order",
            "MariaDB's uuid sorts version 4 by its end, which is random here",
            reads={"time": "T"},
        ),
    ),
    Marten2016(
        "marten-2016",
        "Marten of 2016-03 … 2016-10: days and 1/300 s in .NET's first bytes, scattered in PostgreSQL",
        _SOURCE + ", before issue 579",
        order="net",
        description=timed(
            "L8 H8 D16 U8 C4:4 M4 V4:4 R12 X2:2 R62",
            {
                "D": "days since 1900, its bytes swapped",
                "H": "1/300 s since midnight, bits 27 … 20",
                "L": "bits 19 … 12",
                "M": "bits 11 … 8",
                "U": "bits 7 … 0",
                "C": "a digit 4",
            },
            Timestamp("1/300 s", EPOCH_1900, _LAST_2016, 33_334, span=SQL_DATETIME_SPAN >> 4),
            "keys of one unit come in no order",
            "in the order of the text, as in PostgreSQL's uuid, the keys are scattered",
            "the last ticks before midnight get the next day's number with this day's time",
        ),
    ),
    Pomelo(
        "pomelo-mysql",
        "Pomelo EF Core provider for MySQL: 64 bits of ticks around version and variant, then 56 random bits",
        _POMELO_SOURCE,
        aliases=("pomelo",),
        description=_description("T48 V4:4 T12 X4:8 T4 R56", "ticks since 0001-01-01", 1),
    ),
    Pomelo(
        "pomelo-mysql-little-endian",
        "the same for GuidFormat=LittleEndianBinary16: ascends in .NET's bytes, but its order breaks every 6.5 ms",
        _POMELO_SOURCE + " with LittleEndianBinary16",
        order="net",
        aliases=("pomelo-little-endian",),
        little_endian=True,
        description=_description(
            "T48 V4:4 T12 X4:8 T4 R56",
            "ticks since 0001-01-01; the first 48 bits are shuffled in the text",
            1 << 16,
            "order breaks every 65,536 ticks (6.5 ms)",
        ),
    ),
)
