"""UUIDs of RFC 9562.

Byte maps (T time, R random for each key, 7 and 4 the version, V the variant bits 10 and six random bits):

uuid-v4   r0 … r5 R   r6 4R   r7 R   r8 V   r9 … r15 R              122 random bits (§5.4)
uuid-v7   r0 … r5 T   r6 7R   r7 R   r8 V   r9 … r15 R              48-bit Unix milliseconds, 74 random bits (§5.7)

uuid-v7 has no counter: keys of one millisecond come in no order. .NET 9's `Guid.CreateVersion7` makes the same keys.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from keybench.generators.core.bits import Words, get_u48, put_u48, read_words
from keybench.generators.core.clock import TICKS_PER_MS, UNIX_EPOCH
from keybench.generators.core.description import Description, Timestamp
from keybench.generators.core.guids import RandomGuids
from keybench.generators.core.instants import refuse_keys, require_instants, unix_milliseconds
from keybench.generators.core.layout import Composer, Decoded, Stream
from keybench.generators.core.stream import GuidStream, Writer, WriterLayout
from keybench.model.keys import Bytes, Keys

V7_LAST: Final = UNIX_EPOCH + (TICKS_PER_MS << 48) - 1
"""The last tick of the last of 2^48 milliseconds since 1970."""


def require_version(layout: str, keys: Keys, version: int) -> tuple[Words, Words]:
    """The two halves of each UUID as numbers (`read_words`); UsageError for a key of another version or variant."""
    high, low = read_words(keys)
    other = (high >> np.uint64(12) & np.uint64(15) != version) | (low >> np.uint64(62) != 2)
    refuse_keys(layout, keys, other, f"version and variant are not those of UUIDv{version}")
    return high, low


_FIXED: Final = {version: version << 76 | 2 << 62 for version in (4, 7)}
_RANDOM_V4: Final = (1 << 128) - 1 ^ (0xF << 76 | 3 << 62)
_RANDOM_V7: Final = (1 << 80) - 1 ^ (0xF << 76 | 3 << 62)


class RandomUuids(GuidStream):
    """UUIDs of version 4; 16 bytes of entropy a key."""

    def __init__(self, guids: RandomGuids) -> None:
        self._guids = guids

    def fill(self, data: Bytes) -> None:
        """The next n UUIDs."""
        self._guids.fill(data)


class TimedUuids(GuidStream):
    """UUIDs of version 7; 16 bytes of entropy a key, of which time, version and variant overwrite 54 bits."""

    def __init__(self, name: str, writer: Writer) -> None:
        self._name = name
        self._entropy = writer.entropy
        self._clock = writer.clock

    def fill(self, data: Bytes) -> None:
        """The next n UUIDs; UsageError before 1970 and beyond 48 bits of milliseconds."""
        self._entropy.fill(data)
        put_u48(data, 0, unix_milliseconds(self._name, self._clock.read(len(data)), V7_LAST), version=7)


class Version4(WriterLayout):
    """Random UUIDs: they ascend in no order and hold nothing that could be read back."""

    reads_clock = "never"

    def start(self, writer: Writer) -> Stream:
        """A stream of random UUIDs."""
        return RandomUuids(RandomGuids(writer.entropy))

    def composer(self) -> Composer:
        """One UUID."""
        fixed, mask = _FIXED[4], _RANDOM_V4
        return lambda _, random: random & mask | fixed


class Version7(WriterLayout):
    """UUIDs that begin with the millisecond."""

    def start(self, writer: Writer) -> Stream:
        """A stream of UUIDs, each with its own clock reading."""
        return TimedUuids(self.name, writer)

    def composer(self) -> Composer:
        """One UUID; UsageError before 1970 and beyond 48 bits of milliseconds."""
        fixed, mask = _FIXED[7], _RANDOM_V7

        def compose(ns: int, random: int) -> int:
            milliseconds = ns // 1_000_000
            if milliseconds >> 48:
                require_instants(self.name, np.array([ns // 100 + UNIX_EPOCH]), UNIX_EPOCH, V7_LAST)
            return milliseconds << 80 | random & mask | fixed

        return compose

    def decode(self, keys: Keys) -> Decoded:
        """The millisecond; UsageError for a key of another version or variant."""
        require_version(self.name, keys, 7)
        return Decoded(get_u48(keys, 0).view(np.int64) * TICKS_PER_MS + UNIX_EPOCH)


LAYOUTS = (
    Version4(
        "uuid-v4",
        "122 random bits: no order at all",
        "RFC 9562 §5.4",
        order="none",
        description=Description(
            "R48 V4:4 R12 X2:2 R62",
            caveats=("every key goes to a random place of the index, in every column of every database",),
        ),
    ),
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
            time=Timestamp("milliseconds since 1970", UNIX_EPOCH, V7_LAST, TICKS_PER_MS),
            caveats=(
                "keys of one millisecond come in no order",
                "random to SQL Server's uniqueidentifier, which sorts by the end",
            ),
        ),
    ),
)
