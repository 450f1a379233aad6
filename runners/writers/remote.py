"""Writers on an executor's workers, which may be on other machines: how they are called, and how they wait.

They wait for one another through a table in the benchmark database.

A call travels as bytes, and unpickling the bytes makes the call: the function that the executor runs is `pickle.loads`.
So nothing between runner and worker (a Dask scheduler) needs keybench, and a worker without keybench fails with an
import error.
"""

import hashlib
import pickle
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import keybench
from keybench.databases.contract.roles import Address
from keybench.databases.core.coordination import CoordinationTable, HasCoordinationTable, WritersState
from keybench.databases.core.exchange import Pace
from keybench.databases.hosting import secret
from keybench.databases.registry import engine
from keybench.errors import ServerError
from keybench.generators.core.layout import layout
from keybench.runners.planning.columns import layouts_of_servers
from keybench.runners.writers.barrier import FINISHED, Barrier, Release
from keybench.runners.writers.processes import Outcome, WorkerLost, failure
from keybench.runners.writers.writer import WriterResult, WriterTask, write

ARRIVAL_POLL_SECONDS = 0.01
RELEASE_POLL_SECONDS = 0.001
"""Writers prepare their batches for seconds, so they poll slowly until all have arrived, and then fast."""

READ_SECONDS = 0.2
"""The longest time between two reads of the table: only there does a writer see that it must stop."""

SILENCE_SECONDS = 30.0
"""A runner without a heartbeat for this long is gone."""


class LoadStopped(WorkerLost):
    """The load was given up, by the runner or because another writer failed."""


@dataclass(frozen=True)
class TableBarrierHandle:
    """How one writer of a load finds the coordination table."""

    address: Address
    load: int  # its number in the table
    writer: int
    skew_rows: int
    timeout: float
    """Seconds that the whole load may take."""

    @contextmanager
    def joined(self) -> Iterator[Barrier]:
        """The barrier. WorkerLost if the writer has begun before: executors run a lost task again, which would send its
        rows twice. An error in the block stops the whole load."""
        on = engine(self.address.engine)
        assert isinstance(on, HasCoordinationTable)
        table = on.coordination_table(self.address)
        try:
            if not table.claim(self.load, self.writer):
                raise WorkerLost("the writer had begun before and its worker was lost: it is not run a second time.")
            try:
                yield _TableBarrier(table, self)
            except BaseException:
                with suppress(ServerError):  # the first error is the one to report
                    table.stop(self.load)
                raise
            finally:
                with suppress(ServerError):
                    table.finish(self.load, self.writer)
        finally:
            table.close()


