"""What a comparison of times can claim: ratio to the control, its interval, one joint test, equivalence.

The independent unit is the block: all trials once, in shuffled order, so that what the machine does meanwhile meets
every layout alike and cancels in the ratio to the control of the same block. Everything is on the scale of logarithms,
where twice as slow and half as slow lie equally far from 1. Rows, transactions and intervals of one trial are no
repetitions and never enter here. Counts that repeat exactly need none of this: they are compared as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from math import exp, isnan, nan
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from keybench.results.analysis.bootstrap import Floats, interval, interval_between

Correction = Literal["max-t", "holm", "bonferroni"]
Verdict = Literal["faster", "slower", "same", "unclear"]

ALPHA = 0.05
"""Share of families of comparisons in which a difference may be claimed though there is none."""

MARGIN = 0.05
"""Ratios within 1 / (1 + MARGIN) … 1 + MARGIN make no difference to anybody's choice."""

STEADY = 0.1
"""Added to each arm's spread in the joint test: six blocks may by chance lie far closer together than they are."""

_EXACT_BLOCKS = 17
"""Up to so many blocks all 2**16 sign patterns (a pattern and its opposite are one) are looked at, beyond a sample."""

_SLACK = 1e-9


@dataclass(frozen=True)
class Estimate:
    """A ratio with its interval over `blocks` blocks; `low` and `high` are NaN of one block, which shows no spread."""

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
    """The median over blocks of treated / control of the same block; values by block number.

    Blocks in which either is missing or not positive are left out; None where none remains.
    """
    return estimate(log_ratios([treated], control)[:, 0], confidence=confidence)


def estimate(logs: Floats, *, confidence: float = 0.95) -> Estimate | None:
    """The median of log ratios, one a block (NaN: none), as a ratio with its bootstrap interval; None without any."""
    known = logs[~np.isnan(logs)]
    if not len(known):
        return None
    middle = float(np.median(known))
    if len(known) == 1:
        return Estimate(exp(middle), nan, nan, 1, confidence)
    low, high = interval(known, confidence)
    return Estimate(exp(middle), exp(low), exp(high), len(known), confidence)


def estimate_between(before: Floats, after: Floats, *, confidence: float = 0.95) -> Estimate | None:
    """exp(median(after) − median(before)) of independent blocks; its `blocks` are those of the side that has fewer."""
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
    """(blocks, arms): log of each arm's value over the control's in the same block; NaN where either has none > 0."""
    blocks = sorted(block for block, value in control.items() if value > 0)
    base = np.array([control[block] for block in blocks])
    own = np.array([[arm.get(block, nan) for arm in arms] for block in blocks]).reshape(len(blocks), len(arms))
    found: Floats = np.log(np.where(own > 0, own, nan) / base[:, None])
    return found


def sign_flip_max(log_ratios: Floats, *, seed: int = 0) -> Floats:
    """(…, arms) p-values of (…, blocks, arms) log ratios, corrected for all arms together; NaN where nothing is known.

    One joint test. If a layout does as the control does, a block's log ratio may as well have the other sign: every
    pattern of signs, one a block for all arms alike, is as likely as the one observed, whatever the arms have in common
    (all share the block's control). An arm's p is the share of patterns under which any arm still in the running has a
    statistic as large (max-T, stepping down from the largest: Westfall & Young 1993, Romano & Wolf 2005). So k blocks
    can reach p = 2 / 2**k whatever the number of arms: 6 suffice at 0.05.

    The statistic is |mean| / (standard deviation + 0.1), of the arm's own blocks under the pattern. Student's t alone
    is at the mercy of standard deviations of six blocks and finds a fifth less; the mean alone lets one noisy layout
    hide the others; a constant (as in SAM: Tusher et al. 2001) mends both. A scale taken from all arms would too, but
    ties an arm's statistic to the others' effects, and the steps then raise false alarms far beyond alpha.

    An arm of too few blocks to be found different would hide the others, were its two or three steady: those that have
    enough are tested without it.

    Beyond 17 blocks 2**16 patterns, drawn by `seed`, stand for all.
    """
    known = ~np.isnan(log_ratios)
    blocks, arms = log_ratios.shape[-2:]
    counts = known.sum(axis=-2)
    if not blocks or not arms:
        return np.full(counts.shape, nan)
    tested = enough(counts, blocks_needed())
    statistics = _statistics(np.where(known, log_ratios, 0.0), counts, _patterns(blocks, seed))
    return np.where(counts > 0, apart(statistics, tested), nan)


