from itertools import pairwise

import numpy as np

from keybench.advice.scaling.borders import Borders
from keybench.advice.scaling.strata import drawn

ROWS, RANGES = 200_000, 64


def test_ranges_that_rows_reach_in_bursts_are_not_like_those_that_they_reach_all_the_time() -> None:
    """Half of the ranges get rows in four bursts; their rows arrive 3 % less far apart than those of the others."""
    chance = np.random.default_rng(1)
    place = (np.arange(ROWS) * 4 / ROWS) % 1
    in_a_burst = (abs(place - 0.5) < 0.1) & (chance.uniform(size=ROWS) < 0.5)
    range_of = chance.integers(0, RANGES // 2, ROWS).astype(np.int32) + (in_a_burst * RANGES // 2).astype(np.int32)
    range_of[-1] = RANGES  # the one at the edge
    counts = np.bincount(range_of)
    found = Borders(np.zeros((RANGES + 1, 1), np.uint64), np.zeros(RANGES + 1, np.bool_), np.zeros(ROWS, np.bool_))
    strata, chosen = drawn(found, np.zeros(ROWS, np.bool_), range_of, counts, 16, chance)
    edges = np.cumsum([0, *(stratum.parts for stratum in strata)])
    in_bursts = [set((chosen[begin:end] >= RANGES // 2).tolist()) for begin, end in pairwise(edges)]
    assert in_bursts == [{True}, {False}]
    assert strata[0].share < 0.12
