"""Sizes of what InnoDB stores (16 KiB pages, row format DYNAMIC), in bytes.

They follow InnoDB's on-disk format: a record has 5 bytes of header, one more for each column of variable length (two
for one that can be longer than 255 bytes and is longer than 127), and in the clustered index 13 bytes of transaction id
and roll pointer. A leaf of 16,384 bytes has 16,252 for records and directory slots. The directory takes two bytes for
each four records. Ascending insertions leave a sixteenth of the page free.
"""

from __future__ import annotations

from keybench.model.column import Column
from keybench.model.table import KeyRole, Table

PAGE_BYTES = 16_384
PAGE_HEADER = 120 + 8 + 4
"""Bytes of a page that hold no record: header and system records, trailer, and the directory's two fixed slots."""
LEAF_BYTES = PAGE_BYTES - PAGE_HEADER
"""For records and the directory."""

_HEADER = 5
_HIDDEN = 6 + 7
_ROW_ID = 8
"""How an index beside its table refers to a row: by the row's number, or by the moment of its creation."""
_PAGE_NUMBER = 4
_ASCENDING_FILL, _LOWEST_FILL = 0.92, 0.35
"""Measured shares of a leaf (docs/internals/innodb.md §8): ascending keys; four ascending sources that lag behind one
another."""
_LOG_BYTES = 250  # a row's records in redo and undo, and its share of half-empty undo pages
_WIDEST = 36
"""Bytes of a key where an estimate is asked for before its layout is known."""


def primary_bytes(table: Table) -> int:
    """Bytes of the primary key in a record, where all of its columns are of fixed width."""
    of_key = table.column.width if table.key in ("clustered", "by-date") else 0
    return of_key + (_ROW_ID if table.key != "clustered" else 0)


def key_bytes(column: Column) -> int:
    """Bytes of a key in a record, with its length where that can vary: a CHAR of a multi-byte character set."""
    return (column.width or _WIDEST) + (column.sql_type == "char(36)")


def leaf_record(column: Column, payload: int, key: KeyRole) -> int:
    """Size of a record in a leaf of the key's index."""
    if key != "clustered":
        return _HEADER + key_bytes(column) + _ROW_ID
    return _HEADER + _HIDDEN + key_bytes(column) + _payload_bytes(payload)


def branch_record(column: Column, key: KeyRole) -> int:
    """Size of a node pointer of the key's index. In a secondary index it holds the row's id too."""
    return _HEADER + key_bytes(column) + (_ROW_ID if key != "clustered" else 0) + _PAGE_NUMBER


def row_records(column: Column, payload: int, key: KeyRole) -> tuple[int, int]:
    """Sizes of a leaf record and of a node pointer in a table that is ordered by row id, or by date."""
    leaf = _HEADER + _HIDDEN + _ROW_ID + key_bytes(column) + _payload_bytes(payload)
    return leaf, _HEADER + _ROW_ID + (key_bytes(column) if key == "by-date" else 0) + _PAGE_NUMBER


def _payload_bytes(payload: int) -> int:
    return payload + (1 if payload <= 255 else 2) if payload else 0


def bytes_per_row(column: Column, payload: int, key: KeyRole) -> tuple[float, float]:
    """Estimated bytes a row of (the key's index filled in order, all pages at their emptiest with log and undo)."""
    share = PAGE_BYTES / LEAF_BYTES
    entry = (leaf_record(column, payload, key) + 0.5) * share
    rows = 0.0
    if key != "clustered":
        fill = _LOWEST_FILL if key == "by-date" else _ASCENDING_FILL  # writers whose clocks lag
        rows = row_records(column, payload, key)[0] * share / fill
    return entry / _ASCENDING_FILL, entry / _LOWEST_FILL + rows + _LOG_BYTES
