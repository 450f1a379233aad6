"""Compares the model of SQL Server with published figures: page counts, and densities in all digits."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from benchmarks import streams
from keybench.databases.mssql.engine import ENGINE
from keybench.errors import UsageError
from keybench.model.column import Column
from keybench.model.keys import Keys
from keybench.model.payload import PayloadLengths
from keybench.model.table import Table
from keybench.pagemodels.contract import PageModel, predict
from keybench.pagemodels.mssql import records as rows
from keybench.pagemodels.mssql.model import Parameters, index, varying_index
from tests.errors import raised

GUID = ENGINE.column("uniqueidentifier")
INT = Column("int", "int", frozenset({"int"}), "rfc", "int", width=4)


@dataclass(frozen=True)
class Published:
    """A published page count of a described table."""

    source: str
    model: PageModel
    rows: int
    pages: int
    density: float | None = None
    order: str = "increasing"
    within: float = 0


def clustered(column: Column, **given: float | str) -> PageModel:
    return ENGINE.page_model(Table("t", column, 0), **given)


EF_ROW = 291  # the table of the EF Core discussion: a GUID key and text; its row size is what its density implies

PUBLISHED = {
    "NEWSEQUENTIALID, 1 M": Published("stackoverflow.com/questions/20974062", clustered(GUID), 1_000_000, 3096),
    "NEWID, 1 M": Published(
        "stackoverflow.com/questions/20974062", clustered(GUID), 1_000_000, 4319, order="random", within=0.04
    ),
    "NEWSEQUENTIALID again": Published("deine-schminktipps.de, a copy", clustered(GUID), 1_000_000, 3096),
    "int identity, 1 M": Published("deine-schminktipps.de, a copy", clustered(INT), 1_000_000, 1608),
    "NEWSEQUENTIALID, 5,000 rows of 291 bytes": Published(
        "github.com/dotnet/efcore/pull/20528", index(EF_ROW, rows.branch_row(16), Parameters()), 5000, 186,
        97.28619965406475,
    ),
    "unique nonclustered on a GUID over an int key, row versions": Published(
        "github.com/dotnet/efcore/pull/20528",
        ENGINE.page_model(Table("t", GUID, 0, "nonclustered"), beneath="int", row_versions=True), 5000, 25,
    ),
    "int identity, int, varchar(10) of 5, row versions, 2^20": Published(
        "SparkhoundSQL/sql-server-toolbox, lab - clustered key design",
        index(rows.data_row(8, 3, [5], versions=True), rows.branch_row(4), Parameters()), 1 << 20, 5191,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_page_counts(name: str) -> None:
    wanted = PUBLISHED[name]
    stats = wanted.model.insert(streams.STREAMS[wanted.order](wanted.rows))
    assert abs(stats.leaf_pages - wanted.pages) <= wanted.within * wanted.pages
    if wanted.density is not None:
        assert stats.density == wanted.density
    if wanted.order == "increasing":
        assert (stats.appends, stats.edge_splits, stats.interior_splits) == (stats.leaf_pages - 1, 0, 0)


def test_published_page_counts_of_heaps() -> None:
    """github.com/dotnet/efcore/pull/20528, and stackoverflow.com/questions/20974062."""
    assert -(-5000 // rows.rows_a_heap_page(EF_ROW)) == 186
    assert -(-1_000_000 // rows.rows_a_heap_page(rows.data_row(16, 1))) == 3247


@pytest.mark.parametrize(("row", "a_page"), [(36, 203), (403, 19), (500, 13), (911, 8), (4030, 2), (4031, 1)])
def test_a_heap_page_takes_rows_that_fit_the_free_space_of_its_class(row: int, a_page: int) -> None:
    assert rows.rows_a_heap_page(row) == a_page


def test_published_density_and_fragmentation_of_small_indexes() -> None:
    """github.com/dotnet/efcore/pull/20528: 98.8… %, and 0.5376344086021506 % of 186 pages out of order."""
    small = PUBLISHED["unique nonclustered on a GUID over an int key, row versions"]
    assert str(small.model.insert(np.arange(small.rows)).density).startswith("98.8")
    table = PUBLISHED["NEWSEQUENTIALID, 5,000 rows of 291 bytes"]
    stats = table.model.insert(np.arange(table.rows))
    assert stats.fragmentation == pytest.approx(0.5376344086021506, rel=1e-15)


def test_published_density_of_rows_of_different_lengths() -> None:
    """github.com/dotnet/efcore/pull/20528: 5,000 rows clustered by an int identity, beside it a GUID and a text.

    The thread does not say what the texts are. Three characters and the row's number from 0, as nvarchar in a database
    with row versions, give both published figures in all digits (docs/internals/mssql.md §5).
    """
    fixed, versions = 4 + 16, True
    empty, one = rows.data_row(fixed, 3, versions=versions), rows.data_row(fixed, 3, [2], versions=versions)
    model = varying_index(empty, one - empty - 2, rows.branch_row(4), Parameters())
    characters = PayloadLengths(4, 7, "row-number").of((), np.arange(5000))
    keys = Keys(np.arange(1, 5001), "int")
    stats = predict(model.with_payloads(2 * characters), INT, keys)
    assert (stats.leaf_pages, stats.density) == (38, 98.41728440820361)
    assert stats.fragmentation == pytest.approx(2.631578947368421, rel=1e-15)


@pytest.mark.parametrize("given", [{}, {"row_versions": True}, {"before_2012": True}])
def test_rows_of_nearly_one_length_split_as_rows_of_one_length(given: dict) -> None:
    """Of 99 or 100 characters no page holds more rows than of 100, and so few less that the halves are the same."""
    for stream in ("increasing", "random", "4 lagging by 0.5 %", "descending"):
        keys = streams.keys(streams.STREAMS[stream](20_000), GUID)
        varying = Table("t", GUID, 100, lengths=PayloadLengths(99, 100))
        model = ENGINE.page_model(varying, **given)
        same = predict(model, GUID, keys, lengths=np.full(20_000, 100))
        row = rows.data_row(16, 2, [100], versions=given.get("row_versions", False))
        fixed = predict(index(row, rows.branch_row(16), Parameters(**given)), GUID, keys)
        assert (same.leaf_pages, same.density, same.branch_pages) == (
            fixed.leaf_pages, fixed.density, fixed.branch_pages
        )  # fmt: skip
        assert same.page_rows.tolist() == fixed.page_rows.tolist()
        assert same.page_numbers.tolist() == fixed.page_numbers.tolist()


def test_rows_of_very_different_lengths_that_do_not_fit_a_third_of_a_page_are_refused() -> None:
    on = Table("t", GUID, 5000, lengths=PayloadLengths(0, 5000))
    keys = streams.keys(np.arange(3), GUID)
    assert raised(UsageError, predict, ENGINE.page_model(on), GUID, keys, lengths=np.array([1, 2, 5000])) == (
        "an entry of 5,029 bytes is longer than a third of a page: the page model does not know how pages with such "
        "entries of different lengths split. Choose shorter payloads."
    )


def test_an_empty_text_in_the_last_column_is_not_stored() -> None:
    on = Table("t", GUID, 50, lengths=PayloadLengths(0, 50))
    model = ENGINE.page_model(on).with_payloads(np.array([0, 1, 50]))  # type: ignore[union-attr]
    keys = streams.keys(np.arange(3), GUID)
    assert model.sizes(keys).tolist() == [25, 25 + 4 + 1, 25 + 4 + 50]


def test_a_root_holds_622_pages_of_int_keys_and_splits_evenly_at_the_next() -> None:
    """dba.stackexchange.com/questions/9963: int and char(8000), one row a leaf."""
    model = ENGINE.page_model(Table("t", INT, 8000))
    assert rows.rows_a_page(rows.branch_row(4)) == 622
    assert [model.insert(np.arange(n)).branch_pages for n in (1, 2, 622, 623, 933, 934)] == [0, 1, 1, 3, 3, 4]


def test_random_keys_leave_the_pages_two_thirds_full_and_out_of_order() -> None:
    stats = clustered(GUID).insert(streams.random(1_000_000))
    assert stats.density == pytest.approx(71.5, abs=2.5)
    assert stats.fragmentation > 99


def test_published_page_counts_of_two_key_kinds_hold_the_same_rows() -> None:
    """windowserver2008.com 2009/02/05: pages and mean free bytes under NEWID and NEWSEQUENTIALID, at two sizes."""
    for random, ascending in (((21, 3524), (12, 96)), ((117, 2574), (80, 21))):
        used = [pages * (rows.PAGE_BYTES - free) for pages, free in (random, ascending)]
        assert used[0] == pytest.approx(used[1], rel=0.002)


@pytest.mark.parametrize(
    ("column", "payload", "given", "row", "a_page"),
    [("uniqueidentifier", 100, {}, 123, 64), ("bigint", 100, {}, 115, 69), ("char36", 100, {}, 143, 55),
     ("uniqueidentifier", 100, {"row_versions": True}, 137, 58)],
)  # fmt: skip
def test_rows_a_page_of_keybenchs_tables(column: str, payload: int, given: dict, row: int, a_page: int) -> None:
    """docs/internals/mssql.md §1."""
    model = ENGINE.page_model(Table("t", ENGINE.column(column), payload), **given)
    stats = model.insert(np.arange(10 * a_page + 1))
    assert stats.page_rows.tolist() == [a_page] * 10 + [1]
    assert rows.rows_a_page(row) == a_page


@pytest.mark.parametrize(
    ("given", "row"),
    [({"beneath": "int"}, 24), ({"beneath": "int", "row_versions": True}, 38), ({"beneath": "bigint"}, 28), ({}, 28)],
)
def test_rows_a_page_of_nonclustered_indexes(given: dict, row: int) -> None:
    model = ENGINE.page_model(Table("t", GUID, 100, "nonclustered"), **given)
    a_page = 8096 // (row + 2)
    assert model.insert(np.arange(3 * a_page)).page_rows.tolist() == [a_page] * 3


def halves(n: int) -> np.ndarray:
    """The upper half ascending, then the lower."""
    return np.concatenate([np.arange(n // 2, n), np.arange(n // 2)])


def interleaved(n: int) -> np.ndarray:
    return np.arange(n) % 2 * (n // 2) + np.arange(n) // 2


@pytest.mark.parametrize("order", [halves, interleaved])
@pytest.mark.parametrize("before_2012", [False, True])
def test_a_sequence_that_lags_far_behind_fills_its_pages(order: Callable[[int], np.ndarray], before_2012: bool) -> None:
    """Of two ascending sequences the lower one splits one page of the other, then each of its rows follows the last."""
    stats = ENGINE.page_model(Table("t", GUID, 100), before_2012=before_2012).insert(order(200_000))
    assert stats.leaf_pages == pytest.approx(3127, abs=2)
    assert stats.density > 98.7


def arrivals_and_pages(*arrived: int, **given: bool) -> list[int]:
    """Rows of each leaf after rows with these keys, at most four a page."""
    model = ENGINE.page_model(Table("t", INT, 1900), **given)
    return model.insert(np.argsort(np.argsort(arrived))).page_rows.tolist()


def test_right_after_the_latest_row_what_lies_above_moves() -> None:
    # 2 does not follow 21, the page's latest: less than half, 0 and 1, stay, and 2 20 21 30 move with it
    assert arrivals_and_pages(0, 1, 20, 21, 2) == [2, 3]
    # 4 follows 3, and 20 moves; 5 fills that page; 6 follows 5 with nothing above it: a page of its own
    assert arrivals_and_pages(0, 1, 20, 21, 2, 3, 4) == [2, 3, 2]
    assert arrivals_and_pages(0, 1, 20, 21, 2, 3, 4, 5, 6) == [2, 4, 1, 2]


def test_right_before_the_latest_row_all_but_the_rows_below_the_one_before_it_move() -> None:
    # 15 comes right before 20, the latest: 10 stays with what is below it but goes along as the first of the new page
    assert arrivals_and_pages(0, 5, 10, 20, 15) == [2, 3]
    assert arrivals_and_pages(0, 5, 10, 20, 15, before_2012=True) == [2, 3]
    assert arrivals_and_pages(0, 5, 30, 10, 7) == [1, 4]
    assert arrivals_and_pages(0, 5, 30, 10, 7, before_2012=True) == [3, 2]


def test_a_highest_key_that_does_not_follow_the_latest_row_halves_the_last_page() -> None:
    model = ENGINE.page_model(Table("t", INT, 1900))
    stats = model.insert(np.array([0, 2, 3, 1, 4]))
    assert stats.page_rows.tolist() == [2, 3]
    assert (stats.appends, stats.edge_splits) == (0, 1)  # rows move
    stats = model.insert(np.array([0, 1, 2, 3, 4]))
    assert (stats.page_rows.tolist(), stats.appends) == ([4, 1], 1)


def test_the_first_root_comes_before_the_second_leaf() -> None:
    model = ENGINE.page_model(Table("t", INT, 1900))
    assert model.insert(np.arange(9)).page_numbers.tolist() == [0, 2, 3]
    state = model.state(9)
    state.insert(np.arange(9))
    assert state.stats().page_numbers.tolist() == [0, 2, 3]


def test_ascending_pages_are_interrupted_by_branch_pages_only() -> None:
    stats = clustered(GUID).insert(np.arange(1_000_000))
    assert stats.back_links == 0
    assert stats.fragmentation == 100 * (stats.branch_pages - 1) / stats.leaf_pages


@pytest.mark.parametrize(
    ("table", "given", "message"),
    [
        (Table("t", GUID, 8100), {}, "SQL Server's rows have 8,060 bytes at most, not 8,123: use a smaller payload."),
        (Table("t", GUID, 0), {"beneath": "heep"},
         "unknown beneath 'heep'. Did you mean heap? Known: bigint, heap, int."),
    ],
)  # fmt: skip
def test_impossible_tables_and_parameters_are_refused(table: Table, given: dict, message: str) -> None:
    assert raised(UsageError, ENGINE.page_model, table, **given) == message
