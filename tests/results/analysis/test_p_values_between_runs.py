"""The joint test of two runs: their blocks dealt in all ways."""

from math import isnan, log, nan

import numpy as np
import pytest

from keybench.results.analysis.p_values import ALPHA, shuffle_max


def test_equal_runs_raise_no_more_false_alarms_than_alpha_and_a_fifth_slower_is_found() -> None:
    rng = np.random.default_rng(1)
    false, found = 0, 0
    for _ in range(300):
        logs = rng.normal(0, 0.04, (12, 12))
        logs = logs[:, 1:] - logs[:, :1]
        false += bool((shuffle_max(logs[:6], logs[6:]) <= ALPHA).any())
        logs[6:, 0] += log(1.2)
        found += bool(shuffle_max(logs[:6], logs[6:])[0] <= ALPHA)
    assert false <= 0.05 * 300 + 2 * (300 * 0.05 * 0.95) ** 0.5
    assert found >= 0.95 * 300


def test_p_between_runs_is_that_of_all_deals() -> None:
    before, after = np.zeros((4, 2)), np.zeros((4, 2))
    after[:, 0] = 1.0
    assert shuffle_max(before, after).tolist() == [2 / 70, 1.0]
    assert shuffle_max(after, before).tolist() == [2 / 70, 1.0]
    assert shuffle_max(before, before).tolist() == [1.0, 1.0]


def test_missing_values() -> None:
    before = np.array([[0.0, nan], [0.01, nan], [0.0, nan], [nan, nan]])
    after = np.array([[1.0, 0.0], [1.01, 0.0], [1.0, 0.1]])
    p = shuffle_max(before, after)
    # Blocks without the value may be dealt to either side: 2 of 20 deals of the others, the one of four as it falls.
    assert p[0] == pytest.approx(0.1, abs=0.05)
    assert isnan(p[1])


def test_many_deals_are_sampled_by_the_seed() -> None:
    rng = np.random.default_rng(2)
    before, after = rng.normal(0, 0.1, (12, 2)), rng.normal(0.05, 0.1, (12, 2))
    p = shuffle_max(before, after, seed=1)
    assert p.tolist() == shuffle_max(before, after, seed=1).tolist() != shuffle_max(before, after, seed=2).tolist()
    assert p == pytest.approx(shuffle_max(before, after, seed=2), abs=0.01)


def test_an_arm_of_few_blocks_hides_no_other() -> None:
    rng = np.random.default_rng(9)
    before, after = rng.normal(0, 0.05, (2, 4, 2))
    after[:, 0] += 0.4
    before[2:, 1] = after[2:, 1] = np.nan
    before[:2, 1], after[:2, 1] = (0.0, 0.0001), (0.7, 0.7001)
    p = shuffle_max(before, after)
    assert p[0] == shuffle_max(before[:, :1], after[:, :1])[0] <= 0.05
    assert p[1] > ALPHA
