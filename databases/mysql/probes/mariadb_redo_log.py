"""Reads MariaDB's redo log: the records that insert, in order.

Format of MariaDB 10.8 and later (storage/innobase: log0log.h, mtr0log.h, mtr0types.h): a header, and behind it a
circular file without blocks. It holds mini-transactions: records, a byte that ends them, a checksum. See
docs/internals/arrival-order.md §2.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel
from keybench.databases.mysql.probes.logged_insertions import ENTRY, FIELDS, UNDO, UnreadableLogError

Numbers = NDArray[np.int64]

PLACE = "ib_logfile0"

_FORMAT = b"Phys"
_FIRST_LSN, _ENCRYPTED = slice(8, 16), slice(48, 508)
_HEADER_BYTES = 0x3000
_LARGEST = 1 << 20
"""Most bytes of a mini-transaction."""
_WINDOW = 1 << 26

_SMALLEST, _LONGEST, _CHECKSUM_BYTES = 4, 16, 4
"""Fewest bytes of a record of interest; most bytes of the numbers in front of one."""

_EXTENDED, _UNDO_APPEND, _INSERT_HEAP, _INSERT_REUSE = 0x20, 3, 6, 7
_DAMAGED = -1


def windows(path: Path, begin: int, end: int) -> Iterator[tuple[NDArray[np.uint8], Numbers]]:
    """`logged_insertions.Windows` of the log between two positions; UnreadableLogError where it cannot be read."""
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
        records = np.empty((len(data) // _SMALLEST, FIELDS), np.int64)
        read, count = _records(data, 0 if stop == end else _LARGEST, records)
        if read <= 0:
            raise UnreadableLogError("keybench does not know its records.")
        yield data, records[:count]
        begin += read


@kernel
def _number_bytes(first: int) -> int:
    """Bytes of a number of the log: one more than its first byte has leading one bits."""
    length = 1
    while length < 5 and first & (0x100 >> length):
        length += 1
    return length


@kernel
def _number(data: NDArray[np.uint8], at: int) -> int:
    """A number of the log. Those of n + 1 bytes begin after the largest one of n bytes."""
    length = _number_bytes(data[at])
    value = int(data[at]) & ((0xFF >> length) if length < 5 else 0)
    before = 0
    for i in range(1, length):
        value = value << 8 | data[at + i]
        before += 1 << (7 * i)
    return int(value + before)


@kernel
def _records(data: NDArray[np.uint8], ahead: int, records: Numbers) -> tuple[int, int]:
    """(Bytes read, or _DAMAGED; number of records noted). Reads whole mini-transactions while more than `ahead` bytes
    follow, and notes each record that inserts (`logged_insertions.Windows`).

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
                length = _number(data, begin) + 15 - _number_bytes(data[begin])
                begin += _number_bytes(data[begin])
            at = begin + length
            if at >= n:
                return _DAMAGED, count
            if kind & 0x80 == 0:  # another page than that of the record before
                space = _number(data, begin)
                begin += _number_bytes(data[begin])
                page = _number(data, begin)
                begin += _number_bytes(data[begin])
            elif space < 0:  # a record about a file
                continue
            if kind & 0x70 != _EXTENDED or begin >= at or count == len(records):
                continue
            undo = data[begin] == _UNDO_APPEND
            if undo or data[begin] == _INSERT_HEAP or data[begin] == _INSERT_REUSE:
                records[count, 0] = UNDO if undo else ENTRY
                records[count, 1], records[count, 2], records[count, 3], records[count, 4] = begin + 1, at, space, page
                count += 1
        at += 1 + _CHECKSUM_BYTES
    return (at if at <= n else _DAMAGED), count
