"""Packs rows of text with numpy: joins columns, and writes integers as decimals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from keybench.model.keys import Bytes
from keybench.model.payload import Payload


@dataclass(frozen=True, eq=False)
class Varying:
    """A column whose values have different lengths."""

    data: Bytes
    """uint8 (n, width): the bytes of each value, and others that do not belong to it."""
    kept: NDArray[np.bool_]
    """(n, width): which bytes belong to the value."""

    @property
    def shape(self) -> tuple[int, int]:
        """(n, width)."""
        return len(self.data), self.data.shape[1]

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, rows: NDArray[np.int64]) -> Varying:
        """The column of these rows."""
        return Varying(self.data[rows], self.kept[rows])


Batch = TypeVar("Batch")


@dataclass(frozen=True)
class FamilyBatch(Generic[Batch]):
    """One transaction's rows of a parent table and of its child table."""

    parents: Batch
    children: Batch


@dataclass(frozen=True, eq=False)
class PackedRows:
    """Rows of bytes, one after the other."""

    data: NDArray[np.uint8]
    """(bytes,)."""
    width: int
    """Bytes of the longest row."""
    ends: NDArray[np.int64] | None = None
    """(n,): where each row ends; None if all rows have the same width."""

    def __len__(self) -> int:
        return len(self.data) // max(1, self.width) if self.ends is None else len(self.ends)  # width 0: no rows

    def begin(self, row: int) -> int:
        """Where a row begins in `data`. If `row` is the number of rows: where the last one ends."""
        if self.ends is None:
            return row * self.width
        return int(self.ends[row - 1]) if row else 0

    def part(self, first: int, last: int) -> memoryview:
        """Rows first … last-1, without a copy."""
        return self.data[self.begin(first) : self.begin(last)].data


def texts(payload: Payload, start: int, n: int) -> Bytes | Varying:
    """The payloads of rows start … start+n-1 as a column."""
    letters = payload.rows(start, n)
    return letters if payload.lengths is None else Varying(letters, payload.kept(start, n))


def lines(*columns: Bytes | Varying) -> PackedRows:
    """Rows of bytes: each joins the row's values in all columns. Of a `Varying` column, only the kept bytes."""
    data = beside(*(column.data if isinstance(column, Varying) else column for column in columns))
    if not any(isinstance(column, Varying) for column in columns):
        return PackedRows(data.reshape(-1), data.shape[1])
    masks = [column.kept if isinstance(column, Varying) else np.ones(column.shape, np.bool_) for column in columns]
    kept = np.concatenate(masks, axis=1)
    return PackedRows(data[kept], data.shape[1], np.cumsum(kept.sum(axis=1)))


def repeated(text: bytes, n: int) -> Bytes:
    """The text in each of n rows: uint8 (n, length), without a copy."""
    return np.broadcast_to(np.frombuffer(text, np.uint8), (n, len(text)))


def beside(*columns: Bytes) -> Bytes:
    """The columns side by side, each row's parts joined: uint8 (n, sum of widths)."""
    return np.concatenate(columns, axis=1)


def lengths(column: Bytes | Varying) -> NDArray[np.int64]:
    """Bytes of each value of a column: (n,)."""
    if isinstance(column, Varying):
        return np.asarray(column.kept.sum(axis=1), np.int64)
    return np.full(len(column), column.shape[1], np.int64)


def binary(values: NDArray[np.generic], kind: str) -> Bytes:
    """Integers as the bytes of numpy's type `kind`: uint8 (n, width)."""
    return np.ascontiguousarray(values, kind).view(np.uint8).reshape(len(values), np.dtype(kind).itemsize)


def decimal(values: NDArray[np.int64]) -> Bytes:
    """Integers as decimals of one width, with leading zeros, and a sign if any is negative: uint8 (n, width)."""
    # abs() returns the smallest int64 unchanged; read as unsigned it is correct
    magnitudes = np.abs(values).view(np.uint64)
    width = len(str(magnitudes.max(initial=0)))
    powers = np.uint64(10) ** np.arange(width - 1, -1, -1, dtype=np.uint64)
    digits = (magnitudes[:, None] // powers % np.uint64(10) + np.uint64(ord("0"))).astype(np.uint8)
    if not (values < 0).any():
        return digits
    return beside(np.where(values < 0, ord("-"), ord("+")).astype(np.uint8)[:, None], digits)
