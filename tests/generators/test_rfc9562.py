"""The RFC's versions, the three methods of §6.2 and their limits."""

import uuid
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.errors import UsageError
from keybench.generators.core.clock import TICKS_PER_MS, UNIX_48_BIT_LAST, UNIX_EPOCH, VirtualClock
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import layout
from keybench.generators.core.process import Process
from keybench.generators.uuid_v1 import GREGORIAN, GREGORIAN_LAST
from keybench.model.byteorder import stored
from tests.generators.scripted import ScriptedEntropy

START = 637_811_545_420_000_000
NODED = ["uuid-v1", "uuid-v6"]
V7 = ["uuid-v7-counter", "uuid-v7-monotonic-random", "uuid-v7-precise"]


def named(chosen, *names: str) -> list[str]:
    return [str(uuid.UUID(bytes=row.tobytes())) for row in chosen.of_names([name.encode() for name in names])]


def guids(keys) -> list[str]:
    return [str(uuid.UUID(bytes=row.tobytes())) for row in keys.data]


# Vectors


@pytest.mark.parametrize("version", [1, 6])
def test_v1_and_v6_vectors(version, vectors, opened) -> None:
    for vector in vectors(f"rfc9562_v{version}"):
        inputs = vector["inputs"]
        entropy = ScriptedEntropy(inputs["clock_seq"].to_bytes(2) + bytes.fromhex(inputs["node"]))
        ticks = GREGORIAN + inputs["timestamp_100ns"]
        keys = opened(f"uuid-v{version}", [ticks], entropy=entropy).take(1)
        assert guids(keys) == [vector["guid"]]
        decoded = layout(f"uuid-v{version}").decode(keys)
        assert decoded.ticks == ticks
        assert decoded.fields["clock_sequence"] == inputs["clock_seq"]
        assert decoded.fields["node"] == int(inputs["node"], 16)


@pytest.mark.parametrize(
    ("name", "of"), [("uuid-v3", "rfc9562_v3"), ("uuid-v5", "rfc9562_v5"), ("uuid-v8-name", "rfc9562_v8_name")]
)
def test_name_vectors(name, of, vectors) -> None:
    for vector in vectors(of):
        assert vector["inputs"]["namespace"] == str(uuid.NAMESPACE_DNS)
        assert named(layout(name), vector["inputs"]["name"]) == [vector["guid"]]


def test_v8_time_vector(vectors, opened) -> None:
    (vector,) = vectors("rfc9562_v8_time")
    inputs = vector["inputs"]
    entropy = ScriptedEntropy(inputs["custom_c"].to_bytes(8))
    ticks, odd = divmod(inputs["timestamp_10ns"], 10)
    stream = layout("uuid-v8-time").stream(
        Process("h", 1), VirtualClock(np.array([ticks + UNIX_EPOCH]), np.array([odd * 10])), entropy
    )
    keys = stream.take(1)
    assert guids(keys) == [vector["guid"]]
    assert layout("uuid-v8-time").decode(keys).ticks == ticks + UNIX_EPOCH


