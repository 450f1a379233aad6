"""All writers of a load: how its rows are dealt to them, and how their times add up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract import Address
from keybench.model.load_path import ROWS, LoadPath
from keybench.model.metric import Metric
from keybench.model.reading import Reading, Series
from keybench.model.table import Table
from keybench.runners.planning.sources import KeySource
from keybench.runners.writers.barrier import Release
from keybench.runners.writers.crews import LOCAL, Crew
from keybench.runners.writers.writer import Load, Sent
from keybench.scenarios.schema import SKEW_ROWS

SLICE_BYTES = 256_000_000
"""Buffers that a writer makes before each timed slice; more rows than that are sent in several slices."""

_SERIES_POINTS = 200


@dataclass(frozen=True, eq=False)
class Loaded:
    """All writers of a load together, on one timeline that leaves out the making of buffers."""

    rows: NDArray[np.int64]
    """Rows acknowledged so far, after each transaction in order of completion."""
    elapsed: NDArray[np.float64]
    """Seconds in the timed window so far, likewise."""
    latencies: NDArray[np.float64]
    """Seconds that each transaction took, likewise."""
    cpu_share: float
    entered: tuple[tuple[NDArray[np.float64], NDArray[np.int64]], ...] = ()
    """For each writer when its transactions had the database for themselves, and their rows; empty where unknown."""
    apart: float = 0.0
    """Seconds by which the writers' places on the timeline may be wrong against one another; 0 on one machine."""

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
        if self.apart:
            values[Metric.CLOCKS_APART_MS] = 1000 * self.apart
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
    path: LoadPath = ROWS,
    crew: Crew = LOCAL,
    tables: Sequence[Table] = (),
    progress: Callable[[int], None] = lambda _: None,
) -> Loaded:
    """Loads a trial's rows (or its refill) with all its writers at once; `progress` is given the rows sent so far.

    The writers meet before each phase of the scenario and, where a phase has more rows than they hold ready, before
    each slice of it. `tables` are the writers' own, of the same form as `table`, where they have several.
    """
    phases = [(s.writer.refill_rows,) if refill else s.writer.phases for s in sources]
    firsts = [s.writer.rows if refill else 0 for s in sources]
    row_bytes = (2 * table.payload + 128) * sum(each.children for each in table.family)
    slice_rows = max(rows_per_tx, SLICE_BYTES // row_bytes // rows_per_tx * rows_per_tx)
    loads = [
        Load(address.engine, address, own, source, first, slices, rows_per_tx, skew_rows, path)
        for own, source, first, slices in zip(
            tables or [table] * len(sources), sources, firsts, _slices(phases, slice_rows, rows_per_tx), strict=True
        )
    ]
    return _together(crew.run(loads, timeout=timeout, progress=progress))


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


def _together(done: Sequence[Sent]) -> Loaded:
    """Puts the writers on one timeline. Those of one machine read one clock. Others' are set so that the barrier before
    each slice let all go at the same moment, of which each knows a short span that it lies in: its middle is taken."""
    rows, elapsed, latencies = [], [], []
    seconds = apart = 0.0
    for n, parts in enumerate(zip(*(sent.slices for sent in done), strict=True)):
        released = [sent.released[n] if sent.released else Release() for sent in done]
        middles = [(release.earliest + release.latest) / 2 for release in released]
        apart = max(apart, *(release.latest - release.earliest for release in released))
        begins = np.concatenate([begin - middle for (begin, _, _), middle in zip(parts, middles, strict=True)])
        ends = np.concatenate([end - middle for (_, end, _), middle in zip(parts, middles, strict=True)])
        acknowledged = np.concatenate([part for _, _, part in parts])
        order = np.argsort(ends, kind="stable")
        elapsed.append(seconds + ends[order] - begins.min())
        rows.append(acknowledged[order])
        latencies.append((ends - begins)[order])
        seconds = float(elapsed[-1][-1])
    return Loaded(
        np.cumsum(np.concatenate(rows)),
        np.concatenate(elapsed),
        np.concatenate(latencies),
        sum(sent.cpu_seconds for sent in done) / len(done) / seconds,
        _entered(done),
        apart,
    )


def _entered(done: Sequence[Sent]) -> tuple[tuple[NDArray[np.float64], NDArray[np.int64]], ...]:
    rows = [np.concatenate([rows for _, _, rows in sent.slices]) for sent in done]
    moments = [sent.entered for sent in done if sent.entered is not None]
    return tuple(zip(moments, rows, strict=True)) if len(moments) == len(rows) else ()
