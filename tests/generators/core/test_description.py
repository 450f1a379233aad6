"""The description of every layout is true of its keys."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keybench.generators.core.clock import TICKS_PER_MS, VirtualClock
from keybench.generators.core.description import Description, Part
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import layout, layouts
from keybench.generators.core.process import Process
from keybench.model.byteorder import sort_words
from keybench.model.keys import Keys
from tests.errors import raised

NAMES = sorted({known.name for known in layouts().values()})
START = 637_811_545_420_000_000
PROCESS = Process("testhost", 74_565)


def ascends(keys: Keys, order: str) -> bool:
    """Whether each key is above the one before in that order."""
    words = [tuple(row) for row in sort_words(keys, order).tolist()]
    return all(earlier < later for earlier, later in pairwise(words))


def columns(keys: Keys) -> np.ndarray:
    """The bits of each key in the order of the text, an integer's from the sign bit on; for text, its characters."""
    if keys.kind == "text":
        return keys.data
    data = keys.data.astype(">i8").view(np.uint8).reshape(-1, 8) if keys.kind == "int" else keys.data
    return np.unpackbits(data, axis=1)


def where(predicate) -> list[str]:
    """The layouts whose description satisfies the condition."""
    return [name for name in NAMES if predicate(layout(name).description)]


@pytest.mark.parametrize("name", NAMES)
def test_the_diagram_covers_the_key_and_the_legend_the_diagram(name, opened) -> None:
    description = layout(name).description
    assert columns(opened(name, [START]).take(1)).shape[1] == description.width
    assert all(len(meaning) >= 4 for meaning in description.meanings.values())
    assert all(caveat == caveat.strip() and caveat[-1] not in ".!" for caveat in description.caveats)


@pytest.mark.parametrize("name", NAMES)
def test_random_bits_vary_evenly_and_fixed_ones_never(name, opened) -> None:
    """With one clock reading, so that the time and the process are the same in all keys."""
    description = layout(name).description
    drawn = columns(opened(name, np.full(4_000, START)).take(4_000))
    random = drawn[:, description.where(description.random)]
    if layout(name).kind == "text":
        assert (np.diff(np.sort(random, axis=0), axis=0) > 0).sum(axis=0).min(initial=99) >= 9
        return
    assert np.abs(random.mean(axis=0) - 0.5).max(initial=0) < 0.05
    mask, bits = description.fixed()
    assert (drawn[:, mask] == bits[mask]).all()


@pytest.mark.parametrize("name", where(lambda said: said.within == "always"))
@settings(max_examples=12)
@given(readings=st.lists(st.integers(0, 10**12), min_size=1, max_size=60))
def test_always_means_whatever_the_clock_does(name, readings, opened) -> None:
    ticks = START + np.array(readings)
    assert ascends(opened(name, ticks).take(len(ticks)), layout(name).order)


@pytest.mark.parametrize("name", where(lambda said: said.within in {"always", "forward"}))
@settings(max_examples=12)
@given(steps=st.lists(st.integers(0, 10**12), min_size=1, max_size=60))
def test_forward_means_however_many_keys_share_a_reading(name, steps, opened) -> None:
    ticks = np.repeat(START + np.cumsum(steps) // 1000 * 1000, 7)
    assert ascends(opened(name, ticks).take(len(ticks)), layout(name).order)


@pytest.mark.parametrize("name", where(lambda said: said.within in {"always", "forward"}))
def test_many_keys_of_one_reading_ascend(name, opened) -> None:
    keys = opened(name, np.full(3_000, START)).take(3_000)
    assert ascends(keys, layout(name).order)


@pytest.mark.parametrize("name", where(lambda said: said.within == "by time"))
def test_by_time_means_from_quantum_to_quantum_only(name, opened) -> None:
    resolution = layout(name).description.time.resolution
    ticks = START + np.arange(1_000) * (2 * resolution)
    assert ascends(opened(name, ticks).take(1_000), layout(name).order)
    start = START - START % resolution
    assert not ascends(opened(name, np.full(3_000, start)).take(3_000), layout(name).order)


@pytest.mark.parametrize("name", where(lambda said: said.within == "no"))
@pytest.mark.parametrize("order", ["rfc", "net", "mssql", "mysql-swap"])
def test_a_layout_without_an_order_has_none(name, order, opened) -> None:
    assert layout(name).order == "none"
    ticks = START + np.arange(1_000) * 10_000 * TICKS_PER_MS
    assert not ascends(opened(name, ticks).take(1_000), order)


@pytest.mark.parametrize("name", where(lambda said: said.across in {"always", "forward", "by time"}))
def test_processes_that_take_turns_ascend_together(name) -> None:
    time = layout(name).description.time
    step = 2 * time.resolution if time else TICKS_PER_MS
    entropy = AesEntropy.seeded("across")
    parts = []
    for i in range(4):
        ticks = START + (np.arange(200) * 4 + i) * step
        stream = layout(name).stream(PROCESS.partition(i, of=4), VirtualClock(ticks), entropy.partition(i, of=4))
        parts.append(stream.take(200).data)
    keys = Keys(np.stack(parts, axis=1).reshape(800, *parts[0].shape[1:]), layout(name).kind)
    assert ascends(keys, layout(name).order)


def test_a_diagram_is_read_part_by_part() -> None:
    said = Description("T48 V4:7 R12 X2:2 C2 R60", {"T": "time", "C": "count"})
    assert said.parts[:2] == (Part("T", 48, 0), Part("V", 4, 48, 7))
    assert said.width == 128
    assert said.random_width == 72
    assert said.meanings == {
        "T": "time", "V": "version", "R": "random, new for each key", "X": "variant of RFC 9562", "C": "count",
    }  # fmt: skip
    mask, bits = said.fixed()
    assert np.flatnonzero(mask).tolist() == [48, 49, 50, 51, 64, 65]
    assert bits[mask].tolist() == [0, 1, 1, 1, 1, 0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Description("T48 80R"), "'80R' in 'T48 80R' is no letter and number of bits, such as T48 or V4:7"),
        (lambda: Description("V4:1f"), "'V4:1f' in 'V4:1f': the value needs more than 4 bits"),
        (lambda: Description("T48 R80"), "the diagram 'T48 R80' and the legend of [] do not match"),
        (lambda: Description("R80", {"T": "time"}), "the diagram 'R80' and the legend of ['T'] do not match"),
        (lambda: Description("R80", uniqueness="worker id"),
         "worker_ids, the number of worker ids, belongs to uniqueness by worker id, and only to it"),
    ],
)  # fmt: skip
def test_a_wrong_description_is_refused(make, message) -> None:
    assert raised(ValueError, make) == message
