"""Native clients, and the processor time that a load takes on both sides."""

import resource
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import psutil

from benchmarks import pairs
from keybench.databases.contract.roles import Address, Session
from keybench.errors import EnvironmentMissing
from keybench.model.table import Table
from keybench.runners.writers.barrier import BarrierHandle
from keybench.runners.writers.processes import WriterPool
from keybench.runners.writers.writer import WriterResult, WriterTask, write_slices

TEXT = "x" * pairs.PAYLOAD
_REAPED_SECONDS = 0.2
"""How long a server may take to end the sessions of a load, whose time counts then."""


@dataclass(frozen=True)
class Used:
    """Seconds: of the load, and of processors by its clients and by the server."""

    seconds: float
    client: float
    server: float = 0.0


class Client(Protocol):
    """A native client that sends one statement again and again."""

    engine: str
    title: str
    column: str
    """The key's, on tables of the comparison."""
    pool: WriterPool
    """Writers of the harness that send its statement."""

    def program(self, address: Address) -> Path | None:
        """Its program; None if it is not installed."""
        ...

    def run(self, address: Address, table: Table, clients: int, rows: int) -> Used:
        """So many rows by so many clients."""
        ...


def write(session_of: Callable[[Address, Table], Session], task: WriterTask, handle: BarrierHandle) -> WriterResult:
    """A writer of the harness with a session that sends the client's statement."""
    with handle.joined() as barrier:
        session = session_of(task.address, task.table)
        try:
            return write_slices(task, session, barrier)
        finally:
            session.close()


def run(command: Sequence[str]) -> tuple[str, float]:
    """(What the command prints, its processor time in seconds). EnvironmentMissing if it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise EnvironmentMissing(f"{command[0]} failed: {done.stderr.strip()}. Look into that, then run again.")
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class ServerTime:
    """The processor time of a private server, of all its processes."""

    def __init__(self, address: Address) -> None:
        data = address.parameters["data"]
        of_data = [each for each in psutil.process_iter(["cmdline"]) if data in " ".join(each.info["cmdline"] or ())]
        (self._server,) = [each for each in of_data if "folder_keeper" not in " ".join(each.info["cmdline"])]

    def of(self, load: Callable[[], Used]) -> Used:
        """What the load used, with the server's time."""
        before = self._seconds()
        used = load()
        time.sleep(_REAPED_SECONDS)
        return replace(used, server=self._seconds() - before)

    def _seconds(self) -> float:
        own = self._server.cpu_times()
        total = own.user + own.system + own.children_user + own.children_system
        for child in self._server.children():
            with suppress(psutil.NoSuchProcess):  # it has ended: its parent has its time
                times = child.cpu_times()
                total += times.user + times.system
        return float(total)
