"""The ranges of a cluster: a plain reference, and what must hold for every load."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keybench.errors import UsageError
from keybench.generators.core.clock import TICKS_PER_SECOND
from keybench.pagemodels.ranges.model import ROWS_A_RANGE, RangeStats, replay, rows_by_time, windows
from keybench.pagemodels.ranges.rule import ByLoad, SplitRule
from keybench.pagemodels.ranges.vendors import RULES, SCALED, rule

HALVES = SplitRule("halves", "", sizes=((float("inf"), 100.0),))


def moments(rows: int, per_second: float) -> np.ndarray:
    return (np.arange(rows) * (TICKS_PER_SECOND / per_second)).astype(np.int64)


def inserted(
    ranks: np.ndarray, by: SplitRule = SCALED, per_second: float = 1000.0, row_bytes: float = 1.0
) -> RangeStats:
    return replay(np.asarray(ranks, np.int64), moments(len(ranks), per_second), row_bytes, by)


def plain(ranks: list[int], limit: int, left: int) -> tuple[list[int], list[int], int, int, float]:
    """(lowest rank and rows of each range, splits, takeovers, share of the hottest) with lists and sorting alone."""
    firsts, held, splits = [0], [[]], 0  # type: ignore[var-annotated]
    leader, takeovers, shares, weights = None, 0, [], []
    part = len(ranks) - max(1, len(ranks) // 10)
    for start, stop in windows(len(ranks), limit):
        own = ranks[start:stop]
        if start >= part:
            part = min(start + ROWS_A_RANGE * len(firsts), len(ranks))
            ahead = Counter(bisect_right(firsts, rank) - 1 for rank in ranks[start:part])
            shares.append(max(ahead.values()) / (part - start))
            weights.append(part - start)
        places = [bisect_right(firsts, rank) - 1 for rank in own]
        for rank, place in zip(own, places, strict=True):
            held[place].append(rank)
        (place, most), *_ = Counter(places).most_common(1)
        if most / len(own) >= 3 / 4:
            takeovers += leader is not None and leader != firsts[place]
            leader = firsts[place]
        for place in range(len(firsts) - 1, -1, -1):
            if len(held[place]) > limit:
                rows = sorted(held[place])
                at = left or len(rows) // 2
                firsts.insert(place + 1, rows[at])
                held[place : place + 1] = [rows[:at], rows[at:]]
                splits += 1
    return (
        firsts,
        [len(rows) for rows in held],
        splits,
        takeovers,
        float(np.average(shares, weights=weights)) if shares else 1.0,
    )


@settings(max_examples=30, deadline=None)
@given(st.data(), st.integers(1, 400), st.integers(3, 60))
def test_it_does_what_the_plain_reference_does(data: st.DataObject, rows: int, limit: int) -> None:
    ranks = data.draw(
        st.one_of(st.permutations(range(rows)), st.just(list(range(rows))), st.just(list(range(rows))[::-1]))
    )
    left = data.draw(st.integers(0, limit - 1))
    by = SplitRule("r", "", sizes=((float("inf"), float(limit)),), left_bytes=float(left))
    found = inserted(np.array(ranks), by)
    firsts, counts, splits, takeovers, hottest = plain(list(ranks), limit, left)
    assert found.firsts.tolist() == firsts
    assert found.counts.tolist() == counts
    assert (found.size_splits, found.load_splits, found.takeovers) == (splits, 0, takeovers)
    assert found.hottest == pytest.approx(hottest)


@pytest.mark.parametrize("by", RULES, ids=lambda by: by.name)
@pytest.mark.parametrize("descending", [False, True])
def test_keys_in_order_go_to_one_range_which_no_split_cools(by: SplitRule, descending: bool) -> None:
    ranks = np.arange(200_000)[:: -1 if descending else 1]
    found = inserted(ranks, by, per_second=5000, row_bytes=50_000)
    assert found.hottest == 1
    assert found.load_splits == 0, (
        "all later keys lie on one side of every key: the sample has nothing that divides them"
    )
    assert found.size_splits == len(found.counts) - 1 >= 3 - 1
    if not descending:  # in the other direction the range on the left keeps its lowest key
        assert found.takeovers == found.size_splits
    assert found.counts.sum() == len(ranks)


def test_random_keys_share_all_ranges() -> None:
    found = inserted(np.random.default_rng(2).permutation(400_000))
    ranges = len(found.counts)
    assert 32 <= ranges <= 64
    assert found.hottest == pytest.approx(found.counts.max() / 400_000, rel=0.15), "the range that splits next"
    assert 32 <= found.written <= ranges
    assert found.takeovers == 0


def test_a_hash_of_16_buckets_leaves_16_hot_ranges() -> None:
    rows = np.arange(160_000)
    keys = rows % 16 * len(rows) + rows
    found = inserted(np.argsort(np.argsort(keys)))
    assert found.hottest == pytest.approx(1 / 16, abs=0.005)
    assert found.written < 16 * 1.5


def test_a_hot_spot_that_moves_faster_than_a_window_is_not_missed() -> None:
    """Writers that take turns, and keys that run through the key space again and again."""
    turns = np.arange(40_000) % 4 * 10_000 + np.arange(40_000) // 4
    assert inserted(turns).hottest == pytest.approx(1 / 4, abs=0.02)
    loops = np.arange(40_000) % 200 * 200 + np.arange(40_000) // 200
    assert inserted(loops).hottest == pytest.approx(1 / 32, rel=0.2)


def test_a_busy_range_splits_by_load_where_its_requests_divide() -> None:
    """Ten seconds above the threshold, then a split; both halves begin anew."""
    by = SplitRule("load", "", sizes=(), by_load=ByLoad(2500))
    ranks = np.random.default_rng(3).permutation(160_000)
    found = inserted(ranks, by, per_second=4000)
    assert found.load_splits == 1, "each half takes 2,000 a second"
    assert found.counts.min() > 0.36 * len(ranks), "the two sides differ by less than a quarter"
    assert inserted(ranks, by, per_second=2000).load_splits == 0
    assert inserted(ranks[:36_000].argsort().argsort(), by, per_second=4000).load_splits == 0, (
        "nine seconds are too few"
    )


def test_a_second_of_the_scenario_counts_the_ranges_that_it_writes() -> None:
    ranks = np.random.default_rng(4).permutation(64_000)
    assert inserted(ranks, per_second=5).written == pytest.approx(5, abs=0.6)


@settings(max_examples=25)
@given(st.integers(1, 300), st.integers(1, 40))
def test_rows_by_time_counts_each_row_once(rows: int, parts: int) -> None:
    ranks = np.random.default_rng(rows).permutation(rows)
    found = inserted(ranks, HALVES)
    counted = rows_by_time(ranks, moments(rows, 10), found.firsts, parts)
    assert counted.shape == (parts, len(found.firsts))
    assert counted.sum(axis=0).tolist() == found.counts.tolist()


def test_each_rule_says_where_it_comes_from() -> None:
    assert len({by.name for by in RULES}) == len(RULES)
    assert all(by.source and by.title for by in RULES)
    assert rule("tidb").limit(5, 0, 1024.0) == 384 * 1024
    assert [rule("yugabytedb").limit(ranges, 0, 1024.0**3) for ranges in (2, 3, 71, 72)] == [1 / 8, 10, 10, 100]
    assert SCALED.limit(1, 3200, 1.0) == 100


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^unknown rule of ranges 'tidbb'"):
        rule("tidbb")