def test_method_3_vector(vectors) -> None:
    (vector,) = vectors("rfc9562_method3_submillisecond")
    nanoseconds = vector["inputs"]["ns_within_ms"]
    clock = VirtualClock(np.array([START + nanoseconds // 100]), np.array([nanoseconds % 100]))
    keys = layout("uuid-v7-precise").stream(Process("h", 1), clock, AesEntropy.seeded(1)).take(1)
    assert int.from_bytes(keys.data[0, 6:8].tobytes()) == 0x7000 | int(vector["rand_a"], 16)


# Name-based versions


@pytest.mark.parametrize("name", ["uuid-v3", "uuid-v5"])
@given(names=st.lists(st.text(max_size=60), max_size=5), namespace=st.uuids())
def test_name_based_uuids_equal_the_standard_librarys(name, names, namespace) -> None:
    make = {"uuid-v3": uuid.uuid3, "uuid-v5": uuid.uuid5}[name]
    assert named(replace(layout(name), namespace=namespace), *names) == [str(make(namespace, text)) for text in names]


@pytest.mark.parametrize("name", ["uuid-v3", "uuid-v5", "uuid-v8-name"])
def test_the_planned_row_numbers_are_the_names(name, opened) -> None:
    process = Process("h", 1, planned=np.array([7, 12, 100_000]))
    keys = opened(name, [], process=process).take(3)
    assert guids(keys) == named(layout(name), "7", "12", "100000")
    many = opened(name, []).take(700)
    assert guids(many)[-1:] == named(layout(name), "700")


@pytest.mark.parametrize(("name", "version"), [("uuid-v3", 3), ("uuid-v5", 5), ("uuid-v8-name", 8)])
def test_a_digest_cannot_be_read_back(name, version, opened) -> None:
    with pytest.raises(UsageError, match=f"^{name} keys hold no time and no counter"):
        layout(name).decode(opened(name, []).take(1))
    with pytest.raises(UsageError, match=f"version and variant are not those of UUIDv{version}"):
        layout(name).decode(opened("uuid-v4", []).take(1))


# Versions 1 and 6


@pytest.mark.parametrize("name", NODED)
def test_keys_of_one_tick_count_up_until_the_last_tick(name, opened) -> None:
    keys = opened(name, [START, START, START - 5, START + 2, START + 9]).take(5)
    assert (layout(name).decode(keys).ticks - START).tolist() == [0, 1, 2, 3, 9]
    with pytest.raises(UsageError, match=f"^{name} keys end with 5236-03-31T21:21:00.6846975Z, and those made faster"):
        opened(name, [GREGORIAN_LAST, GREGORIAN_LAST]).take(2)


def test_v1_starts_again_every_429_seconds_unless_reordered(opened) -> None:
    # time_low is 0 after a multiple of 2^32 ticks since 1582.
    wrap = GREGORIAN + ((START - GREGORIAN >> 32) + 1 << 32)
    keys = opened("uuid-v1", [wrap - 1, wrap]).take(2)
    orders = {order: tuple(row.tolist() for row in stored(keys, order)) for order in ("rfc", "mysql-swap")}
    assert orders["mysql-swap"][0] < orders["mysql-swap"][1]
    assert orders["rfc"][0] > orders["rfc"][1]


# Version 7


def test_the_counter_starts_below_half_and_keeps_counting_after_steps_back(opened) -> None:
    ticks = START + np.array([0, 0, -9, 0, 1, 1]) * TICKS_PER_MS
    decoded = layout("uuid-v7-counter").decode(opened("uuid-v7-counter", ticks).take(6))
    counters = decoded.fields["counter"]
    assert np.diff(counters[:4]).tolist() == [1, 1, 1]
    assert counters[0] < 2048
    assert counters[4] < 2048
    assert counters[5] == counters[4] + 1
    assert ((decoded.ticks - START) // TICKS_PER_MS).tolist() == [0, 0, 0, 0, 1, 1]


def test_a_full_counter_moves_the_time_ahead(opened) -> None:
    seeds = (bytes(6) + b"\xff\xff" + bytes(8)) * 5000
    ticks = np.full(5000, START)
    ticks[-2:] = START + np.array([1, 2]) * TICKS_PER_MS
    decoded = layout("uuid-v7-counter").decode(
        opened("uuid-v7-counter", ticks, entropy=ScriptedEntropy(seeds)).take(5000)
    )
    assert decoded.fields["counter"][[0, 2048, 2049, -3, -2, -1]].tolist() == [2047, 4095, 0, 2948, 2949, 2047]
    assert ((decoded.ticks - START) // TICKS_PER_MS)[[0, 2048, 2049, -3, -2, -1]].tolist() == [0, 0, 1, 1, 1, 2]
    with pytest.raises(UsageError, match=r"^uuid-v7-counter keys end with 10889-08-02T05:31:50\.6559999Z"):
        opened("uuid-v7-counter", np.full(5000, UNIX_48_BIT_LAST)).take(5000)


def test_a_monotonic_random_number_grows_by_the_drawn_amount(opened) -> None:
    """Two keys of one millisecond, and an overflow of the last 62 bits into the first 12."""
    first = bytes(6) + b"\xff\xfe" + b"\xff" * 8
    second = b"\x00\x00\x00\x04" + bytes(12)
    keys = opened("uuid-v7-monotonic-random", [START, START], entropy=ScriptedEntropy(first + second)).take(2)
    fields = layout("uuid-v7-monotonic-random").decode(keys).fields
    assert fields["number_high"].tolist() == [0x7FE, 0x7FF]
    assert fields["number_low"].tolist() == [(1 << 62) - 1, 4]
    assert [uuid.UUID(bytes=row.tobytes()).variant for row in keys.data] == [uuid.RFC_4122] * 2


@given(readings=st.lists(st.integers(0, 5), min_size=1, max_size=40), seed=st.integers(0, 9))
def test_monotonic_random_equals_the_loop_over_keys(readings, seed, opened) -> None:
    ticks = START + np.array(readings) * TICKS_PER_MS
    drawn = AesEntropy.seeded(seed).take(len(readings), 16)
    number, last, expected = 0, -1, []
    for reading, row in zip(readings, drawn.tolist(), strict=True):
        if reading > last:
            last = reading
            number = int.from_bytes(row[6:8]) % 2048 << 62 | int.from_bytes(row[8:]) % (1 << 62)
        else:
            number += 1 + int.from_bytes(row[:4])
        expected.append((last, number >> 62, number % (1 << 62)))
    keys = opened("uuid-v7-monotonic-random", ticks, entropy=AesEntropy.seeded(seed)).take(len(readings))
    decoded = layout("uuid-v7-monotonic-random").decode(keys)
    fields = (decoded.ticks - START) // TICKS_PER_MS, decoded.fields["number_high"], decoded.fields["number_low"]
    assert list(zip(*(field.tolist() for field in fields), strict=True)) == expected
