"""The instants that a key can hold, from the first to the last, and what happens to all others."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keybench.errors import UsageError
from keybench.generators.core.clock import TICKS_PER_SECOND, iso_text
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import layout, layouts
from keybench.model.keys import Keys
from tests.errors import raised

ALL = {known.name: known for known in layouts().values()}
TIMED = sorted(name for name, known in ALL.items() if known.description.time and known.reads_clock == "each key")
READABLE = [name for name in TIMED if ALL[name].description.time.readable]
NOW = 638_712_864_000_000_000
DAY = 86_400 * TICKS_PER_SECOND


def made(opened, name: str, ticks: int) -> Keys:
    """One key of a new stream whose clock shows `ticks`."""
    return opened(name, [ticks], start=ticks).take(1)


def off(opened, name: str, ticks: int) -> int:
    """How far the decoded instant is from the reading."""
    return abs(int(layout(name).decode(made(opened, name, ticks)).ticks[0]) - ticks)


def allowed(name: str, ticks: int) -> int:
    """The layout's resolution; a day for layouts whose last ticks before midnight count as the next day."""
    said = ALL[name].description
    if ticks % DAY >= DAY - 4 and any("before midnight" in caveat for caveat in said.caveats):
        return DAY
    return said.time.resolution


@pytest.mark.parametrize("name", READABLE)
@settings(max_examples=20)
@given(data=st.data())
def test_decode_inverts_encode_over_the_whole_range(name, data, opened) -> None:
    time = ALL[name].description.time
    ticks = data.draw(st.integers(time.first, time.last) | st.integers(NOW, NOW + 10**15))
    assert off(opened, name, ticks) <= allowed(name, ticks), iso_text(ticks)


@pytest.mark.parametrize("name", READABLE)
def test_the_first_and_the_last_instant_are_read_back(name, opened) -> None:
    time = ALL[name].description.time
    for ticks in (time.first, time.first + 1, time.last - 1, time.last):
        assert off(opened, name, ticks) <= allowed(name, ticks), iso_text(ticks)


@pytest.mark.parametrize("name", [name for name in TIMED if ALL[name].description.time.outside == "refused"])
def test_instants_outside_are_refused_with_the_range(name, opened) -> None:
    time = ALL[name].description.time
    for ticks in (time.first - 1, time.last + 1):
        assert raised(UsageError, made, opened, name, ticks) == (
            f"{name} keys hold instants from {iso_text(time.first)} to {iso_text(time.last)}, and the clock shows "
            f"{iso_text(ticks)}: set the clock inside that range."
        )


@pytest.mark.parametrize("name", [name for name in READABLE if ALL[name].description.time.outside == "another instant"])
@pytest.mark.parametrize("end", ["first", "last"])
def test_instants_outside_are_stored_as_other_instants(name, end, opened) -> None:
    """The range ends where declared: one quantum later, the key has another time or none, or is not made."""
    time = ALL[name].description.time
    ticks = time.first - time.resolution if end == "first" else time.last + 1
    try:
        distance = off(opened, name, ticks)
    except UsageError:
        return
    assert distance > time.resolution, iso_text(ticks)


@pytest.mark.parametrize("name", sorted(ALL))
def test_two_streams_with_the_systems_entropy_differ_if_anything_is_random(name, opened) -> None:
    said = ALL[name].description
    keys = [opened(name, np.full(20, NOW), entropy=AesEntropy.system()).take(20).data for _ in range(2)]
    if said.random_width:
        assert not np.array_equal(*keys)
    again = [opened(name, np.full(20, NOW), entropy=AesEntropy.seeded(7)).take(20).data for _ in range(2)]
    assert np.array_equal(*again)
