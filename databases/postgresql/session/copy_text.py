"""Rows in COPY's text format, packed by numpy.

The format is text, not binary, because PostgreSQL 15 and 18 read binary rows more slowly. `make bench` loads 300,000
rows and compares with `psql`: binary took 1.18 to 1.24 times as long as psql's text, text 0.98 to 1.05 times.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keybench.databases.core.packing import Varying, beside, decimal, lines, repeated
from keybench.model.byteorder import hexadecimal, text36
from keybench.model.column import Column
from keybench.model.keys import Bytes, Keys

_PART_BYTES = 32_768
"""Bytes per message: the server reads one message while the next is sent. Larger and smaller messages were slower."""


@dataclass(frozen=True)
class CopyBatch:
    """One transaction's rows, in the messages that carry them."""

    parts: tuple[memoryview, ...]
    rows: int


@dataclass(frozen=True)
class FamilyBatch:
    """One transaction's rows of a parent table and of its child table."""

    parents: CopyBatch
    children: CopyBatch


def key_text(column: Column, keys: Keys) -> Bytes:
    """The keys as the column's type reads them in COPY: uint8 (n, width). Only backslashes need escaping."""
    encoded = column.encode(keys)
    if column.form == "int":
        return decimal(keys.data.astype(np.int64, copy=False))
    if column.form == "text":
        return encoded.astype(np.uint8, copy=False)
    if column.sql_type == "uuid":
        return text36(keys)
    return beside(repeated(rb"\\x", len(keys)), hexadecimal(encoded.astype(np.uint8, copy=False)))


def moment_text(moments: NDArray[np.int64]) -> Bytes:
    """The moments of creation, each with a tab after it: uint8 (n, width)."""
    return beside(decimal(moments), repeated(b"\t", len(moments)))


def pack(keys: Bytes, payload: Bytes | Varying, rows_per_tx: int) -> list[CopyBatch]:
    """Batches of `rows_per_tx` rows (the last may be shorter), all in one buffer.

    `keys` is (n, width), `payload` (n, characters). If one of them has no characters, rows do not have that field.
    """
    n = len(keys)
    tab = repeated(b"\t" if keys.shape[1] and payload.shape[1] else b"", n)
    text = lines(keys, tab, payload, repeated(b"\n", n))
    view = text.data.data
    batches = []
    for first in range(0, n, rows_per_tx):
        last = min(first + rows_per_tx, n)
        begin, end = text.begin(first), text.begin(last)
        parts = tuple(view[at : min(at + _PART_BYTES, end)] for at in range(begin, end, _PART_BYTES))
        batches.append(CopyBatch(parts, last - first))
    return batches
