"""The index on live servers equals that of the page model, page for page."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import streams
from keybench.databases.mariadb import ENGINE as MARIADB
from keybench.databases.mysql import ddl
from keybench.databases.mysql.admin import MySqlAdmin
from keybench.databases.mysql.engine import MySqlEngine
from keybench.databases.mysql.flavour import MYSQL
from keybench.databases.mysql.probes import data_file, innodb_name, read_index
from keybench.databases.registry import engine as engine_named
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.payload import PayloadLengths
from keybench.model.table import Table
from keybench.pagemodels.contract import predict
from keybench.pagemodels.innodb.model import InnodbStats
from keybench.pagemodels.page_stats import readings
from tests.databases.loading import EXACT, lengths, measured
from tests.parameters import first


def table(
    column: str = "binary16", payload: int | PayloadLengths = 0, role: str = "clustered", **settings: str
) -> Table:
    most, lengths = (payload.most, payload) if isinstance(payload, PayloadLengths) else (payload, None)
    return Table("trial", MARIADB.column(column), most, role, lengths=lengths, settings=settings)  # type: ignore[arg-type]


def engine_of(admin: MySqlAdmin) -> MySqlEngine:
    return engine_named(admin.flavour.name)


def predicted(admin: MySqlAdmin, on: Table, keys: Keys) -> InnodbStats:
    return predict(engine_of(admin).page_model(on), on.column, keys, lengths=lengths(on, len(keys)))


def assert_as_the_server(admin: MySqlAdmin, on: Table, keys: Keys) -> None:
    admin.rows("SET GLOBAL innodb_monitor_enable = 'index_page%%'")
    merges = "SELECT count FROM information_schema.innodb_metrics WHERE name = 'index_page_merge_successful'"
    before = admin.value(merges)
    real = {metric: reading.value for metric, reading in measured(admin, on, keys).items()}
    index = read_index(admin, on)
    assert index
    model = predicted(admin, on, keys)
    modelled = {reading.metric: reading.value for reading in readings(model)}
    assert {metric: modelled[metric] for metric in EXACT} == {metric: real[metric] for metric in EXACT}
    assert np.array_equal(index.levels[0], model.page_numbers)
    assert index.garbage == model.garbage_bytes
    if admin.flavour is not MYSQL:  # there, tables of the dictionary merge pages too
        assert admin.value(merges) - before == model.merges
    with data_file(admin, f"{innodb_name(on)}.ibd") as file:
        assert file.stat().st_size == admin.value("SELECT @@innodb_page_size") * model.file_pages
    assert real[Metric.SPLIT_COUNTER] == model.split_counter


def keys_in(stream: str, on: Table, rows: int) -> Keys:
    return streams.keys(streams.STREAMS[stream](rows), on.column)


@pytest.mark.parametrize("stream", first(5, list(streams.STREAMS)))
def test_the_index_on_a_server_is_that_of_the_model(admin, stream: str) -> None:
    on = table(payload=100)
    assert_as_the_server(admin, on, keys_in(stream, on, 60_000))


@pytest.mark.parametrize("stream", first(1, ["4 lagging by 0.5 %", "random", "wrapping"]))
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
    stats = predicted(admin, on, keys)
    assert (stats.branch_pages, stats.split_counter) == (3, 361 if admin.flavour is MYSQL else 380)


@pytest.mark.parametrize("role", ["clustered", "nonclustered"])
@pytest.mark.parametrize("rows", [1, 300, 2000, 9000])
def test_small_indexes_and_their_files_are_those_of_the_model(admin, role: str, rows: int) -> None:
    on = table(role=role)
    for stream in ("increasing", "random"):
        assert_as_the_server(admin, on, keys_in(stream, on, rows))


@pytest.mark.parametrize("threshold", first(1, ["40", "20"]))
def test_a_merge_threshold_of_the_table_is_that_of_the_model(admin, threshold: str) -> None:
    usual, on = table("char36", 3000), table("char36", 3000, merge_threshold=threshold)
    keys = keys_in("4 lagging by 10 %", on, 20_000)
    assert_as_the_server(admin, on, keys)
    few, many = (predicted(admin, each, keys) for each in (on, usual))
    assert few.merges < many.merges


def test_the_counter_of_a_foreign_keys_table_has_its_parents_splits_as_the_model_has(admin) -> None:
    on = replace(table(payload=100, role="fk"), children=3)
    keys = keys_in("random", on, 10_000)
    reading = measured(admin, on, keys)[Metric.SPLIT_COUNTER]
    stats = predicted(admin, on, keys)
    assert reading.value == stats.split_counter
    assert reading.reason == "With the splits of the parent's table, which has the key as its primary key."
    admin.drop(on)


@pytest.mark.parametrize(
    ("column", "payload", "role", "stream", "rows"),
    first(
        1,
        [
            # the smallest one of 4 KiB whose order an extent of 64 spoils
            ("binary16", 0, "clustered", "increasing", 3375),
            ("char36", 1500, "clustered", "random", 8700),  # at 4 KiB the node pointers of MariaDB reserve extents
            ("char36", 300, "clustered", "random", 60_000),  # at 4 KiB four levels, and a file that grows early
            ("bigint", 100, "nonclustered", "4 lagging by 0.5 %", 30_000),
            ("binary16", 0, "clustered", "random", 3375),
            ("char36", 300, "clustered", "4 lagging by 10 %", 60_000),
            ("char36", 300, "clustered", "wrapping", 60_000),  # at 8 KiB a page that MariaDB does not merge
        ],
    ),
)
def test_indexes_with_pages_of_other_sizes_are_those_of_the_model(
    of_page_size, column: str, payload: int, role: str, stream: str, rows: int
) -> None:
    on = table(column, payload, role, **of_page_size.page_settings())
    assert_as_the_server(of_page_size, on, keys_in(stream, on, rows))


VARYING = [
    ("binary16", PayloadLengths(0, 200), "clustered"),
    ("binary16", PayloadLengths(1, 3000, "zipfian"), "clustered"),
    ("bigint", PayloadLengths(0, 7000), "clustered"),
    ("char36", PayloadLengths(0, 8000, "zipfian"), "clustered"),
    ("bigint", PayloadLengths(4, 9, "row-number"), "clustered"),
    ("binary16", PayloadLengths(0, 300), "nonclustered"),
    ("char36", PayloadLengths(1, 5000, "zipfian"), "by-date"),
]
"""Tables whose rows are of different lengths."""


@pytest.mark.parametrize("stream", first(1, ["4 lagging by 0.5 %", "random", "increasing"]))
@pytest.mark.parametrize("given", VARYING, ids=str)
def test_rows_of_different_lengths_are_those_of_the_model(admin, given, stream: str) -> None:
    on = table(*given)
    assert_as_the_server(admin, on, keys_in(stream, on, 4000))
    assert admin.value(f"SELECT sum(length(payload)) FROM {ddl.name(on)}") == int(lengths(on, 4000).sum())
