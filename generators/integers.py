"""Integers in planned order, the control that every other layout is compared with; in blocks; and with reversed bits.

bigint-identity, int-identity   the row's number, from 1, in the planned order of all writers
bigint-cached, bigint-hilo      blocks of 20 (Oracle's default) and of 10 numbers (EF Core's default)
bigint-bit-reversed             0, N63: the row's number below the sign, its last bit first

The client sends them. A server that numbers rows itself is another layout, because it numbers them in the order in
which they arrive.

With blocks, a writer fetches a block of numbers and uses all of them before it fetches the next: `SEQUENCE … CACHE n`
of Oracle (a block an instance) and PostgreSQL (a block a session), hi/lo of EF Core, NHibernate and Hibernate. So n
writers insert at n places of the index, each ascending, and the places are at most the blocks in use apart. Which block
a writer gets depends on when the others fetch theirs; a client cannot know this in advance. Here writers take blocks in
turns, as if all were equally fast: the block b of writer i of n has the number b · n + i, and a block holds
block · size + 1 … block · size + size. SQL Server has one identity cache for the whole server, with gaps only after a
restart: `bigint-identity` stands for it.

Spanner spreads numbers over a cluster on purpose: `CREATE SEQUENCE … OPTIONS (sequence_kind = 'bit_reversed_positive')`
counts 1, 2, 3 … and returns each number with its 63 bits below the sign reversed, as `BIT_REVERSE(number, TRUE)` does.
Half of the key space is as far as two successive keys come apart, a quarter the next two, and so on: each power of two
of successive keys covers the key space evenly. Spanner gives numbers to its servers in blocks, and skips some.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from keybench.errors import UsageError
from keybench.generators.core.description import COUNTED, Ascent, Description
from keybench.generators.core.layout import Decoded, KeysRefused, require_form
from keybench.generators.core.stream import ChunkLayout, Writer
from keybench.model.byteorder import FixedBits
from keybench.model.keys import Ints, Keys


@dataclass(frozen=True, kw_only=True)
class RowNumber(ChunkLayout):
    """Signed integers 1, 2, 3 … of `bits` bits over all writers."""

    reads_clock = "never"
    bits: int = 64

    @property
    def last(self) -> int:
        """The greatest number."""
        return (1 << self.bits - 1) - 1

    def chunk(self, n: int, writer: Writer) -> Ints:
        """The numbers of the next n rows; ValueError where the plan gives fewer, UsageError for one that is too big."""
        numbers = writer.row_numbers(n)
        if n and int(numbers.max()) > self.last:
            raise UsageError(f"row {self.last + 1:,} has no number of {self.bits} bits: take bigint-identity.")
        return numbers

    def shared_bits(self) -> FixedBits:
        """All bits beyond the number's and its sign are 0."""
        beyond = np.arange(64) <= 64 - self.bits  # from the sign bit on; <=: the number's own sign too
        return beyond, np.zeros(64, np.uint8)

    def decode(self, keys: Keys) -> Decoded:
        """Reads nothing: KeysRefused for numbers of more bits than the layout's, NothingToRead for all others."""
        beyond = keys.data > self.last
        if beyond.any():
            raise KeysRefused(f"{keys.data[beyond][0]:,} is no {self.name} key: the greatest is 2,147,483,647.", beyond)
        return super().decode(keys)


@dataclass(frozen=True, kw_only=True)
class Blocked(ChunkLayout):
    """64-bit integers, `size` in a writer's block."""

    reads_clock = "never"

    size: int

    def chunk(self, n: int, writer: Writer) -> Ints:
        """The numbers of the writer's next n rows, from its blocks; the plan of the rows does not matter."""
        rows = np.arange(writer.rows, writer.rows + n, dtype=np.int64)
        blocks, within_block = np.divmod(rows, self.size)
        writer.rows += n
        return (blocks * writer.process.of + writer.process.index) * self.size + within_block + 1  # from 1 on


_SWAPS: Final = (
    (1, 0x5555555555555555),
    (2, 0x3333333333333333),
    (4, 0x0F0F0F0F0F0F0F0F),
    (8, 0x00FF00FF00FF00FF),
    (16, 0x0000FFFF0000FFFF),
    (32, 0x00000000FFFFFFFF),
)
"""The steps that reverse 64 bits: each swaps neighbouring groups of 1, 2, 4 … bits; the mask has every other group."""


def bit_reversed(numbers: Ints) -> Ints:
    """The numbers, int64 (n,), with the 63 bits below the sign in reverse order; the sign stays."""
    words = numbers.view(np.uint64) << np.uint64(1)  # drops the sign; reversed, the new last 0 is in its place
    for width, mask in _SWAPS:
        shift, low = np.uint64(width), np.uint64(mask)
        words = (words >> shift & low) | (words & low) << shift
    return (words | numbers.view(np.uint64) & np.uint64(1 << 63)).view(np.int64)


class BitReversed(ChunkLayout):
    """Row numbers with their bits reversed."""

    reads_clock = "never"

    def chunk(self, n: int, writer: Writer) -> Ints:
        """The next n numbers."""
        return bit_reversed(np.ascontiguousarray(writer.row_numbers(n)))  # contiguous: for `view`

    def decode(self, keys: Keys) -> Decoded:
        """The row's number; KeysRefused for a negative key."""
        require_form(self.name, keys, self.kind, 8)
        numbers = np.asarray(keys.data, np.int64)
        if (numbers < 0).any():
            raise KeysRefused(f"{numbers.min()} is no {self.name} key: none is negative.", numbers < 0)
        return Decoded(fields={"number": bit_reversed(numbers)})


_PLANNED: Final = "stands for what a server's identity or sequence does; the client sends it"
_IN_BLOCKS: Final[tuple[str, Ascent, str]] = (
    "number from the writer's block",
    "by block",
    "each writer inserts at its own place of the index, a few blocks apart",
)


def _counted(number: str, across: Ascent, *caveats: str) -> Description:
    """What integers that count up in each writer declare; `number` explains their bits."""
    return Description(
        "N64", {"N": number}, within="always", across=across, uniqueness="plan", counts_to=COUNTED, caveats=caveats
    )


LAYOUTS = (
    RowNumber(
        "bigint-identity",
        "64-bit row number in planned order over all writers: the control",
        "keybench",
        kind="int",
        description=_counted("row number", "always", _PLANNED),
    ),
    RowNumber(
        "int-identity",
        "32-bit row number in planned order over all writers: the control of those who measured against int",
        "keybench",
        kind="int",
        bits=32,
        description=_counted("row number, below 2³¹", "always", _PLANNED, "2,147,483,647 is the last number"),
    ),
    Blocked(
        "bigint-cached",
        "64-bit integers, 20 at a time for each writer, as from a sequence with CACHE 20",
        "Oracle and PostgreSQL documentation, CREATE SEQUENCE … CACHE",
        kind="int",
        size=20,
        description=_counted(
            *_IN_BLOCKS, "Oracle: a block for each instance; PostgreSQL: for each session, CACHE 1 by default"
        ),
    ),
    Blocked(
        "bigint-hilo",
        "64-bit integers, 10 at a time for each writer, as from hi/lo",
        "EF Core documentation, HiLo; NHibernate, hilo",
        kind="int",
        size=10,
        description=_counted(*_IN_BLOCKS, "NHibernate's default block is far larger: 32,768"),
    ),
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
