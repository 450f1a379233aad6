"""Rows as packets for prepared INSERTs, in MySQL's binary protocol, packed by numpy; keys as literals of statements.

The server parses no values. Three ways to send them:

- arrays: a single-row INSERT and packets with the values of many rows. MariaDB's command COM_STMT_BULK_EXECUTE (its
  knowledge base, "Client/Server Protocol"); MySQL has none. The server inserts row by row in the order of the packet:
  all of a packet's rows or none.
- an INSERT of many rows (MySQL's manual, "COM_STMT_EXECUTE"). On MySQL this takes about nine tenths of the time of the
  same INSERT as text.
- a single-row INSERT for each transaction: the requests of `core.exchange`.
"""

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pymysql.err import raise_mysql_exception
from pymysql.protocol import MysqlPacket, OKPacketWrapper

from keybench.databases.core.exchange import Requests, UnusualAnswer
from keybench.databases.core.packing import Varying, beside, binary, decimal, lengths, lines, repeated
from keybench.databases.mysql import ddl
from keybench.databases.mysql.connection import COM_STMT_EXECUTE
from keybench.databases.mysql.flavour import Way
from keybench.model.byteorder import hexadecimal, text36
from keybench.model.column import Column
from keybench.model.keys import Bytes, Keys
from keybench.model.table import Table

Moments = NDArray[np.int64]
"""When rows were created, in microseconds since 1970."""

PACKET_BYTES = 8 << 20
"""Longest packet: half of the servers' default of max_allowed_packet."""
_MOST_PARAMETERS = 65_535  # of a prepared statement

_BIGINT, _BLOB, _TEXT = 0x08, 0xFC, 0xFE
"""Types of the protocol. A BLOB's bytes are stored unchanged; a text's are first decoded in the connection's character
set, which takes a fifth of the whole time."""
_SHORT = 250  # the longest value whose length takes one byte
_NOT_NULL = b"\0"  # comes before each value of an array

STORED = struct.pack("<I", 7 | 1 << 24) + struct.pack("<BBBHH", 0, 1, 0, 2, 0)
"""The answer to a row that is stored: packet 1, of 7 bytes, an OK packet: one row, no number made by the server,
autocommit, no warning. Where the server's flags differ, the loop learns its answer from the first row."""
_HEADER, _COMMAND = 4, 1 + 4
"""Bytes of a packet's header (length and number), and of a command with a statement's number."""
_ERROR = 0xFF  # the first byte of an error packet


@dataclass(frozen=True)
class Packets:
    """One transaction's rows: packets that are sent after the number of a prepared INSERT."""

    packets: tuple[tuple[int, bytes], ...]
    """Rows of the INSERT, and the values; an array's INSERT is of one row."""


def is_uuid(column: Column) -> bool:
    """Whether the server takes the key as the text of a GUID."""
    return column.sql_type == "uuid"


def _key_text(column: Column, keys: Keys) -> Bytes:
    """Keys of bytes or text as they are stored; GUIDs of a `uuid` column in 36 characters."""
    return text36(keys) if is_uuid(column) else np.ascontiguousarray(column.encode(keys), np.uint8)


def literals(column: Column, keys: Keys) -> list[bytes]:
    """The keys as literals of a statement."""
    n = len(keys)
    if column.form == "int":
        rows = decimal(keys.data.astype(np.int64, copy=False))  # with leading zeros: all have one width
    elif column.form == "bytes" and not is_uuid(column):
        rows = beside(repeated(b"x'", n), hexadecimal(_key_text(column, keys)), repeated(b"'", n))
    else:
        rows = beside(repeated(b"'", n), _key_text(column, keys), repeated(b"'", n))
    return [literal.tobytes() for literal in rows]


def insert(table: Table, rows: int) -> bytes:
    """The INSERT that takes the values of a number of rows."""
    sent = ddl.sent_columns(table)
    row = "(" + ",".join("?" for _ in sent.split(",")) + ")"
    return f"INSERT INTO {ddl.name(table)} ({sent}) VALUES {','.join([row] * rows)}".encode()  # noqa: S608  # our names


