"""From an estimate and its p-value to a verdict."""

from __future__ import annotations

from typing import Final, Literal

from keybench.results.analysis.p_values import ALPHA, blocks_needed
from keybench.results.analysis.ratios import Estimate

Verdict = Literal["faster", "slower", "same", "unclear"]

MARGIN: Final = 0.05
"""Ratios within 1 / (1 + MARGIN) … 1 + MARGIN make no difference to anybody's choice."""


def equivalent(estimate: Estimate, margin: float = MARGIN) -> bool:
    """Whether the whole interval lies within 1 / (1 + margin) … 1 + margin: not "no difference found", but "none".

    Two one-sided tests by interval (Schuirmann 1987), at half of 1 − confidence each. False where the blocks are too
    few for an interval of that confidence.
    """
    enough = estimate.blocks >= blocks_needed(1 - estimate.confidence)
    return enough and 1 / (1 + margin) <= estimate.low and estimate.high <= 1 + margin


def verdict(estimate: Estimate | None, p: float, alpha: float = ALPHA, floor: float = MARGIN) -> Verdict:
    """`same` within the floor; `faster` or `slower` if p reaches alpha beyond it; else `unclear`: more blocks may tell.

    Less of the estimated quantity is better. A real difference within the floor is `same` where the whole interval is
    within it, else `unclear`.
    """
    if estimate is None:
        return "unclear"
    if equivalent(estimate, floor):
        return "same"
    if p <= alpha and not 1 / (1 + floor) <= estimate.ratio <= 1 + floor:
        return "slower" if estimate.ratio > 1 else "faster"
    return "unclear"
