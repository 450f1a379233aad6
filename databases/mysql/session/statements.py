"""Rows as INSERT statements and as the text of LOAD DATA, packed by numpy; keys as literals.

Rows with keys of bytes go to LOAD DATA in rows of fixed width (its format without separators): nothing is escaped, and
a key may hold any byte. Texts and numbers go in lines with tabs, because they contain neither.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keybench.databases.core.packing import Lines, Varying, beside, decimal, lines, repeated
from keybench.databases.mysql import ddl
from keybench.model.byteorder import hexadecimal, text36
from keybench.model.column import Column
from keybench.model.keys import Bytes, Keys
from keybench.model.table import Table

Moments = NDArray[np.int64]
"""When rows were created, in microseconds since 1970."""
NO_MOMENTS: Moments = np.empty(0, np.int64)

_BIGINT_CHARACTERS = 20
"""Width of the field of a bigint in rows of fixed width (manual, "LOAD DATA Statement")."""

STATEMENT_BYTES = 8 << 20
"""Longest INSERT: half of the servers' default of max_allowed_packet."""


@dataclass(frozen=True)
class Loaded:
    """One transaction's rows for LOAD DATA."""

    data: bytes
    rows: int


@dataclass(frozen=True)
class Inserted:
    """One transaction's rows as INSERT statements: one, unless it would be too long."""

    statements: tuple[bytes, ...]
    rows: int


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
    """Whether rows go to LOAD DATA in rows of fixed width."""
    return _has_bytes(table) and not table.lengths


def _has_bytes(table: Table) -> bool:
    return table.column.form == "bytes" and not is_uuid(table.column) and not table.server_keys


def load_statement(table: Table) -> bytes:
    """The LOAD DATA statement for rows of `loads`."""
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


def loads(
    table: Table, keys: Keys, payload: Bytes | Varying, rows_per_tx: int, moments: Moments = NO_MOMENTS
) -> list[Loaded]:
    """Batches for LOAD DATA. `payload` is (n, characters), `moments` int64 (n,) of a table by date."""
    n, text = len(keys), key_text(table.column, keys)
    fixed = _is_fixed(table)
    if _has_bytes(table) and not fixed:
        text = hexadecimal(text)
    if table.by_date:  # in rows of fixed width, as wide as any bigint
        digits = decimal(moments)
        pad = repeated(b" " * (_BIGINT_CHARACTERS - digits.shape[1]) if fixed else b"\t", n)
        text = beside(pad, digits, text) if fixed else beside(digits, pad, text)
    if fixed:
        return _loaded(lines(text, payload), rows_per_tx)
    tab = repeated(b"\t" if payload.shape[1] else b"", n)
    return _loaded(lines(text, tab, payload, repeated(b"\n", n)), rows_per_tx)


def loads_without_keys(_table: Table, payload: Bytes | Varying, rows_per_tx: int) -> list[Loaded]:
    """Batches for LOAD DATA of rows whose keys the server makes."""
    return _loaded(lines(payload, repeated(b"\n", len(payload))), rows_per_tx)


def _loaded(text: Lines, rows_per_tx: int) -> list[Loaded]:
    n = len(text)
    return [
        Loaded(bytes(text.part(first, min(first + rows_per_tx, n))), min(rows_per_tx, n - first))
        for first in range(0, n, rows_per_tx)
    ]


def inserts(
    table: Table, keys: Keys, payload: Bytes | Varying, rows_per_tx: int, moments: Moments = NO_MOMENTS
) -> list[Inserted]:
    """Batches of INSERT statements of many rows. `payload` and `moments` as in `loads`."""
    n = len(keys)
    parts: list[Bytes | Varying] = [repeated(b"(", n)]
    if table.by_date:
        parts += [decimal(moments), repeated(b",", n)]
    parts.append(literals(table.column, keys))
    if payload.shape[1]:
        parts += [repeated(b",'", n), payload, repeated(b"'", n)]
    return _inserted(table, lines(*parts, repeated(b"),", n)), rows_per_tx)


def inserts_without_keys(table: Table, payload: Bytes | Varying, rows_per_tx: int) -> list[Inserted]:
    """Batches of INSERT statements of rows whose keys the server makes."""
    n = len(payload)
    return _inserted(table, lines(repeated(b"('", n), payload, repeated(b"'),", n)), rows_per_tx)


def _inserted(table: Table, values: Lines, rows_per_tx: int) -> list[Inserted]:
    n = len(values)
    head = f"INSERT INTO {ddl.name(table)} ({ddl.sent_columns(table)}) VALUES ".encode()  # noqa: S608  # our own names
    most = max(1, (STATEMENT_BYTES - len(head)) // max(1, values.width))
    batches = []
    for first in range(0, n, rows_per_tx):
        last = min(first + rows_per_tx, n)
        cuts = range(first, last, most)
        statements = tuple(head + bytes(values.part(at, min(at + most, last))[:-1]) for at in cuts)
        batches.append(Inserted(statements, last - first))
    return batches
