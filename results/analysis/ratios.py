"""Ratios of times to the control, with their intervals.

The independent unit is the block: all trials once, in shuffled order. What the machine does meanwhile affects every
layout alike and cancels in the ratio to the control of the same block. All calculations use logarithms, where twice as
slow and half as slow are equally far from 1. Rows, transactions and intervals of one trial are not repetitions and are
never used as such. Counts that repeat exactly need no statistics and are compared directly.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import exp, isnan, nan
from statistics import median
from typing import Final, Literal

import numpy as np

from keybench.results.analysis.bootstrap import Floats, interval, interval_between
from keybench.results.analysis.p_values import ALPHA, ENOUGH_BLOCKS

ByBlock = Mapping[int, float]
"""Values by block."""


@dataclass(frozen=True)
class RatioEstimate:
    """A ratio with its 95 % interval over `blocks` blocks; `low` and `high` are NaN for a single block."""

    ratio: float
    low: float
    high: float
    blocks: int

    @property
    def has_interval(self) -> bool:
        """Whether there is more than one block."""
        return not isnan(self.low)


CONFIDENCE: Final = 1 - ALPHA
"""The confidence of all intervals."""


def ratio_to_control(treated: ByBlock, control: ByBlock) -> RatioEstimate | None:
    """The median over blocks of treated / control in the same block; both map block numbers to values. Blocks in which
    either value is missing or not positive are left out; None if no block remains."""
    return estimate(log_ratios([treated], control)[:, 0])


def estimate(logs: Floats) -> RatioEstimate | None:
    """The median of log ratios (one per block, NaN if missing) as a ratio with its interval; None if all are NaN."""
    present = logs[~np.isnan(logs)]
    if not len(present):
        return None
    middle = float(np.median(present))
    if len(present) == 1:
        return RatioEstimate(exp(middle), low=nan, high=nan, blocks=1)
    low, high = interval(present, CONFIDENCE)
    return RatioEstimate(exp(middle), low=exp(low), high=exp(high), blocks=len(present))


def estimate_between(before: Floats, after: Floats) -> RatioEstimate | None:
    """The ratio exp(median(after) − median(before)) with its interval, from logarithms of two runs' blocks (NaN if
    missing). `blocks` is the smaller of their numbers; None if a run has no value."""
    old, new = (logs[~np.isnan(logs)] for logs in (before, after))
    fewer = min(len(old), len(new))
    if not fewer:
        return None
    middle = exp(float(np.median(new) - np.median(old)))
    if fewer == 1:
        return RatioEstimate(middle, low=nan, high=nan, blocks=1)
    low, high = interval_between(old, new, CONFIDENCE)
    return RatioEstimate(middle, low=exp(low), high=exp(high), blocks=fewer)


def by_block_ratios(values: ByBlock, base: ByBlock) -> dict[int, float]:
    """Each value over the base of the same block; blocks in which either is missing or not above 0 are left out."""
    return {block: value / base[block] for block, value in values.items() if value > 0 and base.get(block, 0) > 0}


def log_ratios(arms: Sequence[ByBlock], control: ByBlock) -> Floats:
    """(blocks, arms): log of each arm's value over the control's in the same block, for the blocks whose control is
    above 0; NaN where an arm has no value above 0."""
    blocks = sorted(block for block, value in control.items() if value > 0)
    base = np.array([control[block] for block in blocks])
    values = np.array([[arm.get(block, nan) for arm in arms] for block in blocks])
    values = values.reshape(len(blocks), len(arms))  # two dimensions also without blocks
    ratios: Floats = np.log(np.where(values > 0, values, nan) / base[:, None])
    return ratios


Verdict = Literal["faster", "slower", "same", "unclear"]

MARGIN: Final = 0.05
"""Ratios within 1 / (1 + MARGIN) … 1 + MARGIN are too small to matter for a choice of layout."""


def equivalent(estimated: RatioEstimate) -> bool:
    """Whether the whole interval lies within the margin, 1 / (1 + MARGIN) … 1 + MARGIN. This shows that there is no
    relevant difference, which is more than finding none: two one-sided tests by interval (Schuirmann 1987), each at
    half of 1 − confidence. False if there are too few blocks for an interval."""
    return estimated.blocks >= ENOUGH_BLOCKS and 1 / (1 + MARGIN) <= estimated.low <= estimated.high <= 1 + MARGIN


def verdict(estimated: RatioEstimate, p: float) -> Verdict:
    """`same` if the whole interval lies within the margin, even if p reaches ALPHA. `faster` (the ratio is below 1) or
    `slower` if the ratio lies beyond the margin and p reaches ALPHA. Else `unclear`: more blocks may decide."""
    if equivalent(estimated):
        return "same"
    if p <= ALPHA and not 1 / (1 + MARGIN) <= estimated.ratio <= 1 + MARGIN:
        return "slower" if estimated.ratio > 1 else "faster"
    return "unclear"


@dataclass(frozen=True)
class Summary:
    """Median over `blocks` blocks; `low` to `high` is a 95 % interval if `interval` is set, else the range."""

    median: float
    low: float
    high: float
    blocks: int
    interval: bool = False


def summarise(values: Collection[float]) -> Summary | None:
    """Median and range; None without values."""
    return Summary(median(values), low=min(values), high=max(values), blocks=len(values)) if values else None


def summarise_ratio(values: ByBlock, base: ByBlock) -> Summary | None:
    """The summary of the ratios value / base in the same block; None if no block has both above 0."""
    estimated = ratio_to_control(values, base)
    if estimated is None:
        return None
    if estimated.blocks >= ENOUGH_BLOCKS:
        return Summary(estimated.ratio, estimated.low, estimated.high, blocks=estimated.blocks, interval=True)
    ratios = by_block_ratios(values, base).values()
    return Summary(estimated.ratio, low=min(ratios), high=max(ratios), blocks=len(ratios))
