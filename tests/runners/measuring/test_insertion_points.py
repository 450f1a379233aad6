"""Counts of keys below, and fronts, against counting by hand."""

from __future__ import annotations

from bisect import bisect_left, insort

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from keybench.runners.measuring.insertion_points import Windows, insertions


def by_hand(ranks: list[int], window: int, every: int, near: int) -> tuple[list[int], list[int]]:
    present: list[int] = []
    above, fronts = [], []
    for i, rank in enumerate(ranks):
        number, odd = divmod(i, window * every)
        if number and not odd and i + window <= len(ranks):
            below = sorted(bisect_left(present, other) for other in ranks[i : i + window])
            fronts.append(1 + sum(b - a > near for a, b in zip(below, below[1:], strict=False)))  # noqa: RUF007
        above.append(len(present) - bisect_left(present, rank))
        insort(present, rank)
    return above, fronts


@settings(deadline=None)  # the first call compiles
@given(
    n=st.integers(1, 1500),
    window=st.integers(1, 40),
    every=st.integers(1, 4),
    near=st.integers(0, 5),
    swaps=st.integers(0, 3000),
    seed=st.integers(0, 9),
)
def test_counts_are_those_made_by_hand(n: int, window: int, every: int, near: int, swaps: int, seed: int) -> None:
    ranks = np.arange(n)
    draw = np.random.default_rng(seed)
    for a, b in draw.integers(0, n, (swaps, 2)):
        ranks[[a, b]] = ranks[[b, a]]
    above, fronts = insertions(ranks, Windows(window, every, near))
    expected = by_hand(ranks.tolist(), window, every, near)
    assert (above.tolist(), fronts.tolist()) == expected


def test_a_long_random_order_has_half_of_the_keys_above_and_a_front_for_each_row() -> None:
    n = 400_000
    above, fronts = insertions(np.random.default_rng(1).permutation(n), Windows(1000, 20, 10))
    assert abs((above[1:] / np.arange(1, n)).mean() - 0.5) < 0.005
    assert above.sum() == np.arange(n).sum() - (np.arange(n) - above).sum()
    assert len(fronts) == 19
    assert fronts[-1] > 950


def test_four_disjoint_ascending_ranges_are_four_fronts() -> None:
    ranks = (np.arange(40_000) % 4) * 10_000 + np.arange(40_000) // 4
    _, fronts = insertions(ranks, Windows(1000, 3, 100))
    assert set(fronts.tolist()) == {4}
