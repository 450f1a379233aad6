"""Sizes of cells, in bytes, by SQLite's file format ("Record Format", "B-tree Cell Format").

A record is a header, of one byte for its own length and a serial type a column, and the values. An integer takes as few
bytes as hold it: 0 for 0 and 1, else 1, 2, 3, 4, 6 or 8. Records too long for their page, which would lie on overflow
pages, are refused.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.databases.sqlite.ddl import varint
from keybench.errors import UsageError
from keybench.model.column import Column

Integers = NDArray[np.int64]
Sizes = NDArray[np.uint16]


def integer_bytes(values: Integers) -> Sizes:
    """Bytes of integers as values of a record."""
    sizes = np.full(len(values), 8, np.uint16)
    magnitudes = np.where(values < 0, ~values, values)
    for size in (6, 4, 3, 2, 1):
        sizes[magnitudes < 1 << (8 * size - 1)] = size
    sizes[(values == 0) | (values == 1)] = 0
    return sizes


def varint_bytes(values: Integers) -> Sizes:
    """Bytes of integers as varints, as rowids stand in cells."""
    sizes = np.full(len(values), 9, np.uint16)
    for size in range(8, 0, -1):
        sizes[(values >= 0) & (values < 1 << (7 * size))] = size
    return sizes


def record(column: Column, payload: int, *, rowid: bool = False) -> int:
    """Bytes of a record of key and payload, without the values of integers: key's, and a rowid's where one is in it."""
    kind = 1 if column.form == "int" else varint((13 if column.form == "text" else 12) + 2 * column.width)
    data = 0 if column.form == "int" else column.width
    return 1 + kind + data + (varint(13 + 2 * payload) + payload if payload else 0) + (1 if rowid else 0)


def rowid_record(payload: int) -> int:
    """Bytes of a record whose key is the rowid, which it holds as NULL."""
    return 2 + (varint(13 + 2 * payload) + payload if payload else 0)


def whole(sizes: Sizes, page_bytes: int, *, table: bool) -> Sizes:
    """Records with their length in front; UsageError where one does not lie whole in a leaf."""
    most = page_bytes - 35 if table else (page_bytes - 12) * 64 // 255 - 23
    longest = int(sizes.max(initial=0))
    if longest > most:
        raise UsageError(
            f"a record of {longest} bytes would lie on overflow pages: the page model of SQLite takes up to {most}; "
            "choose a shorter payload."
        )
    return sizes + np.where(sizes < 128, 1, 2).astype(np.uint16)
