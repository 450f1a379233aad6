"""DDL, and the sizes of what InnoDB stores (16 KiB pages, row format DYNAMIC).

Sizes follow InnoDB's on-disk format: a record has 5 bytes of header, one more for each column of variable length (two
for one that can be longer than 255 bytes and is longer than 127), and in the clustered index 13 bytes of transaction id
and roll pointer. A leaf of 16,384 bytes has 16,252 for records and directory slots, of which each four records take
two bytes; ascending insertions leave a sixteenth of the page free.
"""

from __future__ import annotations

from keybench.model.column import Column
from keybench.model.table import KeyRole, Table

SCHEMA = "keybench"
"""The one database that keybench works in."""

COMMENT = "a trial of keybench, which removes it"
"""The comment of a trial's table, by which `clean` knows it."""

CLUSTERED_INDEX = "PRIMARY"
"""The table itself, as the server names it."""

PAGE_BYTES = 16_384
LEAF_BYTES = PAGE_BYTES - 120 - 8 - 4
"""For records: without header, system records, trailer and the directory's two slots."""

_HEADER = 5
_HIDDEN = 6 + 7
_ROW_ID = 8
"""What stands for a row in an index beside its table: the row's number, or the moment of its creation."""
_PAGE_NUMBER = 4
_ASCENDING_FILL, _LOWEST_FILL = 0.92, 0.35
"""Measured shares of a leaf: ascending keys; four ascending sources that lag behind one another (btree.md D2)."""
_LOG_BYTES = 250  # a row's records in redo and undo, and its share of half-empty undo pages
_WIDEST = 36
"""Bytes of a key where an estimate is asked for before its layout is known."""


def name(table: Table) -> str:
    """The table's quoted name."""
    return f"`{SCHEMA}`.`{table.name}`"


def index_name(table: Table) -> str:
    """The key's index, as the server names it."""
    return CLUSTERED_INDEX if table.key == "clustered" or table.rows else "key"


def sql_type(column: Column) -> str:
    """The declaration of the column, sized."""
    return column.sql_type.format(width=column.width)


def create(table: Table) -> str:
    """The statement that creates the table, without its parent.

    By date, the primary key is the moment of creation with the key behind it, for two rows may have one moment.
    """
    payload = f", payload varchar({table.payload}) CHARACTER SET ascii COLLATE ascii_bin NOT NULL"
    by_server = f" {table.made.declaration}" if table.made else ""
    columns = f"`key` {sql_type(table.column)} NOT NULL{by_server}{payload if table.payload else ''}"
    if table.key == "clustered":
        columns += ", PRIMARY KEY (`key`)"
    elif table.dated:
        columns = f"created bigint NOT NULL, {columns}, PRIMARY KEY (created, `key`), UNIQUE KEY `key` (`key`)"
    else:
        unique = "" if table.key == "fk" else "UNIQUE "
        columns = f"row_id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, {columns}, {unique}KEY `key` (`key`)"
    return f"CREATE TABLE {name(table)} ({columns}) ENGINE = InnoDB ROW_FORMAT = DYNAMIC COMMENT = '{COMMENT}'"


def row_order(table: Table) -> str:
    """The primary key of a table that has another index on its key."""
    return "created, `key`" if table.dated else "row_id"


def primary_bytes(table: Table) -> int:
    """Bytes of the primary key in a record, where all of its columns are of fixed width."""
    of_key = table.column.width if table.key in ("clustered", "by-date") else 0
    return of_key + (_ROW_ID if table.key != "clustered" else 0)


def columns(table: Table) -> str:
    """The columns in the order in which they are sent and read."""
    return ", ".join(["created"] * table.dated + ["`key`"] + ["payload"] * bool(table.payload))


def sent(table: Table) -> str:
    """The columns that rows bring: all but a key that the server makes."""
    return "payload" if table.made else columns(table)


def key_bytes(column: Column) -> int:
    """Bytes of a key in a record, with its length where that can vary: a CHAR of a multi-byte character set."""
    return (column.width or _WIDEST) + (column.sql_type == "char(36)")


def leaf_record(column: Column, payload: int, key: KeyRole) -> int:
    """Size of a record in a leaf of the key's index."""
    if key != "clustered":
        return _HEADER + key_bytes(column) + _ROW_ID
    return _HEADER + _HIDDEN + key_bytes(column) + _payload_bytes(payload)


def branch_record(column: Column, key: KeyRole) -> int:
    """Size of a node pointer of the key's index: in a secondary index, it holds the row's id too."""
    return _HEADER + key_bytes(column) + (_ROW_ID if key != "clustered" else 0) + _PAGE_NUMBER


def row_records(column: Column, payload: int, key: KeyRole) -> tuple[int, int]:
    """Sizes of a record in a leaf and in a branch page of a table with an index on its key: by row id, or by date."""
    leaf = _HEADER + _HIDDEN + _ROW_ID + key_bytes(column) + _payload_bytes(payload)
    return leaf, _HEADER + _ROW_ID + (key_bytes(column) if key == "by-date" else 0) + _PAGE_NUMBER


def _payload_bytes(payload: int) -> int:
    return payload + (1 if payload <= 255 else 2) if payload else 0


def bytes_per_row(column: Column, payload: int, key: KeyRole) -> tuple[float, float]:
    """Estimated bytes a row of (the key's index filled in order, everything at its emptiest with log and undo)."""
    share = PAGE_BYTES / LEAF_BYTES
    entry = (leaf_record(column, payload, key) + 0.5) * share
    rows = 0.0
    if key != "clustered":
        fill = _LOWEST_FILL if key == "by-date" else _ASCENDING_FILL  # writers whose clocks lag
        rows = row_records(column, payload, key)[0] * share / fill
    return entry / _ASCENDING_FILL, entry / _LOWEST_FILL + rows + _LOG_BYTES
