"""The columns besides the key: a text, which is the same for the same row on every engine, and the time of creation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

_DISTINCT_ROWS = 4096
_DRAWN_ROWS = 64
"""Rows drawn at once. A number takes 8 bytes, so all rows of 60,000 characters at once would take two billion bytes."""
_FIRST_MOMENT = 1_767_225_600_000_000
"""1 January 2026, in microseconds since 1970."""


@dataclass(frozen=True)
class Payload:
    """`width` ASCII letters per row, or the first of them. Texts repeat every 4,096 rows, so that client memory holds
    each only once."""

    width: int
    created: NDArray[np.int64] | None = field(default=None, compare=False)
    """(all rows of a writer,): the times of creation in microseconds since 1970; None for one row per microsecond."""
    lengths: NDArray[np.int64] | None = field(default=None, compare=False)
    """(all rows of a writer,): letters of each row, `width` at most; None if all rows have `width`."""

    @cached_property
    def pool(self) -> NDArray[np.uint8]:
        """The distinct rows: uint8 (4096, width)."""
        draw = np.random.Generator(np.random.PCG64(20_120))
        letters = np.empty((_DISTINCT_ROWS, self.width), np.uint8)
        for first in range(0, _DISTINCT_ROWS, _DRAWN_ROWS):
            letters[first : first + _DRAWN_ROWS] = draw.integers(97, 123, (_DRAWN_ROWS, self.width))
        return letters

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The distinct rows as text, if all rows have the same length; else TypeError."""
        if self.lengths is not None:
            raise TypeError("payloads of different lengths are not the same every few rows: take row_texts")
        return tuple(row.tobytes().decode("ascii") for row in self.pool)

    def rows(self, start: int, n: int) -> NDArray[np.uint8]:
        """Rows start … start+n-1: uint8 (n, width), with zeros behind shorter texts."""
        letters = self.pool[np.arange(start, start + n) % _DISTINCT_ROWS]
        if self.lengths is not None:
            letters[~self.kept(start, n)] = 0
        return letters

    def kept(self, start: int, n: int) -> NDArray[np.bool_]:
        """Which letters of the pool belong to rows start … start+n-1: (n, width)."""
        if self.lengths is None:
            return np.ones((n, self.width), np.bool_)
        return np.arange(self.width) < self.lengths[start : start + n, None]

    def row_texts(self, start: int, n: int) -> Sequence[str]:
        """Rows start … start+n-1 as texts: n of them."""
        if self.lengths is None:
            first = start % _DISTINCT_ROWS
            return (self.texts * (-(-(first + n) // _DISTINCT_ROWS)))[first : first + n]
        texts: list[str] = []
        for at in range(start, start + n, _DISTINCT_ROWS):
            letters = self.rows(at, min(_DISTINCT_ROWS, start + n - at))
            texts += letters.view(f"S{self.width}")[:, 0].astype(np.str_).tolist()  # drops the zeros at the end
        return texts

    def moments(self, start: int, n: int) -> NDArray[np.int64]:
        """The times of creation of rows start … start+n-1: int64 (n,), microseconds since 1970."""
        if self.created is None:
            return np.arange(start, start + n, dtype=np.int64) + _FIRST_MOMENT
        return self.created[start : start + n]
