"""The interval of a median: the exact bootstrap distribution, and what it covers."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keybench.results.analysis import bootstrap
from keybench.results.analysis.bootstrap import interval, interval_between


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_the_distribution_is_that_of_all_resamples(n: int) -> None:
    values = np.random.default_rng(n).normal(size=n)
    every = np.median(values[np.array(list(product(range(n), repeat=n)))], axis=1)
    medians, chances = bootstrap._medians(values)
    assert chances.sum() == pytest.approx(1)
    for at in np.unique(every):
        assert chances[medians <= at + 1e-12].sum() == pytest.approx((every <= at + 1e-12).mean())


@pytest.mark.parametrize("skewed", [False, True])
@pytest.mark.parametrize("n", [6, 7, 8, 9, 12])
def test_from_six_blocks_on_it_covers_what_it_says(n: int, skewed: bool) -> None:
    rng = np.random.default_rng(n)
    samples = rng.exponential(size=(1000, n)) if skewed else rng.normal(size=(1000, n))
    truth = np.log(2) if skewed else 0.0
    covered = np.mean([low <= truth <= high for low, high in (interval(sample, 0.95) for sample in samples)])
    assert 0.94 <= covered <= 0.995  # 0.95 − 1.5 standard errors of 1,000


def test_with_few_values_it_goes_from_the_lowest_to_the_highest() -> None:
    for n in range(2, 7):
        values = np.arange(n) ** 2.0
        assert interval(values, 0.95) == (0, (n - 1) ** 2)


def test_the_difference_of_two_samples_is_covered() -> None:
    rng = np.random.default_rng(3)
    found = [interval_between(rng.normal(size=6), rng.normal(1.0, 2.0, size=8), 0.95) for _ in range(400)]
    assert 0.94 <= np.mean([low <= 1.0 <= high for low, high in found]) <= 0.998


@settings(deadline=None)
@given(st.lists(st.floats(-100, 100), min_size=2, max_size=12), st.floats(-50, 50))
def test_it_moves_with_the_values_and_lies_within_them(values: list[float], by: float) -> None:
    low, high = interval(np.array(values), 0.95)
    assert min(values) <= low <= np.median(values) <= high <= max(values)
    assert interval(np.array(values) + by, 0.95) == pytest.approx((low + by, high + by), abs=1e-9)
    assert interval(-np.array(values), 0.95) == pytest.approx((-high, -low))
