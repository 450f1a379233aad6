"""Forecasts of indexes beside page models of all rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.advice_forecast import question
from keybench.advice.index_forecast import IndexForecast, forecast, index_of_all_rows, is_random, reach_back
from keybench.advice.load import Growth
from keybench.databases.registry import engine

LAYOUTS = "bigint-identity", "uuid-v7", "uuid-v4", "uuid-v1", "ksuid", "rt-comb-sql", "efcore-sequential"


def of(db: str, name: str, growth: Growth, payload: int = 100) -> IndexForecast:
    return forecast(question(engine(db), name, growth, payload))


def test_so_few_rows_are_simulated_whole() -> None:
    made = of("postgresql", "uuid-v7", Growth(20_000, 1000))
    assert made.leaf_pages.half == 0
    assert made.leaf_pages.kind == "exact model"
    assert made.leaf_pages.value == 77
    assert made.index_bytes.value == pytest.approx(78 * 8192)


def test_the_kind_says_which_models_no_server_has_confirmed() -> None:
    for db, kind in (("postgresql", "scaled"), ("mssql", "unconfirmed model")):
        made = of(db, "uuid-v7", Growth(10**9, 1000))
        assert {figure.kind for figure in (made.leaf_pages, made.density, made.splits)} == {kind}


@pytest.mark.parametrize(
    ("name", "growth", "density"),
    [
        ("uuid-v7", Growth(10**9, 5000, writers=8, behind_seconds=5), 48.99),
        ("snowflake-discord", Growth(10**9, 5000, writers=4, behind_seconds=20), 29.4),
    ],
)
def test_writers_that_lag_far_fill_pages_as_a_live_mariadb_has_them(name: str, growth: Growth, density: float) -> None:
    made = of("mariadb", name, growth, payload=0).density
    assert made.value == pytest.approx(density, rel=0.01)
    assert made.half < 0.05 * density


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_truth_is_in_the_interval(name: str) -> None:
    asked = question(engine("postgresql"), name, Growth(1_600_000, 1000, writers=4, behind_seconds=2))
    made, whole = forecast(asked), index_of_all_rows(asked)
    assert made.leaf_pages.low <= whole.leaf_pages <= made.leaf_pages.high
    assert made.density.low <= whole.density <= made.density.high
    splits = 1000 * (whole.edge_splits + whole.interior_splits) / whole.rows
    assert made.splits.low <= splits <= made.splits.high
    assert made.leaf_pages.half < 0.06 * made.leaf_pages.value


@pytest.mark.long
@pytest.mark.parametrize("db", ["postgresql", "mariadb", "sqlite", "mssql", "oracle"])
@pytest.mark.parametrize("writers", [1, 4])
def test_forecasts_of_eight_million_rows(db: str, writers: int) -> None:
    inside = []
    for name in (*LAYOUTS, "objectid", "tvondra-time"):
        asked = question(engine(db), name, Growth(8_000_000, 1000, writers=writers, behind_seconds=1))
        made = forecast(asked).leaf_pages
        inside.append(made.low <= index_of_all_rows(asked).leaf_pages <= made.high)
    assert sum(inside) >= 0.9 * len(inside)


def test_the_ends_of_the_densitys_interval_are_those_of_the_leaf_pages() -> None:
    made = of("postgresql", "uuid-v4", Growth(10**7, 1000))
    full = made.density.value * made.leaf_pages.value
    assert made.density.low * made.leaf_pages.high == pytest.approx(full)
    assert made.density.high * made.leaf_pages.low == pytest.approx(full)


def test_integers_that_take_more_bytes_from_some_row_on() -> None:
    asked = question(engine("sqlite"), "bigint-cached", Growth(3_000_000, 1000))
    made, whole = forecast(asked).leaf_pages, index_of_all_rows(asked).leaf_pages
    assert made.low <= whole <= made.high
    assert made.value == pytest.approx(whole, rel=0.002)


def test_a_writer_that_is_behind_by_more_rows_than_are_simulated_has_a_wide_interval() -> None:
    made = of("postgresql", "uuid-v7", Growth(10**9, 5000, writers=4, behind_seconds=3600)).leaf_pages
    assert made.half >= 0.5 * made.value


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
    assert reach_back(np.array(ranks)) == plain_reach(ranks)


def test_what_only_looks_random_is_not() -> None:
    n = 16_384
    assert is_random(np.random.default_rng(1).permutation(n))
    assert not is_random(np.argsort(np.argsort(np.arange(n) * 0.618033988 % 1)))
    assert not is_random(np.arange(n))
    assert not is_random(np.argsort(np.argsort(np.arange(n) % 100 * n + np.arange(n))))
