"""Puts planted tables into databases, and judges what `inspect` says of them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import apsw
import psycopg

from keybench.advice.inspection import command
from keybench.databases.mariadb import ENGINE as MARIADB
from keybench.databases.mysql.connection import Queries
from keybench.databases.mysql.row_sample import quoted
from keybench.model.printable import printable
from tests.advice.inspection.planted import Planted, values

NOTE = "x" * 60
_SQLITE = {"int": "INTEGER", "text": "TEXT", "uuid": "BLOB", "bytes": "BLOB"}
_POSTGRESQL = {"int": "bigint", "text": "text", "uuid": "uuid", "bytes": "bytea"}
WITHOUT_ROWID = {"t_v7", "t_comb", "t_switched"}


def ansi(name: str) -> str:
    """A name in quotes."""
    return '"' + name.replace('"', '""') + '"'


def into_sqlite(path: Path, tables: Mapping[str, Planted], journal: str = "off") -> None:
    """A new file."""
    connection = apsw.Connection(str(path))
    connection.execute(f"PRAGMA journal_mode={journal}; PRAGMA synchronous=off")
    for name, planted in tables.items():
        kind = "TEXT" if planted.sql_type.startswith("char") else _SQLITE[planted.keys.kind]
        made = list(values(planted.keys, text=kind == "TEXT"))
        with connection:
            if planted.first is not None:
                connection.execute(
                    f"CREATE TABLE {ansi(name)} (first INTEGER, id {kind}, note, PRIMARY KEY (first, id))"
                )
                insert = f"INSERT INTO {ansi(name)} VALUES (?, ?, '{NOTE}')"
                connection.executemany(insert, zip(planted.first.tolist(), made, strict=True))
                continue
            if planted.parent:
                connection.execute(
                    f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, parent {kind} REFERENCES {planted.parent}, note);"
                    f"CREATE INDEX {name}_parent ON {name} (parent)"
                )
                insert = f"INSERT INTO {name} (parent, note) VALUES (?, '{NOTE}')"
            else:
                rowid = " WITHOUT ROWID" if name in WITHOUT_ROWID else ""
                connection.execute(f"CREATE TABLE {ansi(name)} (id {kind} PRIMARY KEY, note TEXT){rowid}")
                insert = f"INSERT INTO {ansi(name)} VALUES (?, '{NOTE}')"
            connection.executemany(insert, ((value,) for value in made))
    connection.close()


def into_postgresql(connection: psycopg.Connection[Any], tables: Mapping[str, Planted]) -> None:
    """Into the current schema, with statistics."""
    for name, planted in tables.items():
        kind, columns = planted.sql_type or _POSTGRESQL[planted.keys.kind], "id, note"
        if planted.first is not None:
            columns = "first, id, note"
            connection.execute(
                f"CREATE TABLE {ansi(name)} (first bigint, id {kind}, note text, PRIMARY KEY (first, id))"
            )
        elif planted.parent:
            columns = "parent, note"
            connection.execute(
                f"CREATE TABLE {name} (id bigserial PRIMARY KEY, parent {kind} REFERENCES {planted.parent}, note text);"
                f"CREATE INDEX ON {name} (parent)"
            )
        else:
            connection.execute(f"CREATE TABLE {ansi(name)} (id {kind} PRIMARY KEY, note text)")
        made = values(planted.keys, text=kind.startswith("char"))
        firsts = [] if planted.first is None else planted.first.tolist()
        with connection.cursor().copy(f"COPY {ansi(name)} ({columns}) FROM STDIN") as copy:
            for i, value in enumerate(made):
                first = f"{firsts[i]}\t" if firsts else ""
                text = (r"\\x" if kind == "bytea" else "") + value.hex() if isinstance(value, bytes) else str(value)
                copy.write(f"{first}{text}\t{NOTE}\n")
        connection.execute(f"ANALYZE {ansi(name)}")


def into_mysql(server: Queries, database: str, tables: Mapping[str, Planted]) -> None:
    """Into a new database, with statistics; MariaDB has GUIDs in its own type."""
    guid = "uuid" if server.flavour.name == "mariadb" else "binary(16)"
    kinds = {
        "int": "bigint",
        "bytes": "varbinary(40)",
        "text": "varchar(40) CHARACTER SET ascii COLLATE ascii_bin",
        "uuid": guid,
    }
    server.rows(f"DROP DATABASE IF EXISTS {database}")
    server.rows(f"CREATE DATABASE {database}")
    server.rows(f"USE {database}")
    for name, planted in tables.items():
        text = planted.sql_type.startswith("char")
        kind = "char(36) CHARACTER SET ascii" if text else planted.sql_type or kinds[planted.keys.kind]
        if kind == "bytea" or (kind == "uuid" and not MARIADB.column("uuid").accepts(planted.keys).all()):
            kind = "binary(16)"
        column = "id"
        if planted.first is not None:
            column = "first, id"
            server.rows(
                f"CREATE TABLE {quoted(name)} (first bigint, id {kind}, note varchar(100), PRIMARY KEY (first, id))"
            )
        elif planted.parent:
            column = "parent"
            server.rows(
                f"CREATE TABLE {name} (id bigint AUTO_INCREMENT PRIMARY KEY, parent {kind}, note varchar(100), "
                f"FOREIGN KEY (parent) REFERENCES {planted.parent} (id))"
            )
        else:
            server.rows(f"CREATE TABLE {quoted(name)} (id {kind} PRIMARY KEY, note varchar(100))")
        made = [literal(value, kind) for value in values(planted.keys, text=text)]
        if planted.first is not None:
            made = [f"{first}, {value}" for first, value in zip(planted.first.tolist(), made, strict=True)]
        for begin in range(0, len(made), 1_000):
            rows = ", ".join(f"({value}, '{NOTE}')" for value in made[begin : begin + 1_000])
            server.rows(f"INSERT INTO {quoted(name)} ({column}, note) VALUES {rows}")
        server.rows(f"ANALYZE TABLE {quoted(name)}")


def literal(value: bytes | str | int, guid: str) -> str:
    if isinstance(value, bytes):
        return f"'{UUID(bytes=value)}'" if guid == "uuid" and len(value) == 16 else f"x'{value.hex()}'"
    return f"'{value}'" if isinstance(value, str) else str(value)


def inspected(target: object, capsys: Any, *options: str) -> dict[str, Any]:
    """What `keybench inspect --json` prints."""
    command.app([str(target), "--json", *options], standalone_mode=False)
    return json.loads(capsys.readouterr().out)


def assert_named(record: Mapping[str, Any], tables: Mapping[str, Planted], points: float = 0.06) -> None:
    """Every layout and mixture is named, and nothing else; new rows go where they go, as far as that is known."""
    found = {one["name"].removeprefix("public.").removeprefix("inspected."): one for one in record["tables"]}
    goes = IN_MARIADB if record["database"] == "mariadb" else {}
    for name, planted in tables.items():
        column = "parent" if planted.parent else "id"
        (index,) = [one for one in found[name]["indexes"] if column in one["columns"]]
        layouts = next((one["layouts"] for one in index["key"] if one["name"] == column), [])
        assert len(layouts) == len(planted.shares), (name, layouts)
        for layout, share in planted.shares.items():
            (seen,) = [one["share"] for one in layouts if layout in one["layouts"]]
            assert abs(seen - share) <= points, (name, layouts)
        where = goes.get(name, planted.goes)
        assert index["new_rows"] in {where, None}, (name, index["new_rows"], index["ascending"])
        urgent = "" if record["database"] == "sqlite" and planted.sql_type == "integer" else planted.urgent
        assert [urgent in text for text in found[name]["urgent"]] == [True] * bool(urgent), found[name]["urgent"]


IN_MARIADB = {"t_comb": "end", "t_legacy": "end", "f_uuid-v1": "end", "f_nhibernate-comb": "end"} | {
    "f_rt-comb-postgresql": "anywhere",
    "f_pomelo-mysql": "anywhere",
    "f_percona-ordered-uuid": "anywhere",
}
"""Where new rows go in MariaDB's type uuid, which compares the last group of versions 1 to 5 first."""

STRANGE = ("[/b]x", "[red]100%s", "50%", "%(a)d %%", ":bomb:", "\x1b[31mred", "\u202eevil", "a`b\"c'd")
"""Names that are markup, formats or control characters somewhere."""


def assert_strange_names_are_shown(url: str, capsys: Any, monkeypatch: Any) -> None:
    """Each table of STRANGE has a primary key of that name with some keys."""
    monkeypatch.setenv("COLUMNS", "300")
    command.app([url, "--all"], standalone_mode=False)
    text = capsys.readouterr().out
    assert not set(text) & {"\x1b", "\u202e"}
    command.app([url, "--json"], standalone_mode=False)
    printed = capsys.readouterr().out
    assert not set(printed) & {"\x1b", "\u202e"}
    found = {one["name"].rpartition(".")[2]: one for one in json.loads(printed)["tables"]}
    for name in STRANGE:
        assert f"{printable(name)} has" in text
        (key,) = found[name]["indexes"]
        assert key["columns"] == [name]
        assert key["sampled"] == 3
