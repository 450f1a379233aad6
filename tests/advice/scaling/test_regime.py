import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.scaling import question
from keybench.advice.index_forecast import Growth
from keybench.advice.scaling.regime import Regime, blocks, random_within, reach, regime
from keybench.databases.registry import engine


def plain_reach(ranks: list[int]) -> float:
    """How many rows before each the first key above it came."""
    back = []
    for i, rank in enumerate(ranks):
        above = [j for j in range(i) if ranks[j] > rank]
        back.append(i - above[0] if above else 0)
    return float(np.percentile(back, 99))


@settings(max_examples=50, deadline=None)
@given(st.permutations(range(40)))
def test_reach_is_how_old_the_oldest_key_above_is(ranks: list[int]) -> None:
    assert reach(np.array(ranks)) == plain_reach(ranks)


def in_blocks(sizes: list[int], order: list[int], seed: int) -> np.ndarray:
    """Random keys in blocks, which lie in that order in the index."""
    chance = np.random.default_rng(seed)
    begins = {place: sum(sizes[other] for other in order[:i]) for i, place in enumerate(order)}
    return np.concatenate([begins[i] + chance.permutation(size) for i, size in enumerate(sizes)]).astype(np.int64)


@given(st.lists(st.integers(1000, 3000), min_size=1, max_size=6), st.randoms(use_true_random=False), st.integers(0, 9))
@settings(max_examples=10, deadline=None)
def test_blocks_are_found_in_whatever_order_they_lie(sizes: list[int], chance: object, seed: int) -> None:
    order = list(range(len(sizes)))
    chance.shuffle(order)  # type: ignore[attr-defined]
    ranks = in_blocks(sizes, order, seed)
    found = blocks(ranks)
    assert len(found) == len(sizes)
    assert np.abs(np.cumsum(found) - np.cumsum(sizes)).max() <= 1
    assert random_within(ranks, found)


def test_what_only_looks_random_is_not() -> None:
    n = 16_384
    turning = np.argsort(np.argsort(np.arange(n) * 0.618033988 % 1))
    assert not random_within(turning, np.array([n]))
    assert not random_within(np.arange(n), np.array([n]))
    waves = np.argsort(np.argsort(np.arange(n) % 100 * n + np.arange(n)))
    assert not random_within(waves, np.array([n]))


def found(name: str, rows: float, rate: float, writers: int = 1, behind: float = 0) -> Regime:
    growth = Growth(int(rows), rate, writers, behind)
    return regime(name, question(engine("postgresql"), name, growth).table.column, growth, 400_000, 1)


@pytest.mark.parametrize(
    ("name", "rate", "writers", "behind", "reaches"),
    [
        ("bigint-identity", 1000, 1, 0, (0, 0)),
        ("uuid-v7", 1000, 1, 0, (0, 0)),
        ("uuid-v7", 1000, 4, 1, (900, 1000)),
        ("ksuid", 1000, 1, 0, (900, 1000)),
        ("rt-comb-postgresql-legacy", 1000, 1, 0, (1, 4)),
    ],
)
def test_rows_of_keys_in_order_of_time_reach_a_little_back(
    name: str, rate: float, writers: int, behind: float, reaches: tuple[float, float]
) -> None:
    made = found(name, 1e9, rate, writers, behind)
    assert (made.kind, made.step) == ("local", 1)
    assert reaches[0] <= made.reach <= reaches[1]


def test_a_writer_that_is_far_behind_needs_fewer_rows_of_the_load() -> None:
    made = found("uuid-v7", 1e9, 1000, 4, 3600)
    assert made.kind == "local"
    assert made.reach * made.step == pytest.approx(3_600_000, rel=0.1)
    assert made.reach < 400_000 / 16


@pytest.mark.parametrize(
    ("name", "rate", "blocks"),
    [
        ("uuid-v4", 1000, (1e9,)),
        ("efcore-sequential", 1000, (1e9,)),
        ("tvondra-sequence", 1000, (65_536,)),
        ("tvondra-time", 100_000, (6e6,)),
        ("percona-week", 1000, (518.4e6, 481.6e6)),
    ],
)
def test_random_keys_are_known_by_their_order(name: str, rate: float, blocks: tuple[float, ...]) -> None:
    made = found(name, 1e9, rate)
    assert made.kind == "random"
    assert made.blocks == pytest.approx(blocks, rel=0.005)


def test_keys_that_begin_at_the_front_again_are_sampled_from_the_whole_load() -> None:
    assert found("uuid-v1", 1e9, 1000) == Regime("whole", 4096)
