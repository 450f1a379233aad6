"""A b-tree with a past equals that of the page model after each step: page numbers, rows, and free pages."""

from collections.abc import Iterator

import pytest

from benchmarks import streams
from keybench.databases.contract_suite.bench import Bench, open_bench
from keybench.databases.contract_suite.past import Both, both, history
from keybench.databases.sqlite.engine import ENGINE
from keybench.errors import UsageError
from keybench.model.table import KeyRole
from keybench.pagemodels.sqlite import file_pages
from tests.errors import raised


@pytest.fixture(scope="module")
def server() -> Iterator[Bench]:
    provision = ENGINE.provision("embedded", ENGINE.settings("fast", "default"))
    yield from open_bench(ENGINE, provision.start())
    provision.stop()


class Exact(Both):
    """Compares the file too."""

    def compare(self) -> None:
        super().compare()
        state, connection = self.state, self.bench.admin._connection(self.table)  # type: ignore[attr-defined]
        assert self._order().numbers.tolist() == state.stats().page_numbers.tolist()
        assert connection.pragma("page_count") == state._file[file_pages.LAST_PAGE]
        assert connection.pragma("freelist_count") == state._file[file_pages.FREE]


def assert_as_sqlite(
    server: Bench, column: str, payload: int, stream: str, rows: int, key: KeyRole = "clustered"
) -> None:
    on = ENGINE.column(column)
    keys = streams.keys(streams.STREAMS[stream](2 * rows), on)
    with both(server, on, keys, payload=payload, key=key, compared=Exact) as it:
        history(it, rows)


@pytest.mark.parametrize(
    ("column", "payload", "stream"),
    [("binary16", 0, "random"), ("binary16", 100, "4 lagging by 0.5 %"), ("bigint", 0, "random"),
     ("integer", 100, "increasing"), ("integer", 100, "random")],
)  # fmt: skip
def test_a_b_tree_with_a_past_is_that_of_the_model(server: Bench, column: str, payload: int, stream: str) -> None:
    assert_as_sqlite(server, column, payload, stream, 20_000)


@pytest.mark.long
@pytest.mark.parametrize(("column", "payload", "stream"), [("binary16", 100, "random"), ("bigint", 0, "increasing")])
def test_an_index_with_a_past_beside_its_table_is_that_of_the_model(
    server: Bench, column: str, payload: int, stream: str
) -> None:
    assert_as_sqlite(server, column, payload, stream, 20_000, "nonclustered")


@pytest.mark.long
@pytest.mark.parametrize("stream", ["random", "increasing", "descending", "4 lagging by 0.5 %"])
@pytest.mark.parametrize(("column", "payload"), [("binary16", 100), ("integer", 0)])
def test_a_million_rows_with_an_index_are_those_of_the_model(
    server: Bench, column: str, payload: int, stream: str
) -> None:
    assert_as_sqlite(server, column, payload, stream, 1_000_000, "nonclustered")


def test_another_fill_factor_is_refused(server: Bench) -> None:
    table = server.table(ENGINE.column("binary16"))
    server.admin.create(table)
    said = raised(UsageError, server.admin.rebuild, table, 90)  # type: ignore[attr-defined]
    assert said == "SQLite has no fill factor: VACUUM fills pages to 100 %, so rebuild at 100, not 90."
