"""The joint tests, by what they promise: simulations, small cases by hand, properties."""

from math import isnan, log, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keybench.results.analysis.bootstrap import Floats
from keybench.results.analysis.p_values import ALPHA, blocks_needed, sign_flip_max
from keybench.results.analysis.ratios import ratio_to_control, verdict

COMPARISONS, LAYOUTS = 1000, 11


NOISE = ("even", "bad blocks", "uneven layouts", "skewed", "spikes")


def times(kind: str, blocks: int, seed: int, cv: float = 0.04) -> Floats:
    """(comparisons, blocks, 1 + layouts): logs of times without any difference; the first is the control's."""
    rng = np.random.default_rng(seed)
    shape = (COMPARISONS, blocks, 1 + LAYOUTS)
    machine = rng.normal(0, 0.3, (COMPARISONS, blocks, 1))  # a block's speed is common to all its trials
    noise = rng.exponential(size=shape) if kind == "skewed" else rng.standard_normal(shape)
    if kind == "bad blocks":
        noise *= np.where(rng.random((COMPARISONS, blocks, 1)) < 0.1, 3, 1)
    if kind == "uneven layouts":
        noise *= np.where(np.arange(1 + LAYOUTS) % 3 == 2, 4, 1)
    spikes = (rng.random(shape) < 0.05) * rng.exponential(0.3, shape) if kind == "spikes" else 0.0
    return machine + cv * noise + spikes


def to_control(logs: Floats) -> Floats:
    return logs[..., 1:] - logs[..., :1]


def alarms(p: Floats) -> float:
    """Share of comparisons in which any layout is called different."""
    return float((p <= ALPHA).any(axis=-1).mean())


@pytest.mark.parametrize("kind", NOISE)
def test_equal_layouts_raise_no_more_false_alarms_than_alpha(kind: str) -> None:
    """A thousand A/A comparisons: eleven layouts, all sharing the control."""
    assert alarms(sign_flip_max(to_control(times(kind, 6, seed=1)))) <= ALPHA


@pytest.mark.parametrize("kind", NOISE)
def test_layouts_that_differ_cause_no_false_alarms_of_others(kind: str) -> None:
    logs = to_control(times(kind, 6, seed=2))
    logs[..., 4:] += np.log([1.05, 1.2, 1.5, 2, 3, 5, 10])
    assert alarms(sign_flip_max(logs)[..., :4]) <= ALPHA


def test_the_corrections_false_alarms_come_near_alpha_where_p_can() -> None:
    """Ten blocks have 512 values of p: a test that never rejected would pass those above."""
    assert 0.035 <= alarms(sign_flip_max(to_control(times("even", 10, seed=3)))) <= 0.063  # ± 2 standard errors


@pytest.mark.parametrize("others", [0.0, log(3)])
def test_a_fifth_slower_is_found_with_six_blocks(others: float) -> None:
    """Noise of 4 %, one true 20 % slowdown among eleven layouts, alone or beside layouts that are far slower."""
    logs = to_control(times("even", blocks_needed(), seed=4))
    logs[..., 0] += log(1.2)
    logs[..., 1:5] += others
    assert (sign_flip_max(logs)[..., 0] <= ALPHA).mean() >= 0.95


def test_a_fifth_slower_is_found_with_ten_blocks_where_one_in_ten_is_bad() -> None:
    logs = to_control(times("bad blocks", 10, seed=5))
    logs[..., 0] += log(1.2)
    assert (sign_flip_max(logs)[..., 0] <= ALPHA).mean() >= 0.95


def test_verdicts_of_a_fifth_slower_and_of_equal_layouts() -> None:
    logs = to_control(times("even", 6, seed=6, cv=0.01))[:200]
    logs[..., 0] += log(1.2)
    p = sign_flip_max(logs)
    given = [
        [verdict(ratio_to_control(dict(enumerate(np.exp(arm))), dict.fromkeys(range(6), 1.0)), q) for arm, q in pairs]
        for pairs in (zip(one.T, own, strict=True) for one, own in zip(logs, p, strict=True))
    ]
    assert all(verdicts[0] == "slower" for verdicts in given)
    others = [verdict for verdicts in given for verdict in verdicts[1:]]
    assert others.count("same") >= 0.95 * len(others)
    assert not {"faster", "slower"} & set(others)


