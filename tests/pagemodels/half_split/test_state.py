"""Indexes of PostgreSQL, SQL Server and Oracle with a past: the compiled states do what plain Python does."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keybench.databases.contract.engine import Engine
from keybench.databases.registry import engine
from keybench.errors import UsageError
from keybench.model.payload import PayloadLengths
from keybench.model.table import Table
from keybench.pagemodels.contract import IndexState
from keybench.pagemodels.half_split.kernel import COUNT
from tests.errors import raised
from tests.pagemodels.half_split.plain import Plain, PlainOracle, PlainSqlServer
from tests.pagemodels.postgresql.reference import Reference

MSSQL, ORACLE = engine("mssql"), engine("oracle")
KEYS = 3000
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["insert", "ascend", "ascend inside", "delete", "delete range", "delete oldest", "clean", "rebuild"]
        ),
        st.integers(0, 99),
    ),
    min_size=1,
    max_size=14,
)


def fixed(on: Engine, column: str, plain: type[Plain], **parameters: float | str) -> tuple[IndexState, Plain]:
    """Rows so long that few keys make three levels."""
    model = on.page_model(Table("t", on.column(column).sized(900), 0, "nonclustered"), **parameters)
    return model.state(KEYS), plain(model)


def sized(on: Engine, column: str, plain: type[Plain], random: np.random.Generator) -> tuple[IndexState, Plain]:
    """Rows with texts of 0 to 1,500 characters."""
    model = on.page_model(Table("t", on.column(column), 1500, lengths=PayloadLengths(0, 1500)))
    smallest = model.model.leaf.smallest
    sizes = random.integers(smallest, smallest + 1500, KEYS).astype(np.uint16)
    return model.sized_state(sizes), plain(model.model, sizes.tolist())


def nbtree() -> tuple[IndexState, Plain]:
    """Fifteen entries fill a page, so that few keys make three levels."""
    on = engine("postgresql")
    model = on.page_model(Table("t", on.column("text").sized(480), 0))
    return model.state(KEYS), Reference(model, 4 + 496)


MADE: dict[str, Callable[[np.random.Generator], tuple[IndexState, Plain]]] = {
    "PostgreSQL": lambda _: nbtree(),
    "SQL Server": lambda _: fixed(MSSQL, "binary", PlainSqlServer),
    "SQL Server, padded": lambda _: fixed(MSSQL, "binary", PlainSqlServer, pad_index=True),
    "SQL Server 2008": lambda _: fixed(MSSQL, "binary", PlainSqlServer, before_2012=True),
    "SQL Server, rows of different lengths": lambda random: sized(MSSQL, "uniqueidentifier", PlainSqlServer, random),
    "Oracle": lambda _: fixed(ORACLE, "raw", PlainOracle),
    "Oracle, rows of different lengths": lambda random: sized(ORACLE, "raw16", PlainOracle, random),
}


def assert_same(state: IndexState, plain: Plain) -> None:
    stats, leaves = state.stats(), plain.levels[0]
    assert stats.page_rows.tolist() == [len(page.items) for page in leaves]
    numbers = [page.number for page in leaves]
    if isinstance(plain, PlainOracle):  # its branch blocks are an approximation: borders that go in one call go first
        assert np.array_equal(np.argsort(stats.page_numbers), np.argsort(numbers))
    else:
        assert stats.page_numbers.tolist() == numbers
        assert stats.branch_pages == sum(map(len, plain.levels[1:]))
    for below, above in pairwise(state._levels):
        assert above.column(COUNT).sum() == len(below.column(COUNT))
    assert [stats.appends, stats.edge_splits, stats.interior_splits] == plain.splits
    used = plain.used([key for page in leaves for key in page.items], 0)
    if stats.rows:
        assert stats.density == plain.model.density(stats.rows, used, stats.leaf_pages)


@pytest.mark.parametrize("what", MADE)
@settings(max_examples=30)
@given(STEPS, st.integers(0, 2**32))
def test_any_history_has_the_pages_of_plain_python(what: str, steps: list[tuple[str, int]], seed: int) -> None:
    random = np.random.default_rng(seed)
    state, plain = MADE[what](random)
    left, present = random.permutation(KEYS), np.empty(0, np.int64)
    for step, amount in steps:
        if step in ("insert", "ascend", "ascend inside"):
            inside = np.sort(left)[len(left) // 3 :] if step == "ascend inside" else left
            new = inside[: amount * 6]
            left = left[~np.isin(left, new)]
            new = np.sort(new) if step == "ascend" else new
            state.insert(new)
            for key in new.tolist():
                plain.insert(key)
            present = np.append(present, new)
        elif step.startswith("delete"):
            count = len(present) * amount // 100
            begin = 0 if step == "delete oldest" else int(random.integers(0, len(present) - count + 1))
            order = np.sort(present) if step == "delete range" else present
            gone = random.permutation(present)[:count] if step == "delete" else order[begin : begin + count]
            state.delete(gone)
            for key in gone.tolist():
                plain.delete(key)
            present = present[~np.isin(present, gone)]
        elif step == "clean":
            state.clean()
            plain.clean()
        else:
            state.rebuild(max(10, amount))
            plain.build(present.tolist(), max(10, amount))
        assert_same(state, plain)


@pytest.mark.parametrize(
    ("on", "column", "pages"), [(ORACLE, "raw16", (34, 34, 34)), (MSSQL, "uniqueidentifier", (38, 6, 35))]
)
def test_empty_pages_are_used_again(on: Engine, column: str, pages: tuple[int, int, int]) -> None:
    """Foote 2008: after such a deletion Oracle needs no new block until the empty ones are used up."""
    model = on.page_model(Table("t", on.column(column), 0, "nonclustered"))
    state = model.state(20_000)
    state.insert(np.arange(10_000))
    full = state.stats().leaf_pages
    state.delete(np.arange(9_000))
    state.clean()
    cleaned = state.stats().leaf_pages
    state.insert(np.arange(10_000, 18_000))
    assert (full, cleaned, state.stats().leaf_pages) == pages
    assert set(state.stats().page_numbers.tolist()) <= set(range(full + 1))


@pytest.mark.parametrize(("on", "given", "pages"), [(MSSQL, {}, (15_625, 15_627)), (ORACLE, {}, (2632, 3949))])
def test_a_few_keys_dated_ahead(on: Engine, given: dict[str, str], pages: tuple[int, int]) -> None:
    """docs/internals, of both engines, §6."""
    table = Table("t", on.default_column("uuid"), 100 if on is MSSQL else 0)
    rows, ahead = 1_000_000, np.arange(1_000_000 - 100, 1_000_000)
    for order, wanted in zip((np.arange(rows), np.insert(np.arange(rows - 100), rows // 2, ahead)), pages, strict=True):
        model = on.page_model(table, **given)
        state = model.state(rows)
        state.insert(order)
        assert state.stats().leaf_pages == wanted


@pytest.mark.parametrize(
    ("on", "fill", "message"),
    [
        (MSSQL, 0, "FILLFACTOR of SQL Server is between 1 and 100, not 0: 100 leaves no free space."),
        (MSSQL, 101, "FILLFACTOR of SQL Server is between 1 and 100, not 101: 100 leaves no free space."),
        (ORACLE, 0, "Oracle's PCTFREE is between 0 and 99: a fill of 0 % is impossible."),
    ],
)
def test_impossible_fill_factors_are_refused_and_change_nothing(on: Engine, fill: int, message: str) -> None:
    column = on.default_column("uuid")
    model = on.page_model(Table("t", column, 0))
    state = model.state(100)
    state.insert(np.arange(50))
    for work in (lambda: state.rebuild(fill), lambda: state.build(np.arange(10), fill)):
        assert raised(UsageError, work) == message
    assert state.stats().rows == 50
