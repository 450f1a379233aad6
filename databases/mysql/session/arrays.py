"""Array-bound INSERTs: a single-row statement, prepared once, and packets with the values of many rows.

MariaDB's command COM_STMT_BULK_EXECUTE (its knowledge base, "Client/Server Protocol"); MySQL has none. The server
parses no statement. It inserts row by row in the order of the packet: all of a packet's rows or none.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keybench.databases.core.packing import Lines, Varying, beside, lines, repeated
from keybench.databases.mysql import ddl
from keybench.databases.mysql.session import statements
from keybench.databases.mysql.session.statements import NO_MOMENTS, Moments, is_uuid, key_text
from keybench.model.column import Column
from keybench.model.keys import Bytes, Keys
from keybench.model.table import Table

_TYPES_FOLLOW = 128
_SHORT = 250
"""The longest value whose length takes one byte."""
_BIGINT, _BLOB, _TEXT = 0x08, 0xFC, 0xFE
"""Types of the protocol. A BLOB's bytes are stored unchanged; a text's are first decoded in the connection's character
set, which takes a fifth of the whole time."""


@dataclass(frozen=True)
class Arrays:
    """One transaction's rows as packets of values, which are sent after the statement's number."""

    statements: tuple[bytes, ...]
    rows: int


def statement(table: Table) -> bytes:
    """The INSERT that takes the values of `packed`, or of `packed_without_keys`."""
    parameters = ", ".join("?" for _ in ddl.sent_columns(table).split(","))
    return f"INSERT INTO {ddl.name(table)} ({ddl.sent_columns(table)}) VALUES ({parameters})".encode()  # noqa: S608


def packed(
    table: Table, keys: Keys, payload: Bytes | Varying, rows_per_tx: int, moments: Moments = NO_MOMENTS
) -> list[Arrays]:
    """Batches of rows. `payload` and `moments` as in `statements.loads`."""
    kind, values = _key(table.column, keys)
    kinds, columns = [kind], [values]
    if table.by_date:
        kinds, columns = [_BIGINT, *kinds], [_numbers(moments), *columns]
    if payload.shape[1]:
        return _packets([*kinds, _BLOB], lines(*columns, *_text(payload)), rows_per_tx)
    return _packets(kinds, lines(*columns), rows_per_tx)


def packed_without_keys(_table: Table, payload: Bytes | Varying, rows_per_tx: int) -> list[Arrays]:
    """Batches of rows whose keys the server makes."""
    return _packets([_BLOB], lines(*_text(payload)), rows_per_tx)


def _key(column: Column, keys: Keys) -> tuple[int, Bytes]:
    """The protocol's type and each row's value, after a byte for "not NULL"."""
    if column.form == "int":
        return _BIGINT, _numbers(keys.data)
    return _TEXT if is_uuid(column) else _BLOB, _sized(key_text(column, keys))


def _numbers(values: NDArray[np.generic]) -> Bytes:
    """Integers, each after a byte for "not NULL"."""
    return beside(repeated(b"\0", len(values)), np.ascontiguousarray(values, "<i8").view(np.uint8).reshape(-1, 8))


def _sized(text: Bytes) -> Bytes:
    """Values of one length, each after a byte for "not NULL" and its length."""
    n, length = text.shape
    size = bytes([length]) if length <= _SHORT else b"\xfc" + struct.pack("<H", length)  # a VARCHAR has 65,535 at most
    return beside(repeated(b"\0" + size, n), text)


def _text(payload: Bytes | Varying) -> tuple[Bytes | Varying, ...]:
    """Texts, each after a byte for "not NULL" and its length."""
    if not isinstance(payload, Varying):
        return (_sized(payload),)
    lengths, n = payload.kept.sum(axis=1), len(payload)
    long = lengths > _SHORT
    size = np.zeros((n, 4), np.uint8)
    size[:, 1] = np.where(long, 0xFC, lengths)
    size[:, 2:] = lengths.astype("<u2").view(np.uint8).reshape(-1, 2)
    kept = np.column_stack([np.ones((n, 2), np.bool_), long, long])
    return Varying(size, kept), payload


def _packets(kinds: list[int], values: Lines, rows_per_tx: int) -> list[Arrays]:
    head = struct.pack("<H", _TYPES_FOLLOW) + b"".join(bytes([kind, 0]) for kind in kinds)
    most = max(1, (statements.STATEMENT_BYTES - len(head)) // max(1, values.width))
    batches = []
    for first in range(0, len(values), rows_per_tx):
        last = min(first + rows_per_tx, len(values))
        cuts = range(first, last, most)
        packets = tuple(head + bytes(values.part(at, min(at + most, last))) for at in cuts)
        batches.append(Arrays(packets, last - first))
    return batches
