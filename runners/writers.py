"""Writers: processes that load one trial's rows, each with its own session and stream, and how their times add up."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keybench.databases.arrival import StampsTransactions
from keybench.databases.bulk import LoadPath, LoadsInBulk
from keybench.databases.engine import Address, MakesKeys, Session, Table, engine
from keybench.databases.payload import Payload
from keybench.errors import UsageError
from keybench.results.metrics import Metric, Reading, Series
from keybench.runners import workers
from keybench.runners.sources import KeySource
from keybench.scenarios.schema import SKEW_ROWS

SLICE_BYTES = 256_000_000
"""Buffers that a writer makes before each timed slice; more rows than that are sent in several slices."""

_SERIES_POINTS = 200
_FINISHED = np.iinfo(np.int64).max


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
    path: LoadPath = "rows"

    @property
    def rows(self) -> int:
        """Rows in all."""
        return sum(self.slices)


@dataclass(frozen=True, eq=False)
class Sent:
    """What a writer did. Times are of the machine's monotonic clock, in seconds, one a transaction."""

    slices: tuple[tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]], ...]
    """For each slice: begin and end of each transaction, and the rows acknowledged."""
    cpu_seconds: float
    entered: NDArray[np.float64] | None
    """When each transaction had the database for itself, of sessions that are `StampsTransactions`."""

    @property
    def acknowledged(self) -> int:
        """Rows that the server acknowledged."""
        return int(sum(rows.sum() for _, _, rows in self.slices))


@dataclass(frozen=True, eq=False)
class Loaded:
    """All writers of a load together, on one timeline that leaves out the making of buffers."""

    rows: NDArray[np.int64]
    """Rows acknowledged so far, after each transaction in order of completion."""
    elapsed: NDArray[np.float64]
    """Seconds in the timed window so far, likewise."""
    latencies: NDArray[np.float64]
    cpu_share: float
    entered: tuple[tuple[NDArray[np.float64], NDArray[np.int64]], ...] = ()
    """For each writer when its transactions had the database for themselves, and their rows; empty where unknown."""

    @property
    def seconds(self) -> float:
        """Time from the first row sent to the last acknowledged."""
        return float(self.elapsed[-1])

    def readings(self) -> list[Reading]:
        """Times of the whole, of both halves, and of transactions."""
        half = float(self.elapsed[np.searchsorted(self.rows, self.rows[-1] / 2)])
        p50, p95, p99 = np.percentile(self.latencies * 1000, (50, 95, 99))
        values = {
            Metric.INSERT_SECONDS: self.seconds,
            Metric.FIRST_HALF_SECONDS: half,
            Metric.SECOND_HALF_SECONDS: self.seconds - half,
            Metric.TX_P50_MS: p50,
            Metric.TX_P95_MS: p95,
            Metric.TX_P99_MS: p99,
            Metric.TX_MAX_MS: self.latencies.max() * 1000,
            Metric.CLIENT_CPU_SHARE: 100 * self.cpu_share,
        }
        return [Reading(metric, float(value), "measured") for metric, value in values.items()]

    def series(self) -> Series:
        """Insert time against rows, at some 200 places."""
        places = np.unique(np.searchsorted(self.rows, np.linspace(0, self.rows[-1], _SERIES_POINTS + 1)[1:]))
        return Series(Metric.INSERT_SECONDS, self.rows[places], self.elapsed[places])


