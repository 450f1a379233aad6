"""UUID version 4 (RFC 9562 §5.4): 122 random bits.

Byte map (R random for each key, 4 the version, V the variant bits 10 and six random bits):

uuid-v4   r0 … r5 R   r6 4R   r7 R   r8 V   r9 … r15 R
"""

from __future__ import annotations

import numpy as np

from keybench.generators.core.bits import stamp_version
from keybench.generators.core.description import Description
from keybench.generators.core.layout import Halves, OneCall
from keybench.generators.core.stream import GuidLayout, Writer
from keybench.model.keys import Bytes, Ints

_KEEP, _VERSION = np.uint64((1 << 64) - 1 ^ 0xF << 12), np.uint64(4 << 12)
_KEEP_LAST, _VARIANT = np.uint64((1 << 62) - 1), np.uint64(1 << 63)


class Version4(GuidLayout):
    """Random UUIDs: they ascend in no order, and nothing can be read back."""

    reads_clock = "never"

    def fill(self, data: Bytes, writer: Writer) -> None:
        """The next n UUIDs; 16 bytes of entropy a key."""
        writer.entropy.fill(data)
        stamp_version(data, 4)

    def one_call(self) -> OneCall:
        """One UUID."""
        return OneCall(_one, random_bytes=16, reads_clock=False)


def _one(_state: Ints, _tick: int, first: np.uint64, last: np.uint64) -> Halves:
    return first & _KEEP | _VERSION, last & _KEEP_LAST | _VARIANT


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
