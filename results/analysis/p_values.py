"""p-values of times, corrected for multiple arms: permutation tests within one run, and between two runs.

Both tests take logarithms in arrays (blocks, arms), with NaN for missing values. The module `ratios` says why.
"""

from functools import cache
from itertools import combinations, count
from math import comb, nan
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.results.analysis.bootstrap import Floats

ALPHA: Final = 0.05
"""The family-wise error rate: the share of families of comparisons in which a difference may be claimed though none
exists."""

BLOCKS_PER_RUN: Final = 4
"""The fewest blocks of each of two runs whose smallest possible p reaches 0.05: 2 / C(8, 4) is 0.029."""

_STEADY = 0.1
"""Added to each arm's spread: by chance, six blocks may be far closer together than usual."""

_EXACT_BLOCKS = 17
"""Up to this number of blocks all 2**16 sign patterns are tried (a pattern and its opposite count once); beyond it, a
sample."""

_EXACT_DEALS = 2**16
"""Up to this number of ways to assign blocks to two runs, all are tried; beyond it, this many are drawn at random."""

_SLACK = 1e-9
"""Relative tolerance within which two statistics are equal: they are sums in different orders."""


def blocks_needed(alpha: float = ALPHA) -> int:
    """The fewest blocks of one run whose smallest possible p, two-sided by sign flips, reaches `alpha`. The number does
    not depend on the number of arms."""
    if not 0 < alpha < 1:
        raise ValueError(f"alpha {alpha} is not between 0 and 1")
    return next(blocks for blocks in count(1) if 2 / 2**blocks <= alpha)


ENOUGH_BLOCKS: Final = blocks_needed()
"""With this many blocks a ratio has an interval and a test can find a difference; with fewer there is only a range."""


def sign_flip_max(log_ratios: Floats, *, seed: int = 0) -> Floats:
    """(…, arms) p-values of one run's log ratios to the control, (…, blocks, arms); NaN where an arm has none.

    This is one joint test. If a layout costs as much as the control, the sign of a block's log ratio is random: every
    pattern of signs, one sign per block for all arms, is as likely as the observed one, however the arms are correlated
    (all share the block's control). An arm's p is the share of patterns under which any arm not yet decided has a
    statistic as large (max-T, stepping down from the largest: Westfall & Young 1993, Romano & Wolf 2005). So k blocks
    can reach p = 2 / 2**k whatever the number of arms: 6 suffice at 0.05.

    The statistic is |mean| / (standard deviation + 0.1), over the arm's own blocks under the pattern. Student's t alone
    depends on standard deviations of six blocks and finds a fifth fewer differences. With the mean alone, one noisy
    layout hides the other layouts. Adding a constant (as in SAM: Tusher et al. 2001) avoids both. A scale taken from
    all arms would avoid both too, but it makes an arm's statistic depend on the effects of other arms, and stepping
    down then raises false alarms far beyond alpha.

    An arm with too few blocks to be found different could hide other arms if its two or three blocks were steady, so
    arms that have enough blocks are tested without it.

    Beyond 17 blocks, a sample of 2**16 patterns, drawn with `seed`, replaces the full set.
    """
    present = ~np.isnan(log_ratios)
    blocks, arms = log_ratios.shape[-2:]
    counts = present.sum(axis=-2)
    if not blocks or not arms:
        return np.full(counts.shape, nan)
    testable = _have_enough(counts, blocks_needed())
    statistics = _statistics(np.where(present, log_ratios, 0.0), counts, _patterns(blocks, seed))
    return np.where(counts > 0, _step_down(statistics, testable), nan)


def shuffle_max(before: Floats, after: Floats, *, seed: int = 0) -> Floats:
    """(arms,): for each arm the p-value of "nothing has changed between the two runs"; NaN if a run lacks the arm.
    `before`: (blocks of that run, arms), logarithms of the arm's values; NaN where there is none. `after`: likewise.

    If nothing has changed, any way to deal all blocks out to the two runs is as likely as the observed one. All arms of
    a block stay together, so this is one joint test (max-T, stepping down). `seed` draws deals where there are too many
    to try all. An arm's statistic is the difference of its means over (the spread within the runs + 0.1). With k blocks
    per run it can reach p = 2 / C(2k, k): 4 blocks suffice at 0.05 whatever the number of arms. Arms with enough blocks
    are tested without those that have fewer.
    """
    logs = np.vstack([before, after])
    present = (~np.isnan(logs)).astype(np.float64)
    values = np.where(present > 0, logs, 0.0)
    deals = _deals(len(before), len(after), seed)
    counts, sums = _sums_by_run(deals, present), _sums_by_run(deals, values)  # of each run under each deal
    squares = np.sum(values * values, axis=0)
    usable: NDArray[np.bool_] = np.all(counts > 0, axis=0)  # (deals, arms): both runs have the arm
    testable = _have_enough(counts[:, 0].min(axis=0).astype(np.int64), BLOCKS_PER_RUN)  # [:, 0]: the observed deal
    means = sums / np.maximum(counts, 1)
    # the variance within the runs, whose two means take two degrees of freedom
    within = np.maximum(squares - (counts * means * means).sum(axis=0), 0) / np.maximum(counts.sum(axis=0) - 2, 1)
    statistics = np.where(usable, np.abs(means[1] - means[0]) / (np.sqrt(within) + _STEADY), 0.0)
    p: Floats = np.where(usable[0], _step_down(statistics, testable), nan)
    return p


