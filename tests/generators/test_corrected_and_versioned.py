"""Unpublished variants: Peter Morris' generator as its comment says, jhtodd's layouts with version and variant."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keybench.generators.core.clock import DATETIME_LAST, TICKS_PER_MS
from keybench.generators.core.layout import layout
from tests.generators.scripted import ScriptedEntropy

FORMS = ["string", "binary", "end"]
WRAP = (1 << 48) * TICKS_PER_MS


def corrected_sequence(last: int, readings: list[int]) -> list[int]:
    returned = []
    for now in readings:
        last = max(last + 1, now)
        returned.append(last)
    return returned


@given(
    start=st.integers(0, 3_000),
    readings=st.lists(st.one_of(st.integers(0, 3_000), st.integers(0, DATETIME_LAST)), max_size=40),
    cut=st.integers(0, 40),
)
def test_morris_corrected_holds_its_own_reading(start, readings, cut, opened) -> None:
    stream = opened("morris-corrected", readings, start=start)
    parts = [stream.take(min(cut, len(readings))), stream.take(max(len(readings) - cut, 0))]
    ticks = [tick for part in parts for tick in layout("morris-corrected").decode(part).ticks.tolist()]
    assert ticks == corrected_sequence(start, readings)


def test_after_an_idle_hour_the_corrected_key_is_right_and_the_published_late(opened) -> None:
    readings = [2000, 2000, 2000, 5000, 5000]
    published = layout("morris").decode(opened("morris", readings, start=1000).take(5)).ticks
    corrected = layout("morris-corrected").decode(opened("morris-corrected", readings, start=1000).take(5)).ticks
    assert published.tolist() == [1001, 2001, 2002, 2003, 5001]
    assert corrected.tolist() == [2000, 2001, 2002, 5000, 5001]


def test_both_have_the_same_process_bytes(opened) -> None:
    first, second = (opened(name, [10**17]).take(1).data[0, :8] for name in ("morris", "morris-corrected"))
    assert first.tolist() == second.tolist()


# jhtodd with version and variant


@pytest.mark.parametrize("form", FORMS)
@given(ticks=st.integers(0, WRAP - 1), random=st.binary(min_size=10, max_size=10))
@example(ticks=0, random=bytes(10))
@example(ticks=WRAP - 1, random=b"\xff" * 10)
def test_only_six_random_bits_differ_from_the_published_form(form, ticks, random, opened) -> None:
    plain = opened(f"jhtodd-{form}", [ticks], entropy=ScriptedEntropy(random)).take(1)
    keys = opened(f"jhtodd-{form}-v4", [ticks], entropy=ScriptedEntropy(random)).take(1)
    expected = plain.data[0].tolist()
    expected[6] = expected[6] & 0x0F | 0x40
    expected[8] = expected[8] & 0x3F | 0x80
    assert keys.data[0].tolist() == expected
    assert layout(f"jhtodd-{form}-v4").decode(keys).ticks == ticks // TICKS_PER_MS * TICKS_PER_MS


def test_abp_has_jhtodds_layouts() -> None:
    for form in FORMS:
        assert layout(f"abp-{form}") is layout(f"zaabee-{form}") is layout(f"jhtodd-{form}")
    assert layout("abp") is layout("jhtodd-end"), "its default"
