"""The DDL of tables, and the estimates of their sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from keybench.databases.contract_suite.keys import taken_by
from keybench.databases.sqlite.connection import TableFiles
from keybench.databases.sqlite.engine import ENGINE
from keybench.model.metric import Metric
from keybench.model.table import Table
from keybench.pagemodels.sqlite.records import bytes_per_row, is_rowid

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bench

    from keybench.model.table import KeyRole


@pytest.mark.parametrize("key", ["clustered", "nonclustered"])
@pytest.mark.parametrize("column", [column.name for column in ENGINE.columns])
def test_only_a_clustered_integer_is_the_rowid(bench: Bench, column: str, key: KeyRole) -> None:
    sized, keys = taken_by(ENGINE.column(column), bench.keys["random"](3000))
    keys = bench.keys["integers"](3000) if sized.form == "int" else keys
    table = Table("rows", sized, 0, key)
    figures = bench.load(table, keys)
    one_tree = figures[Metric.TABLE_BYTES].value == figures[Metric.INDEX_BYTES].value
    assert one_tree == (key == "clustered")
    leaf_rows = 3000 / (figures[Metric.LEAF_PAGES].value or 0)
    if column == "integer" and key == "clustered":
        assert (
            leaf_rows > 400
        )  # 4,088 bytes hold 583 of the smallest cells, in which the rowid is the key and the record is empty
    assert is_rowid(table) == (column == "integer" and key == "clustered")


@pytest.mark.parametrize("payload", [0, 100, 1000, 3000])
@pytest.mark.parametrize(
    ("column", "key"), [("binary16", "clustered"), ("char36", "clustered"), ("binary16", "nonclustered")]
)
def test_estimates_bound_what_dbstat_measures(bench: Bench, column: str, key: KeyRole, payload: int) -> None:
    n = 20_000 if payload < 1000 else 8_000
    index, everything = bytes_per_row(ENGINE.column(column), payload, key)
    figures = bench.load(bench.table(column, payload, key), bench.keys["ascending"](n))
    measured = figures[Metric.INDEX_BYTES].value or 0
    smaller = 0.95 if key == "nonclustered" else 0.98  # rowids of so few rows have 2 bytes, not 3
    assert smaller * index * n < measured < 1.02 * index * n
    assert (figures[Metric.TABLE_BYTES].value or 0) <= everything * n


@pytest.mark.parametrize("column", ["integer", "bigint"])
def test_estimates_of_integers_are_for_large_ones(bench: Bench, column: str) -> None:
    keys = bench.keys["integers"](40_000)
    keys.data[:] += 1 << 61
    index, everything = bytes_per_row(ENGINE.column(column), 100, "clustered")
    figures = bench.load(bench.table(column, 100), keys)
    assert figures[Metric.INDEX_BYTES].value == pytest.approx(index * len(keys), rel=0.02)
    assert (figures[Metric.TABLE_BYTES].value or 0) <= everything * len(keys) * 1.02


def test_files_of_a_table_are_removed_and_no_others(tmp_path: Path) -> None:
    files = TableFiles(tmp_path, "rows")
    for path in (files.database, tmp_path / "rows.sqlite-wal", files.new_counters("1"), tmp_path / "others.sqlite"):
        path.touch()
    files.remove()
    files.remove()
    assert [path.name for path in tmp_path.iterdir()] == ["others.sqlite"]