def test_p_is_that_of_all_patterns() -> None:
    """Three blocks, counted by hand: 4 patterns, a pattern and its opposite being one."""
    logs = np.array([[0.3, 0.1], [0.3, -0.2], [0.3, 0.1]])
    # Patterns: +++ ++- +-+ -++ (first block fixed: +-- for the last). Arm 1 is largest under the observed one alone.
    assert sign_flip_max(logs).tolist() == [0.25, 1.0]
    assert sign_flip_max(logs[:, 1:]).tolist() == [1.0]  # 0.1 -0.2 0.1 adds to nothing: every pattern is as large


def test_a_consistent_difference_has_the_smallest_p_there_is() -> None:
    logs = np.full((6, 3), [0.2, 0.0, -0.4])
    assert sign_flip_max(logs).tolist() == [2 / 2**6, 1.0, 2 / 2**6]


def test_a_layout_that_failed_in_a_block_counts_by_its_others() -> None:
    logs = np.full((6, 2), 0.2) + np.random.default_rng(1).normal(0, 0.01, (6, 2))
    logs[3, 1] = nan
    assert sign_flip_max(logs).tolist() == [2 / 2**6, 2 / 2**5]
    logs[:, 1] = nan
    assert sign_flip_max(logs)[0] == 2 / 2**6
    assert isnan(sign_flip_max(logs)[1])


@pytest.mark.parametrize("shape", [(0, 3), (6, 0)])
def test_nothing_gives_nothing(shape: tuple[int, int]) -> None:
    found = sign_flip_max(np.empty(shape))
    assert found.shape == shape[1:]
    assert np.isnan(found).all()


def test_many_blocks_are_sampled_by_the_seed() -> None:
    logs = np.random.default_rng(7).normal(0.03, 0.1, (24, 3))
    first = sign_flip_max(logs, seed=1)
    assert first.tolist() == sign_flip_max(logs, seed=1).tolist()
    assert first == pytest.approx(sign_flip_max(logs, seed=2), abs=0.01)
    assert first.tolist() != sign_flip_max(logs, seed=2).tolist()
    assert first.min() >= 2**-16


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 8), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_p_depends_on_neither_order_nor_direction(blocks: int, arms: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    logs = rng.normal(0.05, 0.1, (blocks, arms))
    p = sign_flip_max(logs)
    assert ((p >= 2 / 2**blocks - 1e-12) & (p <= 1)).all()
    assert sign_flip_max(-logs) == pytest.approx(p)
    assert sign_flip_max(rng.permutation(logs, axis=0)) == pytest.approx(p)
    order = rng.permutation(arms)
    assert sign_flip_max(logs[:, order]) == pytest.approx(p[order])
    assert (p >= [sign_flip_max(logs[:, [arm]])[0] - 1e-12 for arm in range(arms)]).all()  # the correction adds


@pytest.mark.parametrize(("alpha", "blocks"), [(0.05, 6), (0.01, 8)])
def test_blocks_needed(alpha: float, blocks: int) -> None:
    assert blocks_needed(alpha) == blocks
    assert 2 / 2**blocks <= alpha < 2 / 2 ** (blocks - 1)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, nan])
def test_an_alpha_that_is_no_share(alpha: float) -> None:
    with pytest.raises(ValueError, match="is not between 0 and 1"):
        blocks_needed(alpha)


def test_an_arm_of_few_blocks_hides_no_other() -> None:
    """Two blocks that lie close together have a large statistic under half of all patterns, and can prove nothing."""
    rng = np.random.default_rng(8)
    logs = np.column_stack([0.3 + rng.normal(0, 0.05, 6), np.r_[0.5, 0.5001, [np.nan] * 4]])
    p = sign_flip_max(logs)
    assert p[0] == sign_flip_max(logs[:, :1])[0] == 2 / 2**6
    assert p[1] >= 2 / 2**2
    assert sign_flip_max(logs[:2]).tolist() == [0.5, 0.5]  # where nobody has enough all are tested