def pack(
    way: Way, table: Table, keys: Keys | None, payload: Bytes | Varying, moments: Moments, rows_per_tx: int
) -> list[Packets]:
    """Batches of `rows_per_tx` rows, each in packets of at most PACKET_BYTES. `keys` are None if the server makes them;
    `payload` is (n, characters), `moments` (n,)."""
    is_array = way == "arrays"
    kinds, columns = _values(table, keys, payload, moments, _NOT_NULL if is_array else b"")
    rows = lines(*columns)
    row_bytes = max(1, rows.width)  # a divisor; `width` can be 0 if there are no rows
    if is_array:
        array_head = struct.pack("<H", 128) + _types(kinds)  # 128: the types follow
        most_rows = max(1, (PACKET_BYTES - len(array_head)) // row_bytes)  # one, however long it is
    else:  # each value has two bytes more, for its type
        most_rows = max(1, min(PACKET_BYTES // (row_bytes + 2 * len(kinds)), _MOST_PARAMETERS // len(kinds)))
    batches = []
    for first in range(0, len(rows), rows_per_tx):
        last = min(first + rows_per_tx, len(rows))
        packets = []
        for start in range(first, last, most_rows):
            end = min(start + most_rows, last)
            insert_rows = 1 if is_array else end - start
            head = array_head if is_array else _head(insert_rows, kinds)
            packets.append((insert_rows, head + bytes(rows.part(start, end))))
        batches.append(Packets(tuple(packets)))
    return batches


def requests(statement: bytes, table: Table, keys: Keys | None, payload: Bytes | Varying, moments: Moments) -> Requests:
    """A request for each row. `statement` is the number of the INSERT of one row."""
    kinds, columns = _values(table, keys, payload, moments, b"")
    n = len(payload)
    head = bytes([COM_STMT_EXECUTE]) + statement + _head(1, kinds)
    size = len(head) + np.sum([lengths(column) for column in columns], axis=0)
    # the fourth byte of the length numbers packets, from 0 on
    return Requests(lines(binary(size, "<u4"), repeated(head, n), *columns))


def values_of(request: memoryview) -> bytes:
    """The values in a request, as `Connection.run_prepared` takes them."""
    return bytes(request[_HEADER + _COMMAND :])


def read(answer: UnusualAnswer) -> int:
    """The number of rows stored, by a server's answer. The driver's error if the server refuses the row; OSError if the
    connection ends before."""
    (length,) = struct.unpack("<I", answer.take(_HEADER))
    body = answer.take(length & 0xFFFFFF)
    if body[0] == _ERROR:
        raise_mysql_exception(body)
    return int(OKPacketWrapper(MysqlPacket(body, "utf8mb4")).affected_rows)


def _types(kinds: list[int]) -> bytes:
    """The types of parameters as the protocol writes them, all signed."""
    return b"".join(bytes([kind, 0]) for kind in kinds)


def _head(rows: int, kinds: list[int]) -> bytes:
    """What comes between the number of an INSERT of some rows and their values: no cursor, executed once, no value is
    NULL, types follow (1), and the types."""
    no_nulls = bytes(-(-rows * len(kinds) // 8))  # a bit for each value, rounded up to bytes
    return struct.pack("<BI", 0, 1) + no_nulls + b"\1" + _types(kinds) * rows


def _values(
    table: Table, keys: Keys | None, payload: Bytes | Varying, moments: Moments, before: bytes
) -> tuple[list[int], list[Bytes | Varying]]:
    """(the protocol's types of the columns that are sent, their values). `before` comes before each value; `keys` are
    None if the server makes them."""
    kinds: list[int] = []
    columns: list[Bytes | Varying] = []
    if keys is not None and table.by_date:
        kinds.append(_BIGINT)
        columns.append(_numbers(moments, before))
    if keys is not None:
        is_number = table.column.form == "int"
        kinds.append(_BIGINT if is_number else _TEXT if is_uuid(table.column) else _BLOB)
        columns.append(_numbers(keys.data, before) if is_number else _sized(_key_text(table.column, keys), before))
    if payload.shape[1]:
        kinds.append(_BLOB)
        columns += _text(payload, before)
    return kinds, columns


def _numbers(values: NDArray[np.generic], before: bytes) -> Bytes:
    """Integers of eight bytes, each after `before`."""
    return beside(repeated(before, len(values)), binary(values, "<i8"))


def _sized(text: Bytes, before: bytes) -> Bytes:
    """Values of one length, each after `before` and that length."""
    n, length = text.shape
    size = bytes([length]) if length <= _SHORT else b"\xfc" + struct.pack("<H", length)  # a VARCHAR has 65,535 at most
    return beside(repeated(before + size, n), text)


def _text(payload: Bytes | Varying, before: bytes) -> tuple[Bytes | Varying, ...]:
    """Texts, each after `before` and its length, as columns to be joined."""
    if not isinstance(payload, Varying):
        return (_sized(payload, before),)
    text_bytes, n = lengths(payload), len(payload)
    is_long = text_bytes > _SHORT
    size = np.zeros((n, 3), np.uint8)
    size[:, 0] = np.where(is_long, 0xFC, text_bytes)  # 0xFC: the length takes the next two bytes
    size[:, 1:] = binary(text_bytes, "<u2")
    kept = np.column_stack([np.ones(n, np.bool_), is_long, is_long])  # a short length takes the first byte alone
    return repeated(before, n), Varying(size, kept), payload
