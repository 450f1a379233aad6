"""Ratios, their joint test, equivalence, and simulations of what they promise."""

from __future__ import annotations

from math import exp, inf, isnan, log, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keybench.results.analysis.statistics import (
    ALPHA,
    Estimate,
    Floats,
    blocks_needed,
    equivalent,
    estimate_between,
    holm,
    log_ratios,
    ratio_to_control,
    sign_flip_max,
    verdict,
)

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


@pytest.mark.parametrize(
    ("alpha", "arms", "correction", "blocks"),
    [
        (0.05, 1, "max-t", 6),
        (0.05, 80, "max-t", 6),
        (0.01, 11, "max-t", 8),
        (0.05, 1, "holm", 6),
        (0.05, 11, "holm", 9),
        (0.05, 11, "bonferroni", 9),
        (0.05, 80, "bonferroni", 12),
    ],
)
def test_blocks_needed(alpha: float, arms: int, correction: str, blocks: int) -> None:
    times = 1 if correction == "max-t" else arms
    assert blocks_needed(alpha, arms, correction) == blocks  # type: ignore[arg-type]
    assert 2 * times / 2**blocks <= alpha < 2 * times / 2 ** (blocks - 1)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, nan])
def test_an_alpha_that_is_no_share(alpha: float) -> None:
    with pytest.raises(ValueError, match="is not between 0 and 1"):
        blocks_needed(alpha)


def test_holm_by_hand() -> None:
    assert holm(np.array([0.04, 0.01, nan, 0.03])).tolist()[:2] == pytest.approx([0.06, 0.03])
    assert isnan(holm(np.array([0.04, 0.01, nan, 0.03]))[2])
    assert holm(np.array([0.6, 0.9])).tolist() == [1.0, 1.0]


def test_a_ratio_is_taken_within_the_block() -> None:
    """The machine is twice as slow in every second block; the ratio does not see it."""
    control = {block: 10.0 * (1 + block % 2) for block in range(6)}
    found = ratio_to_control({block: 1.3 * value for block, value in control.items()}, control)
    assert found is not None
    assert (found.ratio, found.low, found.high) == pytest.approx((1.3, 1.3, 1.3))
    assert (found.blocks, found.confidence) == (6, 0.95)


def test_the_ratio_is_the_median_over_blocks() -> None:
    found = ratio_to_control(dict(enumerate([1.1, 1.2, 1.3, 9.0, 1.2])), dict.fromkeys(range(5), 1.0))
    assert found is not None
    assert (found.ratio, found.low, found.high) == pytest.approx((1.2, 1.1, 9.0))


def test_blocks_without_both_values_are_left_out() -> None:
    found = ratio_to_control({1: 2.0, 2: 3.0, 3: 0.0, 4: 5.0, 6: 1.0}, {1: 1.0, 2: 1.0, 3: 1.0, 4: 0.0, 5: 1.0})
    assert found is not None
    assert found.blocks == 2
    assert found.ratio == pytest.approx(6**0.5)
    assert ratio_to_control({1: 2.0}, {2: 2.0}) is None
    assert ratio_to_control({}, {}) is None


def test_one_block_has_no_interval() -> None:
    found = ratio_to_control({1: 2.0}, {1: 1.0})
    assert found is not None
    assert not found.has_interval
    assert isnan(found.high)
    assert not equivalent(found, margin=inf)
    assert verdict(found, 1.0) == "unclear"


def test_log_ratios_are_blocks_by_arms() -> None:
    found = log_ratios([{1: 2.0, 2: 4.0}, {2: 0.0, 1: 8.0}], {1: 2.0, 2: 2.0, 3: 2.0, 4: 0.0})
    assert found.shape == (3, 2)
    assert np.exp(found[0]).tolist() == pytest.approx([1, 4])
    assert exp(found[1, 0]) == pytest.approx(2)
    assert np.isnan(found[1, 1])
    assert np.isnan(found[2]).all()
    assert log_ratios([], {1: 1.0}).shape == (1, 0)
    assert log_ratios([{1: 1.0}], {}).shape == (0, 1)


def test_between_independent_blocks() -> None:
    before, after = np.log([1.0, 1.1, 0.9, nan]), np.log([2.0, 2.2])
    found = estimate_between(before, after)
    assert found is not None
    assert found.ratio == pytest.approx(4.4**0.5)
    assert (found.low, found.high) == pytest.approx((2.0 / 1.1, 2.2 / 0.9))
    assert found.blocks == 2
    assert estimate_between(before, np.array([nan])) is None
    single = estimate_between(before, np.array([0.0]))
    assert single is not None
    assert not single.has_interval


@pytest.mark.parametrize(
    ("ratio", "low", "high", "p", "said"),
    [
        (1.20, 1.10, 1.30, 0.03, "slower"),
        (0.80, 0.75, 0.90, 0.03, "faster"),
        (1.20, 1.10, 1.30, 0.06, "unclear"),
        (1.01, 0.97, 1.04, 0.50, "same"),
        (1.03, 1.02, 1.04, 0.03, "same"),  # real, and too small to matter
        (1.04, 1.02, 1.07, 0.03, "unclear"),  # real, and perhaps large enough
        (1.01, 0.90, 1.10, 0.80, "unclear"),  # no difference found is not none
    ],
)
def test_verdicts(ratio: float, low: float, high: float, p: float, said: str) -> None:
    assert verdict(Estimate(ratio, low, high, 6), p) == said


def test_nothing_measured_has_no_verdict() -> None:
    assert verdict(None, nan) == "unclear"


def test_the_margin_is_the_same_for_faster_and_slower() -> None:
    assert equivalent(Estimate(1.0, 1 / 1.05, 1.05, 6))
    assert not equivalent(Estimate(1.0, 1 / 1.051, 1.05, 6))
    assert equivalent(Estimate(1.0, 1 / 1.2, 1.2, 6), margin=0.2)


def test_equivalence_takes_as_many_blocks_as_its_interval() -> None:
    """Three blocks that happen to lie together cover a median in three of four cases."""
    assert not equivalent(Estimate(1.0, 1.0, 1.0, 5))
    assert equivalent(Estimate(1.0, 1.0, 1.0, 6))
    assert not equivalent(Estimate(1.0, 1.0, 1.0, 7, confidence=0.99))
    assert verdict(Estimate(1.0, 1.0, 1.0, 5), 1.0) == "unclear"


def test_an_arm_of_few_blocks_hides_no_other() -> None:
    """Two blocks that lie close together have a large statistic under half of all patterns, and can prove nothing."""
    rng = np.random.default_rng(8)
    logs = np.column_stack([0.3 + rng.normal(0, 0.05, 6), np.r_[0.5, 0.5001, [np.nan] * 4]])
    p = sign_flip_max(logs)
    assert p[0] == sign_flip_max(logs[:, :1])[0] == 2 / 2**6
    assert p[1] >= 2 / 2**2
    assert sign_flip_max(logs[:2]).tolist() == [0.5, 0.5]  # where nobody has enough all are tested