class _TableBarrier:
    """The barrier as one writer uses it, by way of the coordination table.

    The rows that writers store only grow inside a slice, so a minimum that was read stays a lower bound.
    """

    def __init__(self, table: CoordinationTable, handle: TableBarrierHandle) -> None:
        self._table, self._handle = table, handle
        self._stage, self._row, self._sent = 0, 0, 0  # barriers reached, row reached, rows sent: by this writer
        self._stored_row = self._slowest_row = 0  # in the table: this writer's row; the slowest one's, when last read
        self._heartbeats, self._heartbeat_seen = -1, time.monotonic()  # the runner's number of them, and when it grew
        self._last_read = 0.0  # when `_read` last read; `wait` sets it before `limit_skew` needs it
        self._deadline = self._heartbeat_seen + handle.timeout + SILENCE_SECONDS  # the runner should stop it earlier
        self._update_rows = max(1, handle.skew_rows // 4)  # after so many, `limit_skew` stores its row

    def pace(self) -> Pace | None:
        """None: the others' rows are in the table."""
        return None

    def wait(self, first_row: int | None) -> Release:
        """Waits until all writers have arrived, and then until all know it. The end of the second wait is the release.
        It lies between the begin of the last read but one (which did not yet see it) and the end of the last read."""
        self._row = FINISHED if first_row is None else first_row
        self._arrive()  # the first stage: this writer is here; `stage` in what is read is that of the last writer
        while self._read().stage < self._stage:
            time.sleep(ARRIVAL_POLL_SECONDS)
        earliest = time.perf_counter()
        self._arrive()  # the second stage: this writer knows that all are here
        while True:
            asked = time.perf_counter()
            state = self._read()
            latest = time.perf_counter()
            if state.stage >= self._stage:
                return Release(earliest, latest)
            earliest = asked
            time.sleep(RELEASE_POLL_SECONDS)

    def limit_skew(self, row: int) -> None:
        """Waits while a transaction that begins with that row would be too far ahead of the slowest writer.

        Stores this writer's row every quarter of `skew_rows`. The rows that the others see may be old, and old rows are
        lower: the limit is never exceeded.
        """
        self._row = row
        too_far = row - self._slowest_row > self._handle.skew_rows  # as far as known: the slowest may be further now
        if too_far or row - self._stored_row >= self._update_rows:
            self._update()
        if too_far or time.monotonic() - self._last_read > READ_SECONDS:
            while row - self._read().row > self._handle.skew_rows:
                time.sleep(RELEASE_POLL_SECONDS)

    def add_sent(self, rows: int) -> None:
        """Counts rows that this writer has sent; the next update stores the number."""
        self._sent += rows

    def finish(self) -> None:
        """Tells the others that this writer has no more rows in this slice."""
        self._row = FINISHED
        self._update()

    def _arrive(self) -> None:
        self._stage += 1
        self._update()

    def _update(self) -> None:
        handle = self._handle
        self._table.update(handle.load, handle.writer, stage=self._stage, row=self._row, sent=self._sent)
        self._stored_row = self._row

    def _read(self) -> WritersState:
        """The state of the load; LoadStopped if it is over."""
        state, now = self._table.read(self._handle.load), time.monotonic()
        if state.stopped:
            raise LoadStopped("the load was stopped.")
        if state.heartbeats != self._heartbeats:
            self._heartbeats, self._heartbeat_seen = state.heartbeats, now
        elif now - self._heartbeat_seen > SILENCE_SECONDS:
            raise LoadStopped(f"the runner has sent no heartbeat for {SILENCE_SECONDS:g} s.")
        if now > self._deadline:
            raise LoadStopped(f"the load did not end within {self._handle.timeout:.0f} s.")
        self._last_read, self._slowest_row = now, state.row
        return state


@dataclass(frozen=True)
class Call:
    """A function call as a value."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def pickled(self) -> bytes:
        """Bytes that make the call when they are unpickled, and give its `Outcome`."""
        return pickle.dumps(self)

    def __reduce__(self) -> tuple[Callable[..., Outcome], tuple[Any, ...]]:  # what pickle.loads calls, and with what
        return _outcome, (self.function, self.arguments)


def _outcome(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Outcome:
    """Makes the call when its bytes are unpickled; an exception becomes an outcome, too."""
    try:
        return "result", function(*arguments)
    except Exception as error:
        return failure(error)


@dataclass(frozen=True)
class WorkerIdentity:
    """The machine and keybench of a process."""

    machine: str
    keybench: str
    code: str
    """`fingerprint()`."""


def identity() -> WorkerIdentity:
    """The identity of this process."""
    return WorkerIdentity(socket.gethostname(), keybench.__version__, fingerprint())


@cache
def fingerprint() -> str:
    """16 hexadecimal digits of the text of all of keybench's modules: runner and workers compare them. So they find out
    that one of them has other code, even under the same version."""
    digest, root = hashlib.sha256(), Path(keybench.__file__).parent
    folders = sorted(path.parent for path in root.glob("*/__init__.py"))  # some are links, which rglob does not follow
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        text = path.read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{path.relative_to(root).as_posix()}\0{len(text)}\0".encode() + text)
    return digest.hexdigest()[:16]


def ready(name: str, address: Address, layouts: Sequence[str]) -> WorkerIdentity:
    """Checks that a writer can work here: layouts, engine, password, server. KeybenchError with the reason if not."""
    for chosen in layouts:
        if chosen not in layouts_of_servers():
            layout(chosen)  # UsageError if this machine does not have it
    on = engine(name)
    assert isinstance(on, HasCoordinationTable)
    on.coordination_table(_with_own_password(address)).close()
    return identity()


def write_remotely(task: WriterTask, handle: TableBarrierHandle) -> WriterResult:
    """Runs one writer (`write`) on a worker, with this machine's password for the server."""
    address = _with_own_password(task.address)
    return write(replace(task, address=address), replace(handle, address=address))


def _with_own_password(address: Address) -> Address:
    # the address has come without a password, and names only the variable that had it
    return replace(address, secret=secret.on_this_machine(address.secret)) if address.secret else address
