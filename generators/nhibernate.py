"""NHibernate's `guid.comb`: the COMB of 2002 with another divisor.

Byte map (G base GUID: `Guid.NewGuid`, 16 bytes of entropy, or the stream's `guids`; most significant byte first):

r0 … r9 G   r10 r11 days since 1900   r12 … r15 milliseconds since midnight ÷ 3.333333, truncated

Quirks, kept: the divisor is 3.333333, and SQL Server's unit is 10/3 ms. So by the end of the day the time is up to
three units ahead of a COMB's, and in the day's last 5 ms it is above 25,920,000 units, which RT.Comb's reader and SQL
Server's CAST AS DATETIME refuse. The quotient is computed with doubles. Days wrap: 2079-06-07 and 1900-01-01 are both
0. Version and variant are the base GUID's. The time is UTC since 4.1 (2015); before, it was local. Nothing upstream
reads it; `decode` reads the byte map.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from keybench.generators.core.bits import get_u48, put_u48
from keybench.generators.core.clock import TICKS_PER_DAY, TICKS_PER_MS
from keybench.generators.core.description import Description, Timestamp
from keybench.generators.core.instants import EPOCH_1900, SQL_DATETIME_SPAN, since_midnight
from keybench.generators.core.layout import Decoded
from keybench.generators.core.stream import GuidLayout, Writer
from keybench.generators.core.uuids import refuse_keys
from keybench.model.keys import Bytes, Keys

_MS_PER_UNIT: Final = 3.333333
_UNITS_PER_DAY: Final = 25_920_003
"""Units that begin within a day."""


class NHibernateComb(GuidLayout):
    """`GuidCombGenerator`."""

    def fill(self, data: Bytes, writer: Writer) -> None:
        """The next n GUIDs."""
        writer.base_guids(data)
        ticks = writer.readings(len(data))
        units = (since_midnight(ticks) / TICKS_PER_MS / _MS_PER_UNIT).astype(np.int64)
        # TimeSpan.Days truncates towards zero, so the day before 1900-01-01 is day 0, too.
        since_1900 = ticks - EPOCH_1900
        days = (np.abs(since_1900).view(np.uint64) // np.uint64(TICKS_PER_DAY)).view(np.int64)
        np.negative(days, out=days, where=since_1900 < 0)
        days &= 0xFFFF
        put_u48(data, 10, days << 32 | units)

    def decode(self, keys: Keys) -> Decoded:
        """The unit's first tick, or the one before; UsageError where the time component is longer than a day."""
        dates = get_u48(keys, 10)
        units = (dates & np.uint64(0xFFFF_FFFF)).view(np.int64)
        refuse_keys(self.name, keys, units >= _UNITS_PER_DAY, "its time component exceeds 24 hours")
        since_midnight = (units * _MS_PER_UNIT * TICKS_PER_MS).astype(np.int64)
        return Decoded((dates >> np.uint64(32)).view(np.int64) * TICKS_PER_DAY + EPOCH_1900 + since_midnight)


LAYOUTS = (
    NHibernateComb(
        "nhibernate-comb",
        "NHibernate guid.comb: a random GUID whose last six bytes are days and about 1/300 s",
        "github.com/nhibernate/nhibernate-core GuidCombGenerator",
        order="mssql",
        aliases=("nhibernate-guid-comb",),
        description=Description(
            "R48 V4:4 R12 X2:2 R14 D16 T32",
            {"D": "days since 1900", "T": "milliseconds since midnight ÷ 3.333333"},
            within="by time",
            across="by time",
            time=Timestamp(
                "3.333333 ms",
                EPOCH_1900,
                EPOCH_1900 + (TICKS_PER_DAY << 16) - 1,
                33_334,
                "another instant",
                span=SQL_DATETIME_SPAN,
            ),
            caveats=(
                "keys of one unit come in no order",
                "RT.Comb and CAST AS DATETIME refuse the times of a day's last 5 ms",
                "version and variant are the base GUID's",
            ),
        ),
    ),
)
