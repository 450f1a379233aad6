"""Where the writers of a load work: in processes of this machine, unless an executor is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from keybench.databases.contract import Address
from keybench.runners.writers import processes as workers
from keybench.runners.writers.barrier import SharedMemory
from keybench.runners.writers.writer import Load, Sent, write

Progress = Callable[[int], None]


class Crew(Protocol):
    """Processes that write."""

    connections: int
    """Connections to the server that a writer needs."""

    def check(self, engine: str, address: Address, writers: int, layouts: Sequence[str]) -> None:
        """KeybenchError where so many writers cannot work here, before anything is sent."""
        ...

    def described(self) -> Mapping[str, str]:
        """What is recorded of it beside a server's settings."""
        ...

    def run(self, loads: Sequence[Load], *, timeout: float, progress: Progress) -> list[Sent]:
        """What all writers did, all at once; `progress` is given the rows sent so far.

        The first failure ends them all and is raised, once none of them sends anything any more.
        """
        ...


class LocalProcesses:
    """A process of this machine for each writer, started by the fork server."""

    connections = 1
    writer = staticmethod(write)
    """What each of them runs."""

    def check(self, engine: str, address: Address, writers: int, layouts: Sequence[str]) -> None:
        """Nothing: here is everything that the runner has."""

    def described(self) -> Mapping[str, str]:
        """Nothing."""
        return {}

    def run(self, loads: Sequence[Load], *, timeout: float, progress: Progress) -> list[Sent]:
        """As `Crew`."""
        sent = workers.context.RawArray("q", len(loads))
        ahead = workers.context.RawArray("q", len(loads))
        barrier = workers.context.Barrier(len(loads))
        done: list[Sent] = workers.run_all(
            self.writer,
            [(work, SharedMemory(i, sent, ahead, barrier, work.skew_rows)) for i, work in enumerate(loads)],
            timeout=timeout,
            poll=lambda: progress(sum(sent)),
        )
        progress(sum(sent))
        return done


LOCAL = LocalProcesses()
