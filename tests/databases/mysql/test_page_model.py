"""The index on live servers equals that of the page model, page for page."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import streams
from keybench.databases.mariadb import ENGINE
from keybench.databases.mysql.admin import MySqlAdmin
from keybench.databases.mysql.probes.pages import data_file, read_index
from keybench.databases.mysql.probes.tables import innodb_name
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.table import Table
from keybench.pagemodels.innodb.model import InnodbStats
from keybench.pagemodels.page_stats import readings
from keybench.pagemodels.predict import predict
from tests.databases.mysql.conftest import measured

EXACT = (
    Metric.LEAF_PAGES,
    Metric.BRANCH_PAGES,
    Metric.LEAF_DENSITY,
    Metric.LEAF_FRAGMENTATION,
    Metric.LEAF_NONADJACENT,
)


def table(column: str = "binary16", payload: int = 0, role: str = "clustered") -> Table:
    return Table("trial", ENGINE.column(column), payload, role)  # type: ignore[arg-type]


def assert_as_the_server(admin: MySqlAdmin, on: Table, keys: Keys) -> None:
    admin.rows("SET GLOBAL innodb_monitor_enable = 'index_page%'")
    merges = "SELECT count FROM information_schema.innodb_metrics WHERE name = 'index_page_merge_successful'"
    before = admin.value(merges)
    real = {metric: reading.value for metric, reading in measured(admin, on, keys).items()}
    index = read_index(admin, on)
    assert index
    model = predict(ENGINE.page_model(on), on.column, keys)
    assert isinstance(model, InnodbStats)
    modelled = {reading.metric: reading.value for reading in readings(model)}
    assert {metric: modelled[metric] for metric in EXACT} == {metric: real[metric] for metric in EXACT}
    assert np.array_equal(index.levels[0], model.page_numbers)
    assert index.garbage == model.garbage_bytes
    assert admin.value(merges) - before == model.merges
    with data_file(admin, f"{innodb_name(on)}.ibd") as file:
        assert file
        assert file.stat().st_size == 16_384 * model.file_pages
    assert real[Metric.SPLIT_COUNTER] == model.split_counter


def keys_in(stream: str, on: Table, rows: int) -> Keys:
    return streams.keys(streams.STREAMS[stream](rows), on.column)


@pytest.mark.parametrize("stream", streams.STREAMS)
def test_the_index_on_a_server_is_that_of_the_model(admin, stream: str) -> None:
    on = table(payload=100)
    assert_as_the_server(admin, on, keys_in(stream, on, 60_000))


@pytest.mark.parametrize("stream", ["random", "4 lagging by 0.5 %", "wrapping"])
@pytest.mark.parametrize(
    ("column", "payload", "role"),
    [("bigint", 0, "clustered"), ("char36", 300, "clustered"), ("char36", 0, "nonclustered")],
)
def test_indexes_of_other_tables_are_those_of_the_model(
    admin, column: str, payload: int, role: str, stream: str
) -> None:
    on = table(column, payload, role)
    assert_as_the_server(admin, on, keys_in(stream, on, 50_000))


def test_a_page_that_becomes_the_roots_only_child_is_merged_into_it(admin) -> None:
    """At row 57,003 its neighbour loses its only node pointer; the root splits again at once, in the middle."""
    on = table("char36")
    keys = keys_in("same millisecond", on, 1_000_000)[:57_011]
    assert_as_the_server(admin, on, keys)
    stats = predict(ENGINE.page_model(on), on.column, keys)
    assert isinstance(stats, InnodbStats)
    assert (stats.branch_pages, stats.split_counter) == (3, 380)


@pytest.mark.long
@pytest.mark.parametrize("stream", streams.STREAMS)
@pytest.mark.parametrize("role", ["clustered", "nonclustered"])
@pytest.mark.parametrize("payload", [0, 100])
@pytest.mark.parametrize("column", ["binary16", "char36", "bigint"])
def test_indexes_of_many_rows_are_those_of_the_model(admin, column: str, payload: int, role: str, stream: str) -> None:
    on = table(column, payload, role)
    assert_as_the_server(admin, on, keys_in(stream, on, 200_000))
