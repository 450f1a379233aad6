"""Bytes of redo log that a load into MariaDB writes, in the format of version 10.8 and later (mtr0log.h).

A row is two mini-transactions: its undo record (UNDO_APPEND), and its insertion (INSERT_HEAP_DYNAMIC), which leaves out
the bytes that it shares with the record before it (page0cur.cc, mtr_t::page_insert). A split inserts each record that
moves once more, on a page that is named only once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keybench.pagemodels.costs.contract import Load, Log
from keybench.pagemodels.innodb.leaf_memory import DOWN, MOVED, NEIGHBOUR, ROW, UP, WHAT

Integers = NDArray[np.int64]

CAPACITY = 512 << 20
"""innodb_log_file_size on servers that keybench starts."""
UNDO_FRAME = 4
"""Bytes of an undo record that lead to its neighbours; the log leaves them out."""
_END = 5
"""The end of a mini-transaction: a byte and a checksum."""
_SPLIT, _COMMIT = 200, 300
"""About: headers, links and allocation of a new page, without the records that move; begin and commit of a transaction
and the purge of its undo log."""
_TWO_BYTES, _THREE_BYTES = 1 << 7, (1 << 7) + (1 << 14)
"""Numbers from here on take so many bytes (MIN_2BYTE, MIN_3BYTE)."""
_SHORT = 15
"""Bytes that the first byte of a record can count."""


def undo_record(key_bytes: int, rows_per_tx: int) -> int:
    """Bytes of an undo record: links, type, the row's number in the transaction, the table's, the key
    (trx0rec.cc, trx_undo_page_report_insert)."""
    return UNDO_FRAME + 1 + (1 if rows_per_tx <= 1 << 7 else 2) + 1 + 1 + key_bytes


def _record(body: float, page_number: float) -> float:
    """Bytes of a record of the log with so many bytes behind the page's name; below 0: the last one's page."""
    name = 0 if page_number < 0 else 1 + _varint(page_number)
    length = 1 + name + body
    if length > _SHORT + 1:
        length += 1 if length - _SHORT < _TWO_BYTES else 2
    return length


def _varint(number: float) -> int:
    return 1 if number < _TWO_BYTES else 2 if number < _THREE_BYTES else 3


def shared_by_chance(rows: float) -> float:
    """Bytes that a random key has in common with the one before it among so many."""
    return float(np.log(max(rows, 1)) / np.log(256) + 1 / 255)


@dataclass(frozen=True)
class Redo:
    """The log of rows of one size."""

    record_bytes: int
    """Of a leaf's record, with its header."""
    header_bytes: int
    """Of them, those before the key that a neighbour has too."""
    key_bytes: int

    def log(self, load: Load, events: Integers) -> Log:
        """Of a load whose leaves had these events."""
        total = np.zeros(len(load.ends), np.int64)
        begin, leaves = 0, 1
        for part, end in enumerate(load.ends):
            own = events[(events[:, ROW] >= begin) & (events[:, ROW] < end)]
            splits = own[(own[:, WHAT] == UP) | (own[:, WHAT] == DOWN)]
            pages = leaves + len(splits) / 2 if load.index_pages is None else float(load.index_pages[part])
            shared = shared_by_chance((begin + end) / 2) if load.shared is None else float(load.shared[part])
            body = 6 + self.record_bytes - self.header_bytes - min(shared, self.key_bytes)
            undo = _record(1 + undo_record(self.key_bytes, load.rows_per_tx) - UNDO_FRAME, 1 << 10) + _END
            bytes_ = (end - begin) * (undo + _record(body, pages) + _END)
            bytes_ += len(splits) * _SPLIT + int(splits[:, MOVED].sum()) * _record(body, -1)
            bytes_ += int((own[:, WHAT] == NEIGHBOUR).sum()) * _SPLIT / 2
            total[part] = round(bytes_ + (end - begin) / load.rows_per_tx * _COMMIT)
            begin, leaves = end, leaves + len(splits)
        none = np.zeros(len(load.ends), np.int64)
        return Log(total, None, None, none)
