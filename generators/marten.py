"""Marten's and JasperFx's `CombGuidIdGeneration`: the current one, and that of its first months.

Byte maps (G base GUID: `Guid.NewGuid`, 16 bytes of entropy, or the stream's `guids`):

marten        r0 … r5 T                                            r6 … r15 G    since 2016-10
marten-2016   n0 n1 D   n2 n3 U27 … U12   n4 4 and U11 … U8   n5 U7 … U0   n6 … n15 G   2016-03 … 2016-10

T: milliseconds since 1970, most significant byte first, the low 48 bits of a whole number, as RT.Comb's PostgreSql
provider but without its double arithmetic. D: days since 1900; U: the low 28 bits of the 1/300 s since midnight; both
as RT.Comb's SqlDateTimeStrategy computes them.

Quirks, kept. marten: instants before 1970 become other instants; version and variant are the base GUID's. marten-2016:
the time was written to .NET's bytes without swapping, so the text and PostgreSQL's uuid compare the wrong bytes first
(issue 579); the digit 4 is in n4, which is not where a version belongs; dates outside 1900-01-01 … 2079-06-06T00:00
were refused. Nothing upstream reads marten-2016 keys; `decode` reads the byte map. The current `GetTimestamp` throws
beyond the year 9999, where `decode` still gives the tick.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from keybench.generators.core.bits import get_u48, put_u48, put_u48_net
from keybench.generators.core.clock import TICKS_PER_DAY, TICKS_PER_MS, UNIX_EPOCH
from keybench.generators.core.description import Description, Timestamp
from keybench.generators.core.instants import (
    EPOCH_1900,
    SQL_DATETIME_SPAN,
    UNIX_MILLISECONDS,
    require_instants,
    sql_datetime,
)
from keybench.generators.core.layout import Decoded
from keybench.generators.core.stream import GuidLayout, Writer
from keybench.generators.core.uuids import refuse_keys
from keybench.model.keys import Bytes, Keys

_UNITS_PER_DAY: Final = 86_400 * 300
_HIGH_UNITS: Final = np.uint64(0xFFFF << 12)
_DAYS_AND_LOW_UNITS: Final = np.uint64(0xFFFF << 32 | 0xFFF)
_LAST_2016: Final = EPOCH_1900 + 65_535 * TICKS_PER_DAY


class Marten(GuidLayout):
    """`CombGuidIdGeneration` since issue 579."""

    def fill(self, data: Bytes, writer: Writer) -> None:
        """The next n GUIDs; UsageError for a reading before the year 1."""
        writer.base_guids(data)
        ticks = require_instants(self.name, writer.clock.read(len(data)), 0, np.iinfo(np.int64).max)
        put_u48(data, 0, (ticks - UNIX_EPOCH) // TICKS_PER_MS)

    def decode(self, keys: Keys) -> Decoded:
        """The millisecond."""
        return Decoded(get_u48(keys, 0).view(np.int64) * TICKS_PER_MS + UNIX_EPOCH)


class Marten2016(GuidLayout):
    """`CombGuidIdGeneration` before issue 579."""

    def fill(self, data: Bytes, writer: Writer) -> None:
        """The next n GUIDs."""
        writer.base_guids(data)
        dates = sql_datetime(writer.readings(len(data)))
        put_u48_net(data, (dates & _HIGH_UNITS) << np.uint64(4) | np.uint64(4 << 12) | dates & _DAYS_AND_LOW_UNITS)

    def decode(self, keys: Keys) -> Decoded:
        """The unit's first tick; UsageError for a key without the digit 4 or with a time of more than a day."""
        dates = get_u48(keys, 0, "net")
        refuse_keys(self.name, keys, dates >> np.uint64(12) & np.uint64(15) != 4, "there is no 4 in its fifth byte")
        high, low = dates >> np.uint64(16) & np.uint64(0xFFFF), dates & np.uint64(0xFFF)
        units = (high << np.uint64(12) | low).view(np.int64)
        refuse_keys(self.name, keys, units >= _UNITS_PER_DAY, "its time component exceeds 24 hours")
        days = (dates >> np.uint64(32)).view(np.int64)
        return Decoded(EPOCH_1900 + days * TICKS_PER_DAY + -(-units * 100_000 // 3))


_SOURCE: Final = "CombGuidIdGeneration: github.com/JasperFx/marten, github.com/JasperFx/jasperfx"

LAYOUTS = (
    Marten(
        "marten",
        "Marten / JasperFx CombGuidIdGeneration: a random GUID whose first six bytes are Unix milliseconds",
        _SOURCE,
        order="rfc",
        aliases=("jasperfx", "marten-comb"),
        description=Description(
            "T48 V4:4 R12 X2:2 R62",
            {"T": "milliseconds since 1970"},
            within="by time",
            across="by time",
            time=replace(UNIX_MILLISECONDS, outside="another instant"),
            caveats=(
                "keys of one millisecond come in no order",
                "MariaDB's uuid sorts version 4 by its end, which is random here",
            ),
        ),
    ),
    Marten2016(
        "marten-2016",
        "Marten of 2016-03 … 2016-10: days and 1/300 s in .NET's first bytes, scattered in PostgreSQL",
        _SOURCE + ", before issue 579",
        order="net",
        description=Description(
            "L8 H8 D16 U8 C4:4 M4 V4:4 R12 X2:2 R62",
            {
                "D": "days since 1900, its bytes swapped",
                "H": "1/300 s since midnight, bits 27 … 20",
                "L": "bits 19 … 12",
                "M": "bits 11 … 8",
                "U": "bits 7 … 0",
                "C": "a digit 4",
            },
            within="by time",
            across="by time",
            time=Timestamp("1/300 s", EPOCH_1900, _LAST_2016, 33_334, span=SQL_DATETIME_SPAN >> 4),
            caveats=(
                "keys of one unit come in no order",
                "in the order of the text, as in PostgreSQL's uuid, the keys are scattered",
                "the last ticks before midnight get the next day's number with this day's time",
            ),
        ),
    ),
)
