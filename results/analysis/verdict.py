"""Derives a verdict from an estimate and its p-value."""

from __future__ import annotations

from typing import Final, Literal

from keybench.results.analysis.p_values import ALPHA, blocks_needed
from keybench.results.analysis.ratios import Estimate

Verdict = Literal["faster", "slower", "same", "unclear"]

MARGIN: Final = 0.05
"""Ratios within 1 / (1 + MARGIN) … 1 + MARGIN are too small to matter for a choice of layout."""


def equivalent(estimate: Estimate, margin: float = MARGIN) -> bool:
    """Whether the whole interval lies within 1 / (1 + margin) … 1 + margin.

    This shows that there is no relevant difference, which is more than finding none: two one-sided tests by interval
    (Schuirmann 1987), each at half of 1 − confidence. False if there are too few blocks for an interval of that
    confidence.
    """
    enough = estimate.blocks >= blocks_needed(1 - estimate.confidence)
    return enough and 1 / (1 + margin) <= estimate.low and estimate.high <= 1 + margin


def verdict(estimate: Estimate | None, p: float, alpha: float = ALPHA, floor: float = MARGIN) -> Verdict:
    """`same` if the interval lies within the floor; `faster` or `slower` if the ratio lies beyond it and p reaches
    alpha; else `unclear`, and more blocks may decide.

    Less of the estimated quantity is better. A significant difference within the floor is `same` if the whole interval
    is within it, else `unclear`.
    """
    if estimate is None:
        return "unclear"
    if equivalent(estimate, floor):
        return "same"
    if p <= alpha and not 1 / (1 + floor) <= estimate.ratio <= 1 + floor:
        return "slower" if estimate.ratio > 1 else "faster"
    return "unclear"
