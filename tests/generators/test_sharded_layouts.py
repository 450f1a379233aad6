"""Layouts that spread a load over the ranges of a cluster: against published values, and plain references."""

import hashlib

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from keybench.generators.core.clock import TICKS_PER_SECOND, UNIX_EPOCH
from keybench.generators.core.layout import layout
from keybench.generators.core.process import Process
from keybench.generators.spread_integers import bit_reversed, fnv1, numeric_hash, shards, varint_ascending
from keybench.model.byteorder import stored
from tests.generators.scripted import ScriptedEntropy

NUMBERS = st.integers(0, (1 << 63) - 1)
START = UNIX_EPOCH + 1_700_000_000 * TICKS_PER_SECOND


# Spanner: the examples of BIT_REVERSE(…, true) in its documentation


@pytest.mark.parametrize(("number", "published"), [(100, 1369094286720630784), (-100, -7133701809754865665)])
def test_bits_are_reversed_as_spanner_documents_it(number, published) -> None:
    assert bit_reversed(np.array([number])).tolist() == [published]


@settings(max_examples=30)
@given(NUMBERS)
def test_reversed_bits_read_backwards(number) -> None:
    (reverse,) = bit_reversed(np.array([number])).tolist()
    assert f"{reverse:063b}" == f"{number:063b}"[::-1]
    assert bit_reversed(np.array([reverse])).tolist() == [number]


def test_a_power_of_two_of_reversed_numbers_covers_the_key_space_evenly(opened) -> None:
    keys = np.sort(opened("bigint-bit-reversed", []).take(1023).data)
    assert set(np.diff(keys).tolist()) == {1 << 53}


def test_writers_share_the_sequence(opened) -> None:
    parts = [opened("bigint-bit-reversed", [], process=Process("h", 1).partition(i, of=2)).take(2).data for i in (0, 1)]
    assert bit_reversed(np.concatenate(parts)).tolist() == [1, 3, 2, 4]


# TiDB


def test_a_shard_of_five_bits_stands_before_the_number(opened) -> None:
    drawn = ScriptedEntropy(b"\xff\x20\x11")
    keys = opened("tidb-auto-random", [], entropy=drawn).take(3)
    assert keys.data.tolist() == [31 << 58 | 1, 2, 17 << 58 | 3]
    decoded = layout("tidb-auto-random").decode(keys).fields
    assert (decoded["shard"].tolist(), decoded["number"].tolist()) == ([31, 0, 17], [1, 2, 3])


def test_a_transaction_keeps_its_shard(opened) -> None:
    stream = opened("tidb-auto-random-100", [])
    keys = np.concatenate([stream.take(n).data for n in (1, 98, 1, 1, 100, 99)])
    assert keys.tolist() == opened("tidb-auto-random-100", []).take(300).data.tolist()
    groups = (keys >> 58).reshape(3, 100)
    assert (groups == groups[:, :1]).all()
    assert (keys & (1 << 58) - 1).tolist() == list(range(1, 301))


# CockroachDB: the key encoding by its own test vectors (pkg/util/encoding), FNV-1 by those of its authors


@pytest.mark.parametrize(
    ("number", "encoded"),
    [(0, "88"), (1, "89"), (109, "f5"), (112, "f670"), (1 << 8, "f70100"), ((1 << 63) - 1, "fd7fffffffffffffff")],
)
def test_integers_are_encoded_as_cockroachdb_tests_it(number, encoded) -> None:
    assert varint_ascending(number).hex() == encoded


@pytest.mark.parametrize(("text", "hashed"), [(b"a", 0x050C5D7E), (b"b", 0x050C5D7D), (b"foobar", 0x31F0B262)])
def test_fnv1_by_its_published_values(text, hashed) -> None:
    assert fnv1(np.frombuffer(text, np.uint8)[None, :]).tolist() == [hashed]


