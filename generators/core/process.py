"""The process that makes keys: what some layouts put into a key, and how writers share the planned rows."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Process:
    """One writer as its layout sees it.

    `machine` and `pid` go into keys that carry them. `index` of `of` is the writer's place among all writers.
    `planned` holds the numbers (from 1, over all writers) of the rows that this writer will send, in its order;
    without it writers take turns row by row.
    """

    machine: str
    pid: int
    index: int = 0
    of: int = 1
    shard: int = 0
    """The shard key of its rows, for layouts that carry one and were given none themselves."""
    planned: NDArray[np.int64] | None = None

    @staticmethod
    def current() -> Process:
        """This very process."""
        return Process(socket.gethostname(), os.getpid())

    def partition(self, i: int, *, of: int, planned: NDArray[np.int64] | None = None) -> Process:
        """Writer `i` (from 0) of `of`: a process of its own on the same machine."""
        if not 0 <= i < of:
            raise ValueError(f"writer {i} of {of}: the first is 0, the last {of - 1}")
        return replace(self, pid=self.pid + i, index=i, of=of, planned=planned)

    def row_numbers(self, start: int, n: int) -> NDArray[np.int64]:
        """Planned row numbers, from 1, of this writer's rows start … start+n-1 (counted from 0)."""
        if self.planned is not None:
            rows = self.planned[start : start + n]
            if len(rows) < n:
                raise ValueError(f"the plan gives this writer {len(self.planned)} rows, not {start + n}")
            return rows
        return np.arange(start, start + n, dtype=np.int64) * self.of + (self.index + 1)
