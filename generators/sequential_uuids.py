"""tvondra's sequential-uuids for PostgreSQL: random UUIDs that begin with the number of a block.

Byte map (B the block's number, big-endian, in k whole bytes, 1 … 4, as the number of blocks needs; R random):

tvondra-sequence   r0 … r(k−1) B   then R, version 4, variant 10     block = (sequence value − 1) / block size
tvondra-time       r0 … r(k−1) B   then R, version 4, variant 10     block = Unix seconds / block size (interval)

Blocks are counted modulo 2^(8k); then keys start again at the front. Inside a block keys come in no order. The two
layouts have the extension's defaults: 65,536 blocks of 65,536 values, and 65,536 intervals of 60 s, which start again
every 45.5 days.

Quirk, kept: the prefix is rounded up to whole bytes, and the block size then becomes max(1, size · count / 2^(8k)):
100 blocks of 100 become 256 blocks of 39. With more than 2^24 blocks the extension divides by zero, with more than 2^30
it loops for ever; both are refused here.

All sessions share the sequence: its values are the planned row numbers (`Process.row_numbers`) over all writers. 16
bytes of entropy a key, partly overwritten.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Final

import numpy as np

from keybench.errors import UsageError
from keybench.generators.core.bits import big_endian, read_words, stamp_version, words
from keybench.generators.core.clock import TICKS_PER_SECOND, UNIX_EPOCH
from keybench.generators.core.description import Description, Timestamp
from keybench.generators.core.instants import DATETIME_LAST
from keybench.generators.core.layout import Decoded
from keybench.generators.core.stream import GuidLayout, Writer
from keybench.model.keys import Bytes, Ints, Keys

_MOST_BLOCKS: Final = 1 << 24


@dataclass(frozen=True, kw_only=True)
class Blocks(GuidLayout):
    """UUIDs in blocks: `size` values a block, `count` blocks."""

    size: int
    count: int

    def __post_init__(self) -> None:
        if self.size < 1:
            raise UsageError(f"{self.name} with blocks of {self.size}: a block holds 1 or more.")
        if not 1 <= self.count <= _MOST_BLOCKS:
            raise UsageError(f"{self.name} with {self.count} blocks: there are 1 to {_MOST_BLOCKS} of them.")

    @property
    def prefix_bits(self) -> int:
        """Bits of the block's number, in whole bytes."""
        return -(-max(1, (self.count - 1).bit_length()) // 8) * 8

    @property
    def used_size(self) -> int:
        """The block size after rounding the prefix up to whole bytes."""
        return max(1, self.size * self.count >> self.prefix_bits)

    @abstractmethod
    def values(self, n: int, writer: Writer) -> Ints:
        """The next n values that are divided into blocks, none negative."""

    def fill(self, data: Bytes, writer: Writer) -> None:
        """The next n UUIDs; UsageError for a clock before 1970."""
        writer.entropy.fill(data)
        stamp_version(data, 4)
        below = np.uint64(64 - self.prefix_bits)
        blocks = (self.values(len(data), writer) // self.used_size).view(np.uint64) << below
        high = words(data)[:, 0]
        high &= big_endian(np.array([(1 << 64 - self.prefix_bits) - 1], np.uint64))
        high |= big_endian(blocks)

    def decode(self, keys: Keys) -> Decoded:
        """The block's number."""
        high, _ = read_words(keys)
        return Decoded(fields={"block": (high >> np.uint64(64 - self.prefix_bits)).view(np.int64)})


class Sequence(Blocks):
    """Blocks of a sequence's values."""

    reads_clock = "never"

    def values(self, n: int, writer: Writer) -> Ints:
        """The values, from 0, of the writer's next n rows in the sequence that all writers share."""
        return writer.row_numbers(n) - 1


class Intervals(Blocks):
    """Blocks of time."""

    def values(self, n: int, writer: Writer) -> Ints:
        """Unix seconds."""
        return (writer.readings(n) - UNIX_EPOCH) // TICKS_PER_SECOND


_SOURCE: Final = "github.com/tvondra/sequential-uuids sequential_uuids.c"
_IN_A_BLOCK: Final = "keys of one block come in no order"
_NO_COMB: Final = "MariaDB's uuid sorts version 4 by its end, which is random"
_DIAGRAM: Final = "B16 R32 V4:4 R12 X2:2 R62"

LAYOUTS = (
    Sequence(
        "tvondra-sequence",
        "sequential-uuids: 16-bit number of a block of 65,536 sequence values, then random (version 4)",
        _SOURCE + " uuid_sequence_nextval",
        order="rfc",
        size=65_536,
        count=65_536,
        description=Description(
            _DIAGRAM,
            {"B": "block of the shared sequence, modulo 65,536"},
            within="by block",
            across="by block",
            caveats=(_IN_A_BLOCK, "starts again at the front every 4,294,967,296 keys", _NO_COMB),
        ),
    ),
    Intervals(
        "tvondra-time",
        "sequential-uuids: 16-bit number of the minute, then random (version 4)",
        _SOURCE + " uuid_time_nextval",
        order="rfc",
        size=60,
        count=65_536,
        description=Description(
            _DIAGRAM,
            {"B": "minutes since 1970, modulo 65,536"},
            within="by time",
            across="by time",
            time=Timestamp(
                "minutes since 1970, low 16 bits",
                UNIX_EPOCH,
                DATETIME_LAST,
                60 * TICKS_PER_SECOND,
                readable=False,
                period=(60 << 16) * TICKS_PER_SECOND,
            ),
            caveats=(_IN_A_BLOCK, "starts again at the front every 45.5 days", _NO_COMB),
        ),
    ),
)
