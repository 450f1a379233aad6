"""Integers in planned order: the control that every other layout is compared with.

The client sends the row's number, from 1, in the planned order of all writers. A server that numbers rows itself is
another layout, because it numbers them in the order in which they arrive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from keybench.errors import UsageError
from keybench.generators.core.description import COUNTED, Description
from keybench.generators.core.layout import Decoded, Halves, KeysRefused, OneCall
from keybench.generators.core.stream import WriterLayout, WriterStream
from keybench.model.byteorder import FixedBits
from keybench.model.keys import Ints, Keys


class PlannedNumbers(WriterStream["RowNumber"]):
    """One writer's row numbers, from its first row on."""

    def state(self) -> tuple[int, int]:
        """The step from each number to the next, and the number before the first."""
        first, second = self.writer.process.row_numbers(0, 2).tolist()
        return second - first, 2 * first - second

    def take(self, n: int) -> Keys:
        """The numbers of the next n rows; ValueError where the plan gives fewer, UsageError for one that is too big."""
        numbers = self.writer.row_numbers(n)
        if n and int(numbers.max()) > self.layout.last:
            raise UsageError(
                f"row {self.layout.last + 1:,} has no number of {self.layout.bits} bits: take bigint-identity."
            )
        return Keys(numbers, "int")


@dataclass(frozen=True, kw_only=True)
class RowNumber(WriterLayout):
    """Signed integers 1, 2, 3 … of `bits` bits over all writers."""

    reads_clock = "never"
    streams = PlannedNumbers
    bits: int = 64

    @property
    def last(self) -> int:
        """The greatest number."""
        return (1 << self.bits - 1) - 1

    def shared_bits(self) -> FixedBits:
        """All bits beyond the number's and its sign are 0."""
        beyond = np.arange(64) <= 64 - self.bits
        return beyond, np.zeros(64, np.uint8)

    def decode(self, keys: Keys) -> Decoded:
        """KeysRefused for numbers of more bits, else NothingToRead."""
        beyond = keys.data > self.last
        if beyond.any():
            raise KeysRefused(f"{keys.data[beyond][0]:,} is no {self.name} key: the greatest is 2,147,483,647.", beyond)
        return super().decode(keys)

    def one_call(self) -> OneCall:
        """One number, in the order of writers that take turns."""
        return OneCall(_one, PlannedNumbers.state, reads_clock=False)


def _one(state: Ints, _tick: int, _first: np.uint64, _last: np.uint64) -> Halves:
    state[1] += state[0]
    return np.uint64(0), np.uint64(state[1])


_STANDS_FOR: Final = "stands for what a server's identity or sequence does; the client sends it"

LAYOUTS = (
    RowNumber(
        "bigint-identity",
        "64-bit row number in planned order over all writers: the control",
        "keybench",
        order="rfc",
        kind="int",
        description=Description(
            "N64",
            {"N": "row number"},
            within="always",
            across="always",
            uniqueness="plan",
            counts_to=COUNTED,
            caveats=(_STANDS_FOR,),
        ),
    ),
    RowNumber(
        "int-identity",
        "32-bit row number in planned order over all writers: the control of those who measured against int",
        "keybench",
        order="rfc",
        kind="int",
        bits=32,
        description=Description(
            "N64",
            {"N": "row number, below 2³¹"},
            within="always",
            across="always",
            uniqueness="plan",
            counts_to=COUNTED,
            caveats=(_STANDS_FOR, "2,147,483,647 is the last number"),
        ),
    ),
)
