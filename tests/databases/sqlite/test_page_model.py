"""A b-tree of SQLite equals that of the page model, page for page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks import streams
from keybench.databases.sqlite.ddl import Statements
from keybench.databases.sqlite.engine import ENGINE
from keybench.model.metric import Metric
from keybench.model.table import KeyRole
from keybench.pagemodels.page_stats import readings
from keybench.pagemodels.predict import predict

if TYPE_CHECKING:
    from conftest import Bench

EXACT = (
    Metric.LEAF_PAGES,
    Metric.BRANCH_PAGES,
    Metric.LEAF_DENSITY,
    Metric.LEAF_FRAGMENTATION,
    Metric.LEAF_NONADJACENT,
)

TABLES: list[tuple[str, int, KeyRole]] = [
    ("binary16", 0, "clustered"),
    ("char36", 100, "clustered"),
    ("bigint", 0, "clustered"),
    ("integer", 100, "clustered"),
    ("char36", 0, "nonclustered"),
    ("integer", 10, "nonclustered"),
]


def assert_as_sqlite(bench: Bench, given: tuple[str, int, KeyRole], stream: str, rows: int) -> None:
    column, payload, role = given
    on = bench.table(column, payload, role)
    keys = streams.keys(streams.STREAMS[stream](rows), on.column)
    real = {metric: reading.value for metric, reading in bench.load(on, keys).items()}
    model = predict(ENGINE.page_model(on), on.column, keys)
    predicted = {reading.metric: reading.value for reading in readings(model)}
    assert {metric: predicted[metric] for metric in EXACT} == pytest.approx(
        {metric: real[metric] for metric in EXACT}, 1e-12
    )
    leaves = bench.admin._connection(on).execute(  # type: ignore[attr-defined]
        "SELECT pageno, ncell FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path", (Statements(on).tree,)
    )
    assert leaves.fetchall() == list(zip(model.page_numbers.tolist(), model.page_rows.tolist(), strict=True))


@pytest.mark.parametrize("stream", streams.STREAMS)
def test_a_b_tree_of_sqlite_is_that_of_the_model(bench: Bench, stream: str) -> None:
    assert_as_sqlite(bench, ("binary16", 100, "clustered"), stream, 20_000)


@pytest.mark.parametrize("stream", ["random", "4 lagging by 0.5 %", "wrapping"])
@pytest.mark.parametrize("given", TABLES)
def test_indexes_of_other_tables_are_those_of_the_model(
    bench: Bench, given: tuple[str, int, KeyRole], stream: str
) -> None:
    assert_as_sqlite(bench, given, stream, 20_000)


@pytest.mark.long
@pytest.mark.parametrize("stream", streams.STREAMS)
@pytest.mark.parametrize("given", [*TABLES, ("binary16", 100, "nonclustered"), ("bigint", 100, "nonclustered")])
def test_indexes_of_many_rows_are_those_of_the_model(
    bench: Bench, given: tuple[str, int, KeyRole], stream: str
) -> None:
    assert_as_sqlite(bench, given, stream, 150_000)
