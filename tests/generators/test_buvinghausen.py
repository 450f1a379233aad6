"""buvinghausen's SequentialGuid: golden vectors in both forms, counters, and the library's own reader."""

from __future__ import annotations

import hashlib
from datetime import datetime
from uuid import UUID

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keybench.errors import UsageError
from keybench.generators.buvinghausen.reader import to_datetime
from keybench.generators.core.clock import TICKS_PER_MS, TICKS_PER_SECOND, UNIX_EPOCH, ticks_of
from keybench.generators.core.entropy import AesEntropy, Entropy
from keybench.generators.core.instants import DATETIME_LAST
from keybench.generators.core.layout import layout
from keybench.generators.core.process import Process
from keybench.model.byteorder import rank
from tests.generators.scripted import ScriptedEntropy

KINDS = ["legacy", "v7", "v8time"]
BITS = {"legacy": 24, "v7": 26, "v8time": 22}
STARTS = {"legacy": 500_000, "v7": 512, "v8time": 500_000}
V7_LAST = UNIX_EPOCH + (TICKS_PER_MS << 48) - 1
QUIET = Process("host-0", 1)
"""A machine whose name has a hash that does not look like the RFC variant."""

NOW = ticks_of(datetime.fromisoformat("2026-11-20T00:00:00+00:00"))


def at_counter(opened, name: str, used: int, ticks: int, random: bytes = b""):
    """The key with this counter value: the stream starts at the highest value and makes keys up to this one."""
    kind = name.removeprefix("buvinghausen-").removesuffix("-sql")
    start = min(used, STARTS[kind]) - 1
    before = used - start - 1
    script = start.to_bytes(4, "little") + (bytes(6) * before if kind == "v7" else b"") + random
    stream = opened(name, np.broadcast_to(np.int64(ticks), before + 1), entropy=ScriptedEntropy(script))
    for done in range(0, before, 1 << 19):
        stream.take(min(1 << 19, before - done))
    return stream.take(1)


@pytest.mark.parametrize("kind", ["legacy", "v8time"])
def test_vectors_of_legacy_and_v8time(kind, vectors, opened, texts_of) -> None:
    for vector in vectors(f"buvinghausen_{kind}"):
        inputs = vector["inputs"]
        used, ticks = inputs["counter_after_increment"], inputs["ticks"]
        digest = hashlib.new(inputs["hash"], b"testhost").digest()
        for suffix, text in (("", vector["guid"]), ("-sql", vector["sql_guid"])):
            name = f"buvinghausen-{kind}{suffix}"
            keys = at_counter(opened, name, used, ticks)
            assert texts_of(keys) == [text]
            decoded = layout(name).decode(keys)
            assert decoded.ticks == vector["extracted"]["ticks"]
            assert {field: int(values[0]) for field, values in decoded.fields.items()} == {
                "counter": used % (1 << BITS[kind]),
                "pid": 0x2345,
                "machine": int.from_bytes(digest[:3]),
            }


def test_vectors_of_v7(vectors, opened, texts_of) -> None:
    for vector in vectors("buvinghausen_v7"):
        inputs = vector["inputs"]
        used, ticks = inputs["counter_after_increment"], UNIX_EPOCH + inputs["unix_ms"] * TICKS_PER_MS
        if used > 1 << 20:
            continue
        for suffix, text in (("", vector["guid"]), ("-sql", vector["sql_guid"])):
            name = f"buvinghausen-v7{suffix}"
            keys = at_counter(opened, name, used, ticks, bytes.fromhex(inputs["random6"]))
            assert texts_of(keys) == [text]
            decoded = layout(name).decode(keys)
            assert decoded.ticks == ticks
            assert decoded.fields["counter"] == used


class LateEntropy(Entropy):
    """Four bytes for the counter's start, and six for each key: zeros except for the last of `keys`."""

    def __init__(self, start: int, keys: int, last: bytes) -> None:
        self.start, self.left, self.last = start, keys, np.frombuffer(last, np.uint8)

    def take(self, n: int, width: int) -> np.ndarray:
        if width == 4:
            return np.frombuffer(self.start.to_bytes(4, "little"), np.uint8).reshape(1, 4)
        data = np.zeros((n, width), np.uint8)
        self.left -= n
        if self.left == 0:
            data[-1] = self.last
        return data

    def partition(self, i: int, *, of: int) -> Entropy:
        return self


