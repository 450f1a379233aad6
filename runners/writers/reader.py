"""Readers after a load: they look keys up, read ranges by time, and delete, update and pop rows as applications do."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract.roles import Address, Session
from keybench.databases.registry import engine
from keybench.errors import VerificationError
from keybench.generators.core.layout import layout
from keybench.model.byteorder import rank
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table
from keybench.runners.planning.key_sources import KeySource
from keybench.runners.planning.trial_tables import keys_in_order

_RANGES = 20
_RANGE_ROWS = 1000
"""How many ranges are read, and the rows of each."""
_RECENT_SHARE = 0.01
"""The share of all keys, the last ones sent, that are recent."""


@dataclass(frozen=True, eq=False)
class ReaderTask:
    """One reader's work on a loaded table."""

    address: Address
    table: Table
    sources: tuple[KeySource, ...]
    rows_per_tx: int = 0
    """Rows that a transaction deletes or updates."""
    reads: int = 0
    """Number of look-ups of each kind."""
    rows: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """The rows to delete, to update or to read, in this order: places in planned order, from 0."""
    texts: tuple[str, ...] = ()
    """The new payloads of rows to update; none to raise their status."""
    seed: int = 0
    """Decides which keys are looked up."""


def read(task: ReaderTask) -> list[Reading]:
    """Does look-ups and reads ranges; returns their times. VerificationError if one lacks acknowledged rows."""
    with closing(engine(task.address.engine).session(task.address, task.table)) as session:
        return _reads(session, task, keys_in_order(task.sources))


_WORKS: Final[Mapping[str, tuple[str, Callable[[Session, Sequence[object], Sequence[str]], int]]]] = {
    "delete": ("deleted", lambda session, keys, _: session.delete(keys)),
    "update": ("updated", lambda session, keys, texts: session.update(keys, texts)),
    "look up": ("found", lambda session, keys, _: sum(map(session.find, keys))),
    "look up deleted": ("found", lambda session, keys, _: sum(map(session.find, keys))),
    "scan": ("found", lambda session, keys, _: session.first(len(keys))),
    "pop": (
        "popped",
        lambda session, keys, _: min(session.first(len(keys)), session.delete(keys)),
    ),  # the fewer: all rows must be read and deleted
}
"""What is done to rows: its past participle, and a function of the prepared keys and new payloads of one transaction,
which gives a number of rows. `scan`, `pop`: the first rows in the order of the key, which are the task's, at once."""


def work(task: ReaderTask, what: str) -> float:
    """Does one of `_WORKS` to the task's rows; returns the seconds that it took. VerificationError unless all rows were
    there; rows that were deleted before must all be missing."""
    participle, do = _WORKS[what]
    tx_rows = len(task.rows) if what in ("scan", "pop") else task.rows_per_tx
    with closing(engine(task.address.engine).session(task.address, task.table)) as session:
        keys = session.prepare_keys(keys_in_order(task.sources)[task.rows])
        transactions = [slice(first, first + tx_rows) for first in range(0, len(keys), tx_rows)]
        begin = time.perf_counter()
        rows = sum(do(session, keys[places], task.texts[places]) for places in transactions)
        seconds = time.perf_counter() - begin
    expected = 0 if what == "look up deleted" else len(keys)
    if rows != expected:
        raise VerificationError(f"{rows} rows were {participle} instead of {expected}.")
    return seconds


def _reads(session: Session, task: ReaderTask, keys: Keys) -> list[Reading]:
    """Look-ups of random and of recent keys, and ranges where keys are in order of time."""
    random = np.random.Generator(np.random.PCG64(task.seed))
    n, recent = len(keys), max(1, int(len(keys) * _RECENT_SHARE))  # the numbers of all keys and of recent ones
    chosen = {
        Metric.POINT_UNIFORM_US: random.integers(0, n, task.reads),
        Metric.POINT_RECENT_US: random.integers(n - recent, n, task.reads),
    }
    readings = [Reading(metric, _points(session, keys, places), "measured") for metric, places in chosen.items()]
    measured = layout(task.sources[0].layout)
    used = {process.layout for source in task.sources for process in source.writer.processes}
    if measured.order == "none" or measured.order != task.table.column.order or used != {measured.name}:
        reason = "These keys are not in order of time in this column: no key range is a range by time."
        return readings + Reading.absent([Metric.RANGE_US_PER_ROW], reason)
    return [*readings, Reading(Metric.RANGE_US_PER_ROW, _ranges(session, task, keys, random), "measured")]


def _points(session: Session, keys: Keys, chosen: NDArray[np.int64]) -> float:
    """Median time, in microseconds, of looking up the keys at these indexes. VerificationError if one is not found."""
    prepared = session.prepare_keys(keys[chosen])
    times = np.empty(len(prepared))
    for i, key in enumerate(prepared):
        begin = time.perf_counter()
        rows = session.find(key)
        times[i] = time.perf_counter() - begin
        if rows != 1:
            raise VerificationError(f"a look-up of an acknowledged key found {rows} rows instead of 1.")
    return float(np.median(times) * 1e6)


def _ranges(session: Session, task: ReaderTask, keys: Keys, random: np.random.Generator) -> float:
    """Median over key ranges of the time per row, in microseconds. VerificationError if a range lacks rows. A range
    goes from the lowest to the highest key of `_RANGE_ROWS` rows that were sent one after the other."""
    size = min(_RANGE_ROWS, len(keys))
    times = []
    for first in random.integers(0, len(keys) - size + 1, _RANGES):
        window = keys[first : first + size]
        ranks = rank(window, task.table.column.order)
        lowest_and_highest = np.array([int(ranks.argmin()), int(ranks.argmax())])
        low, high = session.prepare_keys(window[lowest_and_highest])
        begin = time.perf_counter()
        rows = session.between(low, high)
        seconds = time.perf_counter() - begin
        if rows < size:  # also where the column does not sort as declared: a range that begins behind its end has none
            raise VerificationError(f"a range over {size} acknowledged rows found {rows}.")
        times.append(seconds / rows)
    return float(np.median(times) * 1e6)
