"""Row numbers that are spread over the index on purpose: TiDB, Spanner, CockroachDB, YDB. The number in a key is the
row's in the planned order of all writers.

Integers that do not ascend: TiDB's AUTO_RANDOM and Spanner's bit-reversed sequence. Bit maps from the sign bit on
(S shard, N number):

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

Integers with a hash of themselves in front: CockroachDB's hash-sharded index, and the key that YDB recommends.
Byte maps (H hash, N row number, both most significant byte first):

cockroachdb-hash-sharded   b0 H, b1 … b8 N         H = fnv32(md5(bytes of N)) mod 16
ydb-hash-prefixed          b0 … b7 H, b8 … b14 N   H = Digest::NumericHash(N)

`PRIMARY KEY (id) USING HASH` puts a computed column in front of the key, 16 being the default number of buckets:
mod(fnv32(md5(crdb_internal.datums_to_bytes(id))), 16) (pkg/sql/catalog/schemaexpr/hash_sharded_compute_expr.go; older
versions without md5). The bytes are those of the key's encoding (pkg/util/encoding, EncodeVarintAscending): one byte
136 + N up to N = 109, else 245 + k and N's k bytes without leading zeros. md5 gives 32 hexadecimal digits, and fnv32 is
FNV-1 of this text. The shard and the number are two columns of 8 bytes there; here the shard takes one byte.

YDB's guide has PRIMARY KEY (order_hash, order_id) with order_hash = Digest::NumericHash(order_id)
(ydb/docs, dev/primary-key/row-oriented; util/digest/numeric.h, IntHash of 64 bits). The hash and the number are two
columns of 8 bytes there; here the number takes 7 bytes.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.generators.core.description import Description
from keybench.generators.core.layout import Decoded, KeysRefused, Layout, require_form
from keybench.generators.core.stream import ChunkLayout, ChunkStream, Writer, WriterLayout
from keybench.model.keys import Bytes, Ints, Keys

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
        shards = np.concatenate([self._shard, drawn])  # of the group of the last row, then of each new group
        self._shard = shards[-1:]
        return shards[groups - before] << _NUMBER_BITS | numbers


@dataclass(frozen=True, kw_only=True)
class AutoRandom(WriterLayout):
    """64-bit integers with a random shard for every `step` rows of a writer."""

    reads_clock = "never"
    streams = ShardedNumbers

    step: int

    def decode(self, keys: Keys) -> Decoded:
        """The shard and the row's number; KeysRefused for a negative key."""
        _require_positive(self, keys)
        return super().decode(keys)


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
    words = numbers.view(np.uint64) << np.uint64(1)  # without the sign
    for by, mask in _SWAPS:
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
    """What both layouts of AUTO_RANDOM declare; `shard` explains the shard's bits."""
    return Description(
        f"Z1:0 S{_SHARD_BITS} N{_NUMBER_BITS}",
        {"Z": "the sign", "S": shard, "N": "row number"},
        uniqueness="plan",
        random="",
        reads={"shard": "S", "number": "N"},
        caveats=("32 places of the index at which keys ascend", *caveats),
    )


BUCKETS: Final = 16
_SMALL: Final = 109  # the greatest number that takes one byte
_ZERO: Final = 136  # the byte of 0; a small number's is as far above it as the number
_WIDE: Final = 245  # the first byte of a greater number, less the number of bytes that follow it
_FNV_OFFSET, _FNV_PRIME = np.uint32(0x811C9DC5), np.uint32(0x01000193)


def fnv1(texts: Bytes) -> NDArray[np.uint32]:
    """FNV-1 of 32 bits of each row of bytes, (n, width)."""
    hashed = np.full(len(texts), _FNV_OFFSET, np.uint32)
    for column in texts.T:
        hashed *= _FNV_PRIME
        hashed ^= column
    return hashed


def varint_ascending(number: int) -> bytes:
    """CockroachDB's key encoding of an integer that is not negative."""
    if number <= _SMALL:
        return bytes([_ZERO + number])
    width = (number.bit_length() + 7) // 8
    return bytes([_WIDE + width]) + number.to_bytes(width)


def shards(numbers: Ints, buckets: int = BUCKETS) -> Ints:
    """The bucket of each number, none negative: int64 (n,). hashlib hashes them one by one."""
    digests = (hashlib.md5(varint_ascending(number), usedforsecurity=False) for number in numbers.tolist())
    digits = "".join(digest.hexdigest() for digest in digests).encode()
    return fnv1(np.frombuffer(digits, np.uint8).reshape(len(numbers), 32)).astype(np.int64) % buckets


def numeric_hash(numbers: Ints) -> NDArray[np.uint64]:
    """YDB's Digest::NumericHash of each number: T. Wang's hash of 64 bits."""
    key = np.ascontiguousarray(numbers).view(np.uint64).copy()
    key += ~(key << np.uint64(32))
    key ^= key >> np.uint64(22)
    key += ~(key << np.uint64(13))
    key ^= key >> np.uint64(8)
    key += key << np.uint64(3)
    key ^= key >> np.uint64(15)
    key += ~(key << np.uint64(27))
    key ^= key >> np.uint64(31)
    return key


@dataclass(frozen=True, kw_only=True)
class HashFirst(ChunkLayout):
    """Row numbers of `number_bytes` bytes with a hash of themselves in front, which `decode` does not check."""

    reads_clock = "never"

    number_bytes: int

    def chunk(self, n: int, writer: Writer) -> Bytes:
        """The next n keys."""
        numbers = writer.row_numbers(n)
        whole = numbers.astype(">i8").view(np.uint8).reshape(n, 8)
        return np.hstack([self.prefix(numbers), whole[:, 8 - self.number_bytes :]])

    @abstractmethod
    def prefix(self, numbers: Ints) -> Bytes:
        """The hash of each number: uint8 (n, width)."""


class Cockroach(HashFirst):
    """CockroachDB's hash-sharded index with 16 buckets."""

    def prefix(self, numbers: Ints) -> Bytes:
        """The bucket: uint8 (n, 1)."""
        return shards(numbers).astype(np.uint8)[:, None]


class Ydb(HashFirst):
    """YDB's numeric hash in front of the number."""

    def prefix(self, numbers: Ints) -> Bytes:
        """The hash: uint8 (n, 8)."""
        return numeric_hash(numbers).astype(">u8").view(np.uint8).reshape(-1, 8)


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
    Cockroach(
        "cockroachdb-hash-sharded",
        "64-bit row number after its bucket of 16, as in CockroachDB's hash-sharded index",
        "cockroachdb/cockroach pkg/sql/catalog/schemaexpr/hash_sharded_compute_expr.go",
        order="none",
        kind="bytes",
        number_bytes=8,
        description=Description(
            "H8 N64",
            {"H": "bucket: a hash of the row number modulo 16", "N": "row number"},
            uniqueness="plan",
            random="",
            reads={"number": "N"},
            caveats=("16 places of the index at which keys ascend",),
        ),
    ),
    Ydb(
        "ydb-hash-prefixed",
        "64-bit row number after its hash of 64 bits, as YDB recommends for counted ids",
        "YDB documentation, choosing a primary key; util/digest/numeric.h",
        order="none",
        kind="bytes",
        number_bytes=7,
        description=Description(
            "H64 N56",
            {"H": "hash of the row number", "N": "row number"},
            uniqueness="plan",
            random="",
            reads={"number": "N"},
            caveats=("comes in no order, on purpose: in a single index it costs what a random key costs",),
        ),
    ),
)
