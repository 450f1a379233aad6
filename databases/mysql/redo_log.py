"""The rows that came into an index, in the order in which InnoDB's redo log shows their insertions; MariaDB's log.

What the logs of MariaDB and MySQL share: before InnoDB puts a row into a clustered index it writes an undo record with
the row's whole primary key, while it holds the leaf. So these records are in the log in the order of the insertions. An
entry of a secondary index is identified by the row's number at its end. Undo records: storage/innobase/trx/trx0rec.cc;
numbers: include/mach0data.ic. `windows` finds the records in MariaDB's log, `mysql_log` in MySQL's.

MariaDB's log, from 10.8 on (log0log.h, mtr0log.h, mtr0types.h), is a header and behind it a circular file without
blocks. It holds mini-transactions: records, a byte that ends them, a checksum. See docs/internals/arrival-order.md §2.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import int64, kernel
from keybench.databases.core.probes import UnreadableError

Bytes = NDArray[np.uint8]
Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Windows = Iterable[tuple[Bytes, Numbers]]
"""Successive pieces of the log, and the records in each that insert, one a row of FIELDS columns:

0 UNDO or ENTRY; 1 begin and 2 end of the undo record or of the entry's last bytes, in the piece; 3 tablespace; 4 page.
"""

UNDO, ENTRY = 0, 1  # records that note an insertion: an undo record of a clustered index, an entry of a secondary index
FIELDS = 5
_INSERTED = 11  # the type of an undo record of an insertion
_SIGN = np.uint64(1 << 63)  # InnoDB stores signed numbers with this bit inverted


def inserted_keys(windows: Windows, table: int, widths: tuple[int, ...], rows: int) -> Bytes:
    """Primary keys of the rows inserted into a table, in order: uint8 (rows, sum of the widths). `table` is InnoDB's id
    of it, `widths` the bytes of each column of its primary key; keys are as InnoDB stores them. UnreadableError unless
    there are `rows` of them."""
    keys, count = np.empty((rows, sum(widths)), np.uint8), 0
    for data, records in windows:
        count = _add_inserted_keys(data, records, table, np.array(widths), keys, count)
    _require_all(count, rows)
    return keys


def entered_rows(windows: Windows, pages: tuple[int, Numbers], last: int, rows: int) -> Numbers:
    """Row numbers in the order in which their entries came into a secondary index: int64 (rows,). `pages` are the
    index's tablespace and page numbers, `last` the largest row number. An entry ends with the row's number; later
    entries with the same number are copies, made by page splits. UnreadableError unless there are `rows` of them."""
    space, numbers = pages
    of_index = np.zeros(int(numbers.max()) + 1, np.bool_)  # by page number: whether it is the index's
    of_index[numbers] = True
    order, seen, count = np.empty(rows, np.int64), np.zeros(last + 1, np.bool_), 0
    for data, records in windows:
        count = _add_entered_rows(data, records, space, of_index, seen, order, count)
    _require_all(count, rows)
    return order


def _require_all(count: int, rows: int) -> None:
    """UnreadableError if the log shows another number of insertions than the table has rows."""
    if count != rows:
        raise UnreadableError(f"it shows {count} insertions of {rows} rows.")


@kernel
def number_bytes(first: int) -> int:
    """Bytes of a compressed number of 32 bits, by its first byte: 1 to 5. Numbers near 2^32, as MySQL gives to its undo
    tablespaces, begin with 0xF8 or more and take 2 to 4 bytes."""
    if first >= 0xF8:
        return 2 if first < 0xFC else 3 if first < 0xFE else 4
    return _log_number_bytes(first)


@kernel
def read_number(data: Bytes, at: int) -> int:
    """The compressed number of 32 bits at the offset `at`; its first byte shows its length (`number_bytes`)."""
    first = int64(data[at])
    length = number_bytes(first)
    if first < 0xF8:  # the bits behind the length's are the number's first ones; of five bytes the first has none
        value = first & (0xFF >> length) if length < 5 else int64(0)
    elif length == 2:  # near 2^32: all bits above those that are stored are ones
        value = 0xFFFFFC | first & 3
    else:
        value = 0xFFFE | first & 1 if length == 3 else int64(0xFF)
    for i in range(1, length):
        value = value << 8 | int64(data[at + i])
    return value


@kernel
def wide_bytes(data: Bytes, at: int) -> int:
    """Bytes of a compressed number of 64 bits: one of 32 bits, or 0xFF and then its two halves, compressed."""
    if data[at] != 0xFF:
        return number_bytes(data[at])
    high = number_bytes(data[at + 1])
    return 1 + high + number_bytes(data[at + 1 + high])


@kernel
def _add_inserted_keys(data: Bytes, records: Numbers, table: int, widths: Numbers, keys: Bytes, count: int) -> int:
    """Adds the keys in undo records of insertions into a table to the `count` in `keys`. Returns the new count. Keys
    for which `keys` has no room are only counted."""
    key_bytes = keys.shape[1] + len(widths)  # each column has a byte for its width in front of it
    least_bytes = 3 + key_bytes  # the record's type and two numbers come before the key
    for i in range(len(records)):
        at, end = records[i, 1], records[i, 2]
        if records[i, 0] != UNDO or end - at < least_bytes or data[at] != _INSERTED:
            continue
        at += 1
        at += wide_bytes(data, at)  # the number of the row in its transaction
        if data[at] == 0xFF or read_number(data, at) != table:  # 0xFF: a number of more than 32 bits
            continue
        at += number_bytes(data[at])
        if at + key_bytes > end:
            continue
        done = 0  # bytes of the key that are read
        for column in range(len(widths)):
            if data[at] != widths[column]:
                break
            at += 1
            for _ in range(widths[column]):
                if count < len(keys):
                    keys[count, done] = data[at]
                at += 1
                done += 1
        count += done == keys.shape[1]  # 1 if all columns had their widths
    return count


@kernel
def _add_entered_rows(
    data: Bytes, records: Numbers, space: int, of_index: Flags, seen: Flags, order: Numbers, count: int
) -> int:
    """Adds the row numbers of new entries in the index's pages to the `count` in `order`. Returns the new count; rows
    for which `order` has no room are only counted. `of_index` says by page number which pages are the index's, `seen`
    by row number which rows have come."""
    for i in range(len(records)):
        end, page = records[i, 2], records[i, 4]
        if records[i, 0] != ENTRY or records[i, 3] != space or page >= len(of_index) or not of_index[page]:
            continue
        row = np.uint64(0)  # the entry's last eight bytes
        for at in range(max(records[i, 1], end - 8), end):
            row = row << np.uint64(8) | np.uint64(data[at])
        row ^= _SIGN
        if row < np.uint64(len(seen)) and not seen[row]:  # a node pointer ends with a page number instead
            seen[row] = True
            if count < len(order):
                order[count] = row
            count += 1
    return count


PLACE = "ib_logfile0"  # the log's file in the data directory

_FORMAT = b"Phys"
_FIRST_LSN, _ENCRYPTED = slice(8, 16), slice(48, 508)
_HEADER_BYTES = 0x3000
_LARGEST = 1 << 20  # most bytes of a mini-transaction
_WINDOW = 1 << 26  # bytes that are read at once

_SMALLEST, _LONGEST, _CHECKSUM_BYTES = 4, 16, 4
"""Fewest bytes of a record of interest; most bytes of the numbers in front of one."""

_EXTENDED, _UNDO_APPEND, _INSERT_HEAP, _INSERT_REUSE = 0x20, 3, 6, 7  # a type of record, and subtypes (mtr0types.h)
_DAMAGED = -1


def windows(path: Path, begin: int, end: int) -> Iterator[tuple[NDArray[np.uint8], Numbers]]:
    """Pieces of the log between two positions, each with its records that insert (`Windows`). UnreadableError if the
    log cannot be read."""
    log = np.memmap(path, np.uint8, mode="r")
    head = log[:_HEADER_BYTES].tobytes()
    if not head.startswith(_FORMAT):
        raise UnreadableError("it is not in the format of MariaDB 10.8 and later.")
    if any(head[_ENCRYPTED]):
        raise UnreadableError("it is encrypted.")
    first_lsn, capacity = int.from_bytes(head[_FIRST_LSN], "big"), len(log) - _HEADER_BYTES
    if end - begin > capacity:
        raise UnreadableError(
            f"of {end - begin:,} bytes it keeps {capacity:,}: take fewer rows or a larger innodb_log_file_size."
        )
    while begin < end:
        stop = min(end, begin + _WINDOW)
        at = (begin - first_lsn) % capacity + _HEADER_BYTES  # the file is circular: a piece may go on at its beginning
        piece = log[at : at + stop - begin]
        rest = log[_HEADER_BYTES : _HEADER_BYTES + stop - begin - len(piece)]
        data = np.concatenate([piece, rest, np.zeros(_LONGEST, np.uint8)])
        records = np.empty((len(data) // _SMALLEST, FIELDS), np.int64)
        ahead = 0 if stop == end else _LARGEST  # else the last mini-transaction may go on behind the piece
        read, count = _records(data, ahead, records)
        if read <= 0:
            raise UnreadableError("keybench does not know its records.")
        yield data, records[:count]
        begin += read


@kernel
def _log_number_bytes(first: int) -> int:
    """Bytes of a number of MariaDB's log, by its first byte: one more than the one bits at its beginning, up to 5."""
    length = 1
    while length < 5 and first & (0x100 >> length):
        length += 1
    return length


