"""Spanner's bit-reversed sequence: a counter's bits in reverse order, so that successive keys lie far apart.

`CREATE SEQUENCE … OPTIONS (sequence_kind = 'bit_reversed_positive')` counts 1, 2, 3 … and returns each number with its
63 bits below the sign reversed, as `BIT_REVERSE(number, TRUE)` does. Half of the key space is as far as two successive
keys come apart, a quarter the next two, and so on: each power of two of successive keys covers the key space evenly.

bigint-bit-reversed   0, N63 the row's number, last bit first

The number is the row's in the planned order of all writers. Spanner gives numbers to its servers in blocks, and skips
some.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from keybench.generators.core.description import Description
from keybench.generators.core.layout import Decoded, KeysRefused, require_form
from keybench.generators.core.stream import ChunkLayout, Writer
from keybench.model.keys import Ints, Keys

_MASKS: Final = (
    (1, 0x5555555555555555),
    (2, 0x3333333333333333),
    (4, 0x0F0F0F0F0F0F0F0F),
    (8, 0x00FF00FF00FF00FF),
    (16, 0x0000FFFF0000FFFF),
    (32, 0x00000000FFFFFFFF),
)


def bit_reversed(numbers: Ints) -> Ints:
    """The numbers, int64 (n,), with the 63 bits below the sign in reverse order; the sign stays."""
    words = numbers.view(np.uint64) << np.uint64(1)
    for by, mask in _MASKS:
        shift, low = np.uint64(by), np.uint64(mask)
        words = (words >> shift & low) | (words & low) << shift
    return (words | numbers.view(np.uint64) & np.uint64(1 << 63)).view(np.int64)


class BitReversed(ChunkLayout):
    """Row numbers with their bits reversed."""

    reads_clock = "never"

    def chunk(self, n: int, writer: Writer) -> Ints:
        """The next n numbers."""
        return bit_reversed(np.ascontiguousarray(writer.row_numbers(n)))

    def decode(self, keys: Keys) -> Decoded:
        """The row's number; KeysRefused for a negative key."""
        require_form(self.name, keys, self.kind, 8)
        if (keys.data < 0).any():
            raise KeysRefused(f"{int(keys.data.min())} is no {self.name} key: none is negative.", keys.data < 0)
        return Decoded(fields={"number": bit_reversed(np.asarray(keys.data, np.int64))})


LAYOUTS = (
    BitReversed(
        "bigint-bit-reversed",
        "64-bit row number with its bits reversed, as from Spanner's bit-reversed sequence",
        "Spanner documentation, bit_reversed_positive sequences; BIT_REVERSE",
        order="none",
        kind="int",
        description=Description(
            "Z1:0 N63",
            {"Z": "the sign", "N": "row number, last bit first"},
            uniqueness="plan",
            random="",
            caveats=("comes in no order, on purpose: in a single index it costs what a random key costs",),
        ),
    ),
)
