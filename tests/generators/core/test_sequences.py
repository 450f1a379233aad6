"""Counters that look at the clock, against the loops that they replace."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from keybench.generators.core.sequences import changes, never_falling, never_repeated, places_in_run

NUMBERS = st.lists(st.integers(0, 30), max_size=40)


@given(readings=NUMBERS, last=st.integers(-1, 30), step=st.integers(1, 5))
@example(readings=[3, 8, 13], last=-2, step=5)
@example(readings=[3, 8, 12], last=-2, step=5)
@example(readings=[3, 8], last=-1, step=5)
def test_never_repeated_goes_up_by_a_step_at_least(readings, last, step) -> None:
    expected, before = [], last
    for now in readings:
        before = max(now, before + step)
        expected.append(before)
    given_readings = np.array(readings, np.int64)
    assert never_repeated(given_readings, last, step).tolist() == expected
    assert given_readings.tolist() == readings, "readings stay as they were"


@given(readings=NUMBERS, last=st.integers(-1, 30))
def test_never_falling_holds_the_highest(readings, last) -> None:
    expected = [max([last, *readings[: place + 1]]) for place in range(len(readings))]
    assert never_falling(np.array(readings, np.int64), last).tolist() == expected


@given(values=st.lists(st.integers(0, 3), max_size=40), last=st.integers(0, 3), following=st.integers(0, 9))
def test_places_count_from_each_change(values, last, following) -> None:
    places, changed, place, before = [], [], following - 1, last
    for value in values:
        changed.append(value != before)
        place = 0 if value != before else place + 1
        places.append(place)
        before = value
    assert changes(np.array(values, np.int64), last).tolist() == changed
    assert places_in_run(np.array(values, np.int64), last, following).tolist() == places
