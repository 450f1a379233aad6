"""Reads MySQL's redo log: its records one after the other, and which of them insert.

Format of MySQL 8.0.30 and later (storage/innobase: log0constants.h, log0types.h, log0files_io.cc). The log is a row of
files, each with a header of 2,048 bytes that says at which position of the log it begins. Behind it are blocks of 512
bytes, of which header and checksum take 16; positions count them too. The rest is one stream of records. A record has
no length of its own: its type says what follows (mtr0types.h; recv_parse_or_apply_log_rec_body in log0recv.cc, and the
parsers that it calls in mtr0log.cc, page0cur.cc, btr0cur.cc, trx0rec.cc, fil0fil.cc). Older types and those of
compressed tables are refused, never guessed.

A file whose changes are all in the tables is not deleted. It gets a new name at the end of the row, `…_tmp`, and keeps
its contents until its turn comes again. So the files together hold the last `innodb_redo_log_capacity` bytes, provided
that all have the size that suits this setting: others are filled with zeros. See docs/internals/arrival-order.md §3.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import int64, kernel
from keybench.databases.core.probes import UnreadableError
from keybench.databases.mysql.redo_log import ENTRY, FIELDS, UNDO, Bytes, Numbers, number_bytes, read_number, wide_bytes

Blocks = NDArray[np.void]
Files = dict[int, Blocks]
"""Blocks of each file by the number of its first block, counted from 0."""

PLACE = "#innodb_redo"  # the log's folder in the data directory

_FORMAT = 6
_FORMAT_AT, _FIRST_LSN = slice(0, 4), slice(8, 16)
_HEADER_BYTES = 2048
_BLOCK = np.dtype([("number", ">u4"), ("length", ">u2"), ("group", ">u2"), ("epoch", ">u4"), ("body", "u1", 500)])
_EPOCH = 1 << 30  # blocks are numbered from 1 in each epoch, which has that many
_ENCRYPTED = 0x8000  # set in the length of an encrypted block
_WINDOW = 1 << 16  # blocks that are read at once
_OTHER = "it is not in the format of MySQL 8.0.30 to 9.7."
_ATTEMPTS, _PAUSE = 5, 0.1  # the server may rename files while they are looked for


def windows(folder: Path, begin: int, end: int) -> Iterator[tuple[Bytes, Numbers]]:
    """Pieces of the log between two positions, each with its records that insert (`redo_log.Windows`). Both positions
    are between mini-transactions. UnreadableError if the log cannot be read."""
    files = _files_between(folder, begin, end)
    at, last, fresh = _offset(begin), _offset(end), True  # offsets in the stream; `fresh`: see `_records`
    while at < last:
        # 1. The blocks of this window, `first` to before `stop`, and the stream in them from `at` on.
        first = at // BODY
        stop = min(-(-last // BODY), first + _WINDOW)  # rounded up: the last block may be used in part
        blocks = _blocks(files, first, stop, last)
        body = blocks["body"][:, :BODY].ravel()[at - first * BODY : last - first * BODY]
        data = np.concatenate([body, np.zeros(LONGEST, np.uint8)])
        # 2. Its records, but for the last ones, which may go on in the next window.
        records = np.empty((len(data) // SMALLEST, FIELDS), np.int64)
        groups = np.zeros(len(blocks) + 1, np.int64)
        ahead = LONGEST if stop * BODY < last else 0
        read, count, problem, fresh = _records(data, at - first * BODY, ahead, fresh, records, groups)
        if problem != WHOLE:
            what = "is damaged" if problem == DAMAGED else f"is of type {problem}, which keybench does not know"
            raise UnreadableError(f"its record at {_position(at + read):,} {what}.")
        # 3. Check: each block says where the first mini-transaction in it begins.
        at += read
        whole_blocks = slice(1, at // BODY - first)  # not the first block, nor the last: only parts may be read of them
        if (groups[whole_blocks] != blocks["group"][whole_blocks]).any():
            raise UnreadableError("mini-transactions do not begin where its blocks say.")
        yield data, records[:count]


def _offset(position: int) -> int:
    """The offset in the stream of records of a position in the log, which also counts blocks' headers and checksums."""
    return position // _BLOCK.itemsize * BODY + position % _BLOCK.itemsize - HEAD


