"""Look-ups after a load, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from keybench.databases.registry import engine
from keybench.model.table import Table
from keybench.pagemodels.costs.contract import Load, PredictsCost, Server
from keybench.pagemodels.costs.look_ups import look_ups


def test_each_kind_of_page_counts_where_it_is_absent() -> None:
    leaf = np.arange(1000) // 100  # ten pages in order of time; the last two are in the cache
    found = look_ups(leaf, np.arange(10) >= 8)
    assert (found.any_row, found.newest, found.window) == (0.8, 0.0, 0.1)
    table = np.arange(1000) // 50
    found = look_ups(leaf, np.arange(10) >= 8, table, np.arange(20) == 19)
    assert found.any_row == pytest.approx(0.8 + 0.95)
    assert found.newest == 0
    assert found.window == pytest.approx(0.2)


def test_a_window_of_scattered_rows_reads_a_page_for_nearly_each() -> None:
    leaf = np.random.default_rng(1).permutation(100_000) % 5000
    found = look_ups(leaf, np.arange(5000) < 500)
    assert found.any_row == pytest.approx(0.9)
    assert found.newest == pytest.approx(0.9, abs=0.03)
    assert found.window == pytest.approx(0.9 * 5000 * (1 - (1 - 1 / 5000) ** 1000) / 1000, rel=0.05)


@pytest.mark.parametrize("name", ["postgresql", "sqlite", "mssql", "oracle"])
def test_look_ups_are_computed_where_they_are_wanted(name: str) -> None:
    on = engine(name)
    model = on.page_model(Table("t", on.default_column("uuid"), 100))
    assert isinstance(model, PredictsCost)
    ranks, server = np.random.default_rng(1).permutation(20_000), Server(cache_bytes=110 * model.page_bytes)
    wanted, others = (model.load_cost(Load(ranks, [20_000], 1000, look_ups=is_so), server) for is_so in (True, False))
    assert wanted.look_ups is not None
    assert 0 < wanted.look_ups.any_row <= 2
    assert others.look_ups is None
    assert others.read.all.tolist() == wanted.read.all.tolist()
