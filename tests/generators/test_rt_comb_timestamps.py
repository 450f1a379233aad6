"""RT.Comb's timestamps that never repeat, replaceable providers, and all pairs of provider and strategy."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keybench.errors import UsageError
from keybench.generators.core.clock import DATETIME_LAST, TICKS_PER_MS, TICKS_PER_SECOND
from keybench.generators.core.counters import strictly_increasing
from keybench.generators.core.layout import layout
from tests.generators.scripted import ScriptedGuids

START = 638_465_915_513_040_000
COMBS = [f"rt-comb-{provider}" for provider in ("sql", "postgresql", "oracle")]
LEGACY = ["rt-comb-legacy", "rt-comb-postgresql-legacy", "rt-comb-oracle-legacy"]


def with_increment(milliseconds: float, name: str = "rt-comb-sql-no-repeat"):
    return replace(layout(name), step=round(milliseconds * TICKS_PER_MS))


def test_utcnorepeat_vectors(vectors, opened) -> None:
    for vector in vectors("utcnorepeat"):
        chosen = with_increment(vector["inputs"]["increment_ms"])
        ticks = START + np.array(vector["inputs"]["clock_ms"]) * TICKS_PER_MS
        decoded = chosen.decode(opened(chosen, ticks).take(len(ticks))).ticks
        assert ((decoded - START) // TICKS_PER_MS).tolist() == vector["results_ms"]


def published_timestamps(readings: list[int]) -> list[int]:
    """`GetTimestamp`, call by call, with the increment of 4 ms."""
    last, made = 0, []
    for now in readings:
        last = max(now, last + 4 * TICKS_PER_MS)
        made.append(last)
    return made


@given(readings=st.lists(st.integers(0, 300_000), min_size=1, max_size=50), cut=st.integers(0, 50))
@example(readings=[0, 39_999, 80_000, 120_001], cut=2)
def test_timestamps_are_the_published_rule(readings, cut) -> None:
    ticks = START + np.array(readings)
    step = layout("rt-comb-sql-no-repeat").step
    first = strictly_increasing(ticks[:cut], 0, step)
    rest = strictly_increasing(ticks[cut:], first[-1] if len(first) else 0, step)
    assert [*first, *rest] == published_timestamps(ticks.tolist())


@pytest.mark.parametrize("name", [*COMBS, *LEGACY])
def test_keys_of_one_reading_ascend_where_timestamps_never_repeat(name, opened) -> None:
    """RT.Comb's own test: a thousand COMBs of one instant have strictly increasing times, up to four seconds ahead."""
    decoded = layout(f"{name}-no-repeat").decode(opened(f"{name}-no-repeat", np.full(1_001, START)).take(1_001)).ticks
    assert all(before < after for before, after in pairwise(decoded.tolist()))
    assert abs(int(decoded[-1]) - START - 4 * TICKS_PER_SECOND) <= 33_334


def test_timestamps_that_run_beyond_9999_are_refused(opened) -> None:
    with pytest.raises(UsageError, match=r"^rt-comb-sql-no-repeat keys hold .*, and the clock shows 10000-01-01T"):
        opened("rt-comb-sql-no-repeat", [DATETIME_LAST] * 2).take(2)
    with pytest.raises(UsageError, match=r"^rt-comb-sql-no-repeat keys hold .*, and the clock shows 0000-12-31T"):
        opened("rt-comb-sql-no-repeat", [-1]).take(1)


# The pairs


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("rt-comb-sql", "00112233-4455-6677-8899-018e5f3bff48"),
        ("rt-comb-postgresql", "018e5f3b-ff48-6677-8899-aabbccddeeff"),
        ("rt-comb-oracle", "3b5f8e01-48ff-6677-8899-aabbccddeeff"),
        ("rt-comb-legacy", "00112233-4455-6677-8899-b13a0047302f"),
        ("rt-comb-postgresql-legacy", "b13a0047-302f-6677-8899-aabbccddeeff"),
        ("rt-comb-oracle-legacy", "47003ab1-2f30-6677-8899-aabbccddeeff"),
    ],
)
@pytest.mark.parametrize("suffix", ["", "-no-repeat"])
def test_each_pair_writes_its_six_bytes(name, key, suffix, opened, texts_of) -> None:
    base = np.frombuffer(bytes.fromhex("00112233445566778899aabbccddeeff"), np.uint8).reshape(1, 16)
    keys = opened(name + suffix, [START], guids=ScriptedGuids(base)).take(1)
    assert texts_of(keys) == [key]
    assert 0 <= START - layout(name + suffix).decode(keys).ticks[0] <= 33_335


def test_names_of_the_static_providers() -> None:
    for suffix in ("", "-no-repeat", "-legacy", "-legacy-no-repeat"):
        assert layout(f"rt-comb-sqlite-binary{suffix}") is layout(f"rt-comb-oracle{suffix}")
