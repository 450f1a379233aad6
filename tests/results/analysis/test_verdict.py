"""From an estimate and its p-value to a verdict."""

from math import isnan

import pytest

from keybench.results.analysis.ratios import RatioEstimate, equivalent, ratio_to_control, verdict


def test_one_block_has_no_interval() -> None:
    found = ratio_to_control({1: 2.0}, {1: 1.0})
    assert not found.has_interval
    assert isnan(found.high)
    assert not equivalent(found)
    assert verdict(found, 1.0) == "unclear"


@pytest.mark.parametrize(
    ("ratio", "low", "high", "p", "said"),
    [
        (1.20, 1.10, 1.30, 0.03, "slower"),
        (0.80, 0.75, 0.90, 0.03, "faster"),
        (1.20, 1.10, 1.30, 0.06, "unclear"),
        (1.01, 0.97, 1.04, 0.50, "same"),
        (1.03, 1.02, 1.04, 0.03, "same"),  # real, and too small to matter
        (1.04, 1.02, 1.07, 0.03, "unclear"),  # real, and perhaps large enough
        (1.01, 0.90, 1.10, 0.80, "unclear"),  # no difference found is not none
    ],
)
def test_verdicts(ratio: float, low: float, high: float, p: float, said: str) -> None:
    assert verdict(RatioEstimate(ratio, low, high, 6), p) == said


def test_the_margin_is_the_same_for_faster_and_slower() -> None:
    assert equivalent(RatioEstimate(1.0, 1 / 1.05, 1.05, 6))
    assert not equivalent(RatioEstimate(1.0, 1 / 1.051, 1.05, 6))


def test_equivalence_takes_as_many_blocks_as_its_interval() -> None:
    """Three blocks that happen to lie together cover a median in three of four cases."""
    assert not equivalent(RatioEstimate(1.0, 1.0, 1.0, 5))
    assert equivalent(RatioEstimate(1.0, 1.0, 1.0, 6))
    assert verdict(RatioEstimate(1.0, 1.0, 1.0, 5), 1.0) == "unclear"
