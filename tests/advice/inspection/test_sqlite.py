"""SQLite files: what is in them is named, and nothing is written to them or beside them."""

from collections.abc import Sequence
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from keybench.advice.inspection import command
from keybench.databases.sqlite.inspection import SqliteInspector
from keybench.errors import EnvironmentMissing, UsageError
from tests.advice.inspection.next_rows import assert_as_forecast
from tests.advice.inspection.planted import FEW, LONG, tables
from tests.advice.inspection.planting import (
    STRANGE,
    ansi,
    assert_named,
    assert_strange_names_are_shown,
    inspected,
    into_sqlite,
)
from tests.errors import raised
from tests.parameters import first


def density(path: Path, tree: str) -> float:
    """By dbstat."""
    connection = apsw.Connection(str(path))
    rows = connection.execute("SELECT unused FROM dbstat WHERE name = ? AND pagetype = 'leaf'", (tree,)).fetchall()
    connection.close()
    return 100 * (1 - float(np.mean(rows)) / 4088)


def files(folder: Path) -> dict[str, str]:
    return {file.name: sha256(file.read_bytes()).hexdigest() for file in sorted(folder.iterdir())}


@pytest.mark.parametrize(
    ("rows", "journal"),
    [(2_000, "off"), *(pytest.param(4_000, journal, marks=pytest.mark.long) for journal in ("off", "wal"))],
)
def test_planted_layouts_are_named_and_nothing_is_written(rows, journal, tmp_path, capsys) -> None:
    path, planted = tmp_path / "shop.sqlite", tables(rows)
    if rows < LONG:
        planted = {name: planted[name] for name in FEW}
    into_sqlite(path, planted, journal)
    before = files(tmp_path)
    record = inspected(path, capsys)
    assert files(tmp_path) == before
    assert_named(record, planted)
    for table in record["tables"]:
        assert table["rows"] == len(planted[table["name"]].keys)
        for index in table["indexes"]:
            assert index["density"] == pytest.approx(density(path, index["name"]), abs=0.01)
    (switched,) = [one for one in record["tables"] if one["name"] == "t_switched"]
    assert [(one["before"], one["time"][:7]) for one in switched["indexes"][0]["switches"]] == [("uuid-v4", "2026-05")]


def test_rows_that_are_still_in_the_log_of_another_connection_count(tmp_path, capsys) -> None:
    path = tmp_path / "shop.sqlite"
    into_sqlite(path, {}, "wal")
    writer = apsw.Connection(str(path))
    writer.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, note TEXT)")
    writer.execute("WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 5000) "
                   "INSERT INTO t SELECT n, 'x' FROM n")  # fmt: skip
    before = sha256((tmp_path / "shop.sqlite-wal").read_bytes()).digest()
    (table,) = inspected(path, capsys)["tables"]
    assert table["rows"] == 5000
    assert sha256((tmp_path / "shop.sqlite-wal").read_bytes()).digest() == before
    writer.close()


def test_what_cannot_be_inspected_is_said_in_a_sentence(tmp_path, capsys) -> None:
    path = tmp_path / "shop.sqlite"
    into_sqlite(path, {})
    owner = apsw.Connection(str(path))
    owner.execute(
        "CREATE TABLE orders (a TEXT, b INTEGER, PRIMARY KEY (a, b)) WITHOUT ROWID; CREATE VIEW seen AS SELECT 1"
    )
    owner.execute("CREATE TABLE loose (x)")
    for table, message in {
        "seen": "seen cannot be inspected: a view has no keys of its own: name its tables.",
        "ordres": "unknown table 'ordres'. Did you mean orders? Known: loose, orders, seen.",
    }.items():
        assert raised(UsageError, inspected, path, capsys, "--table", table) == message
    record = inspected(path, capsys)
    assert {one["name"]: one["finding"] for one in record["tables"]} == {
        "orders": "orders is empty: there are no keys to look at.",
        "loose": "loose is empty: there are no keys to look at.",
    }
    owner.execute("INSERT INTO orders VALUES ('0190', 1); INSERT INTO loose VALUES (1)")
    findings = {one["name"]: one["finding"] for one in inspected(path, capsys)["tables"]}
    assert "its primary key (a, b) is keys that are too few" in findings["orders"]
    assert findings["loose"].endswith(
        "keybench can say nothing of its keys: it has no primary key, unique index or foreign key."
    )
    owner.close()


