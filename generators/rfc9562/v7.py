"""UUID version 7 (RFC 9562 §5.7) without a counter: 48-bit Unix milliseconds, then 74 random bits.

Byte map (T time, R random for each key, 7 the version, V the variant bits 10 and six random bits):

uuid-v7   r0 … r5 T   r6 7R   r7 R   r8 V   r9 … r15 R

Keys of one millisecond come in no order. .NET 9's `Guid.CreateVersion7` makes the same keys.
"""

from __future__ import annotations

import numpy as np

from keybench.generators.core.bits import put_u48, stamp_version
from keybench.generators.core.clock import TICKS_PER_MS, UNIX_EPOCH
from keybench.generators.core.description import Description
from keybench.generators.core.instants import UNIX_MILLISECONDS
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
        return OneCall(one_v7, random_bytes=16)

    def decode(self, keys: Keys) -> Decoded:
        """The millisecond; UsageError for a key of another version or variant."""
        return Decoded(ticks_of_v7(require_version(self.name, keys, 7)[0]))


def one_v7(_state: Ints, tick: int, first: np.uint64, last: np.uint64) -> Halves:
    """The rule of one call: milliseconds over 48 of 128 random bits, then version and variant."""
    high = np.uint64((tick - UNIX_EPOCH) // TICKS_PER_MS) << np.uint64(16)
    return high | first & np.uint64(0xFFF) | np.uint64(0x7000), last & _KEEP_LAST | _VARIANT


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
            caveats=(
                "keys of one millisecond come in no order",
                "random to SQL Server's uniqueidentifier, which sorts by the end",
            ),
        ),
    ),
)
