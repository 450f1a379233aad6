"""Clocks: one reading a key, and the current tick, which uses up no reading."""

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.generators.core.clock import TICKS_PER_SECOND, UNIX_EPOCH, SystemClock, VirtualClock, ticks_of


@pytest.mark.parametrize(
    ("moment", "ticks"),
    [
        (datetime(1, 1, 1, tzinfo=UTC), 0),
        (datetime(1970, 1, 1, tzinfo=UTC), UNIX_EPOCH),
        (datetime(2038, 1, 19, 3, 14, 8, tzinfo=UTC), 642_830_804_480_000_000),
        (datetime(2024, 3, 21, 4, 19, 11, 304_000, tzinfo=UTC), 638_465_915_513_040_000),
        (datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), 3_155_378_975_999_999_990),
        (datetime(2024, 3, 21, 6, 19, 11, 304_000, tzinfo=timezone(timedelta(hours=2))), 638_465_915_513_040_000),
    ],
)
def test_ticks_of(moment, ticks) -> None:
    assert ticks_of(moment) == ticks


def test_a_naive_datetime_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^2024-03-21T04:19:11 has no time zone: give one, such as \+00:00$"):
        ticks_of(datetime(2024, 3, 21, 4, 19, 11))


@given(readings=st.lists(st.integers(0, 2**62), max_size=20), cut=st.integers(0, 20))
def test_a_virtual_clock_shows_its_readings_in_turn(readings, cut) -> None:
    clock = VirtualClock(np.array(readings, np.int64))
    cut = min(cut, len(readings))
    assert [*clock.read(cut), *clock.read(len(readings) - cut)] == readings


def test_a_virtual_clock_ends_with_an_error() -> None:
    clock = VirtualClock(np.arange(5))
    clock.read(3)
    with pytest.raises(LookupError, match=r"^the virtual clock holds 5 readings, 6 were asked for$"):
        clock.read(3)
    assert clock.read(2).tolist() == [3, 4], "a refused request uses up nothing"


def test_now_before_the_first_key_can_be_given() -> None:
    clock = VirtualClock(np.array([10, 20]), start=3)
    assert clock.now() == 3
    assert clock.read(1).tolist() == [10]
    assert clock.now() == 20
    assert VirtualClock(np.array([], np.int64), start=3).now() == 3


def test_now_of_an_empty_clock() -> None:
    with pytest.raises(LookupError, match=r"^the virtual clock holds no readings$"):
        VirtualClock(np.array([], np.int64)).now()


def test_the_system_clock_shows_the_current_time() -> None:
    before = ticks_of(datetime.now(UTC))
    clock = SystemClock()
    first = clock.now()
    ticks, odd = clock.read_fine(1000)
    last = clock.now()
    after = ticks_of(datetime.now(UTC)) + 10
    # The machine's clock can be adjusted while this runs, but by far less than a second.
    slack = TICKS_PER_SECOND
    assert before - slack <= first <= ticks.min() + slack
    assert ticks.max() - slack <= last <= after + slack
    assert ticks.dtype == np.int64
    assert 0 <= odd.min() <= odd.max() <= 99
