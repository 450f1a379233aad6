"""One writer: it loads its share of a trial's rows with its own session and its own stream of keys."""

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract.roles import Address, Session
from keybench.databases.core.exchange import Exchange, ExchangesRequests, Requests
from keybench.databases.core.retried import Rollbacks, in_transactions
from keybench.databases.registry import engine
from keybench.errors import UsageError
from keybench.model.load_path import ROWS, LoadPath, PreparesRows
from keybench.model.payload import Payload
from keybench.model.table import Table
from keybench.model.transactions import TransactionStyle
from keybench.runners.planning.key_sources import KeySource
from keybench.runners.writers.barrier import Barrier, BarrierHandle, Release

SliceTimes = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]
"""Begin and end of each transaction (seconds), and the rows it sent."""

_LOOP_ROWS = 1000
"""Fewer transactions of one row are not worth the import of compiled code."""


class Sends(PreparesRows, Protocol):
    """The part of a session that loads rows."""

    def send(self, batch: object) -> int:
        """As `Session.send`."""
        ...


@dataclass(frozen=True)
class WriterTask:
    """One writer's work: consecutive rows of its stream, from row `first`, into a table."""

    address: Address
    table: Table
    source: KeySource
    first: int
    slices: tuple[int, ...]
    """Rows of each slice. All writers have the same number of slices, and wait for one another before each."""
    rows_per_tx: int
    skew_rows: int
    path: LoadPath = ROWS
    style: TransactionStyle | None = None
    """None: each transaction is one batch and nothing else."""

    @property
    def rows(self) -> int:
        """Rows of all slices."""
        return sum(self.slices)


@dataclass(frozen=True, eq=False)
class WriterResult:
    """What a writer did. Times are seconds on the monotonic clock of its machine, one for each transaction."""

    slices: tuple[SliceTimes, ...]
    cpu_seconds: float
    entered: NDArray[np.float64] | None
    """When each transaction held the database's lock; None unless sessions are stamped (`Session.entered`)."""
    released: tuple[Release, ...] = ()
    """For each slice: when the barrier let the writers go."""
    rollbacks: Rollbacks | None = None
    """None unless the task has a style, or the session counts them by itself."""

    @property
    def acknowledged(self) -> int:
        """Rows that the server acknowledged."""
        return int(sum(rows.sum() for _, _, rows in self.slices))


def write(task: WriterTask, handle: BarrierHandle) -> WriterResult:
    """Runs one writer: for each slice it prepares batches, waits for the other writers, and sends. Only sending is
    timed."""
    with handle.joined() as barrier:
        session = engine(task.address.engine).session(task.address, task.table)
        try:
            if task.style is None:
                return write_slices(task, session, barrier)
            retried = in_transactions(session, task.style)
            return replace(write_slices(task, retried, barrier), rollbacks=retried.rollbacks)
        finally:
            gc.enable()  # an executor's worker process goes on afterwards
            gc.unfreeze()
            session.close()


def write_slices(task: WriterTask, session: Sends, barrier: Barrier) -> WriterResult:
    """Sends all slices of the task by that session, and times each transaction. Leaves the garbage collector frozen."""
    prepare = _prepare_without_keys(session, task) if task.table.server_keys else _prepare_with_keys(session, task)
    planned = task.source.planned[task.first : task.first + task.rows]
    stamped = session if isinstance(session, Session) and session.entered is not None else None
    slices, cpu, entered, released = [], 0.0, [], []
    for begin, n in zip(accumulate(task.slices, initial=0), task.slices, strict=False):  # without the sum of all
        # untimed: the slice's batches, and a heap that no collection will visit
        batches = prepare(task.first + begin, n) if n else ()
        times = np.zeros((3, len(batches)))  # begin and end of each transaction, and its rows
        exchange, pace = _exchange(session, batches), barrier.pace()
        gc.collect()
        gc.freeze()  # what exists now stays until the end, so later collections need not visit it
        gc.disable()
        released.append(barrier.wait(int(planned[begin]) if n else None))
        cpu_before = time.process_time()
        # timed: by the compiled loop, or one by one
        if exchange and pace and isinstance(batches, Requests):
            exchange.send(batches, planned[begin : begin + n], pace, times)
        else:
            for i, batch in enumerate(batches):
                barrier.limit_skew(int(planned[begin + i * task.rows_per_tx]))
                times[0, i] = time.perf_counter()
                times[2, i] = session.send(batch)
                times[1, i] = time.perf_counter()
                if stamped:
                    entered.append(stamped.entered)
                barrier.add_sent(min(task.rows_per_tx, n - i * task.rows_per_tx))
        cpu += time.process_time() - cpu_before
        barrier.finish()
        gc.enable()
        del batches  # before those of the next slice are made: memory holds one slice
        slices.append((times[0], times[1], times[2].astype(np.int64)))
    return WriterResult(tuple(slices), cpu, np.array(entered) if stamped else None, tuple(released))


def _exchange(session: Sends, batches: Sequence[object]) -> Exchange | None:
    """The compiled loop, if the batches are requests for it and the session can use it."""
    if len(batches) < _LOOP_ROWS or not isinstance(batches, Requests) or not isinstance(session, ExchangesRequests):
        return None
    return session.exchange()


def _prepare_with_keys(session: Sends, task: WriterTask) -> Callable[[int, int], Sequence[object]]:
    """A function (first row, rows) → batches, with the next keys of the writer's stream. The function raises UsageError
    if the column refuses a key."""
    stream = task.source.stream()
    if task.first:  # earlier rows have the first keys
        stream.take(task.first)
    created, column = task.source.created() if task.table.by_date else None, task.table.column
    payload = Payload(task.table.payload, created, _lengths(task))

    def prepare(start: int, n: int) -> Sequence[object]:
        keys = stream.take(n)
        accepted = column.accepts(keys)
        if not accepted.all():
            why = f" ({column.refusal})" if column.refusal else ""
            raise UsageError(
                f"column {column.name} refuses {n - int(accepted.sum())} of {n} keys of "
                f"{task.source.layout}{why}: choose another --column."
            )
        return task.path.batches(session, keys, payload, start, task.rows_per_tx)

    return prepare


def _prepare_without_keys(session: Sends, task: WriterTask) -> Callable[[int, int], Sequence[object]]:
    """A function (first row, rows) → batches of rows whose keys the server makes."""
    assert isinstance(session, Session)  # a scenario's transactions look up keys, so the server makes none there
    keyless_session, payload = session, Payload(task.table.payload, lengths=_lengths(task))
    return lambda start, n: keyless_session.prepare_without_keys(payload, start, n, task.rows_per_tx)


def _lengths(task: WriterTask) -> NDArray[np.int64] | None:
    """Characters of the payload of each of the writer's rows; None if all rows have the same."""
    source, lengths = task.source, task.table.lengths
    return lengths.of(source.seed, source.planned - 1) if lengths else None
