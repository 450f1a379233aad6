"""What holds for the streams of all layouts."""

import pickle

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
from keybench.model.keys import Keys

NAMES = sorted({known.name for known in layouts().values()})

REFUSE_STEPS_BACK = {"flakeid", "snowflake", "snowflake-discord"}
"""Layouts that make no key while the clock is behind its last reading."""

START = 637_811_545_420_000_000


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
    bytes_of_a_key = f"V{whole.data.nbytes // n}"
    assert len(set(np.ascontiguousarray(whole.data).view(bytes_of_a_key).ravel().tolist())) == n


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
