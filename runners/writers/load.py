"""A load by all its writers: the slices that each of them sends, and their times on one timeline."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract.roles import Address
from keybench.databases.core.retried import Rollbacks, together
from keybench.model.load_path import ROWS, LoadPath
from keybench.model.metric import Metric
from keybench.model.reading import Reading, Series
from keybench.model.table import Table
from keybench.model.transactions import TransactionStyle
from keybench.runners.planning.key_sources import KeySource
from keybench.runners.writers.barrier import Release
from keybench.runners.writers.processes import LOCAL, WriterPool
from keybench.runners.writers.writer import WriterResult, WriterTask
from keybench.scenarios.parts import SKEW_ROWS

SLICE_BYTES = 256_000_000
"""Bytes of batches that a writer prepares before a timed slice. A phase with more rows has several slices."""

_SERIES_POINTS = 200


@dataclass(frozen=True, eq=False)
class LoadResult:
    """The transactions of all writers on one timeline, without the time in which they prepare batches."""

    rows: NDArray[np.int64]
    """Rows acknowledged so far, after each transaction. Transactions are in order of completion."""
    elapsed: NDArray[np.float64]
    """Seconds of the timed slices so far, likewise."""
    latencies: NDArray[np.float64]
    """Seconds that each transaction took, likewise."""
    cpu_share: float
    """Processor seconds of the writers for each second of the timed slices, as mean over writers."""
    entered: tuple[tuple[NDArray[np.float64], NDArray[np.int64]], ...] = ()
    """For each writer: when its transactions held the database's lock, and their rows. Empty if unknown."""
    clock_error: float = 0.0
    """Seconds by which two writers' clocks may be misaligned on the timeline; 0 on one machine."""
    rollbacks: Rollbacks | None = None
    """None unless the load's transactions have a style."""

    @property
    def seconds(self) -> float:
        """Time from the first row sent to the last acknowledged."""
        return float(self.elapsed[-1])

    def readings(self) -> list[Reading]:
        """Times of the load, of both halves of its rows and of transactions; the writers' share of a processor."""
        first_half = float(self.elapsed[np.searchsorted(self.rows, self.rows[-1] / 2)])
        p50, p95, p99 = np.percentile(self.latencies * 1000, (50, 95, 99))
        values = {
            Metric.INSERT_SECONDS: self.seconds,
            Metric.FIRST_HALF_SECONDS: first_half,
            Metric.SECOND_HALF_SECONDS: self.seconds - first_half,
            Metric.TX_P50_MS: p50,
            Metric.TX_P95_MS: p95,
            Metric.TX_P99_MS: p99,
            Metric.TX_MAX_MS: self.latencies.max() * 1000,
            Metric.CLIENT_CPU_SHARE: 100 * self.cpu_share,
        }
        if self.clock_error:
            values[Metric.CLOCKS_APART_MS] = 1000 * self.clock_error
        return [Reading(metric, float(value), "measured") for metric, value in values.items()]

    def series(self) -> Series:
        """Insert time by rows, at about 200 points."""
        points = np.unique(np.searchsorted(self.rows, np.linspace(0, self.rows[-1], _SERIES_POINTS + 1)[1:]))
        return Series(Metric.INSERT_SECONDS, self.rows[points], self.elapsed[points])


