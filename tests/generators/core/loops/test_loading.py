"""Kernels make the keys that numpy makes, and are loaded only where they pay."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from keybench.errors import UsageError
from keybench.generators import hotguid, percona_week
from keybench.generators.core import bits, counters, instants, sql_guid
from keybench.generators.core.clock import TICKS_PER_MS
from keybench.generators.core.instants import DATETIME_LAST
from keybench.generators.core.layout import layout, layouts
from keybench.generators.core.loops import loading
from keybench.generators.core.loops.hashes import Messages
from keybench.generators.core.stream import CHUNK
from keybench.generators.rt_comb.dates import UnixDates

NAMES = sorted({known.name for known in layouts().values()})
START = 637_811_545_420_000_000
DAY = 864_000_000_000
TICKS = st.integers(0, DATETIME_LAST) | st.builds(
    lambda quantum, times, off: quantum * times + off,
    st.sampled_from([TICKS_PER_MS, DAY]),
    st.integers(1, 3_000_000),
    st.integers(-4, 4),
)
READINGS = st.lists(TICKS, min_size=1, max_size=40).map(lambda ticks: np.array(ticks, np.int64))


@pytest.fixture(scope="module")
def both() -> Iterator[Callable[[Callable[[], Any]], tuple[Any, Any]]]:
    """What a call returns with numpy, and with the kernels for arrays of any size."""
    patch = pytest.MonkeyPatch()

    def call(work: Callable[[], Any]) -> tuple[Any, Any]:
        patch.setattr(loading, "_kernels", None)
        plain = work()
        patch.setattr(loading, "_FEW", 0)
        loading.load_kernels()
        assert loading.kernels_for(0) is not None
        try:
            return plain, work()
        finally:
            patch.undo()

    yield call
    patch.undo()


def keys(opened: Any, name: str, ticks: np.ndarray, cuts: list[int]) -> list[bytes] | str:
    stream = opened(name, ticks, start=START)
    try:
        return [stream.take(n).data.tobytes() for n in cuts]
    except UsageError as refused:
        return str(refused)


@pytest.mark.parametrize("name", NAMES)
def test_a_layouts_keys_are_the_same(name, opened, both) -> None:
    """With a clock that goes forward, one that repeats and steps back, and one anywhere within and beyond the range."""
    random = np.random.default_rng(5)
    cuts = [1, 300, 0, 500]
    n = sum(cuts)
    time = layout(name).description.time
    first, last = (time.first, time.last) if time else (0, DATETIME_LAST)
    wide = random.integers(max(first, 0), min(last, DATETIME_LAST) + 1, n)
    for ticks in (
        START + np.arange(n) * TICKS_PER_MS,
        START + np.arange(n) * 7,
        START + random.integers(0, 100_000, n),
        wide,
        np.sort(wide),
        np.sort(random.integers(0, DATETIME_LAST, n)),
    ):
        plain, compiled = both(lambda ticks=ticks: keys(opened, name, ticks, cuts))
        assert plain == compiled


@settings(max_examples=25)
@given(data=arrays.arrays(np.uint8, st.tuples(st.integers(0, 9), st.just(16))), seed=st.integers(0, 2**32))
@pytest.mark.parametrize("version", [None, 4, 7])
@pytest.mark.parametrize(
    "put",
    [
        lambda data, values, version: bits.put_u48(data, 0, values, version),
        lambda data, values, version: bits.put_u48(data, 10, values, version),
        bits.put_u48_net,
        lambda data, values, version: bits.put_words(data, values, values[::-1].copy()),
        bits.put_last_word,
        lambda data, values, version: bits.stamp_version(data, version or 1),
        lambda data, values, version: bits.swap_net(data),
        lambda data, values, version: sql_guid.to_sql_guid(data),
    ],
)
def test_bits_are_written_the_same(put, version, data, seed, both) -> None:
    values = np.random.default_rng(seed).integers(0, 2**64, len(data), np.uint64)

    def work() -> bytes:
        copy = data.copy()
        put(copy, values, version)
        return copy.tobytes()

    plain, compiled = both(work)
    assert plain == compiled


@settings(max_examples=25)
@given(ticks=READINGS)
@pytest.mark.parametrize(
    "rule",
    [
        instants.milliseconds,
        instants.since_midnight,
        bits.sql_sequence,
        percona_week.texts_of_time,
        UnixDates().encode,
        instants.sql_datetime,
        hotguid._seconds,
    ],
)
def test_times_are_computed_the_same(rule, ticks, both) -> None:
    plain, compiled = both(lambda: rule(ticks))
    assert plain.dtype == compiled.dtype
    assert np.array_equal(plain, compiled)


def test_quotients_are_exact_up_to_the_last_number(both) -> None:
    edges = np.array([0, 1, 2**53, 2**53 + 1, 2**63 - 1])
    near = [edge // quantum * quantum + off for edge in edges for quantum in (TICKS_PER_MS, DAY) for off in (-1, 0, 1)]
    ticks = np.array([number for number in [*edges, *near] if 0 <= number < 2**63], np.int64)
    random = np.random.default_rng(3).integers(0, 2**63, 20_000) // TICKS_PER_MS * TICKS_PER_MS
    for numbers in (ticks, random, random + 9_999, random // DAY * DAY):
        plain, compiled = both(lambda numbers=numbers: instants.milliseconds(numbers))
        assert compiled.tolist() == plain.tolist() == [number // TICKS_PER_MS for number in numbers.tolist()]
        plain, compiled = both(lambda numbers=numbers: instants.since_midnight(numbers))
        assert compiled.tolist() == plain.tolist() == [number % DAY for number in numbers.tolist()]


@settings(max_examples=25)
@given(readings=READINGS, last=TICKS, step=st.integers(1, 10**6))
def test_sequences_are_the_same(readings, last, step, both) -> None:
    plain, compiled = both(lambda: counters.strictly_increasing(readings, last, step))
    assert plain.tolist() == compiled.tolist()


def test_decimals_are_as_short_as_pythons(both) -> None:
    most = (1 << 30) - 2
    near = [part + off for part in (most // 2, most // 4, most // 5, most // 1_000, 1 << 20) for off in range(-50, 50)]
    random = np.random.default_rng(2).integers(0, most + 1, 20_000)
    numbers = np.concatenate([np.arange(2_000), most - np.arange(2_000), near, random])
    plain, compiled = both(lambda: percona_week.texts_of_random(numbers))
    assert np.array_equal(plain.lengths, compiled.lengths)
    width = plain.data.shape[1]
    assert np.array_equal(plain.data, compiled.data[:, :width])
    assert not compiled.data[:, width:].any()


@given(texts=st.lists(st.binary(max_size=5), min_size=1, max_size=9))
def test_suffixes_are_appended(texts, both) -> None:
    more = np.arange(4 * len(texts), dtype=np.uint8).reshape(-1, 4)
    for messages in both(lambda: Messages.from_texts(texts).with_suffixes(more)):
        rows = zip(messages.data, messages.lengths, strict=True)
        assert [row[:length].tobytes() for row, length in rows] == [
            text + tail.tobytes() for text, tail in zip(texts, more, strict=True)
        ]


def test_a_million_keys_load_the_kernels(opened, monkeypatch) -> None:
    monkeypatch.setattr(loading, "_kernels", None)
    opened("uuid-v4", []).take(CHUNK)
    opened("nanoid", []).take(CHUNK)
    assert loading.kernels_for(CHUNK) is None
    monkeypatch.setattr(loading, "MANY", CHUNK)
    for name in ("uuid-v4", "nanoid"):
        monkeypatch.setattr(loading, "_kernels", None)
        opened(name, []).take(CHUNK)
        loading.load_kernels(CHUNK)
        assert loading.kernels_for(CHUNK) is not None
        assert loading.kernels_for(1) is None, "not for a few"


def test_few_keys_need_no_numba() -> None:
    code = """
import sys
from keybench.generators import new
from keybench.generators.commands.app import main
new("uuid-v7")
for arguments in (["list"], ["show", "rt-comb-sql"], ["make", "rt-comb-legacy", "-n", "3"]):
    sys.argv = ["generators", *arguments]
    try:
        main()
    except SystemExit as end:
        assert not end.code, arguments
assert not {"numba", "keybench.compiled"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, cwd="/")
