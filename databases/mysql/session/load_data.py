"""Rows as the text of LOAD DATA, packed by numpy; keys as text and as literals of statements.

Rows with keys of bytes go in rows of fixed width (the format without separators): nothing is escaped, and a key may
hold any byte. Texts and numbers go in lines with tabs, because they contain neither.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keybench.databases.core.packing import Varying, beside, decimal, lines, repeated
from keybench.databases.mysql import ddl
from keybench.model.byteorder import hexadecimal, text36
from keybench.model.column import Column
from keybench.model.keys import Bytes, Keys
from keybench.model.table import Table

Moments = NDArray[np.int64]
"""When rows were created, in microseconds since 1970."""

_BIGINT_CHARACTERS = 20
"""Width of the field of a bigint in rows of fixed width (manual, "LOAD DATA Statement")."""


@dataclass(frozen=True)
class Loaded:
    """One transaction's rows, and the statement that loads them."""

    statement: bytes
    data: bytes


def is_uuid(column: Column) -> bool:
    """Whether the server takes the key as the text of a GUID."""
    return column.sql_type == "uuid"


def key_text(column: Column, keys: Keys) -> Bytes:
    """The keys as characters: text as it is, GUIDs of a `uuid` column in 36, integers in decimal; else their bytes."""
    if column.form == "int":
        return decimal(keys.data.astype(np.int64, copy=False))
    if is_uuid(column):
        return text36(keys)
    return np.ascontiguousarray(column.encode(keys), np.uint8)


def literals(column: Column, keys: Keys) -> Bytes:
    """The keys as literals of a statement: uint8 (n, width)."""
    text, n = key_text(column, keys), len(keys)
    if column.form == "int":
        return text
    if column.form == "bytes" and not is_uuid(column):
        return beside(repeated(b"x'", n), hexadecimal(text), repeated(b"'", n))
    return beside(repeated(b"'", n), text, repeated(b"'", n))


def _is_fixed(table: Table) -> bool:
    """Whether rows go in rows of fixed width."""
    return _has_bytes(table) and not table.lengths


def _has_bytes(table: Table) -> bool:
    return table.column.form == "bytes" and not is_uuid(table.column) and not table.server_keys


def load_statement(table: Table) -> bytes:
    """The LOAD DATA statement for rows of `pack`."""
    fixed, columns = _is_fixed(table), ddl.sent_columns(table)
    fields, lines_end = ("", "") if fixed else ("\\t", "\\n")
    character_set = "binary" if fixed else "utf8mb4"
    decoded = ""
    if _has_bytes(table) and not fixed:  # a line holds a key of any bytes in hexadecimal
        columns, decoded = columns.replace("`key`", "@key"), " SET `key` = UNHEX(@key)"
    return (
        f"LOAD DATA LOCAL INFILE 'rows' INTO TABLE {ddl.name(table)} CHARACTER SET {character_set} "
        f"FIELDS TERMINATED BY '{fields}' ENCLOSED BY '' ESCAPED BY '' LINES TERMINATED BY '{lines_end}' "
        f"({columns}){decoded}"
    ).encode()


def pack(table: Table, keys: Keys | None, payload: Bytes | Varying, moments: Moments, rows_per_tx: int) -> list[Loaded]:
    """Batches of rows; `keys` are None where the server makes them.

    `payload` is (n, characters); `moments` int64 (n,), for a table by date.
    """
    text = lines(*_fields(table, keys, payload, moments))
    statement, n = load_statement(table), len(text)
    starts = range(0, n, rows_per_tx)
    return [Loaded(statement, bytes(text.part(start, min(start + rows_per_tx, n)))) for start in starts]


def _fields(table: Table, keys: Keys | None, payload: Bytes | Varying, moments: Moments) -> list[Bytes | Varying]:
    n = len(payload)
    if keys is None:
        return [payload, repeated(b"\n", n)]
    text, fixed = key_text(table.column, keys), _is_fixed(table)
    if _has_bytes(table) and not fixed:
        text = hexadecimal(text)
    if table.by_date:  # in rows of fixed width, as wide as any bigint
        digits = decimal(moments)
        pad = repeated(b" " * (_BIGINT_CHARACTERS - digits.shape[1]) if fixed else b"\t", n)
        text = beside(pad, digits, text) if fixed else beside(digits, pad, text)
    if fixed:
        return [text, payload]
    tab = repeated(b"\t" if payload.shape[1] else b"", n)
    return [text, tab, payload, repeated(b"\n", n)]
