"""How the writers of a load wait for one another: at a barrier before each slice, and inside a slice by `skew_rows`.

Writers on one machine do so in shared memory (here), writers on many machines through a table in the benchmark database
(`table_barrier`).
"""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from keybench.databases.core.exchange import Pace

FINISHED = int(np.iinfo(np.int64).max)
"""The row number stored for a writer that has no further rows in this slice."""

_POLL_SECONDS = 0.0002


@dataclass(frozen=True)
class Release:
    """When a barrier let the writers go: the earliest and the latest possible moment.

    Both are seconds on the monotonic clock of the writer's machine. Both are 0 for writers on one machine, which read
    the same clock.
    """

    earliest: float = 0.0
    latest: float = 0.0


class Barrier(Protocol):
    """The barrier as one writer uses it. Rows are named by their numbers in planned order."""

    def pace(self) -> Pace | None:
        """How far all writers are, for a loop that limits its skew and counts its rows itself; None if no loop can."""

    def wait(self, first_row: int | None) -> Release:
        """Waits for all writers. `first_row` is the first row that this one sends, None if it has none."""

    def limit_skew(self, row: int) -> None:
        """Waits while a transaction that begins with that row would be more than `skew_rows` ahead of the slowest."""

    def add_sent(self, rows: int) -> None:
        """Counts rows that this writer has sent."""

    def finish(self) -> None:
        """Tells the others that this writer has no more rows in this slice."""


class BarrierHandle(Protocol):
    """How a writer finds its barrier. Picklable."""

    def joined(self) -> AbstractContextManager[Barrier]:
        """The barrier. When the block ends, the writer sends nothing more."""


@dataclass(frozen=True)
class SharedMemoryBarrier:
    """A barrier, and the handle to it, in memory that processes on one machine share."""

    writer: int
    sent: Any
    """Rows that each writer has sent: a shared array of int64."""
    reached: Any
    """Row that each writer has reached: likewise shared."""
    barrier: Any
    skew_rows: int

    @contextmanager
    def joined(self) -> Iterator[Barrier]:
        """Itself."""
        yield self

    def pace(self) -> Pace | None:
        """The memory that the writers share."""
        sent, reached = (np.frombuffer(shared, np.int64) for shared in (self.sent, self.reached))
        return Pace(self.writer, self.skew_rows, sent, reached)

    def wait(self, first_row: int | None) -> Release:
        """Waits for all writers (`Barrier.wait`)."""
        self.reached[self.writer] = FINISHED if first_row is None else first_row
        self.barrier.wait()
        return Release()

    def limit_skew(self, row: int) -> None:
        """Waits while this writer is too far ahead (`Barrier.limit_skew`); looks at the others 5,000 times a second."""
        if len(self.reached) > 1:  # else there is nobody to wait for
            self.reached[self.writer] = row
            while row - min(self.reached) > self.skew_rows:
                time.sleep(_POLL_SECONDS)

    def add_sent(self, rows: int) -> None:
        """Counts rows that this writer has sent."""
        self.sent[self.writer] += rows

    def finish(self) -> None:
        """Tells the others that this writer has no more rows in this slice."""
        self.reached[self.writer] = FINISHED
