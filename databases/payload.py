"""The text beside the key: the same characters for the same row, whatever layout and engine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

_DISTINCT_ROWS = 4096


@dataclass(frozen=True)
class Payload:
    """`width` ASCII letters a row; rows repeat every 4,096, so that the client's memory holds them once."""

    width: int

    @cached_property
    def pool(self) -> NDArray[np.uint8]:
        """The distinct rows: uint8 (4096, width)."""
        letters = np.random.Generator(np.random.PCG64(20_120)).integers(97, 123, (_DISTINCT_ROWS, self.width))
        return letters.astype(np.uint8)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The distinct rows as text."""
        return tuple(row.tobytes().decode("ascii") for row in self.pool)

    def rows(self, start: int, n: int) -> NDArray[np.uint8]:
        """Rows start … start+n-1: uint8 (n, width)."""
        return self.pool[np.arange(start, start + n) % _DISTINCT_ROWS]
