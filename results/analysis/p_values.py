"""p-values of times, corrected for all arms together: permutation tests within one run, and between two runs.

Both take logarithms, blocks down and arms across, with NaN for values that are missing. `ratios` says why.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations, count
from math import comb, nan
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.results.analysis.bootstrap import Floats

ALPHA: Final = 0.05
"""Share of families of comparisons in which a difference may be claimed though there is none."""

BLOCKS_PER_RUN: Final = 4
"""The fewest blocks of each of two runs whose smallest possible p reaches 0.05: 2 / C(8, 4) is 0.029."""

_STEADY = 0.1
"""Added to each arm's spread: six blocks may by chance be far closer together than they usually are."""

_EXACT_BLOCKS = 17
"""Up to this number of blocks all 2**16 sign patterns are tried (a pattern and its opposite are one); then a sample."""

_EXACT_DEALS = 2**16
"""Up to this number of ways to deal blocks to two runs all are tried; then so many are drawn."""

_SLACK = 1e-9


def blocks_needed(alpha: float = ALPHA) -> int:
    """The fewest blocks of one run whose smallest possible p, two-sided by sign flips, reaches `alpha`.

    Their number does not grow with the arms.
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha {alpha} is not between 0 and 1")
    return next(blocks for blocks in count(1) if 2 / 2**blocks <= alpha)


ENOUGH_BLOCKS: Final = blocks_needed()
"""From so many blocks on a ratio has an interval and a test can find a difference; with fewer there is only a range."""


def sign_flip_max(log_ratios: Floats, *, seed: int = 0) -> Floats:
    """(…, arms) p-values of one run's log ratios to the control, (…, blocks, arms); NaN where an arm has none.

    One joint test. If a layout costs what the control costs, a block's log ratio may as well have the other sign: every
    pattern of signs, one a block for all arms alike, is as likely as the observed one, whatever the arms have in common
    (all share the block's control). An arm's p is the share of patterns under which any arm not yet decided has a
    statistic as large (max-T, stepping down from the largest: Westfall & Young 1993, Romano & Wolf 2005). So k blocks
    can reach p = 2 / 2**k whatever the number of arms: 6 suffice at 0.05.

    The statistic is |mean| / (standard deviation + 0.1), of the arm's own blocks under the pattern. Student's t alone
    depends on standard deviations of six blocks and finds a fifth less; the mean alone lets one noisy layout hide the
    others; adding a constant (as in SAM: Tusher et al. 2001) avoids both. A scale taken from all arms would too, but it
    ties an arm's statistic to the others' effects, and the steps then raise false alarms far beyond alpha.

    An arm with too few blocks to be found different could hide the others if its two or three blocks were steady: arms
    that have enough blocks are tested without it.

    Beyond 17 blocks a sample of 2**16 patterns, drawn by `seed`, stands for all.
    """
    known = ~np.isnan(log_ratios)
    blocks, arms = log_ratios.shape[-2:]
    counts = known.sum(axis=-2)
    if not blocks or not arms:
        return np.full(counts.shape, nan)
    tested = _have_enough(counts, blocks_needed())
    statistics = _statistics(np.where(known, log_ratios, 0.0), counts, _patterns(blocks, seed))
    return np.where(counts > 0, _step_down(statistics, tested), nan)


def shuffle_max(before: Floats, after: Floats, *, seed: int = 0) -> Floats:
    """(arms,) p-values of two runs' logs, (blocks before, arms) and (blocks after, arms); NaN where a run has no arm.

    One joint test of runs whose blocks have nothing in common. If nothing has changed, any way to deal all blocks to
    the two runs is as likely as the observed one, all arms of a block together (max-T, stepping down). The statistic is
    the difference of means over (the spread within the runs + 0.1). k blocks a run can reach p = 2 / C(2k, k): 4
    suffice at 0.05 whatever the number of arms. Arms that have as many are tested without those that have fewer.
    """
    logs = np.vstack([before, after])
    known = (~np.isnan(logs)).astype(np.float64)
    values = np.where(known > 0, logs, 0.0)
    first = _deals(len(before), len(after), seed)
    counts, sums = _sums_by_run(first, known), _sums_by_run(first, values)
    squares = np.sum(values * values, axis=0)
    usable: NDArray[np.bool_] = np.all(counts > 0, axis=0)
    tested = _have_enough(counts[:, 0].min(axis=0).astype(np.int64), BLOCKS_PER_RUN)
    means = sums / np.maximum(counts, 1)
    within = np.maximum(squares - (counts * means * means).sum(axis=0), 0) / np.maximum(counts.sum(axis=0) - 2, 1)
    statistics = np.where(usable, np.abs(means[1] - means[0]) / (np.sqrt(within) + _STEADY), 0.0)
    p: Floats = np.where(usable[0], _step_down(statistics, tested), nan)
    return p


def _step_down(statistics: Floats, tested: NDArray[np.bool_]) -> Floats:
    """`step_down_max`: the arms that are `tested` without the others, the others with all."""
    p = step_down_max(statistics)
    if tested.all():
        return p
    return np.where(tested, step_down_max(np.where(tested[..., None, :], statistics, 0.0)), p)


def _have_enough(counts: NDArray[np.int64], needed: int) -> NDArray[np.bool_]:
    """(…, arms): which numbers of blocks are at least `needed`, or where none is, equal the largest."""
    most = counts.max(axis=-1, keepdims=True)
    enough: NDArray[np.bool_] = counts >= np.clip(most, 1, needed)
    return enough


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
    p = np.empty_like(observed)
    np.put_along_axis(p, order, np.maximum.accumulate(reached.mean(axis=-2), axis=-1), axis=-1)
    return p


def _statistics(values: Floats, counts: NDArray[np.int64], patterns: Floats) -> Floats:
    """(…, patterns, arms); an arm without any block has 0 throughout."""
    n = np.maximum(counts, 1)[..., None, :]
    mean = patterns @ values / n
    squares = np.sum(values * values, axis=-2)[..., None, :]
    spread = np.sqrt(np.maximum(squares - n * mean * mean, 0.0) / np.maximum(n - 1, 1))
    statistics: Floats = np.abs(mean) / (spread + _STEADY)
    return statistics


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


def _sums_by_run(first: Floats, values: Floats) -> Floats:
    """(2, deals, arms): sums over the blocks dealt to the first side, and to the second."""
    return np.stack([first @ values, (1 - first) @ values])


@cache
def _deals(before: int, after: int, seed: int) -> NDArray[np.float64]:
    """(deals, blocks): 1 for the first side's blocks; the observed deal first."""
    blocks = before + after
    observed = np.arange(blocks) < before
    if comb(blocks, before) <= _EXACT_DEALS:
        chosen = np.array(list(combinations(range(blocks), before)))
        deals = np.zeros((len(chosen), blocks))
        np.put_along_axis(deals, chosen, 1.0, axis=1)
        return deals
    rng = np.random.default_rng(seed)
    return np.vstack([observed, rng.permuted(np.tile(observed, (_EXACT_DEALS - 1, 1)), axis=1)]).astype(np.float64)
