"""INSERTs of many rows, prepared once for each number of rows, and packets with the values of so many rows.

The protocol's command COM_STMT_EXECUTE (MySQL's manual, "COM_STMT_EXECUTE"). The server parses no values: on MySQL this
takes about nine tenths of the time of the same INSERT as text.
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

_MOST_PARAMETERS = 65_535
_NO_CURSOR_ONCE = struct.pack("<BI", 0, 1)
_TYPES_FOLLOW = b"\1"


@dataclass(frozen=True)
class Prepared:
    """One transaction's rows: packets of so many rows each, which are sent after the number of `statement`."""

    table: Table
    statements: tuple[tuple[int, bytes], ...]
    rows: int


def statement(table: Table, rows: int) -> bytes:
    """The INSERT that takes the values of a packet of so many rows."""
    sent = ddl.sent_columns(table)
    row = "(" + ",".join("?" for _ in sent.split(",")) + ")"
    return f"INSERT INTO {ddl.name(table)} ({sent}) VALUES {','.join([row] * rows)}".encode()  # noqa: S608  # our names


def packed(
    table: Table, keys: Keys, payload: Bytes | Varying, rows_per_tx: int, moments: Moments = NO_MOMENTS
) -> list[Prepared]:
    """Batches of rows. `payload` and `moments` as in `statements.loads`."""
    kinds, columns = values.of_rows(table, keys, payload, moments, b"")
    return _packets(table, kinds, lines(*columns), rows_per_tx)


def packed_without_keys(table: Table, payload: Bytes | Varying, rows_per_tx: int) -> list[Prepared]:
    """Batches of rows whose keys the server makes."""
    kinds, columns = values.without_keys(payload, b"")
    return _packets(table, kinds, lines(*columns), rows_per_tx)


def head(rows: int, kinds: list[int]) -> bytes:
    """What comes between the statement's number and the values of so many rows of these types."""
    none_is_null = bytes(-(-rows * len(kinds) // 8))
    return _NO_CURSOR_ONCE + none_is_null + _TYPES_FOLLOW + b"".join(bytes([kind, 0]) for kind in kinds) * rows


def _packets(table: Table, kinds: list[int], rows: Lines, rows_per_tx: int) -> list[Prepared]:
    most = min(statements.STATEMENT_BYTES // (max(1, rows.width) + 2 * len(kinds)), _MOST_PARAMETERS // len(kinds))
    batches = []
    for first in range(0, len(rows), rows_per_tx):
        last = min(first + rows_per_tx, len(rows))
        packets = []
        for at in range(first, last, max(1, most)):
            n = min(max(1, most), last - at)
            packets.append((n, head(n, kinds) + bytes(rows.part(at, at + n))))
        batches.append(Prepared(table, tuple(packets), last - first))
    return batches
