"""Packs rows of text with numpy: joins columns, and writes integers as decimals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.model.keys import Bytes


def repeated(text: bytes, n: int) -> Bytes:
    """The text in each of n rows: uint8 (n, length), without a copy."""
    return np.broadcast_to(np.frombuffer(text, np.uint8), (n, len(text)))


def beside(*columns: Bytes) -> Bytes:
    """The columns side by side, each row's parts joined: uint8 (n, sum of widths)."""
    return np.concatenate(columns, axis=1)


def decimal(values: NDArray[np.int64]) -> Bytes:
    """Integers as decimals of one width, with leading zeros, and a sign if any is negative: uint8 (n, width)."""
    size = np.abs(values).view(np.uint64)  # abs() returns the smallest int64 unchanged; read as unsigned it is correct
    width = len(str(size.max(initial=0)))
    powers = np.uint64(10) ** np.arange(width - 1, -1, -1, dtype=np.uint64)
    digits = (size[:, None] // powers % np.uint64(10) + np.uint64(ord("0"))).astype(np.uint8)
    if not (values < 0).any():
        return digits
    return beside(np.where(values < 0, ord("-"), ord("+")).astype(np.uint8)[:, None], digits)
