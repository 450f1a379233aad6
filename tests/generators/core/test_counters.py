"""Counters in bulk, against the loops over keys that they replace."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keybench.errors import UsageError
from keybench.generators.core.clock import UNIX_EPOCH
from keybench.generators.core.counters import (
    NEVER,
    changes,
    count_runs,
    new_maxima,
    positions_in_run,
    require_room,
    run_values,
    running_maximum,
    strictly_increasing,
)

NUMBERS = st.lists(st.integers(0, 30), max_size=40)
QUANTA = st.lists(st.integers(0, 40), max_size=60)


@given(quanta=QUANTA, last=st.integers(-1, 50))
def test_new_maxima(quanta, last) -> None:
    expected, highest = [], last
    for quantum in quanta:
        expected.append(quantum > highest)
        highest = max(highest, quantum)
    assert new_maxima(np.array(quanta, np.int64), last).tolist() == expected


def test_run_values_continue_the_last_chunk() -> None:
    heads, starts = np.array([100, 7]), np.array([2, 3])
    assert run_values(heads, starts, 40, 6).tolist() == [41, 42, 100, 7, 8, 9]
    assert run_values(heads[:0], starts[:0], NEVER, 3).tolist() == [0, 1, 2]


@given(quanta=QUANTA, seeds=st.lists(st.integers(0, 3), min_size=60, max_size=60), cut=st.integers(0, 60))
@example(quanta=[0] * 20 + [1, 2, 3, 4, 9, 9], seeds=[3] * 60, cut=0)
@example(quanta=[1, 1, 2, 3, 4, 5], seeds=[3, 3, 3, 3, 3, 3] * 10, cut=3)
def test_count_runs_with_overflows_into_later_quanta(quanta, seeds, cut) -> None:
    """Two bits of counter: every fifth key of a quantum moves the time ahead, into the next quanta."""
    expected, value, used = [], NEVER << 2, 0
    for quantum in quanta:
        if quantum > value >> 2:
            value = quantum << 2 | seeds[used]
            used += 1
        else:
            value += 1
        expected.append(value)
    found, last, drawn = [], NEVER << 2, 0
    for part in (quanta[:cut], quanta[cut:]):
        left = np.array(seeds[drawn:], np.int64)
        values, starts = count_runs(np.array(part, np.int64), last, 2, lambda starts, left=left: left[: len(starts)])
        drawn += len(starts)
        found += values.tolist()
        last = found[-1] if found else last
    assert found == expected
    assert drawn == used


def test_no_room_is_an_error_that_names_the_end() -> None:
    assert require_room("x", np.array([3, 4]), 4, UNIX_EPOCH).tolist() == [3, 4]
    assert require_room("x", np.empty(0, np.int64), 4, UNIX_EPOCH).tolist() == []
    with pytest.raises(UsageError) as refused:
        require_room("x", np.array([3, 4, 5]), 4, UNIX_EPOCH)
    assert str(refused.value) == (
        "x keys end with 1970-01-01T00:00:00.0000000Z, and those made faster than the clock ticks have passed it: "
        "set the clock inside that range."
    )


@given(readings=NUMBERS, last=st.integers(-1, 30), step=st.integers(1, 5))
@example(readings=[3, 8, 13], last=-2, step=5)
@example(readings=[3, 8, 12], last=-2, step=5)
@example(readings=[3, 8], last=-1, step=5)
def test_strictly_increasing_goes_up_by_a_step_or_more(readings, last, step) -> None:
    expected, before = [], last
    for now in readings:
        before = max(now, before + step)
        expected.append(before)
    given_readings = np.array(readings, np.int64)
    assert strictly_increasing(given_readings, last, step).tolist() == expected
    assert given_readings.tolist() == readings, "readings stay as they were"


@given(readings=NUMBERS, last=st.integers(-1, 30))
def test_running_maximum(readings, last) -> None:
    expected = [max([last, *readings[: place + 1]]) for place in range(len(readings))]
    assert running_maximum(np.array(readings, np.int64), last).tolist() == expected


@given(values=st.lists(st.integers(0, 3), max_size=40), last=st.integers(0, 3), following=st.integers(0, 9))
def test_positions_count_from_each_change(values, last, following) -> None:
    places, changed, place, before = [], [], following - 1, last
    for value in values:
        changed.append(value != before)
        place = 0 if value != before else place + 1
        places.append(place)
        before = value
    assert changes(np.array(values, np.int64), last).tolist() == changed
    assert positions_in_run(np.array(values, np.int64), last, following).tolist() == places
