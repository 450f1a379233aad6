"""Sizes of cells, in bytes, by SQLite's file format ("Record Format", "B-tree Cell Format").

A record is a header and the values. The header has one byte for its own length and a serial type for each column. An
integer takes as few bytes as hold it: 0 for 0 and 1, else 1, 2, 3, 4, 6 or 8. Of a record too long for its page, a part
stays in the cell and the rest lies on overflow pages ("Cell Payload Overflow Pages").
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError
from keybench.model.column import Column
from keybench.model.table import KeyRole, Table
from keybench.pagemodels.ranking import Integers, Sizes

PAGE_SIZE = 4096
"""Bytes of a page, by default."""
PAGE_SIZES = tuple(512 << i for i in range(8))
MOMENT_BYTES = 8
"""Bytes of a time of creation: microseconds since 1970 take eight from 1975 on."""

FILLS = range(100, 101)
"""Fill factors, in %: VACUUM fills pages as far as rows fit."""

# Shares of a leaf that are used, measured on 1 million rows with dbstat: with ascending keys in an index b-tree, where
# SQLite has no append split, and with descending keys, the lowest of all orders. Rowid tables fill appended leaves.
ASCENDING_FILL = 0.873
_LOWEST_FILL = 0.48
_LEAF_HEADER = 8
_CELL_POINTER = 2
CHILD_BYTES = 4
"""Bytes of a child's page number, in a divider."""
_OVERFLOW_NUMBER = 4  # bytes of the number of the first overflow page, in a cell
_ROWID_BYTES = 3  # a rowid by order of arrival: 3 bytes as a value up to 8,388,607, as a varint up to 2,097,151
_WIDEST = 36  # bytes of a key where an estimate is asked for before its layout is known
_LARGE_VARINT_BYTES = 9


def require_fill(fill: int) -> None:
    """UsageError for a fill factor that SQLite does not have."""
    if fill not in FILLS:
        raise UsageError(f"SQLite has no fill factor: VACUUM fills pages to 100 %, so rebuild at 100, not {fill}.")


def is_rowid(table: Table) -> bool:
    """Whether the key is the rowid: an INTEGER PRIMARY KEY."""
    return table.key == "clustered" and table.column.name == "integer"