def test_no_file_no_database_no_engine(tmp_path, capsys) -> None:
    (tmp_path / "text").write_text("no database" * 20)
    for name, reason in {"gone": "No such file or directory", "text": "no SQLite database"}.items():
        said = raised(EnvironmentMissing, inspected, tmp_path / name, capsys)
        assert f"cannot be read as an SQLite database: {reason}.\nCheck the path" in said
    said = raised(UsageError, inspected, "redis://h", capsys)
    assert said.startswith("keybench looks at no redis:// databases: give the path of an SQLite file")
    assert said.endswith("mariadb://, mssql://, mysql://, postgres://, postgresql://, sqlserver://.")


def test_a_column_of_values_of_many_types(tmp_path, capsys) -> None:
    path = tmp_path / "mixed.sqlite"
    owner = apsw.Connection(str(path))
    owner.execute("CREATE TABLE t (id UNIQUE, note)")
    owner.execute(
        "WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 9000) INSERT INTO t SELECT i, 0 FROM n"
    )
    owner.execute("INSERT INTO t SELECT 'text ' || id, 0 FROM t")
    owner.execute("CREATE UNIQUE INDEX with_an_expression ON t (note, lower(id))")
    owner.close()
    (table,) = inspected(path, capsys)["tables"]
    (index,) = table["indexes"]
    assert index["problem"] is None


