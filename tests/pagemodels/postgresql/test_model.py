"""The model of nbtree: its constants, and what it refuses."""

import pytest

from benchmarks import streams
from keybench.databases.postgresql.engine import ENGINE
from keybench.errors import UsageError
from keybench.model.column import Column
from keybench.model.table import Table
from keybench.pagemodels.contract import predict
from tests.errors import raised


def sized(name: str, width: int = 16) -> Column:
    """The column for keys of that many bytes, of which those of kind text have two characters each."""
    column = ENGINE.column(name)
    return column.sized(2 * width if "text" in column.kinds else width)


@pytest.mark.parametrize(
    ("name", "stream", "leaf", "density", "fragmentation"),
    [("uuid", "increasing", 3832, 90.03, 0), ("bigint", "increasing", 2733, 90.06, 0),
     ("char36", "increasing", 7143, 89.99, 0), ("uuid", "descending", 6850, 50.53, 99.97)],
)  # fmt: skip
def test_a_million_rows_have_the_pages_that_a_server_had(name, stream, leaf, density, fragmentation) -> None:
    """PostgreSQL 15.18, pgstatindex (docs/internals/postgresql.md §9)."""
    column = sized(name)
    keys = streams.keys(streams.STREAMS[stream](1_000_000), column)
    stats = predict(ENGINE.page_model(Table("trial", column, 0)), column, keys)
    assert (stats.leaf_pages, round(stats.density, 2), round(stats.fragmentation, 2)) == (leaf, density, fragmentation)
    assert stats.back_links == stats.fragmentation


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
    model = ENGINE.page_model(Table("trial", sized("uuid"), 0, "fk", children=29), deduplicate_items="off")
    assert model.insert(streams.random(2000)).rows == 58_000
    on = Table("trial", sized("uuid"), 0, "fk", children=30)
    assert raised(UsageError, ENGINE.page_model, on, deduplicate_items="off") == (
        "PostgreSQL splits pages with 30 entries of a key by rules that its page model does not know: take at most 29 "
        "children."
    )


def test_the_index_on_the_moment_of_creation_has_no_model() -> None:
    (beside,) = Table("trial", sized("uuid"), 0, "by-date").other_indexes.values()
    with pytest.raises(UsageError, match=r"^there is no page model of PostgreSQL's index on the moment of creation: "):
        ENGINE.page_model(beside)


@pytest.mark.parametrize(
    ("column", "given", "message"),
    [
        (ENGINE.column("bytea"), {},
         "the column bytea is as wide as its keys: give it their width with `sized` first."),
        (ENGINE.column("text").sized(507), {},
         "PostgreSQL compresses keys of 507 bytes, each by its content, so their index cannot be modelled: "
         "take keys of less than 507 bytes."),
        (sized("uuid"), {"fillfactor": 5}, "an index's fillfactor is between 10 and 100, not 5: the default is 90."),
        (sized("uuid"), {"fill_factor": 90},
         "unknown parameter of the page model 'fill_factor'. Did you mean fillfactor or heap_fillfactor? Known: "
         "deduplicate_items, fillfactor, heap_fillfactor."),
    ],
)  # fmt: skip
def test_tables_that_cannot_be_modelled_are_refused(column: Column, given: dict[str, int], message: str) -> None:
    assert raised(UsageError, ENGINE.page_model, Table("trial", column, 0), **given) == message
