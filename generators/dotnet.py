"""`Guid.CreateVersion7` of .NET 9.

Byte map (T 48-bit Unix milliseconds, G base GUID: `Guid.NewGuid`, or the stream's `guids`):

r0 … r5 T   r6 7G   r7 G   r8 variant and G   r9 … r15 G

There are 74 random bits and no counter: keys of one millisecond come in no order. With random base GUIDs (16 bytes of
entropy a key) the keys are those of `uuid-v7`. Npgsql's `NpgsqlSequentialGuidValueGenerator` has called it since
2025-07; Npgsql 9.0 had a copy of it. An instant is a DateTimeOffset, so years 1970 … 9999; .NET refuses earlier ones
too (ArgumentOutOfRangeException). .NET has no reader; `decode` reads the byte map.
"""

from __future__ import annotations

from keybench.generators.core.bits import put_u48, stamp_version
from keybench.generators.core.clock import TICKS_PER_MS, UNIX_EPOCH
from keybench.generators.core.description import Description, Timestamp
from keybench.generators.core.instants import DATETIME_LAST, UNIX_48_BIT_SPAN
from keybench.generators.core.layout import Decoded, OneCall
from keybench.generators.core.stream import GuidLayout, Writer
from keybench.generators.core.uuids import require_version, ticks_of_v7
from keybench.generators.rfc9562.v7 import one_v7
from keybench.model.keys import Bytes, Keys


class CreateVersion7(GuidLayout):
    """`Guid.CreateVersion7`: a base GUID overwritten with the millisecond, version and variant."""

    def fill(self, data: Bytes, writer: Writer) -> None:
        """The next n GUIDs."""
        writer.base_guids(data)
        put_u48(data, 0, writer.unix_milliseconds(len(data)))
        stamp_version(data, 7)

    def one_call(self) -> OneCall:
        """One UUID, over a random base GUID."""
        return OneCall(one_v7, random_bytes=16)

    def decode(self, keys: Keys) -> Decoded:
        """The millisecond; UsageError for a key of another version or variant."""
        return Decoded(ticks_of_v7(require_version(self.name, keys, 7)[0]))


LAYOUTS = (
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
            caveats=(
                "keys of one millisecond come in no order",
                "random to SQL Server's uniqueidentifier, which sorts by the end",
            ),
        ),
    ),
)
