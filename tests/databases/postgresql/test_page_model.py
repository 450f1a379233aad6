"""The index on live servers equals that of the page model, page for page."""

import numpy as np
import pytest

from benchmarks import streams
from keybench.databases.contract.roles import Address
from keybench.databases.postgresql.admin import PostgresAdmin
from keybench.databases.postgresql.engine import ENGINE
from keybench.model.column import Column
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.table import Table
from keybench.pagemodels.contract import predict
from keybench.pagemodels.page_stats import readings
from tests.databases import loading
from tests.databases.loading import measured
from tests.parameters import first

EXACT = (*loading.EXACT, Metric.APPENDS, Metric.EDGE_SPLITS, Metric.INTERIOR_SPLITS)

ON_THE_RIGHTMOST_LEAF = (Metric.APPENDS, Metric.EDGE_SPLITS)
"""The log does not tell them apart where keys are merged."""


def sized(name: str, width: int = 16) -> Column:
    """The column for keys of that many bytes. Keys of kind text have two characters per byte."""
    column = ENGINE.column(name)
    return column.sized(2 * width if "text" in column.kinds else width)


def assert_as_the_server(admin: PostgresAdmin, column: Column, stream: str, rows: int, payload: int = 0) -> None:
    assert_the_same(admin, Table("trial", column, payload), streams.keys(streams.STREAMS[stream](rows), column))


def assert_the_same(admin: PostgresAdmin, table: Table, keys: Keys) -> None:
    column = table.column
    real = {metric: reading.value for metric, reading in measured(admin, table, keys).items()}
    predicted = readings(predict(ENGINE.page_model(table), column, keys))
    model = {reading.metric: reading.value for reading in predicted}
    compared = [metric for metric in EXACT if table.children == 1 or metric not in ON_THE_RIGHTMOST_LEAF]
    assert {metric: model[metric] for metric in compared} == {metric: real[metric] for metric in compared}


@pytest.mark.parametrize("stream", streams.STREAMS)
def test_the_index_on_a_server_is_that_of_the_model(admin: PostgresAdmin, stream: str) -> None:
    assert_as_the_server(admin, sized("uuid"), stream, 60_000)


@pytest.mark.parametrize("stream", ["random", "descending", "4 lagging by 0.5 %"])
@pytest.mark.parametrize("name", ["char36", "bigint", "bytea", "text"])
def test_indexes_of_other_columns_are_those_of_the_model(embedded: Address, name: str, stream: str) -> None:
    admin = PostgresAdmin(embedded)
    try:
        assert_as_the_server(admin, sized(name), stream, 40_000, payload=10)
    finally:
        admin.close()


@pytest.mark.parametrize(
    ("name", "children", "stream"),
    first(
        3,
        [
            ("uuid", 20, "4 lagging by 0.5 %"),
            ("bigint", 2, "descending"),
            ("text", 3, "increasing"),
            ("uuid", 5, "random"),
            ("uuid", 100, "random"),
            ("bigint", 7, "random"),
            ("char36", 13, "random"),
        ],
    ),
)
def test_a_foreign_keys_index_merges_entries_as_in_the_model(
    admin: PostgresAdmin, name: str, children: int, stream: str
) -> None:
    column, parents = sized(name), 60_000 // children
    table = Table("trial", column, 10, "fk", children=children)
    keys = streams.keys(streams.STREAMS[stream](parents), column)
    assert_the_same(admin, table, keys)
    real, model = admin.page_order(table), predict(ENGINE.page_model(table), column, keys)
    assert real.rows.tolist() == model.page_rows.tolist()
    assert np.array_equal(np.argsort(real.numbers), np.argsort(model.page_numbers))


@pytest.mark.parametrize("width", [126, 127, 506])
def test_indexes_of_wide_keys_are_those_of_the_model(embedded: Address, width: int) -> None:
    column, numbers = sized("bytea", width), streams.random(20_000)
    data = np.zeros((len(numbers), width), np.uint8)
    data[:, :8] = numbers.astype(">u8").view(np.uint8).reshape(-1, 8)
    admin = PostgresAdmin(embedded)
    try:
        assert_the_same(admin, Table("trial", column, 0), Keys(data, "bytes"))
    finally:
        admin.close()
