"""UUID version 7 (RFC 9562 §5.7) without a counter: 48-bit Unix milliseconds, then 74 random bits.

Byte map (T time, R random for each key, 7 the version, V the variant bits 10 and six random bits):

uuid-v7   r0 … r5 T   r6 7R   r7 R   r8 V   r9 … r15 R

Keys of one millisecond come in no order. .NET 9's `Guid.CreateVersion7` makes the same keys.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from keybench.generators.core.bits import get_u48, put_u48
from keybench.generators.core.clock import TICKS_PER_MS, UNIX_EPOCH
from keybench.generators.core.description import Description, Timestamp
from keybench.generators.core.instants import UNIX_48_BIT_LAST, require_instants, unix_milliseconds
from keybench.generators.core.layout import Composer, Decoded, Halves, OneCall, Stream
from keybench.generators.core.stream import GuidStream, Writer, WriterLayout
from keybench.generators.core.uuids import require_version
from keybench.model.keys import Bytes, Ints, Keys

_FIXED: Final = 7 << 76 | 2 << 62
_RANDOM: Final = (1 << 80) - 1 ^ (0xF << 76 | 3 << 62)
_KEEP_LAST, _VARIANT = np.uint64((1 << 62) - 1), np.uint64(1 << 63)


class Version7(WriterLayout):
    """UUIDs that begin with the millisecond."""

    def start(self, writer: Writer) -> Stream:
        """A stream of UUIDs, each with its own clock reading."""
        return TimedUuids(self.name, writer)

    def composer(self) -> Composer:
        """One UUID; UsageError before 1970 and beyond 48 bits of milliseconds."""
        fixed, mask = _FIXED, _RANDOM

        def compose(ns: int, random: int) -> int:
            milliseconds = ns // 1_000_000
            if milliseconds >> 48:
                require_instants(self.name, np.array([ns // 100 + UNIX_EPOCH]), UNIX_EPOCH, UNIX_48_BIT_LAST)
            return milliseconds << 80 | random & mask | fixed

        return compose

    def one_call(self) -> OneCall:
        """One UUID."""
        return OneCall(one_v7, random_bytes=16)

    def decode(self, keys: Keys) -> Decoded:
        """The millisecond; UsageError for a key of another version or variant."""
        require_version(self.name, keys, 7)
        return Decoded(get_u48(keys, 0).view(np.int64) * TICKS_PER_MS + UNIX_EPOCH)


def one_v7(_state: Ints, tick: int, first: np.uint64, last: np.uint64) -> Halves:
    """The rule of one call: milliseconds over 48 of 128 random bits, then version and variant."""
    high = np.uint64((tick - UNIX_EPOCH) // TICKS_PER_MS) << np.uint64(16)
    return high | first & np.uint64(0xFFF) | np.uint64(0x7000), last & _KEEP_LAST | _VARIANT


class TimedUuids(GuidStream):
    """UUIDs of version 7; 16 bytes of entropy a key, of which time, version and variant overwrite 54 bits."""

    def __init__(self, name: str, writer: Writer) -> None:
        self._name = name
        self._entropy = writer.entropy
        self._clock = writer.clock

    def fill(self, data: Bytes) -> None:
        """The next n UUIDs; UsageError before 1970 and beyond 48 bits of milliseconds."""
        self._entropy.fill(data)
        put_u48(data, 0, unix_milliseconds(self._name, self._clock.read(len(data)), UNIX_48_BIT_LAST), version=7)


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
            time=Timestamp("milliseconds since 1970", UNIX_EPOCH, UNIX_48_BIT_LAST, TICKS_PER_MS),
            caveats=(
                "keys of one millisecond come in no order",
                "random to SQL Server's uniqueidentifier, which sorts by the end",
            ),
        ),
    ),
)
