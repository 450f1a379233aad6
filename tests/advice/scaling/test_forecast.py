from dataclasses import replace

import pytest

from benchmarks.scaling import Backtest, question
from keybench.advice.index_forecast import Growth
from keybench.advice.scaling.forecast import forecast
from keybench.databases.registry import engine


def backtest(db: str, name: str, growth: Growth, simulated: int) -> Backtest:
    about = question(engine(db), name, growth)
    return Backtest(about, forecast(about, simulated), forecast(about, growth.rows), 0)


def test_so_few_rows_are_simulated_whole() -> None:
    made = forecast(question(engine("postgresql"), "uuid-v7", Growth(20_000, 1000)))
    assert made.leaf_pages.exact
    assert made.leaf_pages.kind == "exact model"
    assert made.leaf_pages.value == 77
    assert made.index_bytes.value == 78 * 8192
    assert made.lag == replace(made.leaf_pages, value=0, low=0, high=0)


def test_the_kind_says_which_models_no_server_has_confirmed() -> None:
    for db, kind in (("postgresql", "scaled"), ("mssql", "unconfirmed model")):
        made = forecast(question(engine(db), "uuid-v7", Growth(10**9, 1000)), 20_000)
        assert {figure.kind for figure in (made.leaf_pages, made.density, made.splits)} == {kind}


def test_nearly_all_forecasts_from_a_tenth_of_the_rows_have_the_truth_in_their_intervals() -> None:
    inside, growth = [], Growth(1_000_000, 1000, writers=2, behind_seconds=0.5)
    for name in ("uuid-v7", "uuid-v4", "ksuid", "tvondra-sequence"):
        for metric, made, truth in backtest("postgresql", name, growth, 100_000).figures():
            half = (made.high - made.low) / 2
            inside.append(abs(truth - made.value) <= half)
            assert abs(truth - made.value) <= 2 * half, (name, metric)
            assert metric == "reads" or half < 0.06 * made.value
    assert sum(inside) >= 0.75 * len(inside)


def test_the_ends_of_the_densitys_interval_are_those_of_the_leaf_pages() -> None:
    made = forecast(question(engine("postgresql"), "uuid-v4", Growth(10**7, 1000)), 20_000)
    full = made.density.value * made.leaf_pages.value
    assert made.density.low * made.leaf_pages.high == pytest.approx(full)
    assert made.density.high * made.leaf_pages.low == pytest.approx(full)


def test_integers_that_take_more_bytes_from_some_row_on_have_stretches_before_and_behind_it() -> None:
    (made, truth) = next(
        (made, truth)
        for metric, made, truth in backtest("sqlite", "bigint-cached", Growth(3_000_000, 1000), 100_000).figures()
        if metric == "leaf_pages"
    )
    assert made.low <= truth <= made.high
    assert made.value == pytest.approx(truth, rel=0.0005)


def test_rows_that_reach_far_back_are_forecast_from_ranges_of_their_keys() -> None:
    growth = Growth(1_600_000, 1000, writers=4, behind_seconds=1)
    for metric, made, truth in backtest("sqlite", "rt-comb-oracle-legacy-no-repeat", growth, 400_000).figures():
        assert made.low <= truth <= made.high, metric


def test_the_log_has_the_numbers_of_the_pages_of_the_whole_index() -> None:
    growth = Growth(3_000_000, 1000)
    (made, truth) = next(
        (made, truth)
        for metric, made, truth in backtest("mariadb", "bigint-identity", growth, 100_000).figures()
        if metric == "log_bytes"
    )
    assert made.value == pytest.approx(truth, rel=0.001)


@pytest.mark.long
@pytest.mark.parametrize("db", ["postgresql", "mariadb", "sqlite", "mssql", "oracle"])
@pytest.mark.parametrize("writers", [1, 4])
def test_forecasts_of_eight_million_rows(db: str, writers: int) -> None:
    names = (
        "bigint-identity",
        "uuid-v4",
        "uuid-v7",
        "ulid-monotonic",
        "rt-comb-sql",
        "ksuid",
        "objectid",
        "tvondra-time",
    )
    inside = []
    for name in names:
        found = backtest(db, name, Growth(8_000_000, 1000, writers=writers, behind_seconds=1), 400_000)
        inside += [made.low <= truth <= made.high for _, made, truth in found.figures()]
    assert len(inside) >= 3 * len(names)
    assert sum(inside) >= 0.9 * len(inside)


def test_what_processes_draw_is_in_the_interval() -> None:
    """Loads of this layout differ by 2 % with the numbers that eight processes draw at their start."""
    about = question(engine("mssql"), "hotguid", Growth(4_000_000, 300, 8, 2.0))
    found = forecast(about, 400_000).leaf_pages
    whole = forecast(about, 4_000_000).leaf_pages.value
    assert found.low <= whole <= found.high
    assert found.high - found.low > 0.01 * whole
