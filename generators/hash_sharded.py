"""Integers with a hash of themselves in front: CockroachDB's hash-sharded index, and the key that YDB recommends.

Byte maps (H hash, N row number, both most significant byte first):

cockroachdb-hash-sharded   b0 H, b1 … b8 N         H = fnv32(md5(bytes of N)) mod 16
ydb-hash-prefixed          b0 … b7 H, b8 … b14 N   H = Digest::NumericHash(N)

`PRIMARY KEY (id) USING HASH` puts a computed column in front of the key, 16 being the default number of buckets:
mod(fnv32(md5(crdb_internal.datums_to_bytes(id))), 16) (pkg/sql/catalog/schemaexpr/hash_sharded_compute_expr.go; older
versions without md5). The bytes are those of the key's encoding (pkg/util/encoding, EncodeVarintAscending): one byte
136 + N up to N = 109, else 245 + k and N's k bytes without leading zeros. md5 gives 32 hexadecimal digits, and fnv32 is
FNV-1 of this text. The shard and the number are two columns of 8 bytes there; here the shard takes one byte.

YDB's guide has PRIMARY KEY (order_hash, order_id) with order_hash = Digest::NumericHash(order_id)
(ydb/docs, dev/primary-key/row-oriented; util/digest/numeric.h, IntHash of 64 bits).

The hash and the number are two columns of 8 bytes there; here the number takes 7 bytes.

The number is the row's in the planned order of all writers.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.generators.core.description import Description
from keybench.generators.core.layout import Decoded, require_form
from keybench.generators.core.stream import ChunkLayout, Writer
from keybench.model.keys import Bytes, Ints, Keys

BUCKETS: Final = 16
_SMALL: Final = 109
_ZERO: Final = 136
_WIDE: Final = 245
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
    """Row numbers of `number_bytes` bytes with a hash of themselves in front."""

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

    def decode(self, keys: Keys) -> Decoded:
        """The row's number; the hash is not compared with it."""
        require_form(self.name, keys, self.kind, self.key_bytes)
        whole = np.zeros((len(keys), 8), np.uint8)
        whole[:, 8 - self.number_bytes :] = keys.data[:, -self.number_bytes :]
        return Decoded(fields={"number": whole.view(">i8")[:, 0].astype(np.int64)})


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
            caveats=("comes in no order, on purpose: in a single index it costs what a random key costs",),
        ),
    ),
)
