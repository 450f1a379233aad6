"""Ratios to the control in the same block."""

from math import exp, nan

import numpy as np
import pytest

from keybench.results.analysis.ratios import estimate_between, log_ratios, ratio_to_control


def test_a_ratio_is_taken_within_the_block() -> None:
    """The machine is twice as slow in every second block; the ratio does not see it."""
    control = {block: 10.0 * (1 + block % 2) for block in range(6)}
    found = ratio_to_control({block: 1.3 * value for block, value in control.items()}, control)
    assert (found.ratio, found.low, found.high) == pytest.approx((1.3, 1.3, 1.3))
    assert found.blocks == 6


def test_the_ratio_is_the_median_over_blocks() -> None:
    found = ratio_to_control(dict(enumerate([1.1, 1.2, 1.3, 9.0, 1.2])), dict.fromkeys(range(5), 1.0))
    assert (found.ratio, found.low, found.high) == pytest.approx((1.2, 1.1, 9.0))


def test_blocks_without_both_values_are_left_out() -> None:
    found = ratio_to_control({1: 2.0, 2: 3.0, 3: 0.0, 4: 5.0, 6: 1.0}, {1: 1.0, 2: 1.0, 3: 1.0, 4: 0.0, 5: 1.0})
    assert found.blocks == 2
    assert found.ratio == pytest.approx(6**0.5)
    assert ratio_to_control({1: 2.0}, {2: 2.0}) is None
    assert ratio_to_control({}, {}) is None


def test_log_ratios_are_blocks_by_arms() -> None:
    found = log_ratios([{1: 2.0, 2: 4.0}, {2: 0.0, 1: 8.0}], {1: 2.0, 2: 2.0, 3: 2.0, 4: 0.0})
    assert found.shape == (3, 2)
    assert np.exp(found[0]).tolist() == pytest.approx([1, 4])
    assert exp(found[1, 0]) == pytest.approx(2)
    assert np.isnan(found[1, 1])
    assert np.isnan(found[2]).all()
    assert log_ratios([], {1: 1.0}).shape == (1, 0)
    assert log_ratios([{1: 1.0}], {}).shape == (0, 1)


def test_between_independent_blocks() -> None:
    before, after = np.log([1.0, 1.1, 0.9, nan]), np.log([2.0, 2.2])
    found = estimate_between(before, after)
    assert found.ratio == pytest.approx(4.4**0.5)
    assert (found.low, found.high) == pytest.approx((2.0 / 1.1, 2.2 / 0.9))
    assert found.blocks == 2
    assert estimate_between(before, np.array([nan])) is None
    single = estimate_between(before, np.array([0.0]))
    assert not single.has_interval
