"""buvinghausen's SequentialGuid: golden vectors in both forms, counters, and the library's own reader."""

import hashlib
from datetime import datetime

import numpy as np
import pytest

from keybench.generators.core.clock import TICKS_PER_MS, UNIX_EPOCH, ticks_of
from keybench.generators.core.entropy import Entropy
from keybench.generators.core.layout import layout
from keybench.model.byteorder import rank
from tests.generators.scripted import ScriptedEntropy

KINDS = ["legacy", "v7", "v8time"]
BITS = {"legacy": 24, "v7": 26, "v8time": 22}
STARTS = {"legacy": 500_000, "v7": 512, "v8time": 500_000}

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


@pytest.mark.long
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
