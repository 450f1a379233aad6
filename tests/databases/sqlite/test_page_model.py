"""A b-tree of SQLite equals that of the page model, page for page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks import streams
from keybench.databases.sqlite.ddl import Statements
from keybench.databases.sqlite.engine import ENGINE
from keybench.model.payload import PayloadLengths
from keybench.model.table import KeyRole
from keybench.pagemodels.contract import predict
from keybench.pagemodels.page_stats import readings
from tests.databases.loading import EXACT, lengths
from tests.parameters import first

if TYPE_CHECKING:
    from conftest import Bench


TABLES: list[tuple[str, int, KeyRole]] = [
    ("binary16", 0, "clustered"),
    ("char36", 100, "clustered"),
    ("bigint", 0, "clustered"),
    ("integer", 100, "clustered"),
    ("char36", 0, "nonclustered"),
    ("integer", 10, "nonclustered"),
]


LONG: list[tuple[str, int | PayloadLengths, KeyRole]] = [
    ("binary16", 979, "clustered"),  # the longest record that lies whole in its cell
    ("binary16", 980, "clustered"),
    ("binary16", 1000, "clustered"),
    ("char36", 5000, "clustered"),
    ("bigint", 1000, "by-date"),
    ("binary16", 1000, "nonclustered"),
    ("binary16", 4100, "nonclustered"),
    ("integer", 4060, "clustered"),
    ("integer", 9000, "clustered"),
    ("binary16", 20_000, "by-date"),
]
"""Tables whose rows have overflow pages, or nearly so."""

VARYING: list[tuple[str, int | PayloadLengths, KeyRole]] = [
    ("binary16", PayloadLengths(0, 200), "clustered"),
    ("char36", PayloadLengths(0, 3000, "zipfian"), "clustered"),
    ("binary16", PayloadLengths(0, 5000), "clustered"),
    ("bigint", PayloadLengths(3, 8, "row-number"), "clustered"),
    ("integer", PayloadLengths(0, 200), "clustered"),
    ("integer", PayloadLengths(0, 9000), "clustered"),
    ("binary16", PayloadLengths(1, 6000, "zipfian"), "nonclustered"),
    ("char36", PayloadLengths(1, 6000, "zipfian"), "by-date"),
]
"""Tables whose rows are of different lengths."""


def assert_as_sqlite(bench: Bench, given: tuple[str, int | PayloadLengths, KeyRole], stream: str, rows: int) -> None:
    column, payload, role = given
    on = bench.table(column, payload, role)
    keys = streams.keys(streams.STREAMS[stream](rows), on.column)
    real = {metric: reading.value for metric, reading in bench.load(on, keys).items()}
    model = predict(ENGINE.page_model(on), on.column, keys, lengths=lengths(on, rows))
    predicted = {reading.metric: reading.value for reading in readings(model)}
    assert {metric: predicted[metric] for metric in EXACT} == pytest.approx(
        {metric: real[metric] for metric in EXACT}, 1e-12
    )
    run = bench.admin._connection(on).execute  # type: ignore[attr-defined]
    pages = "FROM dbstat WHERE name = ? AND pagetype = ?"
    leaves = run(f"SELECT pageno, ncell {pages} ORDER BY path", (Statements(on).tree, "leaf"))
    assert leaves.fetchall() == list(zip(model.page_numbers.tolist(), model.page_rows.tolist(), strict=True))
    assert model.overflow_pages == run(f"SELECT count(*) {pages}", (Statements(on).tree, "overflow")).get
    if on.payload:
        wanted = on.payload * rows if on.lengths is None else int(lengths(on, rows).sum())
        assert run(f'SELECT sum(length(payload)) FROM "{on.name}"').get == wanted


@pytest.mark.parametrize("stream", streams.STREAMS)
def test_a_b_tree_of_sqlite_is_that_of_the_model(bench: Bench, stream: str) -> None:
    assert_as_sqlite(bench, ("binary16", 100, "clustered"), stream, 20_000)


@pytest.mark.parametrize("stream", first(1, ["4 lagging by 0.5 %", "random", "wrapping"]))
@pytest.mark.parametrize("given", TABLES)
def test_indexes_of_other_tables_are_those_of_the_model(
    bench: Bench, given: tuple[str, int, KeyRole], stream: str
) -> None:
    assert_as_sqlite(bench, given, stream, 20_000)


@pytest.mark.parametrize("stream", first(1, ["random", "4 lagging by 0.5 %", "increasing"]))
@pytest.mark.parametrize("given", [*LONG, *VARYING], ids=str)
def test_long_and_varying_rows_are_those_of_the_model(
    bench: Bench, given: tuple[str, int | PayloadLengths, KeyRole], stream: str
) -> None:
    assert_as_sqlite(bench, given, stream, 4000)


@pytest.mark.long
@pytest.mark.parametrize("stream", streams.STREAMS)
@pytest.mark.parametrize("given", [*LONG, *VARYING], ids=str)
def test_many_long_and_varying_rows_are_those_of_the_model(
    bench: Bench, given: tuple[str, int | PayloadLengths, KeyRole], stream: str
) -> None:
    assert_as_sqlite(bench, given, stream, 30_000)


@pytest.mark.long
@pytest.mark.parametrize("stream", streams.STREAMS)
@pytest.mark.parametrize("given", [*TABLES, ("binary16", 100, "nonclustered"), ("bigint", 100, "nonclustered")])
def test_indexes_of_many_rows_are_those_of_the_model(
    bench: Bench, given: tuple[str, int, KeyRole], stream: str
) -> None:
    assert_as_sqlite(bench, given, stream, 150_000)
