"""Rows as a session sends them, packed by numpy: COPY's text, and messages of the protocol for transactions of one row.

COPY's format is text, not binary, because PostgreSQL 15 and 18 read binary rows more slowly. `make bench` loads 300,000
rows and compares with `psql`: binary took 1.18 to 1.24 times as long as psql's text, text 0.98 to 1.05 times.

A transaction of one row is Bind, Execute and Sync of an INSERT that is prepared once (PostgreSQL's manual, "Message
Formats"), with binary parameters. The server answers with BindComplete, CommandComplete and ReadyForQuery.
"""

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keybench.databases.core.exchange import Requests, UnusualAnswer
from keybench.databases.core.packing import Varying, beside, binary, decimal, lengths, lines, repeated
from keybench.databases.postgresql import ddl
from keybench.model.byteorder import hexadecimal, text36
from keybench.model.column import Column
from keybench.model.keys import Bytes, Keys
from keybench.model.table import Table

_PART_BYTES = 32_768
"""Bytes per message: the server reads one message while the next is sent. Larger and smaller messages were slower."""


@dataclass(frozen=True)
class CopyBatch:
    """One transaction's rows, in the messages that carry them."""

    parts: tuple[memoryview, ...]
    rows: int


def key_text(column: Column, keys: Keys) -> Bytes:
    """The keys as the column's type reads them in COPY: uint8 (n, width). Only backslashes need escaping."""
    encoded = column.encode(keys)
    if column.form == "int":
        return decimal(keys.data.astype(np.int64, copy=False))
    if column.form == "text":
        return encoded.astype(np.uint8, copy=False)
    if column.sql_type == "uuid":
        return text36(keys)
    return beside(repeated(rb"\\x", len(keys)), hexadecimal(encoded.astype(np.uint8, copy=False)))


def moment_text(moments: NDArray[np.int64]) -> Bytes:
    """The moments of creation, each with a tab after it: uint8 (n, width)."""
    return beside(decimal(moments), repeated(b"\t", len(moments)))


def pack(keys: Bytes, payload: Bytes | Varying, rows_per_tx: int) -> list[CopyBatch]:
    """Batches of `rows_per_tx` rows (the last may be shorter), all in one buffer. `keys` is (n, width), `payload` (n,
    characters). If one of them has no characters, rows do not have that field."""
    n = len(keys)
    tab = repeated(b"\t" if keys.shape[1] and payload.shape[1] else b"", n)
    text = lines(keys, tab, payload, repeated(b"\n", n))
    view = text.data.data  # the array's buffer, a memoryview
    batches = []
    for first in range(0, n, rows_per_tx):
        stop = min(first + rows_per_tx, n)
        begin, end = text.begin(first), text.begin(stop)
        parts = tuple(view[at : min(at + _PART_BYTES, end)] for at in range(begin, end, _PART_BYTES))
        batches.append(CopyBatch(parts, stop - first))
    return batches


STATEMENT = b"insert"
"""The name of the prepared INSERT."""
STORED = (
    b"2" + struct.pack(">I", 4) + b"C" + struct.pack(">I", 15) + b"INSERT 0 1\0" + b"Z" + struct.pack(">I", 5) + b"I"
)
"""The answer to a row that is stored."""

_BEFORE = b"\0" + STATEMENT + b"\0" + struct.pack(">HH", 1, 1)
"""In Bind, after its length: no portal, the statement, one format for all parameters: binary."""
# In Bind, after the parameters: no formats of results. Then Execute of the whole result, and Sync.
_AFTER = struct.pack(">H", 0) + b"E" + struct.pack(">I", 9) + b"\0" + struct.pack(">I", 0) + b"S" + struct.pack(">I", 4)


def insert(table: Table) -> bytes:
    """The INSERT of one row."""
    columns = "payload" if table.server_keys else ddl.columns(table)
    parameters = ", ".join(f"${i + 1}" for i in range(len(columns.split(","))))
    return f"INSERT INTO {ddl.name(table)} ({columns}) VALUES ({parameters})".encode()  # noqa: S608  # our own names


def binary_keys(column: Column, keys: Keys) -> NDArray[np.uint8]:
    """The keys as parameters of the column's type in binary: uint8 (n, width)."""
    encoded = column.encode(keys)
    if column.form == "int":
        return binary(encoded, f">i{column.width}")
    return np.ascontiguousarray(encoded, np.uint8)


def pack_requests(*values: Bytes | Varying) -> Requests:
    """A request for each row: Bind, Execute, Sync. `values` are columns of binary parameters; those of no width are
    left out."""
    columns_sent = [column for column in values if column.shape[1]]
    n = len(columns_sent[0])
    value_lengths = [lengths(column) for column in columns_sent]
    before = _BEFORE + struct.pack(">H", len(columns_sent))
    # The length of Bind counts itself (4), what is before the parameters, each with its length (4), and 2 bytes of
    # `_AFTER`.
    bind_lengths = np.sum([4 + length for length in value_lengths], axis=0) + 4 + len(before) + 2
    columns: list[Bytes | Varying] = [repeated(b"B", n), binary(bind_lengths, ">u4"), repeated(before, n)]
    for column, length in zip(columns_sent, value_lengths, strict=True):
        columns += [binary(length, ">u4"), column]
    return Requests(lines(*columns, repeated(_AFTER, n)))


def parameters_of(request: memoryview) -> list[bytes]:
    """The values of the parameters in a request of `pack_requests`."""
    place = 1 + 4 + len(_BEFORE)  # behind the letter and the length
    (count,) = struct.unpack_from(">H", request, place)
    place += 2
    values = []
    for _ in range(count):
        (length,) = struct.unpack_from(">I", request, place)
        values.append(bytes(request[place + 4 : place + 4 + length]))
        place += 4 + length
    return values


def read(answer: UnusualAnswer, errors: list[str]) -> int:
    """The number of rows stored, by a server's answer. Adds its error to `errors`, as the driver would say it. OSError
    if the connection ends before the answer does, as after FATAL."""
    rows = 0
    while True:
        kind, length = struct.unpack(">cI", answer.take(5))
        body = answer.take(length - 4)  # the length counts its own four bytes
        if kind == b"C":  # CommandComplete: `INSERT 0 1`
            rows = int(body.rstrip(b"\0").split()[-1])
        elif kind == b"E":  # ErrorResponse
            errors.append(_error(body))
        elif kind == b"Z":  # ReadyForQuery
            return rows


def _error(body: bytes) -> str:
    """The text of an ErrorResponse: message, detail, hint and context, each of which is a letter and a text there."""
    fields = {part[:1]: part[1:].decode("utf-8", "replace") for part in body.split(b"\0") if part}
    codes = {"DETAIL": b"D", "HINT": b"H", "CONTEXT": b"W"}
    parts = [fields.get(b"M", ""), *(f"{title}: {fields[code]}" for title, code in codes.items() if code in fields)]
    return " ".join(" ".join(parts).split())
