"""Array-bound INSERTs: one single-row statement, prepared once, and the values of many rows in one packet.

MariaDB's command COM_STMT_BULK_EXECUTE (its knowledge base, "Client/Server Protocol"); MySQL has none. The server
parses nothing, and inserts row by row in the order of the packet, as one statement: all of a packet's rows or none.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.databases.core.packing import beside, repeated
from keybench.databases.mysql import ddl as layout
from keybench.databases.mysql.sending import statements as rows
from keybench.model.column import Column
from keybench.model.keys import Bytes, Keys
from keybench.model.table import Table

COM_STMT_PREPARE: Final = 0x16
COM_STMT_BULK_EXECUTE: Final = 0xFA

_TYPES_FOLLOW = 128
_BIGINT, _BLOB, _TEXT = 0x08, 0xFC, 0xFE
"""Types of the protocol. A BLOB's bytes are stored as they are, a text's are first read in the connection's character
set: a fifth of the whole time."""


@dataclass(frozen=True)
class Arrays:
    """One transaction's rows as packets of values, to follow the statement's number."""

    statements: tuple[bytes, ...]
    rows: int


def statement(table: Table) -> bytes:
    """The INSERT that takes the values of `arrays`, or of `arrays_without_keys`."""
    places = ", ".join("?" for _ in layout.sent(table).split(","))
    return f"INSERT INTO {layout.name(table)} ({layout.sent(table)}) VALUES ({places})".encode()  # noqa: S608


def announced(handshake: bytes) -> bytes:
    """A client's answer to the server's greeting with the ability to send arrays in it.

    MariaDB reads abilities beyond the 32 bits that MySQL has from the last four of the reserved bytes, of clients that
    do not say with the lowest bit that they are MySQL's.
    """
    (flags,) = struct.unpack_from("<I", handshake)
    arrays = 1 << 2
    return struct.pack("<I", flags & ~1) + handshake[4:28] + struct.pack("<I", arrays) + handshake[32:]


def packed(
    table: Table, keys: Keys, payload: Bytes, rows_per_tx: int, moments: rows.Moments = rows.NO_MOMENTS
) -> list[Arrays]:
    """Batches of rows. `payload` and `moments` as of `rows.loads`."""
    kind, values = _key(table.column, keys)
    kinds, columns = [kind], [values]
    if table.dated:
        kinds, columns = [_BIGINT, *kinds], [_numbers(moments), *columns]
    if payload.shape[1]:
        kinds, columns = [*kinds, _BLOB], [*columns, _sized(payload)]
    return _packets(kinds, beside(*columns), rows_per_tx)


def packed_without_keys(_table: Table, payload: Bytes, rows_per_tx: int) -> list[Arrays]:
    """Batches of rows whose keys the server makes."""
    return _packets([_BLOB], _sized(payload), rows_per_tx)


def _key(column: Column, keys: Keys) -> tuple[int, Bytes]:
    """The protocol's type and each row's value, behind a byte that says that it is not NULL."""
    if column.form == "int":
        return _BIGINT, _numbers(keys.data)
    return _TEXT if rows.is_uuid(column) else _BLOB, _sized(rows.key_text(column, keys))


def _numbers(values: NDArray[np.generic]) -> Bytes:
    """Integers, behind a byte that says that they are not NULL."""
    return beside(repeated(b"\0", len(values)), np.ascontiguousarray(values, "<i8").view(np.uint8).reshape(-1, 8))


def _sized(text: Bytes) -> Bytes:
    """Values of one length behind it, and behind a byte that says that they are not NULL."""
    n, length = text.shape
    size = bytes([length]) if length < 251 else b"\xfc" + struct.pack("<H", length)  # a VARCHAR has 65,535 at most
    return beside(repeated(b"\0" + size, n), text)


def _packets(kinds: list[int], values: Bytes, rows_per_tx: int) -> list[Arrays]:
    head = struct.pack("<H", _TYPES_FOLLOW) + b"".join(bytes([kind, 0]) for kind in kinds)
    most = max(1, (rows.STATEMENT_BYTES - len(head)) // max(1, values.shape[1]))
    batches = []
    for first in range(0, len(values), rows_per_tx):
        last = min(first + rows_per_tx, len(values))
        cuts = range(first, last, most)
        statements = tuple(head + values[at : min(at + most, last)].tobytes() for at in cuts)
        batches.append(Arrays(statements, last - first))
    return batches
