"""Sizes of what InnoDB stores (row format DYNAMIC), in bytes.

They follow InnoDB's on-disk format: a record has 5 bytes of header, one more for each column of variable length (two
for one that can be longer than 255 bytes and is longer than 127), and in the clustered index 13 bytes of transaction id
and roll pointer. A leaf of 16,384 bytes has 16,252 for records and directory slots. The directory takes two bytes for
each four records. Ascending insertions leave a sixteenth of the page free.
"""

import numpy as np

from keybench.errors import UsageError
from keybench.model.column import Column
from keybench.model.table import KeyRole, Table
from keybench.pagemodels.ranking import Integers

PAGE_BYTES = 16_384
"""Of a page, by default."""
PAGE_SIZES = (4096, 8192, 16_384, 32_768, 65_536)
"""What `innodb_page_size` can be."""
MERGE_THRESHOLD = 50
"""Per cent of a page, by default and at most: a page with less may be merged with a neighbour."""
FILL_FACTORS = range(10, 101)
"""What `innodb_fill_factor` can be: per cent of a page that a sorted build fills; 100 by default."""
PAGE_HEADER = 120 + 8 + 4
"""Bytes of a page that hold no record: header and system records, trailer, and the directory's two fixed slots."""
LEAF_BYTES = PAGE_BYTES - PAGE_HEADER
"""For records and the directory."""

_LONGEST = 16_384  # bytes of a record that no page takes, however large
_HEADER = 5  # of a record
HIDDEN_BYTES = 6 + 7
"""Of a record in a clustered index: transaction id and roll pointer."""
SHORT_LIMIT, SHORT_TEXT = 255, 127
"""A text's length takes one byte if its column has at most the first number of bytes, or the text the second."""
STATUS_BYTES = 4
"""Of a status, an integer."""
_ROW_ID = 8  # how an index beside its table refers to a row: by the row's number, or by the moment of its creation
_PAGE_NUMBER = 4  # of the child, in a node pointer
_DIRECTORY = 0.5  # bytes of the directory for a record: two for each four
_ASCENDING_FILL, _LOWEST_FILL = 0.92, 0.35
"""Measured shares of a leaf (docs/internals/innodb.md §9): ascending keys; four ascending sources with unlike lags."""
_LOG_BYTES = 250  # a row's records in redo and undo, and its share of half-empty undo pages
_WIDEST = 36  # bytes of a key where an estimate is asked for before its layout is known


def require_fill_factor(fill: int) -> None:
    """UsageError unless `fill`, in %, is a fill factor that InnoDB takes."""
    if fill not in FILL_FACTORS:
        raise UsageError(f"innodb_fill_factor is between 10 and 100, not {fill}: the default is 100.")


def primary_bytes(table: Table) -> int:
    """Bytes of the primary key in a record, all of fixed width: the key, the row's id or moment, or moment and key."""
    width = table.column.width if table.key in ("clustered", "by-date") else 0
    return width + (_ROW_ID if table.key != "clustered" else 0)


def key_bytes(column: Column, *, multibyte: bool = True) -> int:
    """Bytes of a key in a record. A byte more has its length where that varies: of VARCHAR, and of CHAR in a character
    set of several bytes. `multibyte`: whether columns that name no character set have such a one."""
    varies = column.sql_type.startswith("varchar") or (multibyte and column.sql_type == "char(36)")
    return (column.width or _WIDEST) + varies


def longest_record(page_bytes: int) -> int:
    """Bytes of the longest record that is stored in its page as a whole, as two fit (page0zip.h, REC_MAX_DATA_SIZE)."""
    return min((page_bytes - PAGE_HEADER) // 2, _LONGEST) - 1


def leaf_record(key: int, payload: int, role: KeyRole, most: int = 0) -> int:
    """Bytes of a record in a leaf of the key's index. `key`: its bytes. `payload`: its characters, 0 for none. `most`:
    characters that the payload's column takes, if they are more."""
    if role != "clustered":
        return _HEADER + key + _ROW_ID
    of_payload = int(payload_bytes(np.array([payload]), max(payload, most))[0]) if payload else 0
    return _HEADER + HIDDEN_BYTES + key + of_payload


def branch_record(key: int, role: KeyRole) -> int:
    """Bytes of a node pointer of the key's index. `key`: its bytes. In a secondary index it holds the row's id too."""
    return _HEADER + key + (_ROW_ID if role != "clustered" else 0) + _PAGE_NUMBER


def row_records(key: int, payload: int, role: KeyRole) -> tuple[int, int]:
    """(bytes of a record in a leaf, of a node pointer), of the clustered index of a table by row id, or by date."""
    leaf = leaf_record(key, payload, "clustered") + _ROW_ID
    return leaf, _HEADER + _ROW_ID + (key if role == "by-date" else 0) + _PAGE_NUMBER


def payload_bytes(lengths: Integers, most: int) -> Integers:
    """Bytes of texts, with their lengths, by their characters: (n,). `most`: characters that their column takes."""
    return lengths + np.where((lengths > SHORT_TEXT) & (most > SHORT_LIMIT), 2, 1)


def bytes_per_row(column: Column, payload: int, key: KeyRole) -> tuple[float, float]:
    """(estimated bytes a row of the key's index filled in order; those of index and table when emptiest, with log and
    undo)."""
    share, width = PAGE_BYTES / LEAF_BYTES, key_bytes(column)
    entry = (leaf_record(width, payload, key) + _DIRECTORY) * share
    rows = 0.0
    if key != "clustered":
        fill = _LOWEST_FILL if key == "by-date" else _ASCENDING_FILL  # by date: the writers' clocks may lag
        rows = row_records(width, payload, key)[0] * share / fill
    return entry / _ASCENDING_FILL, entry / _LOWEST_FILL + rows + _LOG_BYTES