def _plain_shard(number: int) -> int:
    width = (number.bit_length() + 7) // 8
    encoded = bytes([136 + number]) if number <= 109 else bytes([245 + width]) + number.to_bytes(width, "big")
    hashed = 0x811C9DC5
    for byte in hashlib.md5(encoded, usedforsecurity=False).hexdigest().encode():
        hashed = hashed * 0x01000193 & 0xFFFFFFFF ^ byte
    return hashed % 16


@settings(max_examples=30)
@given(st.lists(NUMBERS, min_size=1, max_size=20))
@example([109, 110, 255, 256])
def test_the_bucket_is_that_of_a_plain_reference(numbers) -> None:
    assert shards(np.array(numbers)).tolist() == [_plain_shard(number) for number in numbers]


def test_sixteen_buckets_take_equal_parts(opened) -> None:
    keys = opened("cockroachdb-hash-sharded", []).take(32_000)
    counts = np.bincount(keys.data[:, 0], minlength=16)
    assert len(counts) == 16
    assert np.abs(counts / 2000 - 1).max() < 0.1
    assert layout("cockroachdb-hash-sharded").decode(keys).fields["number"].tolist() == list(range(1, 32_001))


# YDB


@settings(max_examples=30)
@given(NUMBERS)
def test_the_numeric_hash_is_that_of_plain_integers(number) -> None:
    mask, key = (1 << 64) - 1, number
    key = key + ~(key << 32) & mask
    key ^= key >> 22
    key = key + ~(key << 13) & mask
    key ^= key >> 8
    key = key + (key << 3) & mask
    key ^= key >> 15
    key = key + ~(key << 27) & mask
    key ^= key >> 31
    assert numeric_hash(np.array([number])).tolist() == [key]


@settings(max_examples=30)
@given(st.integers(0, (1 << 33) - 1), st.binary(min_size=16, max_size=16))
def test_a_row_key_has_the_bits_of_ydbs_source(opened, seconds, drawn) -> None:
    """UpdateMsbRowKey of uuid_keygen.h on plain integers; version in n7, variant in n8."""
    for name, prefix in (("ydb-row-key", 12), ("ydb-column-key", 0)):
        keys = opened(name, [UNIX_EPOCH + seconds * TICKS_PER_SECOND], entropy=ScriptedEntropy(drawn)).take(1)
        raw = bytearray(drawn)
        high = int.from_bytes(raw[:8], "big")
        shift = 64 - prefix - 31
        high = high & ~(((1 << 31) - 1) << shift) | (seconds % (1 << 31)) << shift
        raw[:8] = high.to_bytes(8, "big")
        raw[7] = raw[7] & 0x0F | 0x80
        raw[8] = raw[8] & 0x3F | 0x80
        assert stored(keys, "net")[0].tobytes() == bytes(raw)
        assert layout(name).decode(keys).fields["seconds"].tolist() == [seconds % (1 << 31)]


def test_the_hash_stands_before_the_number(opened) -> None:
    keys = opened("ydb-hash-prefixed", []).take(3)
    assert np.ascontiguousarray(keys.data[:, :8]).view(">u8")[:, 0].tolist() == numeric_hash(np.arange(1, 4)).tolist()
    assert layout("ydb-hash-prefixed").decode(keys).fields["number"].tolist() == [1, 2, 3]


def test_column_keys_ascend_from_second_to_second_and_row_keys_do_so_behind_each_prefix(opened) -> None:
    ticks = START + np.arange(5000) * TICKS_PER_SECOND
    columns = opened("ydb-column-key", ticks).take(5000)
    words = np.ascontiguousarray(stored(columns, "net")).view(">u8")[:, 0]
    assert (words[1:] > words[:-1]).all()
    fields = layout("ydb-row-key").decode(opened("ydb-row-key", ticks).take(5000)).fields
    assert len(set(fields["prefix"].tolist())) > 2500
    assert fields["seconds"].tolist() == list(range(1_700_000_000, 1_700_005_000))
