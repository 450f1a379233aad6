"""Growth and knee of known curves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keybench.results.analysis.knee import growth, knee


def noisy(cost: np.ndarray, seed: int, share: float = 0.05) -> np.ndarray:
    return cost * np.exp(np.random.default_rng(seed).normal(0, share, len(cost)))


def test_growth_is_the_last_tenth_over_the_first() -> None:
    assert growth(np.r_[np.full(4, 2.0), np.full(32, 50.0), np.full(4, 9.0)]) == 4.5
    assert growth(np.array([3.0])) == 1.0


@pytest.mark.parametrize("place", [5, 20, 34])
@pytest.mark.parametrize("seed", range(5))
def test_a_cliff_and_a_slope_have_their_knee_where_they_begin(place: int, seed: int) -> None:
    x = np.arange(40)
    cliff = np.where(x < place, 1.0, 6.0)
    assert knee(noisy(cliff, seed)) == place
    slope = np.where(x < place, 1.0, 2.0 ** ((x - place + 1) / 2))
    assert abs((knee(noisy(slope, seed)) or 0) - place) <= 2


@settings(deadline=None)
@given(seed=st.integers(0, 2**32), slope=st.floats(0, 0.05))
def test_a_level_or_evenly_rising_cost_has_none(seed: int, slope: float) -> None:
    assert knee(noisy(np.exp(slope * np.arange(40)), seed)) is None


def test_a_falling_cost_has_none() -> None:
    assert knee(np.where(np.arange(40) < 20, 5.0, 1.0)) is None


@pytest.mark.parametrize("cost", [np.ones(7), np.zeros(40), np.r_[np.ones(39), 0.0]])
def test_too_few_or_no_costs_have_none(cost: np.ndarray) -> None:
    assert knee(cost) is None