def _step_down(statistics: Floats, testable: NDArray[np.bool_]) -> Floats:
    """p-values as of `step_down_max`. `testable` arms are tested among themselves, each other arm together with all."""
    p = step_down_max(statistics)
    if testable.all():
        return p
    # A statistic of 0 can hide no other arm.
    return np.where(testable, step_down_max(np.where(testable[..., None, :], statistics, 0.0)), p)


def _have_enough(counts: NDArray[np.int64], needed: int) -> NDArray[np.bool_]:
    """(…, arms): whether the number of blocks is at least `needed` or, if no arm has as many, the largest above 0."""
    most = counts.max(axis=-1, keepdims=True)
    enough: NDArray[np.bool_] = counts >= np.clip(most, 1, needed)
    return enough


def step_down_max(statistics: Floats) -> Floats:
    """(…, arms) p-values of (…, arrangements, arms) statistics; the first arrangement is the observed one. Take the
    arms whose observed statistic is no larger than this arm's. The arm's p is the share of arrangements under which the
    largest statistic of these arms reaches this arm's observed one. It is at least the p of every arm with a larger
    observed statistic."""
    observed = statistics[..., 0, :]
    order = np.argsort(-observed, axis=-1, kind="stable")  # the arm with the largest observed statistic first
    steps = np.take_along_axis(statistics, order[..., None, :], axis=-1)
    # `running`: for each arm in this order, the largest statistic of it and those behind it
    running = np.maximum.accumulate(steps[..., ::-1], axis=-1)[..., ::-1]
    # In the observed arrangement, `running` is each arm's own statistic, because none behind it is larger.
    reached = running >= running[..., :1, :] * (1 - _SLACK)
    p = np.empty_like(observed)
    np.put_along_axis(p, order, np.maximum.accumulate(reached.mean(axis=-2), axis=-1), axis=-1)
    return p


def _statistics(values: Floats, counts: NDArray[np.int64], patterns: Floats) -> Floats:
    """|mean| / (standard deviation + 0.1) of each arm under each pattern of signs: (…, patterns, arms). `values` are
    (…, blocks, arms), with 0 where an arm has none; an arm without any block has 0 throughout."""
    blocks = np.maximum(counts, 1)[..., None, :]
    mean = patterns @ values / blocks
    squares = np.sum(values * values, axis=-2)[..., None, :]
    spread = np.sqrt(np.maximum(squares - blocks * mean * mean, 0.0) / np.maximum(blocks - 1, 1))
    statistics: Floats = np.abs(mean) / (spread + _STEADY)
    return statistics


@cache
def _patterns(blocks: int, seed: int) -> Floats:
    """(patterns, blocks) of ±1; the observed pattern (all +1) comes first. The first block is always +1, because a
    pattern and its opposite are equivalent."""
    rest = blocks - 1  # all but the first
    if blocks <= _EXACT_BLOCKS:  # the binary digits of a pattern's number say which blocks are flipped
        flipped = (np.arange(2**rest)[:, None] >> np.arange(rest)) & 1
    else:
        flipped = np.random.default_rng(seed).integers(0, 2, (2 ** (_EXACT_BLOCKS - 1), rest))
        flipped[0] = 0  # the observed pattern
    return np.hstack([np.ones((len(flipped), 1)), 1.0 - 2.0 * flipped])


def _sums_by_run(deals: Floats, values: Floats) -> Floats:
    """(2, deals, arms): sums over the blocks assigned to the first run, and over those assigned to the second."""
    return np.stack([deals @ values, (1 - deals) @ values])


@cache
def _deals(blocks_before: int, blocks_after: int, seed: int) -> NDArray[np.float64]:
    """(deals, blocks): 1 for blocks that are assigned to the first run; the observed assignment comes first."""
    blocks = blocks_before + blocks_after
    if comb(blocks, blocks_before) <= _EXACT_DEALS:  # `combinations` begins with the first blocks: the observed ones
        in_first = np.array(list(combinations(range(blocks), blocks_before)))
        deals = np.zeros((len(in_first), blocks))
        np.put_along_axis(deals, in_first, 1.0, axis=1)
        return deals
    observed = np.arange(blocks) < blocks_before
    rng = np.random.default_rng(seed)
    return np.vstack([observed, rng.permuted(np.tile(observed, (_EXACT_DEALS - 1, 1)), axis=1)]).astype(np.float64)
