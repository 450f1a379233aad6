"""The pool of processes that write: by default processes of this machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from keybench.databases.contract.roles import Address
from keybench.runners.writers import processes
from keybench.runners.writers.barrier import SharedMemoryBarrier
from keybench.runners.writers.writer import WriterResult, WriterTask, write

Progress = Callable[[int], None]
"""Called with the rows that all writers together have sent so far."""


class WriterPool(Protocol):
    """Processes that write."""

    connections_per_writer: int
    """Connections to the server that each writer opens."""

    def check(self, engine: str, address: Address, writers: int, layouts: Sequence[str]) -> None:
        """KeybenchError if so many writers cannot work on that server. Called before anything is sent."""
        ...

    def description(self) -> Mapping[str, str]:
        """The pool's properties, which are recorded beside a server's settings."""
        ...

    def run(self, tasks: Sequence[WriterTask], *, timeout: float, progress: Progress) -> list[WriterResult]:
        """Runs all writers at once. Their results are in the order of the tasks.

        The first failure stops all writers. It is raised once none of them sends anything more. `timeout` is in
        seconds.
        """
        ...


class LocalPool:
    """One process of this machine for each writer, started by the fork server."""

    connections_per_writer = 1
    target = staticmethod(write)
    """The function that each process runs."""

    def check(self, engine: str, address: Address, writers: int, layouts: Sequence[str]) -> None:
        """Nothing to check: the processes have what the runner has."""

    def description(self) -> Mapping[str, str]:
        """Empty."""
        return {}

    def run(self, tasks: Sequence[WriterTask], *, timeout: float, progress: Progress) -> list[WriterResult]:
        """As `WriterPool`."""
        sent = processes.context.RawArray("q", len(tasks))
        reached = processes.context.RawArray("q", len(tasks))
        barrier = processes.context.Barrier(len(tasks))
        results: list[WriterResult] = processes.run_all(
            self.target,
            [(task, SharedMemoryBarrier(i, sent, reached, barrier, task.skew_rows)) for i, task in enumerate(tasks)],
            timeout=timeout,
            poll=lambda: progress(sum(sent)),
        )
        progress(sum(sent))
        return results


LOCAL = LocalPool()