def load_rows(
    address: Address,
    table: Table,
    sources: Sequence[KeySource],
    *,
    rows_per_tx: int,
    skew_rows: int = SKEW_ROWS,
    timeout: float,
    only: range | None = None,
    part: tuple[float, float] = (0, 1),
    style: TransactionStyle | None = None,
    path: LoadPath = ROWS,
    pool: WriterPool = LOCAL,
    progress: Callable[[int], None] = lambda _: None,
) -> LoadResult:
    """Sends the rows of a trial's load, or some of them, with all its writers at once.

    Which rows is said by at most one of `only` (these rows of the stream of the one writer) and `part` (a share of each
    writer's rows, from and to, of a scenario with one phase).

    The writers wait for one another before each phase of the scenario, and before each slice of a phase that has more
    rows than a slice holds. `skew_rows`: by how many rows one writer may be ahead of another. `path`, `style`: how rows
    are sent, and what each transaction does beside its batch. `timeout` is in seconds; `progress` is called with the
    rows sent so far.
    """
    firsts, phases = _rows_of_streams(sources, only, part)
    # A slice holds whole transactions whose batches fit SLICE_BYTES. A generous estimate of a row's bytes in a batch:
    # with its children, payloads at two bytes a character, 128 bytes for all else.
    row_bytes = (2 * table.payload + 128) * sum(member.children for member in table.family)
    slice_rows = max(rows_per_tx, SLICE_BYTES // row_bytes // rows_per_tx * rows_per_tx)
    tasks = [
        WriterTask(address, table, source, first, slices, rows_per_tx, skew_rows, path, style)
        for source, first, slices in zip(sources, firsts, _slices(phases, slice_rows, rows_per_tx), strict=True)
    ]
    return _on_one_timeline(pool.run(tasks, timeout=timeout, progress=progress))


def _rows_of_streams(
    sources: Sequence[KeySource], only: range | None, part: tuple[float, float]
) -> tuple[list[int], list[tuple[int, ...]]]:
    """(the first row of each writer's stream to send, how many from there on in each phase), as `load_rows` says."""
    writers = [source.writer for source in sources]
    if only is not None:
        return [only.start], [(len(only),)]
    begin, end = part
    if begin > 0 or end < 1:
        firsts = [int(writer.rows * begin) for writer in writers]
        return firsts, [(int(writer.rows * end) - first,) for writer, first in zip(writers, firsts, strict=True)]
    return [0] * len(writers), [writer.phases for writer in writers]


def joined(results: Sequence[LoadResult]) -> LoadResult:
    """Several loads as one, without the time between them. Moments of locks and rollbacks are left out, too."""
    rows = np.cumsum([0, *(result.rows[-1] for result in results)])  # before each load; last: of all
    seconds = np.cumsum([0.0, *(result.seconds for result in results)])
    cpu_seconds = sum(result.cpu_share * result.seconds for result in results)
    return LoadResult(
        rows=np.concatenate([result.rows + before for result, before in zip(results, rows[:-1], strict=True)]),
        elapsed=np.concatenate([result.elapsed + before for result, before in zip(results, seconds[:-1], strict=True)]),
        latencies=np.concatenate([result.latencies for result in results]),
        cpu_share=cpu_seconds / float(seconds[-1]),
        clock_error=max(result.clock_error for result in results),
    )


def _slices(phases: Sequence[tuple[int, ...]], slice_rows: int, rows_per_tx: int) -> list[tuple[int, ...]]:
    """Each writer's rows in each slice, given its rows in each phase. All writers have the same number of slices. A
    slice holds at most `slice_rows` rows of a writer, and the same share of every writer's phase, in whole
    transactions."""
    slices: list[list[int]] = [[] for _ in phases]
    for phase_rows in zip(*phases, strict=True):
        count = ceil(max(phase_rows) / slice_rows)
        for writer_slices, rows in zip(slices, phase_rows, strict=True):
            size = ceil(rows / max(count, 1) / rows_per_tx) * rows_per_tx  # a phase without rows has no slice
            writer_slices += [max(0, min(size, rows - i * size)) for i in range(count)]
    return [tuple(writer_slices) for writer_slices in slices]


def _on_one_timeline(results: Sequence[WriterResult]) -> LoadResult:
    """Puts the writers on one timeline. Writers on one machine read the same clock. Other clocks are aligned at the
    moment when the barrier before a slice let all writers go. Each writer knows a short interval that contains this
    moment; its middle is taken."""
    rows, elapsed, latencies = [], [], []
    seconds = clock_error = 0.0  # `seconds`: of the slices so far
    for n, of_writers in enumerate(zip(*(result.slices for result in results), strict=True)):  # all writers' nth slices
        released = [result.released[n] if result.released else Release() for result in results]
        middles = [(release.earliest + release.latest) / 2 for release in released]
        clock_error = max(clock_error, *(release.latest - release.earliest for release in released))
        begins = np.concatenate([begin - middle for (begin, _, _), middle in zip(of_writers, middles, strict=True)])
        ends = np.concatenate([end - middle for (_, end, _), middle in zip(of_writers, middles, strict=True)])
        acknowledged = np.concatenate([sent for _, _, sent in of_writers])
        # the slice's transactions in order of completion, behind those of the slices before
        order = np.argsort(ends, kind="stable")
        elapsed.append(seconds + ends[order] - begins.min())
        rows.append(acknowledged[order])
        latencies.append((ends - begins)[order])
        seconds = float(elapsed[-1][-1])
    return LoadResult(
        rows=np.cumsum(np.concatenate(rows)),
        elapsed=np.concatenate(elapsed),
        latencies=np.concatenate(latencies),
        cpu_share=sum(result.cpu_seconds for result in results) / len(results) / seconds,
        entered=_entered(results),
        clock_error=clock_error,
        rollbacks=together([result.rollbacks for result in results]),
    )


def _entered(results: Sequence[WriterResult]) -> tuple[tuple[NDArray[np.float64], NDArray[np.int64]], ...]:
    """For each writer, when its transactions held the database's lock, and their rows; empty if one does not know."""
    rows = [np.concatenate([rows for _, _, rows in result.slices]) for result in results]
    moments = [result.entered for result in results if result.entered is not None]
    return tuple(zip(moments, rows, strict=True)) if len(moments) == len(rows) else ()
