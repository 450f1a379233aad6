"""What holds for the streams of all layouts."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keybench.errors import UsageError
from keybench.generators.core.clock import TICKS_PER_MS, VirtualClock
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import layout, layouts
from keybench.generators.core.process import Process
from keybench.generators.core.stream import CHUNK, GuidStream
from keybench.model.byteorder import sort_words
from keybench.model.keys import Keys

FIRST_TWELVE = (
    "bigint-identity",
    "uuid-v4",
    "uuid-v7",
    "rt-comb-sql",
    "rt-comb-postgresql",
    "rt-comb-legacy",
    "jhtodd-string",
    "jhtodd-binary",
    "jhtodd-end",
    "morris",
    "efcore-sequential",
    "hotguid",
)
NAMES = sorted({known.name for known in layouts().values()})
STRICT = {"bigint-identity", "efcore-sequential", "morris", "hotguid"}
"""Layouts whose keys ascend strictly in one process, however many have the same reading."""

REFUSE_STEPS_BACK = {"flakeid", "snowflake", "snowflake-discord"}
"""Layouts that make no key while the clock is behind its last reading."""

START = 637_811_545_420_000_000
READINGS = st.lists(st.integers(0, 10**12), min_size=1, max_size=60)


def ascends(keys: Keys, order: str) -> bool:
    """Whether each key is above the one before in that order."""
    words = [tuple(row) for row in sort_words(keys, order).tolist()]
    return all(earlier < later for earlier, later in pairwise(words))


def test_the_first_twelve_are_here() -> None:
    assert set(FIRST_TWELVE) <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=8)
@given(cuts=st.lists(st.integers(0, 30), max_size=6), jitter=st.randoms(use_true_random=False))
def test_any_cut_gives_the_same_keys(name, cuts, jitter, opened) -> None:
    ticks = [START + jitter.randrange(-(10**6), 10**6) for _ in range(sum(cuts))]
    if name in REFUSE_STEPS_BACK:
        ticks = [max(START, reading) for reading in sorted(ticks)]
    whole = opened(name, ticks, start=START).take(sum(cuts))
    stream = opened(name, ticks, start=START)
    parts = [stream.take(n).data for n in cuts]
    assert np.array_equal(np.concatenate([whole.data[:0], *parts]), whole.data)
    single = opened(name, ticks, start=START)
    ones = [single.take(1).data for _ in range(sum(cuts))]
    assert np.array_equal(np.concatenate([whole.data[:0], *ones]), whole.data)


@pytest.mark.parametrize("name", NAMES)
def test_keys_do_not_depend_on_chunks(name, opened) -> None:
    n = 2 * CHUNK + 5
    ticks = START + np.arange(n) * 7_000
    whole = opened(name, ticks).take(n)
    stream = opened(name, ticks)
    parts = [stream.take(part) for part in (1, CHUNK - 2, CHUNK, 6)]
    assert np.array_equal(Keys.concat(parts).data, whole.data)
    assert len(np.unique(whole.data, axis=0)) == n


@pytest.mark.parametrize("name", sorted({known.name for known in layouts().values() if known.kind == "uuid"}))
def test_filling_a_slice_gives_the_keys_of_take(name, opened) -> None:
    ticks = START + np.arange(600) * 7_000
    taken = opened(name, ticks).take(600).data
    stream = opened(name, ticks)
    if not isinstance(stream, GuidStream):
        return
    room = np.full((602, 16), 0xA5, np.uint8)
    stream.fill(room[1:2])
    stream.fill(room[2:2])
    stream.fill(room[2:-1])
    assert np.array_equal(room[1:-1], taken)
    assert (room[[0, -1]] == 0xA5).all()


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=8)
@given(before=st.integers(0, 20), after=st.integers(1, 20))
def test_a_pickled_stream_continues_identically(name, before, after, opened) -> None:
    stream = opened(name, START + np.arange(before + after) * 1_000, start=START - 5)
    stream.take(before)
    copy = pickle.loads(pickle.dumps(stream))
    assert np.array_equal(copy.take(after).data, stream.take(after).data)


@pytest.mark.parametrize("name", NAMES)
def test_layouts_are_picklable_values(name) -> None:
    assert pickle.loads(pickle.dumps(layout(name))) == layout(name)


@pytest.mark.parametrize("name", NAMES)
def test_the_kind_is_the_one_declared(name, opened) -> None:
    keys = opened(name, [START] * 3).take(3)
    assert keys.kind == layout(name).kind
    assert len(keys) == 3
    assert opened(name, [START]).take(0).data.shape[1:] == keys.data.shape[1:]


@pytest.mark.parametrize("name", NAMES)
def test_four_writers_make_no_key_twice(name) -> None:
    """Layouts that are unique only by machine make the same keys four times."""
    whole, process = AesEntropy.seeded("writers"), Process("testhost", 74_565)
    parts = [
        layout(name)
        .stream(process.partition(i, of=4), VirtualClock(START + np.arange(2_000) * 10), whole.partition(i, of=4))
        .take(2_000)
        for i in range(4)
    ]
    different = 2_000 if layout(name).description.uniqueness == "machine" else 8_000
    assert len(np.unique(Keys.concat(parts).data, axis=0)) == different


@pytest.mark.parametrize("name", NAMES)
def test_each_reads_the_clock_when_it_declares_to(name) -> None:
    clock = VirtualClock(START + np.arange(10) * TICKS_PER_MS)
    process = Process("testhost", 74_565)
    layout(name).stream(process, clock, AesEntropy.seeded(1)).take(7)
    assert clock.position == (7 if layout(name).reads_clock == "each key" else 0)
    if layout(name).reads_clock == "never":
        assert len(layout(name).stream(process, VirtualClock(np.zeros(0, np.int64)), AesEntropy.seeded(1)).take(7)) == 7


@pytest.mark.parametrize("name", sorted(STRICT))
@given(steps=READINGS)
def test_strict_layouts_ascend_key_by_key(name, steps, opened) -> None:
    ticks = START + np.cumsum(steps) // 1000 * 1000
    assert ascends(opened(name, ticks).take(len(ticks)), layout(name).order)


@pytest.mark.parametrize("name", sorted(STRICT - {"hotguid"}))
@given(readings=READINGS)
def test_some_ascend_even_when_the_clock_steps_back(name, readings, opened) -> None:
    ticks = START + np.array(readings)
    assert ascends(opened(name, ticks).take(len(ticks)), layout(name).order)


@pytest.mark.parametrize("name", sorted(set(FIRST_TWELVE) - STRICT - {"uuid-v4"}))
def test_time_ordered_layouts_ascend_from_quantum_to_quantum(name, opened) -> None:
    # 4 ms is more than every quantum: a millisecond, and 1/300 s.
    ticks = START + np.arange(3_000) * (4 * TICKS_PER_MS)
    assert ascends(opened(name, ticks).take(3_000), layout(name).order)


@pytest.mark.parametrize("name", sorted(set(FIRST_TWELVE) - STRICT))
def test_time_ordered_layouts_have_no_order_within_a_quantum(name, opened) -> None:
    order = "rfc" if layout(name).order == "none" else layout(name).order
    assert not ascends(opened(name, [START] * 100).take(100), order)


@pytest.mark.parametrize("order", ["rfc", "net", "mssql", "mysql-swap"])
def test_random_keys_ascend_in_no_order(order, opened) -> None:
    assert layout("uuid-v4").order == "none"
    assert not ascends(opened("uuid-v4", []).take(100), order)


@pytest.mark.parametrize("name", sorted(set(FIRST_TWELVE) - {"uuid-v4", "bigint-identity", "hotguid"}))
def test_no_layout_ascends_in_another_order_too(name, opened) -> None:
    """65.5 s of keys show disorder in each wrong column, except for hotguid, whose high bytes stay first."""
    ticks = START + np.arange(3_000) * 5 * TICKS_PER_MS
    keys = opened(name, ticks).take(3_000)
    orders = [order for order in ("rfc", "net", "mssql") if ascends(keys, order)]
    assert orders == [layout(name).order]


@pytest.mark.parametrize("name", sorted(set(FIRST_TWELVE) - {"bigint-identity"}))
def test_a_seed_decides_all_random_bytes(name) -> None:
    def keys(seed: int) -> bytes:
        clock = VirtualClock(START + np.arange(10) * TICKS_PER_MS)
        return layout(name).stream(Process("testhost", 1), clock, AesEntropy.seeded(seed)).take(10).data.tobytes()

    assert keys(1) == keys(1)
    assert keys(1) != keys(2)


@pytest.mark.parametrize("name", NAMES)
def test_keys_of_another_kind_are_refused(name) -> None:
    holds_nothing = f"^{name} keys hold no time and no counter: nothing in these 3 can be decoded"
    wanted = {
        "uuid": "^these are int keys, and GUIDs were expected: name the layout that made them",
        "int": f"^these are uuid keys, and {name} keys are integers: name the layout that made them",
        "text": rf"^these are int keys, and {name} keys are \d+ characters: name the layout that made them",
        "bytes": rf"^these are int keys, and {name} keys are \d+ bytes: name the layout that made them",
    }[layout(name).kind]
    keys = Keys(np.zeros((3, 16), np.uint8), "uuid") if layout(name).kind == "int" else Keys(np.arange(3), "int")
    with pytest.raises(UsageError, match=f"{wanted}|{holds_nothing}"):
        layout(name).decode(keys)
