"""Values of rows as the binary protocol has them, packed by numpy (MySQL's manual, "Binary Protocol Value")."""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from keybench.databases.core.packing import Varying, beside, repeated
from keybench.databases.mysql.session.statements import Moments, is_uuid, key_text
from keybench.model.column import Column
from keybench.model.keys import Bytes, Keys
from keybench.model.table import Table

_SHORT = 250
"""The longest value whose length takes one byte."""
_BIGINT, _BLOB, _TEXT = 0x08, 0xFC, 0xFE
"""Types of the protocol. A BLOB's bytes are stored unchanged; a text's are first decoded in the connection's character
set, which takes a fifth of the whole time."""

Values = tuple[list[int], list[Bytes | Varying]]
"""The protocol's type of each column, and each column's values."""


def of_rows(table: Table, keys: Keys, payload: Bytes | Varying, moments: Moments, before: bytes) -> Values:
    """`payload` and `moments` as in `statements.loads`; `before` comes before each value."""
    kinds: list[int] = []
    columns: list[Bytes | Varying] = []
    if table.by_date:
        kinds.append(_BIGINT)
        columns.append(_numbers(moments, before))
    kind, values = _key(table.column, keys, before)
    kinds.append(kind)
    columns.append(values)
    if payload.shape[1]:
        kinds.append(_BLOB)
        columns += _text(payload, before)
    return kinds, columns


def without_keys(payload: Bytes | Varying, before: bytes) -> Values:
    """The same of rows whose keys the server makes."""
    return [_BLOB], list(_text(payload, before))


def _key(column: Column, keys: Keys, before: bytes) -> tuple[int, Bytes]:
    if column.form == "int":
        return _BIGINT, _numbers(keys.data, before)
    return _TEXT if is_uuid(column) else _BLOB, _sized(key_text(column, keys), before)


def _numbers(values: NDArray[np.generic], before: bytes) -> Bytes:
    n = len(values)
    return beside(repeated(before, n), np.ascontiguousarray(values, "<i8").view(np.uint8).reshape(-1, 8))


def _sized(text: Bytes, before: bytes) -> Bytes:
    """Values of one length, each after that length."""
    n, length = text.shape
    size = bytes([length]) if length <= _SHORT else b"\xfc" + struct.pack("<H", length)  # a VARCHAR has 65,535 at most
    return beside(repeated(before + size, n), text)


def _text(payload: Bytes | Varying, before: bytes) -> tuple[Bytes | Varying, ...]:
    """Texts, each after its length."""
    if not isinstance(payload, Varying):
        return (_sized(payload, before),)
    lengths, n = payload.kept.sum(axis=1), len(payload)
    long = lengths > _SHORT
    size = np.zeros((n, 3), np.uint8)
    size[:, 0] = np.where(long, 0xFC, lengths)
    size[:, 1:] = lengths.astype("<u2").view(np.uint8).reshape(-1, 2)
    kept = np.column_stack([np.ones(n, np.bool_), long, long])
    return repeated(before, n), Varying(size, kept), payload