def test_v7_counter_wraps_at_26_bits(vectors, opened, texts_of) -> None:
    """The vector 67,108,864 keys after a counter of 0."""
    (vector,) = (v for v in vectors("buvinghausen_v7") if v["inputs"]["counter_after_increment"] == 1 << 26)
    count = (1 << 26) - 511
    readings = np.broadcast_to(np.int64(UNIX_EPOCH + vector["inputs"]["unix_ms"] * TICKS_PER_MS), count)
    entropy = LateEntropy(511, count, bytes.fromhex(vector["inputs"]["random6"]))
    stream = opened("buvinghausen-v7", readings, entropy=entropy)
    for done in range(0, count - 2, 1 << 19):
        stream.take(min(1 << 19, count - 2 - done))
    keys = stream.take(2)
    assert texts_of(keys)[1] == vector["guid"]
    assert layout("buvinghausen-v7").decode(keys).fields["counter"].tolist() == [(1 << 26) - 1, 0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", ["", "-sql"])
@pytest.mark.parametrize(("script", "first"), [("00000000", 1), ("05000000", 6), ("ffffffff02000000", None)])
def test_the_counter_starts_as_getint32_draws(kind, suffix, script, first, opened) -> None:
    entropy = ScriptedEntropy(bytes.fromhex(script) + bytes(18))
    name = f"buvinghausen-{kind}{suffix}"
    counters = layout(name).decode(opened(name, [UNIX_EPOCH] * 3, entropy=entropy).take(3)).fields["counter"]
    # Nine low bits of ff… fit below 512; nineteen do not fit below 500,000, and the next four bytes are tried.
    expected = first or (512 if kind == "v7" else 3)
    assert counters.tolist() == [expected, expected + 1, expected + 2]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", ["", "-sql"])
@given(data=st.data())
def test_each_is_read_back_over_its_whole_range(kind, suffix, data, opened) -> None:
    first, last, unit = {
        "legacy": (0, DATETIME_LAST, 1),
        "v7": (UNIX_EPOCH, V7_LAST, TICKS_PER_MS),
        "v8time": (0, (1 << 60) - 1, 1),
    }[kind]
    ticks = [data.draw(st.integers(first, last)), first, last]
    name = f"buvinghausen-{kind}{suffix}"
    decoded = layout(name).decode(opened(name, ticks).take(3)).ticks
    assert decoded.tolist() == [now - (now - first) % unit for now in ticks]


def test_v8time_starts_again_in_3654(opened) -> None:
    decoded = layout("buvinghausen-v8time").decode(opened("buvinghausen-v8time", [1 << 60, (1 << 60) + 7]).take(2))
    assert decoded.ticks.tolist() == [0, 7]


@pytest.mark.parametrize("kind", KINDS)
def test_sql_servers_order_of_one_form_is_rfc_order_of_the_other(kind, opened) -> None:
    ticks = NOW - np.sort(np.random.default_rng(1).integers(0, 10**15, 500))
    plain = opened(f"buvinghausen-{kind}", ticks).take(500)
    for_sql = opened(f"buvinghausen-{kind}-sql", ticks).take(500)
    assert not np.array_equal(plain.data, for_sql.data)
    assert np.array_equal(rank(plain, "rfc"), rank(for_sql, "mssql"))


@pytest.mark.parametrize("suffix", ["", "-sql"])
@pytest.mark.parametrize(
    ("kind", "ticks", "range_"),
    [
        ("legacy", -1, "0001-01-01T00:00:00.0000000Z to 9999-12-31T23:59:59.9999999Z"),
        ("v7", UNIX_EPOCH - 1, "1970-01-01T00:00:00.0000000Z to 10889-08-02T05:31:50.6559999Z"),
        ("v7", V7_LAST + 1, "1970-01-01T00:00:00.0000000Z to 10889-08-02T05:31:50.6559999Z"),
        ("v8time", DATETIME_LAST + 1, "0001-01-01T00:00:00.0000000Z to 9999-12-31T23:59:59.9999999Z"),
    ],
)
def test_readings_outside_the_range_are_refused(kind, suffix, ticks, range_, opened) -> None:
    with pytest.raises(UsageError, match=f"^buvinghausen-{kind}{suffix} keys hold instants from {range_}, and the"):
        opened(f"buvinghausen-{kind}{suffix}", [ticks]).take(1)


@pytest.mark.parametrize(
    ("name", "guid", "reason"),
    [
        ("legacy", "ffffffff-ffff-ffff-9e8c-06234507a126", "its time lies beyond the year 9999"),
        ("v7", "017f22e2-79b0-4000-b1e7-c0ffee0badf0", "version and variant are not those of UUIDv7"),
        ("v7-sql", "017f22e2-79b0-7000-b1e7-c0ffee0badf0", "version and variant are not those of UUIDv7"),
        ("v8time", "8c122024-7e5c-76a0-87a1-224c08e62345", "version and variant are not those of UUIDv8"),
        ("v8time-sql", "8c122024-7e5c-86a0-17a1-224c08e62345", "version and variant are not those of UUIDv8"),
    ],
)
def test_keys_of_another_layout_are_refused_and_named_as_given(name, guid, reason, guids_of) -> None:
    with pytest.raises(UsageError, match=f"^{guid} is no buvinghausen-{name} key: {reason}"):
        layout(f"buvinghausen-{name}").decode(guids_of([guid]))


# The library's reader


def test_the_pair_of_the_originals_tests(guids_of) -> None:
    keys = guids_of(["8de7bf53-81dc-8c8b-b24c-56b51005eee1", "08de7bf5-381d-cc8b-f24c-56e3580439dd"])
    ticks, known = to_datetime(keys, NOW)
    assert known.all()
    assert ticks.tolist() == [639_084_490_271_870_091] * 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", ["", "-sql"])
def test_the_reader_reads_either_form_up_to_a_second_from_now(kind, suffix, opened) -> None:
    name = f"buvinghausen-{kind}{suffix}"
    whole = NOW - NOW % TICKS_PER_MS
    made = [UNIX_EPOCH, whole, whole + TICKS_PER_SECOND, whole + 2 * TICKS_PER_SECOND]
    keys = opened(name, made, process=QUIET).take(4)
    ticks, known = to_datetime(keys, whole)
    assert known.tolist() == [True, True, True, False]
    assert ticks.tolist() == [*made[:3], 0]


def test_legacy_keys_are_not_read_from_2056_on(opened) -> None:
    end = ticks_of(datetime.fromisoformat("2056-01-27T22:30:34+00:00"))
    later = end + 10**16
    ends = [end - TICKS_PER_SECOND, end + TICKS_PER_SECOND]
    known = to_datetime(opened("buvinghausen-legacy", ends, process=QUIET).take(2), later)[1]
    assert known.tolist() == [True, False]


def test_legacy_keys_of_a_quarter_of_all_machines_are_not_read(opened) -> None:
    """Where the hash of the machine name begins with the bits of the RFC variant, the reader looks for a version."""
    digest = hashlib.sha512(b"testhost").digest()
    assert digest[0] >> 6 == 2
    keys = opened("buvinghausen-legacy", [NOW]).take(1)
    assert to_datetime(keys, NOW)[1].tolist() == [False]


def test_a_few_random_guids_are_read_as_times(opened) -> None:
    keys = opened("uuid-v4", [], entropy=AesEntropy.seeded("strangers")).take(100_000)
    known = to_datetime(keys, NOW)[1]
    assert 0.0001 < known.mean() < 0.004


@given(text=st.uuids())
@example(text=UUID("00000000-0000-0000-0000-000000000000"))
def test_the_reader_is_the_published_rule(text, guids_of) -> None:
    ticks, known = to_datetime(guids_of([str(text)]), NOW)
    expected = published_reader(text, NOW)
    assert (int(ticks[0]), bool(known[0])) == ((0, False) if expected is None else (expected, True))


def published_reader(guid: UUID, now: int) -> int | None:
    """`Guid.ToDateTime` of 6.x on .NET's bytes."""
    back = [13, 12, 11, 10, 15, 14, 9, 8, 6, 7, 4, 5, 0, 1, 2, 3]
    b = guid.bytes_le
    for n in (b, bytes(b[i] for i in back)):
        r = UUID(bytes_le=n).bytes
        ticks = None
        if n[8] & 0xC0 == 0x80:
            if n[7] >> 4 == 8:
                ticks = int.from_bytes(r[:6]) << 12 | (n[7] & 15) << 8 | n[6]
            elif n[7] >> 4 == 7:
                ticks = UNIX_EPOCH + int.from_bytes(r[:6]) * TICKS_PER_MS
        elif n[3] == 8 and (n[6] & 0xC0 != 0x80 or n[8] >> 4 not in (7, 8)):
            ticks = int.from_bytes(r[:8])
        if ticks is not None and UNIX_EPOCH <= ticks <= now + TICKS_PER_SECOND:
            return ticks
    return None
