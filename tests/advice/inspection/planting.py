"""Puts planted tables into databases, and judges what `inspect` says of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import apsw
import psycopg

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