def load(
    address: Address,
    table: Table,
    sources: Sequence[KeySource],
    *,
    rows_per_tx: int,
    skew_rows: int = SKEW_ROWS,
    timeout: float,
    refill: bool = False,
    path: LoadPath = "rows",
    tables: Sequence[Table] = (),
    progress: Callable[[int], None] = lambda _: None,
) -> Loaded:
    """Loads a trial's rows (or its refill) with all its writers at once; `progress` is given the rows sent so far.

    The writers meet before each phase of the scenario and, where a phase has more rows than they hold ready, before
    each slice of it. `tables` are the writers' own, of the same form as `table`, where they have several.
    """
    phases = [(s.writer.refill_rows,) if refill else s.writer.phases for s in sources]
    firsts = [s.writer.rows if refill else 0 for s in sources]
    row_bytes = (2 * table.payload + 128) * (1 + table.children if table.parent else 1)
    slice_rows = max(rows_per_tx, SLICE_BYTES // row_bytes // rows_per_tx * rows_per_tx)
    loads = [
        Load(address.engine, address, own, source, first, slices, rows_per_tx, skew_rows, path)
        for own, source, first, slices in zip(
            tables or [table] * len(sources), sources, firsts, _slices(phases, slice_rows, rows_per_tx), strict=True
        )
    ]
    sent = workers.context.RawArray("q", len(loads))
    ahead = workers.context.RawArray("q", len(loads))
    barrier = workers.context.Barrier(len(loads))
    done: list[Sent] = workers.run_all(
        write,
        [(work, i, sent, ahead, barrier) for i, work in enumerate(loads)],
        timeout=timeout,
        poll=lambda: progress(sum(sent)),
    )
    progress(sum(sent))
    return _together(done)


def write(work: Load, place: int, sent: Any, ahead: Any, barrier: Any) -> Sent:
    """One writer, in its own process: prepares a slice, meets the others, sends it; nothing else is timed."""
    session = engine(work.engine).session(work.address, work.table)
    prepare = _without_keys(session, work) if work.table.made else _with_keys(session, work)
    planned = work.source.planned[work.first : work.first + work.rows]
    stamped = session if isinstance(session, StampsTransactions) else None
    slices, cpu, entered = [], 0.0, []
    try:
        for begin, n in zip(accumulate(work.slices, initial=0), work.slices, strict=False):
            batches = prepare(work.first + begin, n) if n else ()
            begins, ends, rows = np.zeros((3, len(batches)))
            gc.collect()
            gc.freeze()
            gc.disable()
            ahead[place] = planned[begin] if n else _FINISHED
            barrier.wait()
            cpu_before = time.process_time()
            for i, batch in enumerate(batches):
                if len(ahead) > 1:
                    ahead[place] = planned[begin + i * work.rows_per_tx]
                    while ahead[place] - min(ahead) > work.skew_rows:
                        time.sleep(0.0002)
                begins[i] = time.perf_counter()
                rows[i] = session.send(batch)
                ends[i] = time.perf_counter()
                if stamped:
                    entered.append(stamped.entered)
                sent[place] += min(work.rows_per_tx, n - i * work.rows_per_tx)
            cpu += time.process_time() - cpu_before
            ahead[place] = _FINISHED
            gc.enable()
            gc.unfreeze()
            del batches
            slices.append((begins, ends, rows.astype(np.int64)))
    finally:
        session.close()
    return Sent(tuple(slices), cpu, np.array(entered) if stamped else None)


def _slices(phases: Sequence[tuple[int, ...]], slice_rows: int, rows_per_tx: int) -> list[tuple[int, ...]]:
    """For each writer, given its rows in each phase: its rows in each slice, as many slices for each.

    A slice holds at most `slice_rows` of any writer, and of each the same share of its phase, in whole transactions.
    """
    found: list[list[int]] = [[] for _ in phases]
    for together in zip(*phases, strict=True):
        count = ceil(max(together) / slice_rows)
        for own, rows in zip(found, together, strict=True):
            size = ceil(rows / max(count, 1) / rows_per_tx) * rows_per_tx
            own += [max(0, min(size, rows - i * size)) for i in range(count)]
    return [tuple(own) for own in found]


def _with_keys(session: Session, work: Load) -> Callable[[int, int], Sequence[object]]:
    """Gives (first row, rows) as batches, with the next keys of the writer's stream."""
    stream = work.source.stream()
    if work.first:
        stream.take(work.first)
    created, column = work.source.created() if work.table.dated else None, work.table.column
    payload = Payload(work.table.payload, created)
    ready = _in_bulk(session, work).prepare_in_bulk if work.path == "bulk" else session.prepare

    def prepare(start: int, n: int) -> Sequence[object]:
        keys = stream.take(n)
        accepted = column.accepts(keys)
        if not accepted.all():
            why = f" ({column.refusal})" if column.refusal else ""
            raise UsageError(
                f"column {column.name} refuses {n - int(accepted.sum())} of {n} keys of "
                f"{work.source.layout}{why}: choose another --column."
            )
        return ready(keys, payload, start, work.rows_per_tx)

    return prepare


def _in_bulk(session: Session, work: Load) -> LoadsInBulk:
    if not isinstance(session, LoadsInBulk):
        raise TypeError(f"{work.engine} declares the load path bulk and its sessions do not load in bulk")
    return session


def _without_keys(session: Session, work: Load) -> Callable[[int, int], Sequence[object]]:
    """Gives (first row, rows) as batches of rows whose keys the server makes."""
    if not isinstance(session, MakesKeys):
        raise TypeError(f"{work.engine} declares keys of its own and its sessions do not send rows without")
    making, payload = session, Payload(work.table.payload)
    return lambda start, n: making.prepare_without_keys(payload, start, n, work.rows_per_tx)


def _together(done: Sequence[Sent]) -> Loaded:
    rows, elapsed, latencies = [], [], []
    seconds = 0.0
    for parts in zip(*(sent.slices for sent in done), strict=True):
        begins, ends, acknowledged = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.argsort(ends, kind="stable")
        elapsed.append(seconds + ends[order] - begins.min())
        rows.append(acknowledged[order])
        latencies.append(ends - begins)
        seconds = float(elapsed[-1][-1])
    return Loaded(
        np.cumsum(np.concatenate(rows)),
        np.concatenate(elapsed),
        np.concatenate(latencies),
        sum(sent.cpu_seconds for sent in done) / len(done) / seconds,
        _entered(done),
    )


def _entered(done: Sequence[Sent]) -> tuple[tuple[NDArray[np.float64], NDArray[np.int64]], ...]:
    rows = [np.concatenate([rows for _, _, rows in sent.slices]) for sent in done]
    moments = [sent.entered for sent in done if sent.entered is not None]
    return tuple(zip(moments, rows, strict=True)) if len(moments) == len(rows) else ()
