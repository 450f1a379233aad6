"""What a row reads and logs as a table grows."""

import numpy as np
import pytest

from benchmarks.advice_forecast import question
from keybench.advice.index_forecast import ForecastCase, forecast
from keybench.advice.load import Growth
from keybench.advice.row_cost import rows_from_which
from keybench.databases.registry import engine
from keybench.pagemodels.costs.contract import Server


def asked(db: str, name: str, growth: Growth, ram: int) -> ForecastCase:
    made = question(engine(db), name, growth)
    return ForecastCase(made.on, made.table, name, growth, Server(cache_bytes=ram))


@pytest.mark.parametrize("db", ["postgresql", "mariadb", "sqlite"])
def test_random_keys_read_pages_once_the_table_outgrows_the_cache(db: str) -> None:
    cost = forecast(asked(db, "uuid-v4", Growth(10**8, 1000), 2 << 30)).cost
    assert cost.log_bytes is not None
    assert cost.reads.value > 0.3
    assert cost.knee.value < 10**8
    reads = [one.reads for one in cost.by_size]
    assert reads == sorted(reads)
    assert [one.rows for one in cost.by_size] == pytest.approx([12_500_000, 25_000_000, 50_000_000, 10**8], rel=1e-3)


@pytest.mark.parametrize("db", ["postgresql", "mariadb", "sqlite"])
def test_keys_in_order_read_nothing_at_any_size(db: str) -> None:
    cost = forecast(asked(db, "uuid-v7", Growth(10**9, 1000), 2 << 30)).cost
    assert cost.reads.value < 0.001
    assert cost.knee is None
    assert cost.log_bytes is not None


def test_the_log_has_the_numbers_of_the_pages_of_the_whole_index() -> None:
    growth = Growth(3_000_000, 1000)
    made = forecast(asked("mariadb", "bigint-identity", growth, 60_000_000)).log_bytes
    small = forecast(asked("mariadb", "bigint-identity", Growth(400_000, 1000), 60_000_000)).log_bytes
    assert made.value == pytest.approx(small.value, rel=0.02)


def test_the_number_of_rows_from_which_on_pages_are_read() -> None:
    ends = np.array([10, 20, 30, 40])
    assert rows_from_which(np.array([0.0, 0.0, 0.1, 0.2]), ends, 0.05) == 20.0
    assert rows_from_which(np.array([0.1, 0.0, 0.1, 0.2]), ends, 0.05) == 20.0  # what falls below again does not count
    assert rows_from_which(np.array([0.1, 0.1, 0.1, 0.2]), ends, 0.05) == 5.0
    assert rows_from_which(np.array([0.1, 0.1, 0.1, 0.0]), ends, 0.05) is None
