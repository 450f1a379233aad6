"""Ratios of times to the control, with their intervals.

The independent unit is the block: all trials once, in shuffled order. What the machine does meanwhile affects every
layout alike and cancels in the ratio to the control of the same block. All calculations use logarithms, where twice as
slow and half as slow are equally far from 1. Rows, transactions and intervals of one trial are not repetitions and are
never used as such. Counts that repeat exactly need no statistics and are compared directly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, isnan, nan

import numpy as np

from keybench.results.analysis.bootstrap import Floats, interval, interval_between


@dataclass(frozen=True)
class Estimate:
    """A ratio with its interval over `blocks` blocks; `low` and `high` are NaN for a single block."""

    ratio: float
    low: float
    high: float
    blocks: int
    confidence: float = 0.95

    @property
    def has_interval(self) -> bool:
        """Whether there is more than one block."""
        return not isnan(self.low)


def ratio_to_control(
    treated: Mapping[int, float], control: Mapping[int, float], *, confidence: float = 0.95
) -> Estimate | None:
    """The median over blocks of treated / control in the same block; both map block numbers to values.

    Blocks in which either value is missing or not positive are left out; None if no block remains.
    """
    return estimate(log_ratios([treated], control)[:, 0], confidence=confidence)


def estimate(logs: Floats, *, confidence: float = 0.95) -> Estimate | None:
    """The median of log ratios (one per block, NaN if missing) as a ratio with its bootstrap interval.

    None without any ratio.
    """
    known = logs[~np.isnan(logs)]
    if not len(known):
        return None
    middle = float(np.median(known))
    if len(known) == 1:
        return Estimate(exp(middle), nan, nan, 1, confidence)
    low, high = interval(known, confidence)
    return Estimate(exp(middle), exp(low), exp(high), len(known), confidence)


def estimate_between(before: Floats, after: Floats, *, confidence: float = 0.95) -> Estimate | None:
    """exp(median(after) − median(before)) of independent blocks; `blocks` is the smaller of their numbers."""
    first, second = (side[~np.isnan(side)] for side in (before, after))
    fewer = min(len(first), len(second))
    if not fewer:
        return None
    middle = exp(float(np.median(second) - np.median(first)))
    if fewer == 1:
        return Estimate(middle, nan, nan, 1, confidence)
    low, high = interval_between(first, second, confidence)
    return Estimate(middle, exp(low), exp(high), fewer, confidence)


def log_ratios(arms: Sequence[Mapping[int, float]], control: Mapping[int, float]) -> Floats:
    """(blocks, arms): log of each arm's value over the control's in the same block; NaN if either is not above 0."""
    blocks = sorted(block for block, value in control.items() if value > 0)
    base = np.array([control[block] for block in blocks])
    own = np.array([[arm.get(block, nan) for arm in arms] for block in blocks]).reshape(len(blocks), len(arms))
    ratios: Floats = np.log(np.where(own > 0, own, nan) / base[:, None])
    return ratios
