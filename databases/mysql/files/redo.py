"""Reads MariaDB's redo log: which rows came into an index, in the order in which its pages were changed.

Before InnoDB puts a row into a clustered index it writes an undo record of it, the row's primary key in full, while it
holds the leaf: these records lie in the log in the order of the insertions. An entry of a secondary index is told by
the row's number at its end, which no record of the log leaves out. Format of MariaDB 10.8 and later
(storage/innobase: log0log.h, mtr0log.h, mtr0types.h; of the undo record trx0rec.cc): a file that is written in a circle
behind a header, without blocks. In it lie mini-transactions: records, a byte that ends them, a checksum.
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
"""Bytes of a mini-transaction at most."""
_WINDOW = 1 << 26

_SMALLEST, _LONGEST, _CHECKSUM_BYTES = 4, 16, 4
"""Bytes of a record of interest at least; of the numbers in front of one at most."""

_EXTENDED, _UNDO_APPEND, _INSERT_HEAP, _INSERT_REUSE = 0x20, 3, 6, 7
_INSERTED = 11
"""The kind of an undo record."""
_SIGN = np.uint64(1 << 63)
"""Turned over in numbers that InnoDB stores."""
_DAMAGED = -1


class UnreadableLogError(Exception):
    """The log does not hold what was asked for; the message says why."""


def inserted(path: Path, begin: int, end: int, table: int, width: int, rows: int) -> NDArray[np.uint8]:
    """Primary keys of the rows inserted into a table between two positions of the log, in order: uint8 (rows, width).

    `table` is InnoDB's number of it; keys are as InnoDB stores them. UnreadableLogError where there are not so many.
    """
    keys, found = np.empty((rows, width), np.uint8), 0
    for data, records in _windows(path, begin, end):
        found = _undone(data, records, table, keys, found)
    _require(found, rows)
    return keys


def entered(path: Path, begin: int, end: int, pages: tuple[int, NDArray[np.int64]], last: int, rows: int) -> Numbers:
    """Row numbers in the order in which their entries came into a secondary index: int64 (rows,).

    `pages` are the index's tablespace and page numbers, `last` the largest row number. An entry ends with the row's
    number, and later ones of the same are copies, made where a page was split. UnreadableLogError as of `inserted`.
    """
    space, numbers = pages
    own = np.zeros(int(numbers.max()) + 1, np.bool_)
    own[numbers] = True
    order, seen, found = np.empty(rows, np.int64), np.zeros(last + 1, np.bool_), 0
    for data, records in _windows(path, begin, end):
        found = _entries(data, records, space, own, seen, order, found)
    _require(found, rows)
    return order


def _require(found: int, rows: int) -> None:
    if found != rows:
        raise UnreadableLogError(f"it shows {found} insertions of {rows} rows.")


def _windows(path: Path, begin: int, end: int) -> Iterator[tuple[NDArray[np.uint8], Numbers]]:
    """Successive pieces of the log and the records in them (`_records`)."""
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
        read, found = _records(data, 0 if stop == end else _LARGEST, records)
        if read <= 0:
            raise UnreadableLogError("its records are none that keybench knows.")
        yield data, records[:found]
        begin += read


@kernel
def _number_bytes(first: int) -> int:
    """Bytes of a number of the log, or of an undo record, by the first: as many as it has leading ones, and one."""
    length = 1
    while length < 5 and first & (0x100 >> length):
        length += 1
    return length


@kernel
def _number(data: NDArray[np.uint8], at: int, offset: bool) -> int:
    """A number; with `offset` (in the log) those of more bytes begin where those of fewer end."""
    length = _number_bytes(data[at])
    value = int(data[at]) & ((0xFF >> length) if length < 5 else 0)
    before = 0
    for i in range(1, length):
        value = value << 8 | data[at + i]
        before += 1 << (7 * i)
    return int(value + (before if offset else 0))


@kernel
def _records(data: NDArray[np.uint8], ahead: int, records: Numbers) -> tuple[int, int]:
    """Notes the records that insert into pages, mini-transaction by mini-transaction, as long as more than `ahead`
    bytes follow: where each begins and ends, its tablespace and page. (bytes read, or _DAMAGED; records noted).

    _LONGEST bytes behind the last are looked at where it is damaged.
    """
    n, at, found = len(data) - _LONGEST, 0, 0
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
                return _DAMAGED, found
            if kind & 0x80 == 0:  # of another page than the record before
                space = _number(data, begin, True)
                begin += _number_bytes(data[begin])
                page = _number(data, begin, True)
                begin += _number_bytes(data[begin])
            elif space < 0:  # of a file
                continue
            if kind & 0x70 != _EXTENDED or begin >= at or found == len(records):
                continue
            if data[begin] == _UNDO_APPEND or data[begin] == _INSERT_HEAP or data[begin] == _INSERT_REUSE:
                records[found, 0], records[found, 1], records[found, 2], records[found, 3] = begin, at, space, page
                found += 1
        at += 1 + _CHECKSUM_BYTES
    return (at if at <= n else _DAMAGED), found


@kernel
def _undone(data: NDArray[np.uint8], records: Numbers, table: int, keys: NDArray[np.uint8], found: int) -> int:
    """Keeps the keys of undo records of insertions into a table; how many there are then."""
    width = keys.shape[1]
    for i in range(len(records)):
        at, end = records[i, 0], records[i, 1]
        if end - at <= width + 4 or data[at] != _UNDO_APPEND or data[at + 1] != _INSERTED:
            continue
        at += 2
        at += _number_bytes(data[at])  # the number of the row in its transaction
        of = _number(data, at, False)
        at += _number_bytes(data[at])
        if of != table or data[at] != width or at + 1 + width > end:
            continue
        if found < len(keys):
            keys[found] = data[at + 1 : at + 1 + width]
        found += 1
    return found


@kernel
def _entries(
    data: NDArray[np.uint8], records: Numbers, space: int, own: Flags, seen: Flags, order: Numbers, found: int
) -> int:
    """Keeps the row numbers of entries that are new in one of an index's own pages; how many there are then."""
    for i in range(len(records)):
        end, page = records[i, 1], records[i, 3]
        if records[i, 2] != space or page >= len(own) or not own[page] or data[records[i, 0]] == _UNDO_APPEND:
            continue
        row = np.uint64(0)
        for at in range(max(records[i, 0], end - 8), end):
            row = row << np.uint64(8) | np.uint64(data[at])
        row ^= _SIGN
        if row < np.uint64(len(seen)) and not seen[row]:  # of a node pointer the page number would be its end
            seen[row] = True
            if found < len(order):
                order[found] = row
            found += 1
    return found
