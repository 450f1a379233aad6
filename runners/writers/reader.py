"""What happens once the rows are in: look-ups by key, ranges by time, the deletion of the oldest rows."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract import Address, Session
from keybench.databases.registry import engine
from keybench.errors import VerificationError
from keybench.generators.core.layout import layout
from keybench.model.byteorder import rank
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table
from keybench.runners.planning.planned_order import keys_in_order
from keybench.runners.planning.sources import KeySource

_WINDOWS = 20
_WINDOW_ROWS = 1000
_RECENT_SHARE = 0.01


@dataclass(frozen=True)
class Work:
    """One reader's work on a loaded table."""

    address: Address
    table: Table
    sources: tuple[KeySource, ...]
    reads: int
    delete: int
    """How many of the oldest rows to delete."""
    rows_per_tx: int
    seed: int


def examine(work: Work) -> list[Reading]:
    """Reads, then deletes, in a process of its own. Every look-up must find its row."""
    session = engine(work.address.engine).session(work.address, work.table)
    try:
        keys = keys_in_order(work.sources)
        readings = _reads(session, work, keys) if work.reads else []
        if work.delete:
            readings.append(_delete(session, work, keys))
    finally:
        session.close()
    return readings


def _reads(session: Session, work: Work, keys: Keys) -> list[Reading]:
    choose = np.random.Generator(np.random.PCG64(work.seed))
    recent = max(1, int(len(keys) * _RECENT_SHARE))
    readings = [
        Reading(Metric.POINT_UNIFORM_US, _points(session, keys, choose.integers(0, len(keys), work.reads)), "measured"),
        Reading(
            Metric.POINT_RECENT_US,
            _points(session, keys, choose.integers(len(keys) - recent, len(keys), work.reads)),
            "measured",
        ),
    ]
    made = layout(work.sources[0].layout)
    lives = {life.layout for source in work.sources for life in source.writer.lives}
    if made.order == "none" or made.order != work.table.column.order or lives != {made.name}:
        reason = "These keys are not in order of time in this column: no key range is a range by time."
        return readings + Reading.absent([Metric.RANGE_US_PER_ROW], reason)
    return [*readings, Reading(Metric.RANGE_US_PER_ROW, _ranges(session, work, keys, choose), "measured")]


def _points(session: Session, keys: Keys, chosen: NDArray[np.int64]) -> float:
    """Median time of one look-up, in microseconds."""
    prepared = session.prepare_keys(keys[chosen])
    times = np.empty(len(prepared))
    for i, key in enumerate(prepared):
        begin = time.perf_counter()
        found = session.find(key)
        times[i] = time.perf_counter() - begin
        if found != 1:
            raise VerificationError(f"a look-up of an acknowledged key found {found} rows instead of 1.")
    return float(np.median(times) * 1e6)


def _ranges(session: Session, work: Work, keys: Keys, choose: np.random.Generator) -> float:
    """Median over windows of the time a row, in microseconds."""
    size = min(_WINDOW_ROWS, len(keys))
    times = []
    for begin in choose.integers(0, len(keys) - size + 1, _WINDOWS):
        window = keys[begin : begin + size]
        places = rank(window, work.table.column.order)
        ends = np.array([int(places.argmin()), int(places.argmax())])
        low, high = session.prepare_keys(window[ends])
        started = time.perf_counter()
        found = session.between(low, high)
        times.append((time.perf_counter() - started) / found)
        if found < size:
            raise VerificationError(f"a range over {size} acknowledged rows found {found}.")
    return float(np.median(times) * 1e6)


def _delete(session: Session, work: Work, keys: Keys) -> Reading:
    prepared = session.prepare_keys(keys[: work.delete])
    begin = time.perf_counter()
    deleted = sum(
        session.delete(prepared[first : first + work.rows_per_tx]) for first in range(0, work.delete, work.rows_per_tx)
    )
    seconds = time.perf_counter() - begin
    if deleted != work.delete:
        raise VerificationError(f"{deleted} rows were deleted where {work.delete} were to be.")
    return Reading(Metric.DELETE_SECONDS, seconds, "measured")
