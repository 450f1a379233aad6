"""Compares the model of Oracle with published figures, and checks its arithmetic."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import streams
from keybench.databases.oracle.engine import ENGINE
from keybench.errors import UsageError
from keybench.model.keys import Keys
from keybench.model.payload import PayloadLengths
from keybench.model.table import Table
from keybench.pagemodels.contract import predict
from keybench.pagemodels.oracle import records as entries
from keybench.pagemodels.page_stats import PageStats
from tests.errors import raised

NUMBER = ENGINE.column("number")
RAW = ENGINE.column("raw16")


def numbers(n: int, **parameters: float | str) -> PageStats:
    """1 … n in an index on NUMBER beside a heap."""
    model = ENGINE.page_model(Table("t", NUMBER, 0, "nonclustered"), **parameters)
    return predict(model, NUMBER, Keys(np.arange(1, n + 1), "int"))


def test_ten_thousand_numbers_of_a_sequence() -> None:
    """orafaq.com oracle-l 2004-02-24: 18 leaf blocks, 139,971 bytes used, 170 of them in the branch; 9.2.0.3."""
    stats = numbers(10_000)
    assert (stats.leaf_pages, stats.appends, stats.edge_splits, stats.interior_splits) == (18, 17, 0, 0)
    assert stats.density == 100 * 139_801 / (18 * 7996)
    assert stats.branch_pages == 1


def test_the_mean_size_of_ten_million_numbers() -> None:
    """franckpachot.medium.com: avg(vsize) 4.8888893 of 1 … 10,000,000."""
    sizes = entries.number_bytes(np.arange(1, 10_000_001))
    assert sizes.mean() == pytest.approx(4.8888893, rel=1e-8)


def number_bytes(value: int) -> int:
    """By the text of the number: pairs of digits from the decimal point, without zeros at the end."""
    digits = str(abs(value))
    digits = digits.zfill(len(digits) + len(digits) % 2)
    while digits.endswith("00"):
        digits = digits[:-2]
    return 1 + len(digits) // 2 + (value < 0) if value else 1


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_numbers_are_as_long_as_their_pairs_of_digits(values: list[int]) -> None:
    sizes = entries.number_bytes(np.array(values, np.int64))
    assert sizes.tolist() == [number_bytes(value) for value in values]


def test_sizes_by_value_decide_how_many_fit_a_leaf() -> None:
    """After 1 … 99 and 100, 200, … (14 bytes) entries of 15 and 16 bytes."""
    stats = numbers(20_000)
    sizes = 11 + entries.number_bytes(np.arange(1, 20_001))
    ends = np.cumsum(stats.page_rows)
    used = np.diff([0, *np.cumsum(sizes)[ends - 1]])
    assert used.max() <= 7996
    assert (used[:-1] > 7996 - 16).all()


@pytest.mark.parametrize(("parameters", "a_leaf"), [({}, 296), ({"unique": False}, 285)])
def test_entries_a_leaf_of_raw_16(parameters: dict, a_leaf: int) -> None:
    model = ENGINE.page_model(Table("t", RAW, 100, "nonclustered"), **parameters)
    assert model.insert(np.arange(3 * a_leaf + 1)).page_rows.tolist() == [a_leaf] * 3 + [1]


def test_a_million_guids() -> None:
    """docs/internals/oracle.md §4: about 3,379 leaves ascending, 4,870 in random order."""
    model = ENGINE.page_model(Table("t", RAW, 0, "nonclustered"))
    assert model.insert(streams.increasing(1_000_000)).leaf_pages == 3379
    stats = model.insert(streams.random(1_000_000))
    assert stats.leaf_pages == pytest.approx(4870, rel=0.04)
    assert stats.density == pytest.approx(100 * 1_000_000 * 27 / (stats.leaf_pages * 7996))
    assert stats.fragmentation == stats.back_links == pytest.approx(50, abs=1)


@pytest.mark.parametrize(
    ("column", "payload", "entry"), [("raw16", 0, 21), ("raw16", 100, 122), ("char36", 100, 142), ("raw16", 300, 324)]
)
def test_index_organised_tables_hold_the_rows(column: str, payload: int, entry: int) -> None:
    model = ENGINE.page_model(Table("t", ENGINE.column(column), payload))
    a_leaf = 7996 // entry
    assert model.insert(np.arange(2 * a_leaf)).page_rows.tolist() == [a_leaf, a_leaf]


def test_numbers_of_one_size_split_as_entries_of_one_size() -> None:
    """Eight-digit numbers without 00 at the end are entries of 16 bytes, as keys of 5 bytes are."""
    values = 10_000_001 + np.arange(60_000) * 101
    values = values[values % 100 != 0][:50_000]
    ranks = streams.lagging(50_000, 500).argsort().argsort()
    table = Table("t", NUMBER, 0, "nonclustered")
    sized = predict(ENGINE.page_model(table), NUMBER, Keys(values[ranks], "int"))
    raw = Table("t", type(RAW)("raw5", "RAW(5)", frozenset({"bytes"}), "rfc", width=5), 0, "nonclustered")
    fixed = ENGINE.page_model(raw).insert(ranks)
    assert sized.page_rows.tolist() == fixed.page_rows.tolist()
    assert sized.density == fixed.density
    assert sized.appends == fixed.appends > 10


@pytest.mark.parametrize("column", ["raw16", "number"])
def test_texts_of_one_length_split_as_such_texts_of_any_length(column: str) -> None:
    on = ENGINE.column(column)
    varying = Table("t", on, 300, lengths=PayloadLengths(0, 300))
    for stream in ("increasing", "random", "4 lagging by 0.5 %"):
        keys = streams.keys(streams.STREAMS[stream](8000), on)
        fixed = predict(ENGINE.page_model(Table("t", on, 300)), on, keys)
        same = predict(ENGINE.page_model(varying), on, keys, lengths=np.full(8000, 300))
        assert (same.leaf_pages, same.branch_pages, same.density) == (
            fixed.leaf_pages, fixed.branch_pages, fixed.density
        )  # fmt: skip
        assert same.page_numbers.tolist() == fixed.page_numbers.tolist()
    sizes = ENGINE.page_model(varying).with_payloads(np.array([0, 250, 251])).sizes  # type: ignore[union-attr]
    empty = 21 if column == "raw16" else 7
    assert sizes(streams.keys(np.array([7, 8, 9]), on)).tolist() == [empty, empty + 251, empty + 254]


@pytest.mark.parametrize(
    ("table", "parameters", "message"),
    [
        (Table("t", RAW, 4000), {},
         "rows of 4,024 bytes of an index-organised table overflow into another segment, which is not modelled: "
         "use a smaller payload."),
        (Table("t", NUMBER, 4000), {},
         "rows of 4,020 bytes of an index-organised table overflow into another segment, which is not modelled: "
         "use a smaller payload."),
        (Table("t", RAW, 0), {"unique": False},
         "the key of an index-organised table is unique: leave out unique, or make it nonclustered."),
    ],
)  # fmt: skip
def test_impossible_tables_and_parameters_are_refused(table: Table, parameters: dict, message: str) -> None:
    assert raised(UsageError, ENGINE.page_model, table, **parameters) == message
