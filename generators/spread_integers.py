"""Counted integers that do not ascend, on purpose: TiDB's AUTO_RANDOM and Spanner's bit-reversed sequence.

The number is the row's in the planned order of all writers. Bit maps from the sign bit on (S shard, N number):

tidb-auto-random         0, S5, N58     a new shard for each row, as with one row a transaction
tidb-auto-random-100     0, S5, N58     a new shard every 100 rows, as with 100 rows a transaction
bigint-bit-reversed      0, N63         the number's last bit first

AUTO_RANDOM(5), the default, has a few shard bits, then a number that counts up. A transaction takes one shard for all
its rows unless `tidb_shard_allocate_step` says otherwise (sessionctx/variable, SessionVars.GetCurrentShard: Murmur3 of
a random number whose seed is the session's first start timestamp, cut to S bits). Here the shard is drawn from the
writer's entropy, one byte a shard, which gives the same distribution and not the same bits. TiDB's servers take numbers
in blocks of 30,000.

`CREATE SEQUENCE … OPTIONS (sequence_kind = 'bit_reversed_positive')` counts 1, 2, 3 … and returns each number with its
63 bits below the sign reversed, as `BIT_REVERSE(number, TRUE)` does, so that successive keys lie far apart. Half of the
key space is as far as two successive keys come apart, a quarter the next two, and so on: each power of two of
successive keys covers the key space evenly. Spanner gives numbers to its servers in blocks, and skips some.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from keybench.errors import UsageError
from keybench.generators.core.description import Description
from keybench.generators.core.layout import Decoded, KeysRefused, Layout, require_form
from keybench.generators.core.stream import ChunkLayout, ChunkStream, Writer, WriterLayout
from keybench.model.keys import Ints, Keys

_SHARD_BITS: Final = 5
_NUMBER_BITS: Final = 63 - _SHARD_BITS


def _require_positive(layout: Layout, keys: Keys) -> Ints:
    """The keys' numbers; KeysRefused for a negative one."""
    require_form(layout.name, keys, layout.kind, 8)
    numbers = np.asarray(keys.data, np.int64)
    if (numbers < 0).any():
        raise KeysRefused(f"{numbers.min()} is no {layout.name} key: none is negative.", numbers < 0)
    return numbers


class ShardedNumbers(ChunkStream["AutoRandom"]):
    """One writer's numbers; the state is the shard of its last rows."""

    def __init__(self, layout: AutoRandom, writer: Writer) -> None:
        super().__init__(layout, writer)
        self._shard = np.zeros(1, np.int64)

    def chunk(self, n: int) -> Ints:
        """The next n numbers."""
        row, step = self.writer.rows, self.layout.step
        numbers = self.writer.row_numbers(n)
        groups = np.arange(row, row + n, dtype=np.int64) // step
        before = (row - 1) // step  # the group of the last row, -1 before the first
        missing = int(groups[-1]) - before if n else 0
        drawn = self.writer.entropy.take(missing, 1)[:, 0].astype(np.int64) & (1 << _SHARD_BITS) - 1
        shards = np.concatenate([self._shard, drawn])
        self._shard = shards[-1:]
        return shards[groups - before] << _NUMBER_BITS | numbers


@dataclass(frozen=True, kw_only=True)
class AutoRandom(WriterLayout):
    """64-bit integers with a random shard for every `step` rows of a writer."""

    reads_clock = "never"
    streams = ShardedNumbers

    step: int

    def __post_init__(self) -> None:
        if self.step < 1:
            raise UsageError(f"{self.name} with a shard for {self.step} rows: a shard is for 1 row or more.")

    def decode(self, keys: Keys) -> Decoded:
        """The shard and the row's number; KeysRefused for a negative key."""
        numbers = _require_positive(self, keys)
        return Decoded(fields={"shard": numbers >> _NUMBER_BITS, "number": numbers & (1 << _NUMBER_BITS) - 1})


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
        return Decoded(fields={"number": bit_reversed(_require_positive(self, keys))})


_SOURCE: Final = "TiDB documentation, AUTO_RANDOM; pingcap/tidb pkg/meta/autoid, pkg/sessionctx/variable"


def _description(shard: str, *caveats: str) -> Description:
    return Description(
        f"Z1:0 S{_SHARD_BITS} N{_NUMBER_BITS}",
        {"Z": "the sign", "S": shard, "N": "row number"},
        uniqueness="plan",
        random="",
        caveats=("32 places of the index at which keys ascend", *caveats),
    )


LAYOUTS = (
    AutoRandom(
        "tidb-auto-random",
        "TiDB's AUTO_RANDOM(5): a random shard for each row, then its number",
        _SOURCE,
        order="none",
        kind="int",
        step=1,
        description=_description("shard, random"),
    ),
    AutoRandom(
        "tidb-auto-random-100",
        "TiDB's AUTO_RANDOM(5) in transactions of 100 rows: a random shard for each, then the row's number",
        _SOURCE,
        order="none",
        kind="int",
        step=100,
        description=_description("shard, random, the same for 100 rows", "at any moment one of them is written"),
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
