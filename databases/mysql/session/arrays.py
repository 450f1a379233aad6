"""Array-bound INSERTs: a single-row statement, prepared once, and packets with the values of many rows.

MariaDB's command COM_STMT_BULK_EXECUTE (its knowledge base, "Client/Server Protocol"); MySQL has none. The server
parses no statement. It inserts row by row in the order of the packet: all of a packet's rows or none.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from keybench.databases.core.packing import Lines, Varying, lines
from keybench.databases.mysql import ddl
from keybench.databases.mysql.session import statements, values
from keybench.databases.mysql.session.statements import NO_MOMENTS, Moments
from keybench.model.keys import Bytes, Keys
from keybench.model.table import Table

_TYPES_FOLLOW = 128
_NOT_NULL = b"\0"


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
    kinds, columns = values.of_rows(table, keys, payload, moments, _NOT_NULL)
    return _packets(kinds, lines(*columns), rows_per_tx)


def packed_without_keys(_table: Table, payload: Bytes | Varying, rows_per_tx: int) -> list[Arrays]:
    """Batches of rows whose keys the server makes."""
    kinds, columns = values.without_keys(payload, _NOT_NULL)
    return _packets(kinds, lines(*columns), rows_per_tx)


def _packets(kinds: list[int], rows: Lines, rows_per_tx: int) -> list[Arrays]:
    head = struct.pack("<H", _TYPES_FOLLOW) + b"".join(bytes([kind, 0]) for kind in kinds)
    most = max(1, (statements.STATEMENT_BYTES - len(head)) // max(1, rows.width))
    batches = []
    for first in range(0, len(rows), rows_per_tx):
        last = min(first + rows_per_tx, len(rows))
        cuts = range(first, last, most)
        packets = tuple(head + bytes(rows.part(at, min(at + most, last))) for at in cuts)
        batches.append(Arrays(packets, last - first))
    return batches
