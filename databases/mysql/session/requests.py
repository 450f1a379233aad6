"""Transactions of one row as the protocol's packets: COM_STMT_EXECUTE of an INSERT that is prepared once.

(MySQL's manual, "COM_STMT_EXECUTE".) The server answers with an OK packet.
"""

from __future__ import annotations

import struct

import numpy as np
from pymysql.err import raise_mysql_exception
from pymysql.protocol import MysqlPacket, OKPacketWrapper

from keybench.databases.core.exchange import Answer, Requests
from keybench.databases.core.packing import Varying, lines, repeated
from keybench.databases.mysql.connection import COM_STMT_EXECUTE
from keybench.databases.mysql.session import prepared
from keybench.databases.mysql.session.values import Values

STORED = struct.pack("<I", 7 | 1 << 24) + struct.pack("<BBBHH", 0, 1, 0, 2, 0)
"""The answer to a row that is stored: an OK packet with one row, no number made by the server, autocommit, no warning.
Where the server's flags differ, the loop learns its answer from the first row."""

_HEADER, _COMMAND = 4, 1 + 4
_ERROR = 0xFF


def packed(statement: bytes, rows: Values) -> Requests:
    """A request for each row. `statement` is the number of the INSERT of one row; `rows` come without anything before
    each value."""
    kinds, columns = rows
    n = len(columns[0])
    head = bytes([COM_STMT_EXECUTE]) + statement + prepared.head(1, kinds)
    size = np.full(n, len(head), np.int64)
    for column in columns:
        size += column.kept.sum(axis=1) if isinstance(column, Varying) else column.shape[1]
    length = size.astype("<u4").view(np.uint8).reshape(-1, 4)  # the fourth byte numbers packets, from 0 on
    return Requests(lines(length, repeated(head, n), *columns))


def values(request: memoryview) -> bytes:
    """What `Connection.run_prepared` takes, of a request."""
    return bytes(request[_HEADER + _COMMAND :])


def read(answer: Answer) -> int:
    """Rows stored. The driver's error where the server refuses the row; OSError if the connection ends before."""
    (length,) = struct.unpack("<I", answer.take(_HEADER))
    body = answer.take(length & 0xFFFFFF)
    if body[0] == _ERROR:
        raise_mysql_exception(body)
    return int(OKPacketWrapper(MysqlPacket(body, "utf8mb4")).affected_rows)
