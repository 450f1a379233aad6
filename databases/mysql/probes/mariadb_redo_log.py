"""Reads MariaDB's redo log: which rows came into an index, in the order in which its pages were changed.

Before InnoDB puts a row into a clustered index it writes an undo record with the row's whole primary key, while it
holds the leaf. So these records are in the log in the order of the insertions. An entry of a secondary index is
identified by the row's number at its end, which every record of the log contains. Format of MariaDB 10.8 and later
(storage/innobase: log0log.h, mtr0log.h, mtr0types.h; undo records: trx0rec.cc): a header, and behind it a circular file
without blocks. It holds mini-transactions: records, a byte that ends them, a checksum. See
docs/internals/arrival-order.md §2.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]

FILE = "ib_logfile0"

_FORMAT = b"Phys"
_FIRST_LSN, _ENCRYPTED = slice(8, 16), slice(48, 508)
_HEADER_BYTES = 0x3000
_LARGEST = 1 << 20
"""Most bytes of a mini-transaction."""
_WINDOW = 1 << 26

_SMALLEST, _LONGEST, _CHECKSUM_BYTES = 4, 16, 4
"""Fewest bytes of a record of interest; most bytes of the numbers in front of one."""

_EXTENDED, _UNDO_APPEND, _INSERT_HEAP, _INSERT_REUSE = 0x20, 3, 6, 7
_INSERTED = 11
"""The type of an undo record of an insertion."""
_SIGN = np.uint64(1 << 63)
"""InnoDB stores signed numbers with this bit inverted."""
_DAMAGED = -1


class UnreadableLogError(Exception):
    """The log does not hold the insertions; the message says why."""


def inserted(path: Path, begin: int, end: int, table: int, width: int, rows: int) -> NDArray[np.uint8]:
    """Primary keys of the rows inserted into a table between two positions of the log, in order: uint8 (rows, width).

    `table` is InnoDB's id of it; keys are as InnoDB stores them. UnreadableLogError where their number is another.
    """
    keys, count = np.empty((rows, width), np.uint8), 0
    for data, records in _windows(path, begin, end):
        count = _inserted_keys(data, records, table, keys, count)
    _require(count, rows)
    return keys


def entered(path: Path, begin: int, end: int, pages: tuple[int, NDArray[np.int64]], last: int, rows: int) -> Numbers:
    """Row numbers in the order in which their entries came into a secondary index: int64 (rows,).

    `pages` are the index's tablespace and page numbers, `last` the largest row number. An entry ends with the row's
    number; later entries with the same number are copies, made by page splits. UnreadableLogError as of `inserted`.
    """
    space, numbers = pages
    of_index = np.zeros(int(numbers.max()) + 1, np.bool_)
    of_index[numbers] = True
    order, seen, count = np.empty(rows, np.int64), np.zeros(last + 1, np.bool_), 0
    for data, records in _windows(path, begin, end):
        count = _entered_rows(data, records, space, of_index, seen, order, count)
    _require(count, rows)
    return order


def _require(count: int, rows: int) -> None:
    if count != rows:
        raise UnreadableLogError(f"it shows {count} insertions of {rows} rows.")


def _windows(path: Path, begin: int, end: int) -> Iterator[tuple[NDArray[np.uint8], Numbers]]:
    """Successive pieces of the log, and the records in each (`_records`)."""
    log = np.memmap(path, np.uint8, mode="r")
    head = log[:_HEADER_BYTES].tobytes()
    if not head.startswith(_FORMAT):
        raise UnreadableLogError("it is not in the format of MariaDB 10.8 and later.")
    if any(head[_ENCRYPTED]):
        raise UnreadableLogError("it is encrypted.")
    first, capacity = int.from_bytes(head[_FIRST_LSN], "big"), len(log) - _HEADER_BYTES
    if end - begin > capacity:
        raise UnreadableLogError(
            f"of {end - begin:,} bytes it keeps {capacity:,}: take fewer rows or a larger innodb_log_file_size."
        )
    while begin < end:
        stop = min(end, begin + _WINDOW)
        at = (begin - first) % capacity + _HEADER_BYTES
        piece = log[at : at + stop - begin]
        rest = log[_HEADER_BYTES : _HEADER_BYTES + stop - begin - len(piece)]
        data = np.concatenate([piece, rest, np.zeros(_LONGEST, np.uint8)])
        records = np.empty((len(data) // _SMALLEST, 4), np.int64)
        read, count = _records(data, 0 if stop == end else _LARGEST, records)
        if read <= 0:
            raise UnreadableLogError("keybench does not know its records.")
        yield data, records[:count]
        begin += read


@kernel
def _number_bytes(first: int) -> int:
    """Bytes of a number of the log or of an undo record: one more than its first byte has leading one bits."""
    length = 1
    while length < 5 and first & (0x100 >> length):
        length += 1
    return length


@kernel
def _number(data: NDArray[np.uint8], at: int, offset: bool) -> int:
    """A number. With `offset`, as in the log, numbers of n + 1 bytes begin after the largest number of n bytes."""
    length = _number_bytes(data[at])
    value = int(data[at]) & ((0xFF >> length) if length < 5 else 0)
    before = 0
    for i in range(1, length):
        value = value << 8 | data[at + i]
        before += 1 << (7 * i)
    return int(value + (before if offset else 0))


@kernel
def _records(data: NDArray[np.uint8], ahead: int, records: Numbers) -> tuple[int, int]:
    """(Bytes read, or _DAMAGED; number of records noted). Reads whole mini-transactions while more than `ahead` bytes
    follow, and notes each record that inserts into a page: begin, end, tablespace, page.

    Where the log is damaged, up to _LONGEST bytes behind its end are read.
    """
    n, at, count = len(data) - _LONGEST, 0, 0
    while at < n - ahead:
        space = page = -1
        while at < n and data[at] > 1:
            kind = data[at]
            begin = at + 1
            length = int(kind) & 0x0F
            if length == 0:
                length = _number(data, begin, True) + 15 - _number_bytes(data[begin])
                begin += _number_bytes(data[begin])
            at = begin + length
            if at >= n:
                return _DAMAGED, count
            if kind & 0x80 == 0:  # another page than that of the record before
                space = _number(data, begin, True)
                begin += _number_bytes(data[begin])
                page = _number(data, begin, True)
                begin += _number_bytes(data[begin])
            elif space < 0:  # a record about a file
                continue
            if kind & 0x70 != _EXTENDED or begin >= at or count == len(records):
                continue
            if data[begin] == _UNDO_APPEND or data[begin] == _INSERT_HEAP or data[begin] == _INSERT_REUSE:
                records[count, 0], records[count, 1], records[count, 2], records[count, 3] = begin, at, space, page
                count += 1
        at += 1 + _CHECKSUM_BYTES
    return (at if at <= n else _DAMAGED), count


@kernel
def _inserted_keys(data: NDArray[np.uint8], records: Numbers, table: int, keys: NDArray[np.uint8], count: int) -> int:
    """Adds the keys of undo records of insertions into a table to the `count` already in `keys`; the new count."""
    width = keys.shape[1]
    for i in range(len(records)):
        at, end = records[i, 0], records[i, 1]
        if end - at <= width + 4 or data[at] != _UNDO_APPEND or data[at + 1] != _INSERTED:
            continue
        at += 2
        at += _number_bytes(data[at])  # the number of the row in its transaction
        its_table = _number(data, at, False)
        at += _number_bytes(data[at])
        if its_table != table or data[at] != width or at + 1 + width > end:
            continue
        if count < len(keys):
            keys[count] = data[at + 1 : at + 1 + width]
        count += 1
    return count


@kernel
def _entered_rows(
    data: NDArray[np.uint8], records: Numbers, space: int, of_index: Flags, seen: Flags, order: Numbers, count: int
) -> int:
    """Adds the row numbers of new entries in pages of the index to the `count` already in `order`; the new count."""
    for i in range(len(records)):
        end, page = records[i, 1], records[i, 3]
        if records[i, 2] != space or page >= len(of_index) or not of_index[page] or data[records[i, 0]] == _UNDO_APPEND:
            continue
        row = np.uint64(0)
        for at in range(max(records[i, 0], end - 8), end):
            row = row << np.uint64(8) | np.uint64(data[at])
        row ^= _SIGN
        if row < np.uint64(len(seen)) and not seen[row]:  # a node pointer ends with a page number instead
            seen[row] = True
            if count < len(order):
                order[count] = row
            count += 1
    return count
