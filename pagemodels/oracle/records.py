"""Sizes of what Oracle stores in the leaf blocks of an index (docs/internals/oracle.md §1).

They follow from published dumps and statistics of 8 KiB blocks: a row of a leaf has a flag and a lock byte, its columns
with a length in front of each, and two bytes in the block's row directory.
"""

import numpy as np

from keybench.pagemodels.ranking import Integers

_ROW = 2 + 2  # beside a row's columns: flag and lock byte, and its place in the row directory
_ROWID = 6
LEAF_BYTES = 7996
"""For rows of a leaf: LF_BLK_LEN of an 8 KiB block with two transaction slots."""
_DATA_BYTES = 8036  # a leaf's data area: kdxlebksz in dumps of such a block
_BUILT_LEAF_SPARE = 7
"""What a build leaves free of a leaf beside PCTFREE: 7 or 8 bytes. R. Foote's treedump of NUMBER 1 … 10,000 has 485
rows in the first leaf and 479 in each other one (richardfoote.wordpress.com 2015/06/22)."""
_LONG = 250  # bytes of the longest value whose length takes one byte; that of a longer one takes three
_HEAP_ROW = 3 + 2
"""Of a heap's row beside its columns: flag, lock byte and number of columns; its place in the row directory."""
_HEAP_PCTFREE = 10  # Oracle's default, in %


def built_bytes(pctfree: int) -> int:
    """Bytes for rows of a leaf that a build fills: PCTFREE % of the block's data area stay free."""
    return LEAF_BYTES - _BUILT_LEAF_SPARE - _DATA_BYTES * pctfree // 100


def column_bytes(width: int) -> int:
    """Bytes of a value of `width` bytes with its length in front."""
    return (1 if width <= _LONG else 3) + width


def column_bytes_of(widths: Integers) -> Integers:
    """(n,): `column_bytes` of many values in the last column of a row. An empty text is NULL, and not stored."""
    return np.where(widths > 0, np.where(widths <= _LONG, 1, 3) + widths, 0)


def unique_entry(key: int) -> int:
    """Bytes of an entry of a unique index: the rowid needs no length. `key`: bytes of the stored value."""
    return _ROW + _ROWID + column_bytes(key)


def nonunique_entry(key: int) -> int:
    """Bytes of an entry of an index that is not unique: the rowid is its last column. `key`: bytes of the value."""
    return _ROW + column_bytes(key) + column_bytes(_ROWID)


def table_entry(key: int, payload: int) -> int:
    """Bytes of a row of an index-organised table, which has no rowid. Not checked against any published figure."""
    return _ROW + column_bytes(key) + (column_bytes(payload) if payload else 0)


def rows_a_heap_block(key: int, payload: int) -> int:
    """Rows in a heap's block of which PCTFREE 10 % stay free. Not checked against any published figure."""
    row = _HEAP_ROW + column_bytes(key) + (column_bytes(payload) if payload else 0)
    return max(1, (_DATA_BYTES - _DATA_BYTES * _HEAP_PCTFREE // 100) // row)


def number_bytes(values: Integers) -> Integers:
    """(n,): bytes of integers as NUMBER: an exponent, and a byte for each pair of decimal digits but trailing 00s; 1
    for zero. Negative numbers of less than 20 pairs end with one byte more."""
    # Without the sign; below, without pairs of zeros at the end. An integer of 64 bits has ten pairs at most.
    digits = np.where(values < 0, np.uint64(0) - values.astype(np.uint64), values.astype(np.uint64))
    while (even := (digits > 0) & (digits % np.uint64(100) == 0)).any():
        digits[even] //= np.uint64(100)
    pairs = np.zeros(len(values), np.int64)
    for power in range(10):
        pairs += digits >= np.uint64(100) ** np.uint64(power)
    exponent = 1
    return exponent + pairs + (values < 0)
