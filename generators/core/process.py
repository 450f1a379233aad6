"""The process that makes keys: what layouts put of it into a key, and which of the planned rows it writes."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError


@dataclass(frozen=True, eq=False)
class Process:
    """One writer as its layout sees it. `machine` and `pid` go into the keys of layouts that have fields for them. The
    writer is number `index`, from 0, of `of` writers. `planned` holds the numbers (from 1, over all writers) of the
    rows that this writer will send, in its order; without it, writers take turns row by row."""

    machine: str
    pid: int
    index: int = 0
    of: int = 1
    shard: int = 0
    """The shard key of its rows, for layouts that have a field for it and no shard of their own."""
    boot: int = 0
    """How often its machine has been started again, for layouts that count the starts."""
    planned: NDArray[np.int64] | None = None

    @staticmethod
    def current() -> Process:
        """This process."""
        return Process(socket.gethostname(), os.getpid())

    def partition(self, i: int, *, of: int, planned: NDArray[np.int64] | None = None) -> Process:
        """Writer `i` (from 0) of `of`: a process on the same machine, whose id is `i` higher. `planned`: as the
        field."""
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
        return np.arange(start, start + n, dtype=np.int64) * self.of + (self.index + 1)  # each `of`th row


def worker_id(layout: str, process: Process, count: int) -> int:
    """The worker id in the keys of a process, its `index`; UsageError where it is not below `count`."""
    if not 0 <= process.index < count:
        raise UsageError(
            f"{layout} has room for worker ids 0 to {count - 1}, and this is writer {process.index} "
            f"of {process.of}: use fewer writers, or a layout with more bits for them."
        )
    return process.index
