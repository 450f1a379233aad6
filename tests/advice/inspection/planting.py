"""Puts planted tables into databases, and judges what `inspect` says of them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import apsw
import psycopg

from keybench.advice.inspection import command
from keybench.databases.mysql.connection import Queries
from keybench.model.printable import printable
from tests.advice.inspection.planted import Planted, values

NOTE = "x" * 60
_SQLITE = {"int": "INTEGER", "text": "TEXT", "uuid": "BLOB", "bytes": "BLOB"}
_POSTGRESQL = {"int": "bigint", "text": "text", "uuid": "uuid", "bytes": "bytea"}
WITHOUT_ROWID = {"t_v7", "t_comb", "t_switched"}


def into_sqlite(path: Path, tables: Mapping[str, Planted], journal: str = "off") -> None:
    """A new file."""
    connection = apsw.Connection(str(path))
    connection.execute(f"PRAGMA journal_mode={journal}; PRAGMA synchronous=off")
    for name, planted in tables.items():
        kind = _SQLITE[planted.keys.kind]
        with connection:
            if planted.parent:
                connection.execute(
                    f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, parent {kind} REFERENCES {planted.parent}, note);"
                    f"CREATE INDEX {name}_parent ON {name} (parent)"
                )
                insert = f"INSERT INTO {name} (parent, note) VALUES (?, '{NOTE}')"
            else:
                rowid = " WITHOUT ROWID" if name in WITHOUT_ROWID else ""
                connection.execute(f"CREATE TABLE {name} (id {kind} PRIMARY KEY, note TEXT){rowid}")
                insert = f"INSERT INTO {name} VALUES (?, '{NOTE}')"
            connection.executemany(insert, ((value,) for value in values(planted.keys)))
    connection.close()


def into_postgresql(connection: psycopg.Connection[Any], tables: Mapping[str, Planted]) -> None:
    """Into the current schema, with statistics."""
    for name, planted in tables.items():
        kind = _POSTGRESQL[planted.keys.kind]
        if planted.parent:
            connection.execute(
                f"CREATE TABLE {name} (id bigserial PRIMARY KEY, parent {kind} REFERENCES {planted.parent}, note text);"
                f"CREATE INDEX ON {name} (parent)"
            )
        else:
            connection.execute(f"CREATE TABLE {name} (id {kind} PRIMARY KEY, note text)")
        column = "parent" if planted.parent else "id"
        with connection.cursor().copy(f"COPY {name} ({column}, note) FROM STDIN") as copy:
            for value in values(planted.keys):
                text = value.hex() if isinstance(value, bytes) else str(value)
                copy.write(f"{text}\t{NOTE}\n")
        connection.execute(f"ANALYZE {name}")


def into_mysql(server: Queries, database: str, tables: Mapping[str, Planted]) -> None:
    """Into a new database, with statistics; MariaDB has GUIDs in its own type."""
    guid = "uuid" if server.flavour.name == "mariadb" else "binary(16)"
    kinds = {"int": "bigint", "text": "varchar(40) CHARACTER SET ascii COLLATE ascii_bin", "uuid": guid}
    server.rows(f"DROP DATABASE IF EXISTS {database}")
    server.rows(f"CREATE DATABASE {database}")
    server.rows(f"USE {database}")
    for name, planted in tables.items():
        kind = kinds[planted.keys.kind]
        if planted.parent:
            server.rows(
                f"CREATE TABLE {name} (id bigint AUTO_INCREMENT PRIMARY KEY, parent {kind}, note varchar(100), "
                f"FOREIGN KEY (parent) REFERENCES {planted.parent} (id))"
            )
        else:
            server.rows(f"CREATE TABLE {name} (id {kind} PRIMARY KEY, note varchar(100))")
        column = "parent" if planted.parent else "id"
        made = [_literal(value, guid) for value in values(planted.keys)]
        for begin in range(0, len(made), 1_000):
            rows = ", ".join(f"({value}, '{NOTE}')" for value in made[begin : begin + 1_000])
            server.rows(f"INSERT INTO {name} ({column}, note) VALUES {rows}")
        server.rows(f"ANALYZE TABLE {name}")


def _literal(value: bytes | str | int, guid: str) -> str:
    if isinstance(value, bytes):
        return f"'{UUID(bytes=value)}'" if guid == "uuid" else f"x'{value.hex()}'"
    return f"'{value}'" if isinstance(value, str) else str(value)


def named(record: Mapping[str, Any]) -> dict[str, list[tuple[tuple[str, ...], float]]]:
    """By table, the layouts of its planted key and their shares."""
    found = {}
    for table in record["tables"]:
        for index in table["indexes"]:
            column = "parent" if table["name"].endswith("t_child") else "id"
            if index["columns"] == [column]:
                found[table["name"].rpartition(".")[2]] = [
                    (tuple(one["layouts"]), one["share"]) for one in index["layouts"]
                ]
    return found


def assert_named(record: Mapping[str, Any], tables: Mapping[str, Planted], points: float = 0.06) -> None:
    """Every layout and mixture is named, and nothing else."""
    found = named(record)
    for name, planted in tables.items():
        layouts = found[name]
        assert len(layouts) == len(planted.shares), (name, layouts)
        for layout, share in planted.shares.items():
            (seen,) = [part for members, part in layouts if layout in members]
            assert abs(seen - share) <= points, (name, layouts)


STRANGE = ("[/b]x", "[red]100%s", "50%", "%(a)d %%", ":bomb:", "\x1b[31mred", "\u202eevil", "a`b\"c'd")
"""Names that are markup, formats or control characters somewhere."""


def assert_strange_names_are_shown(url: str, capsys: Any, monkeypatch: Any) -> None:
    """Each table of STRANGE has a primary key of that name with some keys."""
    monkeypatch.setenv("COLUMNS", "300")
    command.app([url], standalone_mode=False)
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
