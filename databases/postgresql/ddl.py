"""Columns, DDL, and the sizes of what PostgreSQL stores (8 KiB pages, 8-byte alignment).

Sizes follow the on-disk format (manual, "Database Page Layout"): an index entry is an 8-byte header and the key's
datum, rounded up to 8, beside a 4-byte line pointer. A varlena datum (bytea, character, text) of at most 126 bytes has
a 1-byte header and no alignment, a longer one 4 bytes and alignment to 4.
"""

from __future__ import annotations

from keybench.model.column import Column
from keybench.model.table import KeyRole, Table

SCHEMA = "keybench"
"""The one schema that keybench works in."""

COLUMNS = (
    Column("uuid", "uuid", frozenset({"uuid"}), "rfc", native=True),
    Column("binary16", "bytea", frozenset({"uuid"}), "rfc"),
    Column("binary16-net", "bytea", frozenset({"uuid"}), "net"),
    Column("binary16-mssql", "bytea", frozenset({"uuid"}), "mssql", stands_in_for="SQL Server uniqueidentifier"),
    Column("char36", 'character(36) COLLATE "C"', frozenset({"uuid"}), "rfc", form="text", width=36),
    Column("char36-default", "character(36)", frozenset({"uuid"}), "rfc", form="text", width=36),
    Column("bytea", "bytea", frozenset({"bytes"}), "rfc", native=True, width=0),
    Column("text", 'text COLLATE "C"', frozenset({"text"}), "rfc", form="text", native=True, width=0),
    Column("bigint", "bigint", frozenset({"int"}), "rfc", form="int", native=True, width=8),
)

PAGE_BYTES = 8192
PAGE_OVERHEAD = 24 + 16
"""Page header and nbtree's special space."""
_LINE_POINTER = 4
_FILLFACTOR = 0.9
_SHORT_VARLENA = 126
_LOG_RECORDS_BYTES = 150  # headers of the heap's and the index's insertion records

_MOMENT_BYTES = 8
_FIXED = frozenset({"uuid", "bigint"})
"""Types without a length of their own in front."""
_SENDER = {
    "uuid": "uuid_send",
    "bytea": "byteasend",
    "text": "textsend",
    "character(36)": "bpcharsend",
    "bigint": "int8send",
}
_WIDEST = 36
"""Bytes of a key where an estimate is asked for before its layout is known."""


def _type(column: Column) -> str:
    return column.sql_type.partition(" ")[0]


def key_bytes(column: Column) -> int:
    """Bytes of a key as it is sent in binary."""
    return column.width or _WIDEST


def _datum_bytes(column: Column) -> int:
    width = key_bytes(column)
    if _type(column) in _FIXED:
        return width
    return width + (1 if width <= _SHORT_VARLENA else 4)


def _aligned(size: int, to: int = 8) -> int:
    return -(-size // to) * to


def name(table: Table) -> str:
    """The table's qualified, quoted name."""
    return f'{SCHEMA}."{table.name}"'


def create(table: Table) -> tuple[str, ...]:
    """The statements that create the table, without its parent; the key's index is that of its primary key.

    By date, the heap has an index on the moment of creation: PostgreSQL keeps no table in an index's order. A foreign
    key's index keeps an entry for each row: merging equal keys to one (`deduplicate_items`), on by default, hides what
    order of arrival does to it, and depends on when a page happens to be full.
    """
    payload = ", payload text NOT NULL" if table.payload else ""
    made = f" {table.made.declaration}" if table.made else ""
    created = "created bigint NOT NULL, " if table.dated else ""
    constraint = "NOT NULL" if table.key == "fk" else "PRIMARY KEY"
    statements = [
        f"CREATE TABLE {name(table)} ({created}key {table.column.sql_type} {constraint}{made}{payload}) "
        "WITH (autovacuum_enabled = false, toast.autovacuum_enabled = false)"
    ]
    if table.dated:
        statements.append(f'CREATE INDEX "{table.name}_created" ON {name(table)} (created)')
    if table.key == "fk":
        statements.append(f'CREATE INDEX "{table.name}_key" ON {name(table)} (key) WITH (deduplicate_items = off)')
    return tuple(statements)


def is_primary(table: Table) -> bool:
    """Whether the index that is looked at is the primary key's; a table has one other at most."""
    return table.key != "fk" and not table.rows


def columns(table: Table) -> str:
    """The columns in the order in which rows are sent."""
    return ", ".join(["created"] * table.dated + ["key"] + ["payload"] * bool(table.payload))


def sender(column: Column) -> str:
    """The server's function that gives the key as it is sent in binary."""
    return _SENDER[_type(column)]


def entry_bytes(column: Column) -> int:
    """Size of an index entry, without its line pointer."""
    return _aligned(8 + _datum_bytes(column))


def leaf_capacity(column: Column, page_bytes: int = PAGE_BYTES) -> int:
    """Entries that the rightmost leaf, which has no high key, holds when it is full."""
    return (page_bytes - PAGE_OVERHEAD) // (entry_bytes(column) + _LINE_POINTER)


def heap_row_bytes(column: Column, payload: int, *, dated: bool = False) -> int:
    """Size of a row in the heap, with its line pointer."""
    data = _datum_bytes(column) + _MOMENT_BYTES * dated
    if payload > _SHORT_VARLENA:
        data = _aligned(data, 4) + 4 + payload
    elif payload:
        data += 1 + payload
    return _aligned(24 + data) + _LINE_POINTER


def bytes_per_row(column: Column, payload: int, key: KeyRole) -> tuple[float, float]:
    """Estimated bytes a row of (the key's index filled in order, heap, half-empty index and log together).

    The log counts two and a half times what the rows themselves put there: splits, page images, and what a checkpoint
    keeps for recycling.
    """
    entry = entry_bytes(column) + _LINE_POINTER
    index = entry / _FILLFACTOR
    heap = heap_row_bytes(column, payload, dated=key == "by-date")
    beside = _aligned(8 + _MOMENT_BYTES) + _LINE_POINTER if key == "by-date" else 0
    log = 2.5 * (heap + entry + beside + _LOG_RECORDS_BYTES)
    return index, heap + 2 * (entry + beside) + log
