"""UUID version 7 (RFC 9562 §5.7) without a counter: 48-bit Unix milliseconds, then 74 random bits.

Byte map (T time, R random for each key, 7 the version, V the variant bits 10 and six random bits):

uuid-v7, dotnet-v7   r0 … r5 T   r6 7R   r7 R   r8 V   r9 … r15 R

Keys of one millisecond come in no order.

dotnet-v7 is .NET 9's `Guid.CreateVersion7`: R is a base GUID, `Guid.NewGuid` or the stream's `guids`. With random base
GUIDs (16 bytes of entropy a key) the keys are those of `uuid-v7`. Npgsql's `NpgsqlSequentialGuidValueGenerator` has
called it since 2025-07; Npgsql 9.0 had a copy of it. An instant is a DateTimeOffset, so years 1970 … 9999; .NET refuses
earlier ones too (ArgumentOutOfRangeException). .NET has no reader; `decode` reads the byte map.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from keybench.generators.core.bits import put_u48, stamp_version
from keybench.generators.core.clock import TICKS_PER_MS, UNIX_EPOCH
from keybench.generators.core.description import Description, Timestamp
from keybench.generators.core.instants import DATETIME_LAST, UNIX_48_BIT_SPAN, UNIX_MILLISECONDS
from keybench.generators.core.layout import Decoded, Halves, OneCall
from keybench.generators.core.stream import GuidLayout, Writer
from keybench.generators.core.uuids import require_version, ticks_of_v7
from keybench.model.keys import Bytes, Ints, Keys

_KEEP_LAST, _VARIANT = np.uint64((1 << 62) - 1), np.uint64(1 << 63)


class Version7(GuidLayout):
    """UUIDs that begin with the millisecond."""

    def fill(self, data: Bytes, writer: Writer) -> None:
        """The next n UUIDs; 16 bytes of entropy a key, of which time, version and variant overwrite 54 bits."""
        writer.entropy.fill(data)
        put_u48(data, 0, writer.unix_milliseconds(len(data)))
        stamp_version(data, 7)

    def one_call(self) -> OneCall:
        """One UUID."""
        return OneCall(_one, random_bytes=16)

    def decode(self, keys: Keys) -> Decoded:
        """The millisecond; UsageError for a key of another version or variant."""
        return Decoded(ticks_of_v7(require_version(self.name, keys, 7)[0]))


def _one(_state: Ints, tick: int, first: np.uint64, last: np.uint64) -> Halves:
    """The rule of one call: milliseconds over 48 of 128 random bits, then version and variant."""
    high = np.uint64((tick - UNIX_EPOCH) // TICKS_PER_MS) << np.uint64(16)
    return high | first & np.uint64(0xFFF) | np.uint64(0x7000), last & _KEEP_LAST | _VARIANT


class CreateVersion7(Version7):
    """`Guid.CreateVersion7`: a base GUID overwritten with the millisecond, version and variant."""

    def fill(self, data: Bytes, writer: Writer) -> None:
        """The next n GUIDs."""
        writer.base_guids(data)
        put_u48(data, 0, writer.unix_milliseconds(len(data)))
        stamp_version(data, 7)


_CAVEATS: Final = (
    "keys of one millisecond come in no order",
    "random to SQL Server's uniqueidentifier, which sorts by the end",
)

LAYOUTS = (
    Version7(
        "uuid-v7",
        "48-bit Unix milliseconds, then 74 random bits, no counter",
        "RFC 9562 §5.7",
        order="rfc",
        description=Description(
            "T48 V4:7 R12 X2:2 R62",
            {"T": "milliseconds since 1970"},
            within="by time",
            across="by time",
            time=UNIX_MILLISECONDS,
            caveats=_CAVEATS,
        ),
    ),
    CreateVersion7(
        "dotnet-v7",
        ".NET 9 Guid.CreateVersion7, also Npgsql's: a NewGuid with Unix milliseconds over its first six bytes",
        "github.com/dotnet/runtime Guid.cs; github.com/npgsql/efcore.pg NpgsqlSequentialGuidValueGenerator",
        order="rfc",
        aliases=("dotnet-createversion7", "npgsql-sequential"),
        description=Description(
            "T48 V4:7 R12 X2:2 R62",
            {"T": "milliseconds since 1970"},
            within="by time",
            across="by time",
            time=Timestamp("milliseconds since 1970", UNIX_EPOCH, DATETIME_LAST, TICKS_PER_MS, span=UNIX_48_BIT_SPAN),
            caveats=_CAVEATS,
        ),
    ),
)
