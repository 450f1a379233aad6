"""UUID version 4 (RFC 9562 §5.4): 122 random bits.

Byte map (R random for each key, 4 the version, V the variant bits 10 and six random bits):

uuid-v4   r0 … r5 R   r6 4R   r7 R   r8 V   r9 … r15 R
"""

from __future__ import annotations

from typing import Final

import numpy as np

from keybench.generators.core.description import Description
from keybench.generators.core.guids import RandomGuids
from keybench.generators.core.layout import Composer, Halves, OneCall, Stream
from keybench.generators.core.stream import GuidStream, Writer, WriterLayout
from keybench.model.keys import Bytes, Ints

_FIXED: Final = 4 << 76 | 2 << 62
_RANDOM: Final = (1 << 128) - 1 ^ (0xF << 76 | 3 << 62)
_KEEP, _VERSION = np.uint64((1 << 64) - 1 ^ 0xF << 12), np.uint64(4 << 12)
_KEEP_LAST, _VARIANT = np.uint64((1 << 62) - 1), np.uint64(1 << 63)


class Version4(WriterLayout):
    """Random UUIDs: they ascend in no order, and nothing can be read back."""

    reads_clock = "never"

    def start(self, writer: Writer) -> Stream:
        """A stream of random UUIDs."""
        return RandomUuids(RandomGuids(writer.entropy))

    def composer(self) -> Composer:
        """One UUID."""
        fixed, mask = _FIXED, _RANDOM
        return lambda _, random: random & mask | fixed

    def one_call(self) -> OneCall:
        """One UUID."""
        return OneCall(_one, random_bytes=16, reads_clock=False)


def _one(_state: Ints, _tick: int, first: np.uint64, last: np.uint64) -> Halves:
    return first & _KEEP | _VERSION, last & _KEEP_LAST | _VARIANT


class RandomUuids(GuidStream):
    """UUIDs of version 4; 16 bytes of entropy a key."""

    def __init__(self, guids: RandomGuids) -> None:
        self._guids = guids

    def fill(self, data: Bytes) -> None:
        """The next n UUIDs."""
        self._guids.fill(data)


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
)
