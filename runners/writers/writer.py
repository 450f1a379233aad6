"""One writer: it loads its share of a trial's rows by a session and a stream of its own."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from keybench.databases.capabilities import MakesKeys, StampsTransactions
from keybench.databases.contract import Address, Session
from keybench.databases.registry import engine
from keybench.errors import UsageError
from keybench.model.load_path import ROWS, LoadPath
from keybench.model.payload import Payload
from keybench.model.table import Table
from keybench.runners.planning.sources import KeySource
from keybench.runners.writers.barrier import Release, Rendezvous, Seat

Times = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]


@dataclass(frozen=True)
class Load:
    """One writer's work: successive rows of its stream, from `first` on, into a table."""

    engine: str
    address: Address
    table: Table
    source: KeySource
    first: int
    slices: tuple[int, ...]
    """Rows of each slice. All writers have as many slices, and meet before each of them."""
    rows_per_tx: int
    skew_rows: int
    path: LoadPath = ROWS

    @property
    def rows(self) -> int:
        """Rows in all."""
        return sum(self.slices)


@dataclass(frozen=True, eq=False)
class Sent:
    """What a writer did. Times are of its machine's monotonic clock, in seconds, one a transaction."""

    slices: tuple[Times, ...]
    """For each slice: begin and end of each transaction, and the rows acknowledged."""
    cpu_seconds: float
    entered: NDArray[np.float64] | None
    """When each transaction had the database for itself, of sessions that are `StampsTransactions`."""
    released: tuple[Release, ...] = ()
    """For each slice: when the writers were let go."""

    @property
    def acknowledged(self) -> int:
        """Rows that the server acknowledged."""
        return int(sum(rows.sum() for _, _, rows in self.slices))


def write(work: Load, seat: Seat) -> Sent:
    """One writer, in its own process: prepares a slice, meets the others, sends it; nothing else is timed."""
    with seat.taken() as others:
        session = engine(work.engine).session(work.address, work.table)
        try:
            return _write(work, session, others)
        finally:
            gc.enable()  # the process may be somebody else's, who goes on with it
            gc.unfreeze()
            session.close()


def _write(work: Load, session: Session, others: Rendezvous) -> Sent:
    prepare = _without_keys(session, work) if work.table.made else _with_keys(session, work)
    planned = work.source.planned[work.first : work.first + work.rows]
    stamped = session if isinstance(session, StampsTransactions) else None
    slices, cpu, entered, released = [], 0.0, [], []
    for begin, n in zip(accumulate(work.slices, initial=0), work.slices, strict=False):
        batches = prepare(work.first + begin, n) if n else ()
        begins, ends, rows = np.zeros((3, len(batches)))
        gc.collect()
        gc.freeze()  # until the end: the next slice has nothing to look for in what was there before
        gc.disable()
        released.append(others.meet(int(planned[begin]) if n else None))
        cpu_before = time.process_time()
        for i, batch in enumerate(batches):
            others.before(int(planned[begin + i * work.rows_per_tx]))
            begins[i] = time.perf_counter()
            rows[i] = session.send(batch)
            ends[i] = time.perf_counter()
            if stamped:
                entered.append(stamped.entered)
            others.sent(min(work.rows_per_tx, n - i * work.rows_per_tx))
        cpu += time.process_time() - cpu_before
        others.finish()
        gc.enable()
        del batches
        slices.append((begins, ends, rows.astype(np.int64)))
    return Sent(tuple(slices), cpu, np.array(entered) if stamped else None, tuple(released))


def _with_keys(session: Session, work: Load) -> Callable[[int, int], Sequence[object]]:
    """Gives (first row, rows) as batches, with the next keys of the writer's stream."""
    stream = work.source.stream()
    if work.first:
        stream.take(work.first)
    created, column = work.source.created() if work.table.dated else None, work.table.column
    payload = Payload(work.table.payload, created)

    def prepare(start: int, n: int) -> Sequence[object]:
        keys = stream.take(n)
        accepted = column.accepts(keys)
        if not accepted.all():
            why = f" ({column.refusal})" if column.refusal else ""
            raise UsageError(
                f"column {column.name} refuses {n - int(accepted.sum())} of {n} keys of "
                f"{work.source.layout}{why}: choose another --column."
            )
        return work.path.batches(session, keys, payload, start, work.rows_per_tx)

    return prepare


def _without_keys(session: Session, work: Load) -> Callable[[int, int], Sequence[object]]:
    """Gives (first row, rows) as batches of rows whose keys the server makes."""
    if not isinstance(session, MakesKeys):
        raise TypeError(f"{work.engine} declares keys of its own and its sessions do not send rows without")
    making, payload = session, Payload(work.table.payload)
    return lambda start, n: making.prepare_without_keys(payload, start, n, work.rows_per_tx)
