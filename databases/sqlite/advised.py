"""Statements for users' own tables in SQLite. The tests run all of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from keybench.databases.contract.statements import KeyedTable, Statement
from keybench.errors import UsageError
from keybench.generators.core.layout import layout
from keybench.model.names import CONTROL

_DOCS = "https://www.sqlite.org/"


def _checked(version: str) -> None:
    if version and not re.fullmatch(r"3(\.\d+)*", version):
        raise UsageError(f"SQLite {version!r} is unknown: name a version 3, for example 3.50.")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if not re.fullmatch(r"[a-z_][a-z0-9_]*", name) else name


def _create(table: KeyedTable, name: str) -> Statement:
    integer = table.column.form == "int"
    key = "id INTEGER PRIMARY KEY" if integer else f"id {table.column.sql_type} NOT NULL PRIMARY KEY"
    ending = "" if integer else " WITHOUT ROWID"
    sql = f"CREATE TABLE {_quoted(name)} (\n  {key},\n  created_at INTEGER NOT NULL DEFAULT (unixepoch())\n){ending}"
    if table.layout == CONTROL:
        note = "The key is the rowid, and SQLite makes it where a row brings none."
    elif integer:
        note = "The key is the rowid. The application makes it."
    else:
        note = (
            "The application makes the keys: SQLite has no function for them. WITHOUT ROWID, rows lie in the order of "
            "the key, and there is no second tree."
        )
    return Statement(sql, note, True, f"{_DOCS}{'lang_createtable' if integer else 'withoutrowid'}.html")


def creating(table: KeyedTable) -> Sequence[Statement]:
    """The table; its key is the rowid, or the table is a tree of the key."""
    _checked(table.version)
    return [_create(table, table.name)]


def switching(table: KeyedTable) -> Sequence[Statement]:
    """Nothing to run."""
    _checked(table.version)
    return [Statement("", f"Deploy the application that makes {table.layout} keys: SQLite makes none.")]


def rebuilding(table: KeyedTable) -> Sequence[Statement]:
    """All of the file."""
    _checked(table.version)
    note = "Writes the whole file again, every table with full pages. Needs room for a second file until it ends."
    if layout(table.layout).order == "none":
        note += " Where random keys stay, full pages split soon after it."
    return [
        Statement(
            "VACUUM", note, True, f"{_DOCS}lang_vacuum.html", "Writers wait until it ends; readers go on in WAL mode."
        )
    ]


def converting(table: KeyedTable, into: KeyedTable) -> Sequence[Statement]:
    """A new table, filled by the application, which takes the old one's place."""
    _checked(table.version)
    name, new, old = (_quoted(table.name + ending) for ending in ("", "_new", "_old"))
    return [
        _create(into, f"{table.name}_new"),
        Statement(
            "",
            f"Read the rows of {name} in the order of their creation, and insert each with a new key into {new}, in "
            "transactions of some thousands. Do the same for every child table.",
        ),
        Statement(
            f"BEGIN IMMEDIATE;\nALTER TABLE {name} RENAME TO {old};\nALTER TABLE {new} RENAME TO {name};\nCOMMIT",
            "Together with the application that knows the new keys. Drop the old table later.",
            True,
            f"{_DOCS}lang_altertable.html",
            "Writers wait for a moment.",
        ),
    ]