@kernel
def _read_log_number(data: NDArray[np.uint8], at: int) -> int:
    """A number of the log, at the offset `at`. The least number of n + 1 bytes follows the largest one of n bytes."""
    length = _log_number_bytes(data[at])
    value = int(data[at]) & ((0xFF >> length) if length < 5 else 0)
    least = 0  # the least number of that many bytes
    for i in range(1, length):
        value = value << 8 | data[at + i]
        least += 1 << (7 * i)
    return int(value + least)


@kernel
def _records(data: NDArray[np.uint8], ahead: int, records: Numbers) -> tuple[int, int]:
    """(bytes read, or _DAMAGED; number of records noted). Reads whole mini-transactions while more than `ahead` bytes
    follow, and notes in `records` each record that inserts (`Windows`). The last _LONGEST bytes of `data` do not count:
    they are read only where the log is damaged."""
    n, at, count = len(data) - _LONGEST, 0, 0
    while at < n - ahead:
        space = page = -1
        while at < n and data[at] > 1:  # the records of a mini-transaction, until the byte that ends it: 0 or 1
            # A record: its kind (0x80: same page as before; 0x70: type; 0x0F: length), tablespace and page, its data.
            kind = data[at]
            begin = at + 1
            length = int(kind) & 0x0F
            if length == 0:  # 16 bytes or more: a number follows that is 15 less than the length from it on
                length = _read_log_number(data, begin) + 15 - _log_number_bytes(data[begin])
                begin += _log_number_bytes(data[begin])
            at = begin + length
            if at >= n:
                return _DAMAGED, count
            if kind & 0x80 == 0:  # another page than that of the record before
                space = _read_log_number(data, begin)
                begin += _log_number_bytes(data[begin])
                page = _read_log_number(data, begin)
                begin += _log_number_bytes(data[begin])
            elif space < 0:  # a record about a file
                continue
            if kind & 0x70 != _EXTENDED or begin >= at or count == len(records):
                continue
            is_undo = data[begin] == _UNDO_APPEND
            if is_undo or data[begin] == _INSERT_HEAP or data[begin] == _INSERT_REUSE:
                records[count, 0] = UNDO if is_undo else ENTRY
                records[count, 1], records[count, 2], records[count, 3], records[count, 4] = begin + 1, at, space, page
                count += 1
        at += 1 + _CHECKSUM_BYTES
    return (at if at <= n else _DAMAGED), count
