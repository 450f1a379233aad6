"""The model of nbtree: its constants, and the same index on live servers, page for page."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import streams
from keybench.databases.contract import Address
from keybench.databases.postgresql.admin import PostgresAdmin
from keybench.databases.postgresql.engine import ENGINE
from keybench.errors import UsageError
from keybench.model.column import Column
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.table import Table
from keybench.pagemodels.contract import predict, readings
from tests.databases.postgresql.conftest import measured

EXACT = (
    Metric.LEAF_PAGES,
    Metric.BRANCH_PAGES,
    Metric.LEAF_DENSITY,
    Metric.LEAF_FRAGMENTATION,
    Metric.LEAF_NONADJACENT,
    Metric.APPENDS,
    Metric.EDGE_SPLITS,
    Metric.INTERIOR_SPLITS,
)


def sized(name: str, width: int = 16) -> Column:
    """The column for keys of that many bytes, of which those of kind text have two characters each."""
    column = ENGINE.column(name)
    return column.sized(2 * width if "text" in column.kinds else width)


def assert_as_the_server(admin: PostgresAdmin, column: Column, stream: str, rows: int, payload: int = 0) -> None:
    assert_the_same(admin, Table("trial", column, payload), streams.keys(streams.STREAMS[stream](rows), column))


def assert_the_same(admin: PostgresAdmin, table: Table, keys: Keys) -> None:
    column = table.column
    real = {metric: reading.value for metric, reading in measured(admin, table, keys).items()}
    predicted = readings(predict(ENGINE.page_model(table), column, keys))
    model = {reading.metric: reading.value for reading in predicted}
    assert {metric: model[metric] for metric in EXACT} == {metric: real[metric] for metric in EXACT}


@pytest.mark.parametrize("stream", streams.STREAMS)
def test_the_index_on_a_server_is_that_of_the_model(admin: PostgresAdmin, stream: str) -> None:
    assert_as_the_server(admin, sized("uuid"), stream, 60_000)


@pytest.mark.parametrize("stream", ["random", "descending", "4 lagging by 0.5 %"])
@pytest.mark.parametrize("name", ["char36", "bigint", "bytea", "text"])
def test_so_it_is_with_other_columns(embedded: Address, name: str, stream: str) -> None:
    admin = PostgresAdmin(embedded)
    try:
        assert_as_the_server(admin, sized(name), stream, 40_000, payload=10)
    finally:
        admin.close()


@pytest.mark.parametrize("width", [126, 127, 506])
def test_so_it_is_with_wide_keys(embedded: Address, width: int) -> None:
    column, numbers = sized("bytea", width), streams.random(20_000)
    data = np.zeros((len(numbers), width), np.uint8)
    data[:, :8] = numbers.astype(">u8").view(np.uint8).reshape(-1, 8)
    admin = PostgresAdmin(embedded)
    try:
        assert_the_same(admin, Table("trial", column, 0), Keys(data, "bytes"))
    finally:
        admin.close()


@pytest.mark.long
@pytest.mark.parametrize("payload", [0, 100])
@pytest.mark.parametrize("stream", streams.STREAMS)
@pytest.mark.parametrize("name", ["uuid", "char36", "bigint"])
def test_so_it_is_with_many_rows(admin: PostgresAdmin, name: str, stream: str, payload: int) -> None:
    assert_as_the_server(admin, sized(name), stream, 200_000, payload)


@pytest.mark.parametrize(
    ("name", "stream", "leaf", "density", "fragmentation"),
    [
        ("uuid", "increasing", 3832, 90.03, 0),
        ("bigint", "increasing", 2733, 90.06, 0),
        ("char36", "increasing", 7143, 89.99, 0),
        ("uuid", "descending", 6850, 50.53, 99.97),
    ],
)
def test_a_million_rows_are_what_a_server_once_made_of_them(name, stream, leaf, density, fragmentation) -> None:
    """PostgreSQL 15.18, pgstatindex (btree.md D1)."""
    column = sized(name)
    keys = streams.keys(streams.STREAMS[stream](1_000_000), column)
    found = predict(ENGINE.page_model(Table("trial", column, 0)), column, keys)
    assert (found.leaf_pages, round(found.density, 2), round(found.fragmentation, 2)) == (leaf, density, fragmentation)
    assert found.back_links == found.fragmentation


def test_payload_and_key_role_do_not_matter() -> None:
    column = sized("uuid")
    tables = (Table("a", column, 0), Table("b", column, 500), Table("c", column, 100, "nonclustered"))
    ranks = streams.random(50_000)
    pages = {ENGINE.page_model(table).insert(ranks).page_rows.tobytes() for table in tables}
    assert len(pages) == 1


def test_a_fill_factor_of_the_index_fills_the_leaves_of_increasing_keys() -> None:
    model = ENGINE.page_model(Table("trial", sized("uuid"), 0), fillfactor=70)
    assert model.insert(streams.increasing(100_000)).density == pytest.approx(70, abs=0.5)


def test_more_equal_keys_than_splits_to_choose_from_are_refused() -> None:
    model = ENGINE.page_model(Table("trial", sized("uuid"), 0, "fk", children=29))
    assert model.insert(streams.random(2000)).rows == 58_000
    with pytest.raises(UsageError) as refused:
        ENGINE.page_model(Table("trial", sized("uuid"), 0, "fk", children=30))
    assert str(refused.value) == (
        "PostgreSQL splits pages with 30 entries of a key by rules that its page model does not know: take at most 29 "
        "children."
    )


def test_the_index_on_the_moment_of_creation_has_no_model() -> None:
    (beside,) = Table("trial", sized("uuid"), 0, "by-date").others.values()
    with pytest.raises(UsageError, match=r"^there is no page model of PostgreSQL's index on the moment of creation: "):
        ENGINE.page_model(beside)


@pytest.mark.parametrize(
    ("column", "given", "message"),
    [
        (
            ENGINE.column("bytea"),
            {},
            "the column bytea is as wide as its keys: give it their width with `sized` first.",
        ),
        (
            ENGINE.column("text").sized(507),
            {},
            "PostgreSQL compresses keys of 507 bytes, each by its content, so their index cannot be modelled: "
            "take keys of less than 507 bytes.",
        ),
        (
            sized("uuid"),
            {"fillfactor": 5},
            "an index's fillfactor is between 10 and 100, not 5: the default is 90.",
        ),
        (
            sized("uuid"),
            {"fill_factor": 90},
            "unknown parameter of the page model 'fill_factor'. Did you mean fillfactor? Known: fillfactor, threads.",
        ),
    ],
)
def test_what_the_model_cannot_know_is_refused(column: Column, given: dict[str, int], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        ENGINE.page_model(Table("trial", column, 0), **given)
    assert str(refused.value) == message
