"""Sizes of what PostgreSQL stores (8 KiB pages, 8-byte alignment), in bytes.

They follow the on-disk format (manual, "Database Page Layout"): an index entry is an 8-byte header and the key's datum,
rounded up to 8, beside a 4-byte line pointer. A varlena datum (bytea, character, text) of at most 126 bytes has a
1-byte header and no alignment; a longer one has a 4-byte header and is aligned to 4.
"""

from keybench.model.column import Column
from keybench.model.table import KeyRole

PAGE_BYTES = 8192
PAGE_OVERHEAD = 24 + 16
"""Page header and nbtree's special space."""
HEAP_OVERHEAD = 24
"""A heap page has a header alone."""
LINE_POINTER = 4
_ENTRY_HEADER = 8
_FILLFACTOR = 0.9  # of an index, by default
_SHORT_VARLENA = 126  # the most bytes of a value whose length takes one byte
_ROW_HEADER = 24
_LOG_RECORDS_BYTES = 150  # headers of the heap's and the index's insertion records

_STATUS_BYTES = 4
_MOMENT_BYTES = 8  # of the moment of creation, in a table by date
_UUID_TEXT = 36  # characters of a UUID, as COPY reads it
_COPY_ROWS, _COPY_BYTES = 1000, 65_535
"""MAX_BUFFERED_TUPLES and MAX_BUFFERED_BYTES, for lines without their ends (copyfrom.c)."""
_DECIMALS = 7  # digits of a number as a key, roughly: those of millions of rows
_FIXED = frozenset({"uuid", "bigint", "integer"})  # types without a length header
_LOG_FACTOR = 2.5  # bytes of log that a load keeps for each byte that its rows add
_WIDEST = 36  # bytes of a key where an estimate is asked for before its layout is known


def key_bytes(column: Column) -> int:
    """Bytes of a key as it is sent in binary."""
    return column.width or _WIDEST


def _datum_bytes(column: Column) -> int:
    """Size of a key in a row or an index entry, with its length header."""
    width = key_bytes(column)
    if column.sql_type in _FIXED:
        return width
    return width + (1 if width <= _SHORT_VARLENA else 4)


def entry_key(column: Column) -> slice:
    """Which bytes of an index entry are the key: those behind its header and length."""
    end = _ENTRY_HEADER + _datum_bytes(column)
    return slice(end - key_bytes(column), end)


def aligned(size: int, to: int = 8) -> int:
    """The size, rounded up to a multiple of `to`."""
    return -(-size // to) * to  # two minus signs make the division round up


def entry_bytes(column: Column) -> int:
    """Size of an index entry, without its line pointer."""
    return aligned(_ENTRY_HEADER + _datum_bytes(column))


def leaf_capacity(column: Column, page_bytes: int = PAGE_BYTES) -> int:
    """How many entries fit the rightmost leaf, which has no high key."""
    return (page_bytes - PAGE_OVERHEAD) // (entry_bytes(column) + LINE_POINTER)


def heap_row_bytes(column: Column, payload: int, *, dated: bool = False, status: bool = False) -> int:
    """Size of a row in the heap, with its line pointer. `payload`: its characters. `dated`: whether it has a moment.
    `status`: whether it has a status."""
    data = row_data_bytes(column, payload, dated=dated)
    return aligned(_ROW_HEADER + (aligned(data, _STATUS_BYTES) + _STATUS_BYTES if status else data)) + LINE_POINTER


def row_data_bytes(column: Column, payload: int, *, dated: bool = False) -> int:
    """Size of a row's columns, without the row's header of 24 bytes. `payload`: its characters, 0 for no such column.
    `dated`: whether the row has a moment of creation."""
    data = _datum_bytes(column) + _MOMENT_BYTES * dated
    if payload > _SHORT_VARLENA:
        data = aligned(data, 4) + 4 + payload
    elif payload:
        data += 1 + payload
    return data


def copy_rows(column: Column, payload: int) -> int:
    """Rows that COPY adds to the heap at a time: until it has read 64 kB of text, 1,000 at most (copyfrom.c)."""
    width = key_bytes(column)
    characters = width if column.form == "text" else _DECIMALS if column.form == "int" else _UUID_TEXT
    if column.sql_type == "bytea":
        characters = len(r"\\x") + 2 * width  # hexadecimal
    line = characters + (1 + payload if payload else 0)  # a separator before the payload
    return min(_COPY_ROWS, -(-_COPY_BYTES // line))  # rounded up: with the line that reaches the limit


def bytes_per_row(column: Column, payload: int, key: KeyRole) -> tuple[float, float]:
    """Estimated bytes a row of (the key's index filled in order, heap, half-empty index and log together). The log
    counts as two and a half times what the rows themselves add to it: this covers splits, page images, and the segments
    that a checkpoint keeps for recycling."""
    entry = entry_bytes(column) + LINE_POINTER
    index = entry / _FILLFACTOR
    heap = heap_row_bytes(column, payload, dated=key == "by-date")
    date_entry = aligned(_ENTRY_HEADER + _MOMENT_BYTES) + LINE_POINTER if key == "by-date" else 0
    log = _LOG_FACTOR * (heap + entry + date_entry + _LOG_RECORDS_BYTES)
    return index, heap + 2 * (entry + date_entry) + log