def varint(value: int) -> int:
    """Bytes of a number of at most 63 bits, 0 or more, as a varint: one for each 7 bits."""
    return max(1, -(-value.bit_length() // 7))  # rounded up


def varint_bytes(values: Integers) -> Sizes:
    """(n,): bytes of integers as varints, as cells hold rowids; 9 for negative ones and from 2⁵⁶ on."""
    sizes = np.full(len(values), 9, np.uint16)
    for size in range(8, 0, -1):
        sizes[(values >= 0) & (values < 1 << (7 * size))] = size
    return sizes


def integer_bytes(values: Integers) -> Sizes:
    """(n,): bytes of integers as values of a record: 0, 1, 2, 3, 4, 6 or 8."""
    sizes = np.full(len(values), 8, np.uint16)
    magnitudes = np.where(values < 0, ~values, values)  # as many bits as the number has beside its sign
    for size in (6, 4, 3, 2, 1):
        sizes[magnitudes < 1 << (8 * size - 1)] = size
    sizes[(values == 0) | (values == 1)] = 0
    return sizes


def fixed_bytes(column: Column, *, rowid: bool = False) -> int:
    """Bytes of a record that depend on its columns alone. The caller adds the payload, and the values of integers (an
    integer key, the rowid), whose sizes differ. `rowid`: whether the record ends with a rowid, as an index's does."""
    key_type, data = 1, 0
    if column.form != "int":  # serial types: 12 + 2 · width for a blob, 13 + 2 · width for a text
        key_type = varint((13 if column.form == "text" else 12) + 2 * column.width)
        data = column.width
    return 1 + key_type + data + (1 if rowid else 0)  # 1: the header's length; the type of the rowid


ROWID_RECORD = 2
"""Bytes of a record whose key is the rowid, which it holds as NULL; without its payload."""


def text_bytes(widths: Integers) -> Integers:
    """(n,): bytes that texts of these numbers of characters take in a record: a serial type, and the characters."""
    return widths + varint_bytes(13 + 2 * widths)


class StoredCells(NamedTuple):
    """Records as they are stored: (n,) each, or (1,) if all are alike."""

    sizes: Sizes
    """Bytes in the page: the record's length, what is stored there, the number of the first overflow page if any."""
    overflow: Sizes
    """Overflow pages of each record."""


def stored(records: NDArray[np.integer[Any]], page_bytes: int, *, table: bool) -> StoredCells:
    """How records are stored in a b-tree. `records`: bytes of each. `table`: whether the b-tree is a rowid table, whose
    leaves take longer records than the pages of an index. A record of up to `most` bytes stays in the page. Of a longer
    one, `local` bytes stay, so that its overflow pages are full, if that is no more than `most`; else `least` bytes."""
    most = page_bytes - 35 if table else (page_bytes - 12) * 64 // 255 - 23  # numbers of the file format, also below
    # bytes of the record's length, which is a varint
    length = 1 + (records >= 1 << 7).astype(np.uint16) + (records >= 1 << 14) + (records >= 1 << 21)
    if int(records.max(initial=0)) <= most:
        return StoredCells(records.astype(np.uint16) + length, np.zeros(1, np.uint16))
    least, per_page, size = (page_bytes - 12) * 32 // 255 - 23, page_bytes - 4, records.astype(np.int64)
    local = least + (size - least) % per_page
    local = np.where(size <= most, size, np.where(local <= most, local, least))
    pages = -(-(size - local) // per_page)  # rounded up
    return StoredCells((length + local + _OVERFLOW_NUMBER * (pages > 0)).astype(np.uint16), pages.astype(np.uint16))


def bytes_per_row(column: Column, payload: int, key: KeyRole) -> tuple[float, float]:
    """(bytes a row of the key's b-tree if keys come in order, bytes a row of all b-trees at their emptiest, with keys
    in falling order). The WAL is not included: checkpoints bound it (some 4 MB, or one transaction), whatever the rows.
    Integer keys count as large as they get. `payload`: characters of a row."""
    # In the sums below, 1 is the header's length, and another 1 the serial type of a moment or rowid.
    data, key_type = _key_bytes(column)
    text_type = varint(13 + 2 * payload) if payload else 0
    if key == "clustered" and column.name == "integer":
        size = _rowid_leaf(2 + text_type + payload, _LARGE_VARINT_BYTES)  # the record holds a NULL for the rowid
        return size, size
    if key == "clustered":
        cell = 1 + key_type + text_type + data + payload
        return _index_leaf(cell, ASCENDING_FILL), _index_leaf(cell, _LOWEST_FILL)
    if key == "by-date":
        row = 1 + 1 + key_type + text_type + MOMENT_BYTES + data + payload
        entry = 1 + key_type + 1 + data + MOMENT_BYTES
        return _index_leaf(entry, ASCENDING_FILL), _index_leaf(entry, _LOWEST_FILL) + _index_leaf(row, _LOWEST_FILL)
    index = 1 + key_type + 1 + data + _ROWID_BYTES
    heap = _rowid_leaf(1 + key_type + text_type + data + payload, _ROWID_BYTES)
    return _index_leaf(index, ASCENDING_FILL), _index_leaf(index, _LOWEST_FILL) + heap


def _key_bytes(column: Column) -> tuple[int, int]:
    """(bytes of the key's value, bytes of its serial type); of a key whose width is not known yet, the widest."""
    if column.form == "int":
        return column.width, 1
    width = column.width or _WIDEST
    return width, varint(12 + 2 * width)


def _index_leaf(size: int, fill: float) -> float:
    """Bytes of file for a record of `size` bytes in an index b-tree whose leaves are filled to the share `fill`."""
    cell, overflow = _stored(size, table=False)
    return (cell + _CELL_POINTER) / ((PAGE_SIZE - _LEAF_HEADER) * fill) * PAGE_SIZE + overflow


def _rowid_leaf(size: int, rowid: int) -> float:
    """Bytes of file for a record of `size` bytes in full leaves of a rowid table. `rowid`: bytes of its rowid."""
    cell, overflow = _stored(size, table=True)
    return PAGE_SIZE / ((PAGE_SIZE - _LEAF_HEADER) // (cell + rowid + _CELL_POINTER)) + overflow


def _stored(size: int, *, table: bool) -> tuple[int, int]:
    """(bytes of a record's cell, bytes of its overflow pages)."""
    cells = stored(np.array([size]), PAGE_SIZE, table=table)
    return int(cells.sizes[0]), int(cells.overflow[0]) * PAGE_SIZE