def apart(statistics: Floats, tested: NDArray[np.bool_]) -> Floats:
    """`step_down_max` of the arms that are `tested` without the others, and of the others with all."""
    found = step_down_max(statistics)
    if tested.all():
        return found
    return np.where(tested, step_down_max(np.where(tested[..., None, :], statistics, 0.0)), found)


def enough(counts: NDArray[np.int64], needed: int) -> NDArray[np.bool_]:
    """Which arms of (…, arms) numbers of blocks have those needed, or where none has them, as many as the fullest."""
    most = counts.max(axis=-1, keepdims=True)
    found: NDArray[np.bool_] = counts >= np.clip(most, 1, needed)
    return found


def step_down_max(statistics: Floats) -> Floats:
    """(…, arms) p-values of (…, arrangements, arms) statistics, of which the first arrangement is the observed one.

    An arm's p is the share of arrangements under which the largest statistic, of the arms whose own is no larger than
    the arm's, reaches the arm's; and no less than that of any arm with a larger one.
    """
    observed = statistics[..., 0, :]
    order = np.argsort(-observed, axis=-1, kind="stable")
    steps = np.take_along_axis(statistics, order[..., None, :], axis=-1)
    running = np.maximum.accumulate(steps[..., ::-1], axis=-1)[..., ::-1]
    reached = running >= running[..., :1, :] * (1 - _SLACK)
    found = np.empty_like(observed)
    np.put_along_axis(found, order, np.maximum.accumulate(reached.mean(axis=-2), axis=-1), axis=-1)
    return found


def blocks_needed(alpha: float = ALPHA, arms: int = 1, correction: Correction = "max-t") -> int:
    """The fewest blocks whose smallest possible p, two-sided by sign flips, reaches `alpha` after the correction.

    With max-T their number does not grow with the arms; Holm and Bonferroni multiply the smallest p by the arms.
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha {alpha} is not between 0 and 1")
    times = 1 if correction == "max-t" else max(arms, 1)
    return next(blocks for blocks in count(1) if 2 * times / 2**blocks <= alpha)


def holm(p: Floats) -> Floats:
    """p-values of separate tests corrected by Holm's steps; NaN stay, and do not count."""
    found = np.full(len(p), nan)
    order = [int(place) for place in np.argsort(p) if not isnan(p[place])]
    reached = 0.0
    for step, place in enumerate(order):
        reached = max(reached, min(1.0, float(p[place]) * (len(order) - step)))
        found[place] = reached
    return found


def equivalent(estimate: Estimate, margin: float = MARGIN) -> bool:
    """Whether the whole interval lies within 1 / (1 + margin) … 1 + margin: not "no difference found", but "none".

    Two one-sided tests by interval (Schuirmann 1987), at half of 1 − confidence each. Never of fewer blocks than an
    interval of that confidence takes.
    """
    enough = estimate.blocks >= blocks_needed(1 - estimate.confidence)
    return enough and 1 / (1 + margin) <= estimate.low and estimate.high <= 1 + margin


def verdict(estimate: Estimate | None, p: float, alpha: float = ALPHA, floor: float = MARGIN) -> Verdict:
    """`same` within the floor; `faster` or `slower` if p reaches alpha beyond it; else `unclear`: more blocks may tell.

    `estimate` is of a quantity of which less is better. A difference that is real but within the floor is `same` where
    the whole interval is, `unclear` where it is not.
    """
    if estimate is None:
        return "unclear"
    if equivalent(estimate, floor):
        return "same"
    if p <= alpha and not 1 / (1 + floor) <= estimate.ratio <= 1 + floor:
        return "slower" if estimate.ratio > 1 else "faster"
    return "unclear"


def _statistics(values: Floats, counts: NDArray[np.int64], patterns: Floats) -> Floats:
    """(…, patterns, arms); an arm without any block has 0 throughout."""
    n = np.maximum(counts, 1)[..., None, :]
    mean = patterns @ values / n
    squares = np.sum(values * values, axis=-2)[..., None, :]
    spread = np.sqrt(np.maximum(squares - n * mean * mean, 0.0) / np.maximum(n - 1, 1))
    found: Floats = np.abs(mean) / (spread + STEADY)
    return found


@cache
def _patterns(blocks: int, seed: int) -> Floats:
    """(patterns, blocks) of ±1, the observed one (all +1) first; opposites are one: the first block's sign stays."""
    rest = blocks - 1
    if blocks <= _EXACT_BLOCKS:
        flipped = (np.arange(2**rest)[:, None] >> np.arange(rest)) & 1
    else:
        flipped = np.random.default_rng(seed).integers(0, 2, (2 ** (_EXACT_BLOCKS - 1), rest))
        flipped[0] = 0
    return np.hstack([np.ones((len(flipped), 1)), 1.0 - 2.0 * flipped])