@pytest.mark.parametrize("seed", first(1, range(3)))
def test_a_damaged_file_is_no_traceback(seed, tmp_path, capsys) -> None:
    path, rng = tmp_path / "shop.sqlite", np.random.default_rng(seed)
    planted = tables(2_000)
    into_sqlite(path, {"t_v4": planted["t_v4"], "t_child": planted["t_child"]})
    whole, broken, seen = path.read_bytes(), tmp_path / "broken.sqlite", set()
    for case in range(8):
        data = bytearray(whole)
        page = int(rng.integers(1, len(data) // 4096))
        for place in rng.integers(0, 4096 if case % 2 else 16, 8):  # half of the cases: in the page's header
            data[4096 * page + int(place)] = int(rng.integers(256))
        broken.write_bytes(data[: len(data) if case % 3 else 4096 * int(rng.integers(1, len(data) // 4096)) + 100])
        with suppress(EnvironmentMissing):  # where SQLite itself cannot read the schema
            for table in inspected(broken, capsys)["tables"]:
                seen |= {str(text)[:40] for text in (table["refused"], *(one["problem"] for one in table["indexes"]))}
    assert any("damaged" in text for text in seen), seen


def test_pages_that_go_round_in_a_circle(tmp_path, capsys) -> None:
    path = tmp_path / "circle.sqlite"
    planted = tables(2_000)
    into_sqlite(path, {"t_v4": planted["t_v4"]})
    root = apsw.Connection(str(path)).execute("SELECT rootpage FROM sqlite_schema WHERE name = 't_v4'").fetchall()[0][0]
    data = bytearray(path.read_bytes())
    begin = 4096 * (root - 1)
    data[begin + 3 : begin + 5] = b"\0\0"  # no cells, so one child: the page itself
    data[begin + 8 : begin + 12] = int(root).to_bytes(4, "big")
    path.write_bytes(data)
    (table,) = inspected(path, capsys)["tables"]
    assert table["refused"] == ("the file is damaged (pages form no b-tree): PRAGMA integrity_check says where.")


@pytest.mark.long
def test_a_large_file_is_sampled(tmp_path, capsys) -> None:
    path, planted = tmp_path / "shop.sqlite", {name: tables(400_000)[name] for name in ("t_v4", "t_v7", "t_switched")}
    into_sqlite(path, planted)
    record = inspected(path, capsys)
    assert_named(record, planted)
    for table in record["tables"]:
        assert table["rows"] == pytest.approx(400_000, rel=0.03)
        for index in table["indexes"]:
            assert index["density"] == pytest.approx(density(path, index["name"]), abs=1)
            assert index["pages_read"] < 4_500


def test_strange_names_are_shown_as_they_are(tmp_path, capsys, monkeypatch) -> None:
    path = tmp_path / "shop.sqlite"
    owner = apsw.Connection(str(path))
    for name in STRANGE:
        owner.execute(
            f"CREATE TABLE {ansi(name)} ({ansi(name)} INTEGER PRIMARY KEY, n); "
            f"INSERT INTO {ansi(name)} (n) VALUES (1), (2), (3)"
        )
    assert_strange_names_are_shown(str(path), capsys, monkeypatch)


@pytest.mark.parametrize("rebuilt", first(1, [False, True]))
@pytest.mark.parametrize(
    "table_and_name",
    first(1, ["t_int bigint-identity", "t_switched uuid-v7", "t_text uuid-v7", "t_v4 uuid-v4", "t_v4 uuid-v7",
              "t_comb rt-comb-sql"]),
)  # fmt: skip
def test_the_next_rows_are_forecast_to_the_page(table_and_name: str, rebuilt, tmp_path: Path) -> None:
    table, name = table_and_name.split()
    path = tmp_path / "shop.sqlite"
    into_sqlite(path, {table: tables(6_000)[table]})

    def run(statement: str, rows: Sequence[Any] = ()) -> None:
        with closing(apsw.Connection(str(path))) as owner:
            if rows:
                with owner:
                    owner.executemany(statement, [(row,) for row in rows])
            else:
                owner.execute(statement)

    insert = f"INSERT INTO {table} VALUES (?, '{'x' * 60}')"
    rebuild = (lambda: run("VACUUM")) if rebuilt else None
    assert_as_forecast(lambda: SqliteInspector(path), table, name, rebuild, lambda rows: run(insert, rows))


def test_next_says_what_it_reads_and_refuses_what_is_large(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    path = tmp_path / "shop.sqlite"
    planted = tables(6_000)
    into_sqlite(path, {name: planted[name] for name in ("t_v4", "c_v4")})
    command.app([str(path), "--table", "t_v4", "--next", "4k"], standalone_mode=False)
    shown = capsys.readouterr()
    assert "Reads 160 KB: each page of the index is read from the file." in shown.err
    assert [line.split()[:2] for line in shown.out.splitlines()[2:]] == [
        ["uuid-v4", "as"], ["uuid-v7", "as"], ["uuid-v4", "rebuilt"], ["uuid-v7", "rebuilt"]
    ]  # fmt: skip
    (today, *_) = inspected(path, capsys, "--table", "t_v4", "--next", "4k")["outcomes"]
    assert (today["layout"], today["rebuilt"], today["appends"]) == ("uuid-v4", False, 0)
    assert today["leaf_pages"] - today["leaf_pages_before"] == today["splits"] > 0
    for options, message in {
        "--next 4k": "--next looks at one table: name it by --table.",
        "--table c_v4 --next 4k": "--next knows unique indexes of all rows on one column.",
        "--table t_v4 --next 4k --most 100KB": "--next reads the whole index, 160 KB, and --most is 100 KB: say --most "
        "160KB to allow it.",
        "--table t_v4 --next many": "--next 'many' is no number of rows: write it as 1e9, 400M or 50_000_000.",
    }.items():
        assert raised(UsageError, inspected, path, capsys, *options.split()) == message
