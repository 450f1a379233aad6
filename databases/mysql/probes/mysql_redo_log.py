"""Reads MySQL's redo log: the records that insert, in order.

Format of MySQL 8.0.30 and later (storage/innobase: log0constants.h, log0types.h, log0files_io.cc). The log is a row of
files, each with a header of 2,048 bytes that says at which position of the log it begins. Behind it are blocks of 512
bytes, of which header and checksum take 16; positions count them too. The rest is one stream of records
(`mysql_log_records`).

A file whose changes are all in the tables is not deleted. It gets a new name at the end of the row, `…_tmp`, and keeps
its contents until its turn comes again. So the files together hold the last `innodb_redo_log_capacity` bytes, provided
that all have the size that suits this setting: others are filled with zeros. See docs/internals/arrival-order.md §3.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from keybench.databases.mysql.probes.logged_insertions import FIELDS, UnreadableLogError
from keybench.databases.mysql.probes.mysql_log_records import BODY, DAMAGED, HEAD, LONGEST, SMALLEST, WHOLE, records_of

Numbers = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Blocks = NDArray[np.void]
Files = dict[int, Blocks]
"""Blocks of each file by the number of its first block, counted from 0."""

PLACE = "#innodb_redo"

_FORMAT = 6
_FORMAT_AT, _FIRST_LSN = slice(0, 4), slice(8, 16)
_HEADER_BYTES = 2048
_BLOCK = np.dtype([("number", ">u4"), ("length", ">u2"), ("group", ">u2"), ("epoch", ">u4"), ("body", "u1", 500)])
_EPOCH = 1 << 30
"""Blocks are numbered from 1 in each epoch, which has that many."""
_ENCRYPTED = 0x8000
"""Set in the length of an encrypted block."""
_WINDOW = 1 << 16
"""Blocks that are read at once."""
_OTHER = "it is not in the format of MySQL 8.0.30 to 9.7."
_ATTEMPTS, _PAUSE = 5, 0.1
"""The server may rename files while they are looked for."""


def windows(folder: Path, begin: int, end: int) -> Iterator[tuple[Bytes, Numbers]]:
    """`logged_insertions.Windows` of the log between two positions; UnreadableLogError where it cannot be read.

    Both positions are between mini-transactions.
    """
    found = _found(folder, begin, end)
    at, last, fresh = _offset(begin), _offset(end), True
    while at < last:
        first = at // BODY
        stop = min(-(-last // BODY), first + _WINDOW)
        blocks = _blocks(found, first, stop, last)
        body = blocks["body"][:, :BODY].ravel()[at - first * BODY : last - first * BODY]
        data = np.concatenate([body, np.zeros(LONGEST, np.uint8)])
        records = np.empty((len(data) // SMALLEST, FIELDS), np.int64)
        groups = np.zeros(len(blocks) + 1, np.int64)
        ahead = LONGEST if stop * BODY < last else 0
        read, count, unknown, fresh = records_of(data, at - first * BODY, ahead, fresh, records, groups)
        if unknown != WHOLE:
            what = "is damaged" if unknown == DAMAGED else f"is of type {unknown}, which keybench does not know"
            raise UnreadableLogError(f"its record at {_position(at + read):,} {what}.")
        at += read
        whole = slice(1, at // BODY - first)  # the first block may begin before the window, the last end behind it
        if (groups[whole] != blocks["group"][whole]).any():
            raise UnreadableLogError("mini-transactions do not begin where its blocks say.")
        yield data, records[:count]


def _offset(position: int) -> int:
    """The offset in the stream of a position in the log, which also counts headers and checksums of blocks."""
    return position // _BLOCK.itemsize * BODY + position % _BLOCK.itemsize - HEAD


def _position(offset: int) -> int:
    return offset // BODY * _BLOCK.itemsize + offset % BODY + HEAD


def _files(folder: Path) -> Files:
    """All files that have been used, in order."""
    found: Files = {}
    for path in folder.glob("#ib_redo*"):
        try:
            log = np.memmap(path, np.uint8, mode="r")
        except (FileNotFoundError, ValueError):  # renamed just now; still empty
            continue
        head = log[:_HEADER_BYTES].tobytes()
        form = int.from_bytes(head[_FORMAT_AT], "big")
        if form not in (0, _FORMAT):
            raise UnreadableLogError(_OTHER)
        if form:  # else it has never been used
            size = (len(log) - _HEADER_BYTES) // _BLOCK.itemsize * _BLOCK.itemsize
            first = int.from_bytes(head[_FIRST_LSN], "big") // _BLOCK.itemsize
            found[first] = log[_HEADER_BYTES : _HEADER_BYTES + size].view(_BLOCK)
    return dict(sorted(found.items()))


def _found(folder: Path, begin: int, end: int) -> Files:
    """The files that hold the log between two positions, in order."""
    if not folder.is_dir():
        raise UnreadableLogError(_OTHER)
    for attempt in range(_ATTEMPTS):
        time.sleep(_PAUSE * (attempt > 0))
        found = _files(folder)
        first = -(-end // _BLOCK.itemsize)
        for start, blocks in reversed(found.items()):
            if start < first <= start + len(blocks):
                first = start
        if first * _BLOCK.itemsize <= begin:
            return found
    raise UnreadableLogError(
        f"of {end - begin:,} bytes it keeps {max(0, end - first * _BLOCK.itemsize):,}: take fewer rows or a larger "
        "innodb_redo_log_capacity."
    )


def _blocks(found: Files, first: int, stop: int, last: int) -> Blocks:
    """Blocks from `first` to before `stop`, checked; `last` is the offset in the stream that is to be read at most."""
    blocks = np.concatenate([part[max(0, first - start) : max(0, stop - start)] for start, part in found.items()])
    numbers = np.arange(first, stop)
    same = len(blocks) == len(numbers) and (blocks["number"] == numbers % _EPOCH + 1).all()
    if not same or (blocks["epoch"] != numbers // _EPOCH + 1).any():
        raise UnreadableLogError("the server has used one of its files anew meanwhile.")
    if (blocks["length"] & _ENCRYPTED).any():
        raise UnreadableLogError("it is encrypted.")
    if (blocks["length"] < np.minimum(last - numbers * BODY, BODY) + HEAD).any():
        raise UnreadableLogError("the server has not written all of it.")
    return blocks
