"""The joint test of two runs, whose blocks have nothing in common."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from math import comb, nan

import numpy as np
from numpy.typing import NDArray

from keybench.results.analysis.bootstrap import Floats
from keybench.results.analysis.statistics import STEADY, apart, enough

BLOCKS_A_SIDE = 4
"""The fewest blocks of each side whose smallest possible p reaches 0.05: 2 / C(8, 4) is 0.029."""

_ALL = 2**16
"""Ways to deal blocks out of which all are looked at; of more, so many are drawn."""


def shuffle_max(before: Floats, after: Floats, *, seed: int = 0) -> Floats:
    """(arms,) p-values of logs (blocks before, arms) and (blocks after, arms), corrected for all arms together.

    If nothing has changed, any way to deal all blocks out to the two runs is as likely as the observed one, all arms of
    a block together (max-T, stepping down). The statistic is the difference of means over the spread within the sides
    plus 0.1. NaN are values that are missing; p is NaN of an arm that one side lacks. k blocks a side can reach
    p = 2 / C(2k, k): 4 suffice at 0.05 whatever the number of arms. Arms that have as
    many are tested without those of fewer.
    """
    logs = np.vstack([before, after])
    known = (~np.isnan(logs)).astype(np.float64)
    values = np.where(known > 0, logs, 0.0)
    first = _deals(len(before), len(after), seed)
    counts, sums = _both(first, known), _both(first, values)
    squares = np.sum(values * values, axis=0)
    usable: NDArray[np.bool_] = np.all(counts > 0, axis=0)
    tested = enough(counts[:, 0].min(axis=0).astype(np.int64), BLOCKS_A_SIDE)
    means = sums / np.maximum(counts, 1)
    within = np.maximum(squares - (counts * means * means).sum(axis=0), 0) / np.maximum(counts.sum(axis=0) - 2, 1)
    statistics = np.where(usable, np.abs(means[1] - means[0]) / (np.sqrt(within) + STEADY), 0.0)
    found: Floats = np.where(usable[0], apart(statistics, tested), nan)
    return found


def _both(first: Floats, values: Floats) -> Floats:
    """(2, deals, arms): sums over the blocks dealt to the first side, and to the second."""
    return np.stack([first @ values, (1 - first) @ values])


@cache
def _deals(before: int, after: int, seed: int) -> NDArray[np.float64]:
    """(deals, blocks): 1 for the first side's blocks; the observed deal first."""
    blocks = before + after
    observed = np.arange(blocks) < before
    if comb(blocks, before) <= _ALL:
        chosen = np.array(list(combinations(range(blocks), before)))
        found = np.zeros((len(chosen), blocks))
        np.put_along_axis(found, chosen, 1.0, axis=1)
        return found
    rng = np.random.default_rng(seed)
    return np.vstack([observed, rng.permuted(np.tile(observed, (_ALL - 1, 1)), axis=1)]).astype(np.float64)
