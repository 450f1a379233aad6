"""TiDB's AUTO_RANDOM: a few shard bits, then a number that counts up.

Bit map from the sign bit on (S shard, N number), for AUTO_RANDOM(5), the default:

tidb-auto-random         0, S5, N58     a new shard for each row, as with one row a transaction
tidb-auto-random-100     0, S5, N58     a new shard every 100 rows, as with 100 rows a transaction

A transaction takes one shard for all its rows unless `tidb_shard_allocate_step` says otherwise (sessionctx/variable,
SessionVars.GetCurrentShard: Murmur3 of a random number whose seed is the session's first start timestamp, cut to S
bits). Here the shard is drawn from the writer's entropy, one byte a shard, which gives the same distribution and not
the same bits. The number is the row's in the planned order of all writers; TiDB's servers take numbers in blocks of
30,000.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from keybench.errors import UsageError
from keybench.generators.core.description import Description
from keybench.generators.core.layout import Decoded, KeysRefused, require_form
from keybench.generators.core.stream import ChunkStream, Writer, WriterLayout
from keybench.model.keys import Ints, Keys

_SHARD_BITS: Final = 5
_NUMBER_BITS: Final = 63 - _SHARD_BITS


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
        require_form(self.name, keys, self.kind, 8)
        if (keys.data < 0).any():
            raise KeysRefused(f"{int(keys.data.min())} is no {self.name} key: none is negative.", keys.data < 0)
        number = keys.data & (1 << _NUMBER_BITS) - 1
        return Decoded(fields={"shard": keys.data >> _NUMBER_BITS, "number": number})


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
)