def _position(offset: int) -> int:
    """The position in the log of an offset in the stream: the reverse of `_offset`."""
    return offset // BODY * _BLOCK.itemsize + offset % BODY + HEAD


def _files(folder: Path) -> Files:
    """The blocks of all files that have been used, in order of the log; UnreadableError for another format."""
    files: Files = {}
    for path in folder.glob("#ib_redo*"):
        try:
            log = np.memmap(path, np.uint8, mode="r")
        except (FileNotFoundError, ValueError):  # renamed just now; still empty
            continue
        head = log[:_HEADER_BYTES].tobytes()
        version = int.from_bytes(head[_FORMAT_AT], "big")
        if version not in (0, _FORMAT):
            raise UnreadableError(_OTHER)
        if version:  # 0: the file has never been used
            size = (len(log) - _HEADER_BYTES) // _BLOCK.itemsize * _BLOCK.itemsize
            first = int.from_bytes(head[_FIRST_LSN], "big") // _BLOCK.itemsize
            files[first] = log[_HEADER_BYTES : _HEADER_BYTES + size].view(_BLOCK)
    return dict(sorted(files.items()))


def _files_between(folder: Path, begin: int, end: int) -> Files:
    """The files that hold the log between two positions, in order. UnreadableError if they do not reach back so far."""
    if not folder.is_dir():
        raise UnreadableError(_OTHER)
    for attempt in range(_ATTEMPTS):
        time.sleep(_PAUSE * (attempt > 0))  # not before the first attempt
        files = _files(folder)
        first = -(-end // _BLOCK.itemsize)  # from the end back: the first block of files that join without a gap
        for start, blocks in reversed(files.items()):
            if start < first <= start + len(blocks):
                first = start
        if first * _BLOCK.itemsize <= begin:
            return files
    raise UnreadableError(
        f"of {end - begin:,} bytes it keeps {max(0, end - first * _BLOCK.itemsize):,}: take fewer rows or a larger "
        "innodb_redo_log_capacity."
    )


def _blocks(files: Files, first: int, stop: int, last: int) -> Blocks:
    """Blocks from `first` to before `stop`, of which the stream is read up to offset `last`. UnreadableError if they
    are others by now, encrypted, or not yet written."""
    blocks = np.concatenate([part[max(0, first - start) : max(0, stop - start)] for start, part in files.items()])
    numbers = np.arange(first, stop)
    same = len(blocks) == len(numbers) and (blocks["number"] == numbers % _EPOCH + 1).all()
    if not same or (blocks["epoch"] != numbers // _EPOCH + 1).any():
        raise UnreadableError("the server has used one of its files anew meanwhile.")
    if (blocks["length"] & _ENCRYPTED).any():
        raise UnreadableError("it is encrypted.")
    if (blocks["length"] < np.minimum(last - numbers * BODY, BODY) + HEAD).any():
        raise UnreadableError("the server has not written all of it.")
    return blocks


HEAD, BODY = 12, 496
"""Bytes of a block's header, and of the stream in it."""
SMALLEST, LONGEST = 8, 1 << 18
"""Fewest bytes of a record that inserts; most bytes of any record."""
WHOLE, DAMAGED = -1, -2
"""Instead of the type of an unknown record: there is none; a record does not end, or contradicts itself."""

_ALONE = 0x80  # set in the type of a record that is a mini-transaction of its own
_END, _PADDING = 31, 32  # types of records (mtr0types.h), as the next ones
_TABLE_METADATA = 62
_EIGHT_BYTES, _STRING = 8, 30
_UNDO_INSERT, _UNDO_INIT, _UNDO_REUSE, _UNDO_CREATE = 20, 22, 24, 25
_DELETE_MARK_ENTRY, _MIN_MARK, _COMPACT_MIN_MARK = 11, 26, 36
_FILE_CREATE, _FILE_RENAME, _FILE_DELETE, _FILE_EXTEND = 33, 34, 35, 65
_INDEX_LOAD = 61
_EMPTY = 19, 21, 27, 29, 37, 57, 58, 59, 63, 64  # pages that are created, initialised or erased
_INSERT, _DELETE_MARK, _DELETE, _UPDATE, _COPY, _REORGANISE, _DELETE_END, _DELETE_START = 67, 68, 69, 70, 71, 72, 75, 76

_COMPACT, _VERSIONED, _INSTANT = 1, 2, 4  # flags of an index's description
_ADDED, _DROPPED = 0x80, 0x40  # marks of a column in that description: each is followed by a byte
_NULL = 0xFFFF_FFFF  # in place of a value's length
_ROLL_POINTER = 7  # its bytes


@kernel
def _two(data: Bytes, at: int) -> int:
    """The number of two bytes at `at`."""
    return int64(data[at]) << 8 | int64(data[at + 1])


@kernel
def _index_end(data: Bytes, at: int) -> int:
    """The end of an index's description that begins at `at` (mlog_open_and_write_index); 0 if of another version, or if
    it does not end within `data`."""
    if data[at] != 1:  # the description's version
        return 0
    flags = data[at + 1]
    at += 2
    fields = _two(data, at)
    if flags & (_COMPACT | _VERSIONED):
        at += 2
    if flags & _COMPACT:
        at += (4 if flags & _INSTANT else 2) + 2 * fields  # one or two numbers of columns, the length of each field
    if flags & _VERSIONED:
        changed = _two(data, at)
        at += 2
        for _ in range(changed):
            if at >= len(data) - 6:
                return 0
            marks = data[at + 2]
            at += 4 + (marks & _ADDED != 0) + (marks & _DROPPED != 0)
    return at


@kernel
def _updated_end(data: Bytes, at: int) -> int:
    """The end of the new values, from `at`, of a record that is updated in place (row_upd_index_parse). 0 if there is
    none within `data`."""
    at += 1  # the record's flags
    fields = read_number(data, at)
    at += number_bytes(data[at])
    for _ in range(fields):
        if at >= len(data) - 10:
            return 0
        at += number_bytes(data[at])  # the field's number
        length = read_number(data, at)
        at += number_bytes(data[at]) + (0 if length == _NULL else length)
    return at


@kernel
def _metadata_end(data: Bytes, at: int) -> int:
    """The end of a table's changed counters that begin at `at` (dict0dd.cc); 0 if they are of another kind."""
    at += wide_bytes(data, at)  # the table's id
    at += wide_bytes(data, at)  # the version of its counters
    kind = data[at]
    at += 1
    if kind == 1:  # damaged indexes: their count in one byte, then tablespace and id of each
        return at + 1 + 12 * int64(data[at])
    return at + wide_bytes(data, at) if kind == 2 else 0  # the last number of an AUTO_INCREMENT


@kernel
def _of_index_end(data: Bytes, at: int, kind: int) -> int:
    """The end of a record of type `kind` that begins, at `at`, with an index's description; 0 if it cannot be told."""
    at = _index_end(data, at)
    if at == 0 or at >= len(data) - 64:  # what is read here without a check is shorter
        return 0
    if kind in (_DELETE_MARK, _UPDATE):
        at += 2 if kind == _DELETE_MARK else 1  # flags, and whether the mark is set
        at += number_bytes(data[at]) + _ROLL_POINTER  # the position of the hidden columns, and the pointer
        at += number_bytes(data[at]) + 4 + 2  # the transaction: the high half compressed; the record's place
        return at if kind == _DELETE_MARK else _updated_end(data, at)
    if kind == _COPY:
        return at + 4 + (_two(data, at) << 16 | _two(data, at + 2))
    return at if kind == _REORGANISE else at + 2


@kernel
def _end(data: Bytes, at: int, kind: int) -> int:
    """The end of a record whose type, tablespace and page are before `at`; 0 where it cannot be told, -1 if the type is
    unknown."""
    if kind in (1, 2, 4):  # a number of so many bytes is written
        return at + 2 + number_bytes(data[at + 2])
    if kind == _EIGHT_BYTES:
        return at + 2 + number_bytes(data[at + 2]) + 4
    if kind == _STRING:
        return at + 4 + _two(data, at + 2)
    if kind in (_UNDO_INSERT, _FILE_DELETE):
        return at + 2 + _two(data, at)
    if kind == _UNDO_INIT:
        return at + number_bytes(data[at])
    if kind in (_UNDO_REUSE, _UNDO_CREATE):
        return at + number_bytes(data[at]) + 4
    if kind == _DELETE_MARK_ENTRY:
        return at + 3
    if kind in (_MIN_MARK, _COMPACT_MIN_MARK):
        return at + 2
    if kind == _FILE_CREATE:
        return at + 6 + _two(data, at + 4)
    if kind == _FILE_RENAME:
        middle = at + 2 + _two(data, at)
        return middle + 2 + _two(data, middle)
    if kind == _FILE_EXTEND:
        return at + 16
    if kind == _INDEX_LOAD:
        return at + 8
    if kind in (_DELETE_MARK, _DELETE, _UPDATE, _COPY, _REORGANISE, _DELETE_END, _DELETE_START):
        return _of_index_end(data, at, kind)
    return at if kind in _EMPTY else -1


@kernel
def _inserted_bytes(data: Bytes, at: int, n: int) -> tuple[int, int]:
    """(begin, end) of the last bytes of an entry that is inserted, whose index's description begins at `at`. `n` is the
    end of the stream. The end is 0 where it cannot be told."""
    at = _index_end(data, at)
    if at == 0 or at >= n:
        return 0, at
    at += 2  # the offset of the record before it
    length = read_number(data, at)
    at += number_bytes(data[at])
    # then: flags, the bytes before the record's origin, and how many bytes it shares with the record before it
    if length & 1:
        at += 1
        at += number_bytes(data[at])
        at += number_bytes(data[at])
    return at, at + (length >> 1)  # the lowest bit is no part of the length


@kernel
def _records(
    data: Bytes, shift: int, ahead: int, fresh: bool, records: Numbers, groups: Numbers
) -> tuple[int, int, int, bool]:
    """Reads records while more than `ahead` bytes follow. Returns (bytes read, records noted, type of an unknown record
    or WHOLE or DAMAGED, whether a mini-transaction ended with the last one).

    Fills `records` with those that insert (`redo_log.Windows`), and `groups` with the position in each block at which
    its first mini-transaction begins (0: none). `data` is a part of the stream, and then LONGEST bytes that do not
    count. The part begins `shift` bytes into the body of the first block; `fresh`: whether a mini-transaction ended
    right before.
    """
    n, at, count = len(data) - LONGEST, 0, 0
    while at < n - ahead:
        # 1. Its type; what only ends a mini-transaction or fills a block goes no further.
        begin = at
        kind = int64(data[at] & 0x7F)
        alone = data[at] & _ALONE != 0
        if fresh:
            block = (begin + shift) // BODY
            if groups[block] == 0:
                groups[block] = HEAD + (begin + shift) % BODY
        at += 1
        if kind in (_END, _PADDING):
            if alone:
                return begin, count, DAMAGED, fresh
            fresh = True
            continue
        # 2. Its page, and where its content begins (`first`) and ends (`at`; 0 if it does not end, −1 if unknown).
        space = page = int64(0)
        if kind == _TABLE_METADATA:
            at = _metadata_end(data, at)
        else:
            space = read_number(data, at)
            at += number_bytes(data[at])
            page = read_number(data, at)
            at += number_bytes(data[at])
            if kind == _INSERT:
                first, at = _inserted_bytes(data, at, n)
            else:
                first, at = at + 2, _end(data, at, kind)
            if at == -1:
                return begin, count, kind, fresh
            # 3. It is noted if it inserts.
            if kind in (_INSERT, _UNDO_INSERT) and at <= n and at != 0 and count < len(records):
                records[count, 0] = ENTRY if kind == _INSERT else UNDO
                records[count, 1], records[count, 2] = first, at
                records[count, 3], records[count, 4] = space, page
                count += 1
        if at == 0 or at > n:
            return begin, count, DAMAGED, fresh
        fresh = alone
    return at, count, WHOLE, fresh
