"""Pomelo.EntityFrameworkCore.MySql's MySqlSequentialGuidValueGenerator: ticks first, then seven random bytes.

Byte maps (T the 64 bits of ticks since 0001-01-01, most significant first; R0 … R6 the random bytes of a key):

pomelo-mysql                 r0 … r5 T63 … T16   r6 4 T15 … T12   r7 T11 … T4   r8 8 T3 … T0   r9 … r15 R0 … R6
pomelo-mysql-little-endian   n0 … n5 T63 … T16   n6 T11 … T4   n7 4 T15 … T12   n8 8 T3 … T0   n9 … n15 R0 … R6

The second is for connections with `GuidFormat=LittleEndianBinary16`, which store .NET's bytes. Its version and variant
are where GUIDs have them, so T11 … T4 come before T15 … T12: its order breaks every 65,536 ticks (6.5 ms).

The keys have version 4 (random) and the variant digit 8. They take seven bytes of entropy each; keys of one tick come
in no order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from keybench.generators.core.bits import draw_bytes, put_word, read_words, swap_first_fields
from keybench.generators.core.description import Description, Timestamp
from keybench.generators.core.instants import DATETIME_LAST
from keybench.generators.core.layout import Decoded
from keybench.generators.core.stream import GuidLayout, Writer
from keybench.generators.core.uuids import refuse_keys
from keybench.model.keys import Bytes, Keys

_RANDOM_BYTES: Final = 7
_VERSION: Final = np.uint64(0x4000)


@dataclass(frozen=True)
class Pomelo(GuidLayout):
    """The generator for one of the two formats in which a connection stores GUIDs."""

    little_endian: bool = False

    def fill(self, data: Bytes, writer: Writer) -> None:
        """The next n GUIDs."""
        draw_bytes(data, 9, writer.entropy, _RANDOM_BYTES)
        ticks = writer.readings(len(data)).view(np.uint64)
        data[:, 8] = ticks & np.uint64(0xF) | np.uint64(0x80)
        put_word(data, 0, ticks & ~np.uint64(0xFFFF) | _VERSION | ticks << np.uint64(48) >> np.uint64(52))
        if self.little_endian:
            # Data3 is already right in both forms.
            swap_first_fields(data)

    def decode(self, keys: Keys) -> Decoded:
        """The tick; UsageError for a key without the digits 4 and 8, or beyond the year 9999."""
        high, low = read_words(keys)
        other = (high >> np.uint64(12) & np.uint64(15) != 4) | (low >> np.uint64(60) != 8)
        refuse_keys(self.name, keys, other, "version and variant are not 4 and 8")
        if self.little_endian:
            first = read_words(keys, "net")[0]
            high = first & ~np.uint64(0xFFFF) | high & np.uint64(0xFFFF)
        ticks = (high >> np.uint64(16)) << np.uint64(16) | (high & np.uint64(0xFFF)) << np.uint64(4)
        ticks |= low >> np.uint64(56) & np.uint64(15)
        refuse_keys(self.name, keys, ticks > DATETIME_LAST, "its time lies beyond the year 9999")
        return Decoded(ticks.view(np.int64))


def _description(diagram: str, time: str, resolution: int, *caveats: str) -> Description:
    return Description(
        diagram,
        {"T": time, "X": "a digit 8 where RFC 9562 has its variant"},
        within="by time",
        across="by time",
        time=Timestamp("100 ns since 0001-01-01", 0, DATETIME_LAST, resolution, span=1 << 64),
        caveats=(
            "keys of one tick come in no order",
            "the keys have version 4: MariaDB's uuid sorts them by their end, which is random",
            *caveats,
        ),
    )


_SOURCE: Final = "github.com/PomeloFoundation/Pomelo.EntityFrameworkCore.MySql MySqlSequentialGuidValueGenerator"

LAYOUTS = (
    Pomelo(
        "pomelo-mysql",
        "Pomelo EF Core provider for MySQL: 64 bits of ticks around version and variant, then 56 random bits",
        _SOURCE,
        order="rfc",
        aliases=("pomelo",),
        description=_description("T48 V4:4 T12 X4:8 T4 R56", "ticks since 0001-01-01", 1),
    ),
    Pomelo(
        "pomelo-mysql-little-endian",
        "the same for GuidFormat=LittleEndianBinary16: ascends in .NET's bytes, but its order breaks every 6.5 ms",
        _SOURCE + " with LittleEndianBinary16",
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
