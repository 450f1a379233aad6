"""Statements for users' own tables on Oracle. Written from documentation: no server has run them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from keybench.databases.contract.statements import BY_CLIENTS, KeyedTable, Statement
from keybench.databases.core.ddl import (
    FILL_CHILDREN,
    FILL_OLD_ROWS,
    NO_FUNCTION,
    SERVER_MAKES,
    server_made,
    sql_type,
    without_default,
)
from keybench.databases.oracle import ddl
from keybench.errors import UsageError
from keybench.generators.core.layout import layout
from keybench.model.names import RANDOM

_DOCS = "https://docs.oracle.com/en/database/oracle/oracle-database/26/sqlrf/"
_UUID = 26
_OLDEST, _NEWEST = 12, 26


def number(version: str) -> int:
    """The release: 19c, 23ai, 26ai and 19.3 are 19, 23, 26 and 19. UsageError for what is none."""
    if not version:
        return _NEWEST
    match = re.fullmatch(r"(\d+)(c|ai|(?:\.\d+)+)?", version)
    if not match or not _OLDEST <= int(match[1]) <= _NEWEST:
        raise UsageError(
            f"Oracle {version!r} is unknown: name a release from {_OLDEST}c to {_NEWEST}ai, for example 19c."
        )
    return int(match[1])


def _quoted(name: str) -> str:
    return '"' + name.replace('"', "") + '"' if not re.fullmatch(r"[a-z][a-z0-9_]*", name) else name


def _default(table: KeyedTable) -> tuple[str, str]:
    """(the declaration after the column's type, what to know of it)."""
    version = number(table.version)
    server_keys = None if table.by_clients else server_made(ddl.SERVER_KEYS, table.layout, table.column, version)
    if server_keys:
        if "IDENTITY" in server_keys.declaration:
            return "GENERATED ALWAYS AS IDENTITY (CACHE 1000)", "The server numbers the rows."
        note = "SYS_GUID() is no UUID of any version, and the next key can be guessed. Its order is not documented."
        return server_keys.declaration, note
    random = table.layout == RANDOM and table.column.name == "raw16" and version >= _UUID
    if random and not table.by_clients:
        return "DEFAULT UUID()", f"{SERVER_MAKES} UUID() is new in 26ai."
    note = BY_CLIENTS if table.by_clients else NO_FUNCTION
    if table.column.name == "raw16":
        note += " From .NET, send big-endian bytes: a Guid bound as it is arrives with its first eight bytes swapped."
    return "", note


def creating(table: KeyedTable) -> Sequence[Statement]:
    """The table, a heap, with the key's index beside it."""
    declaration, note = _default(table)
    column = " ".join(filter(None, ["id", sql_type(table.column), declaration, "NOT NULL"]))
    sql = (
        f"CREATE TABLE {_quoted(table.name)} (\n  {column},\n  created_at TIMESTAMP(3) DEFAULT SYSTIMESTAMP NOT NULL,\n"
        f"  CONSTRAINT {_quoted(f'{table.name}_pkey')} PRIMARY KEY (id)\n)"
    )
    if layout(table.layout).suits(table.column):
        note += " Where many sessions, or several instances, queue for the last block, partition the index by hash."
    return [Statement(sql, note, False, f"{_DOCS}CREATE-TABLE.html")]


def switching(table: KeyedTable) -> Sequence[Statement]:
    """A new default."""
    declaration, note = _default(table)
    if step := without_default(table, declaration, note):
        return [step]
    sql = f"ALTER TABLE {_quoted(table.name)} MODIFY (id {declaration})"
    return [Statement(sql, note, False, f"{_DOCS}ALTER-TABLE.html", "Exclusive, for a moment: no row is read.")]


def rebuilding(table: KeyedTable) -> Sequence[Statement]:
    """The key's index, online."""
    free = 20 if layout(table.layout).order == "none" else 10
    note = "Needs room for a second index until it ends. ONLINE takes the Enterprise edition."
    if free > 10:
        note += " More free room puts the next wave of splits of random keys off, and makes the index larger at once."
    index, page = _quoted(f"{table.name}_pkey"), f"{_DOCS}ALTER-INDEX.html"
    locks = "Reads and writes go on; at its end it waits for transactions that are open."
    return [
        Statement(f"ALTER INDEX {index} REBUILD ONLINE PCTFREE {free}", note, False, page, locks),
        Statement(
            f"ALTER INDEX {index} COALESCE",
            "Instead, in every edition: it merges neighbouring leaves in small transactions, and frees less.",
            False,
            page,
            "Single blocks, for a moment.",
        ),
    ]


def converting(table: KeyedTable, into: KeyedTable) -> Sequence[Statement]:
    """A new key beside the old one, filled in batches; then the two change places."""
    declaration, note = _default(into)
    name, key, index = (_quoted(table.name + ending) for ending in ("", "_pkey", "_id_new"))
    brief = "Exclusive, for a moment."
    default = declaration if declaration.startswith("DEFAULT") else ""
    defaults = [(f"ALTER TABLE {name} MODIFY (id_new {default})", note, brief)] if default else []
    steps = (
        (f"ALTER TABLE {name} ADD (id_new {sql_type(into.column)})", "", brief),
        *defaults,
        (
            "",
            f"{FILL_OLD_ROWS} (DBMS_PARALLEL_EXECUTE does it in chunks). {FILL_CHILDREN}. DBMS_REDEFINITION does all "
            "of this online, too.",
            "",
        ),
        (
            f"CREATE UNIQUE INDEX {index} ON {name} (id_new) ONLINE",
            "ONLINE takes the Enterprise edition.",
            "Reads and writes go on.",
        ),
        (f"ALTER TABLE {name} MODIFY (id_new NOT NULL ENABLE NOVALIDATE)", "NOVALIDATE reads no rows.", brief),
        (
            f"ALTER TABLE {name} DROP CONSTRAINT {key} KEEP INDEX",
            "Drop the foreign keys that refer to it first. The old key keeps its index, as long as anybody may ask "
            "for it.",
            brief,
        ),
        (f"ALTER TABLE {name} RENAME COLUMN id TO id_old", "", brief),
        (f"ALTER TABLE {name} RENAME COLUMN id_new TO id", "", brief),
        (
            f"ALTER TABLE {name} MODIFY (id_old NULL)",
            "New rows have no old key. An IDENTITY column stays as it is.",
            brief,
        ),
        (
            f"ALTER TABLE {name} ADD CONSTRAINT {_quoted(f'{table.name}_pk')} PRIMARY KEY (id) USING INDEX {index}",
            "Together with the application that knows the new keys; then the foreign keys again.",
            "Exclusive, while the column is checked.",
        ),
    )
    return [Statement(sql, text, False, _page(sql), locks) for sql, text, locks in steps]


def _page(sql: str) -> str:
    """The page of the documentation on a step of `converting`."""
    name = "CREATE-INDEX" if sql.startswith("CREATE") else "ALTER-TABLE"
    return f"{_DOCS}{name}.html" if sql else ""
