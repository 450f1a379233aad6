"""A load's rows in order of arrival, some at a time: for loads whose keys do not fit in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError
from keybench.generators.core.clock import Clock, Ticks, ticks_of
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import Layout, Stream, layout
from keybench.generators.core.process import Process
from keybench.model.keys import Keys
from keybench.runners.planning.key_sources import clock_readings
from keybench.runners.planning.row_arrivals import EvenRows, evenly
from keybench.scenarios.schema import Scenario
from keybench.scenarios.writers import ClockPart

_CHUNK = 1 << 22
_LEAST = 1 << 8


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows, in order of arrival."""

    keys: Keys
    writers: NDArray[np.int16]
    """(n,): the writer of each row."""


@dataclass(eq=False)
class _WriterClock(Clock):
    """A writer's clock, whose readings are computed when they are asked for."""

    part: ClockPart
    rows: EvenRows
    start: int
    position: int = 0

    def read_fine(self, n: int) -> tuple[Ticks, Ticks]:
        readings = self._readings(self.rows.arrivals(self.position, n))
        self.position += n
        return readings, np.zeros(n, np.int64)

    def now(self) -> int:
        if self.position == 0:
            first = self.rows.arrivals(0, min(1, self.rows.rows)).tolist()
            return int(self._readings(np.array([min([self.rows.turn, *first])]))[0])
        return int(self._readings(self.rows.arrivals(self.position, 1))[0])

    def _readings(self, ticks: Ticks) -> Ticks:
        return clock_readings(self.part, ticks, self.start)


@dataclass(eq=False)
class _Writer:
    """A writer and those of its rows whose arrival is known, but whose turn has not come."""

    rows: EvenRows
    stream: Stream | None
    """Its keys; None if all writers share a stream."""
    known: Ticks = field(default_factory=lambda: np.empty(0, np.int64))
    computed: int = 0

    def look_ahead(self, rows: int) -> None:
        """Computes arrivals, so that about so many rows are known."""
        n = min(rows - len(self.known), self.rows.rows - self.computed)
        if n > 0:
            self.known = np.concatenate([self.known, self.rows.arrivals(self.computed, n)])
            self.computed += n

    @property
    def horizon(self) -> float:
        """Until when all of its rows are known."""
        return np.inf if self.computed == self.rows.rows else float(self.known[-1])

    def take(self, until: float) -> Ticks:
        """When its rows arrive that arrive before a tick."""
        n = int(np.searchsorted(self.known, until)) if np.isfinite(until) else len(self.known)
        ticks, self.known = self.known[:n], self.known[n:]
        return ticks


def row_stream(scenario: Scenario, name: str, rows: int, seed: tuple[int, ...], chunk: int = _CHUNK) -> Iterator[Rows]:
    """The rows of a load with keys of one layout. UsageError for scenarios in which writers do more than insert.

    The keys are those that a trial makes, in the same order. Where keys know no time, several writers share one stream:
    numbers are then the same too, and random bytes are others.
    """
    _refuse(scenario, rows)
    made, parts = layout(name), scenario.writer
    scale = rows / scenario.rows if scenario.rows else 1.0
    even = evenly(parts, scenario.phases(rows), scale, rows)
    if made.one_counter and len(parts) > 1:
        raise UsageError(
            f"the keys of {name} come from one counter for all writers, which a forecast of so many rows knows for one "
            "writer: choose a scenario with one writer, or fewer rows."
        )
    start = ticks_of(scenario.start)
    if made.reads_clock == "never" and len(parts) > 1:
        clock = _WriterClock(parts[0].clock, even[0], start)
        return _merged([_Writer(own, None) for own in even], chunk, _stream(made, 0, (0, 1), seed, clock))
    writers = [
        _Writer(own, _stream(made, part.shard, (i, len(parts)), seed, _WriterClock(part.clock, own, start)))
        for i, (part, own) in enumerate(zip(parts, even, strict=True))
    ]
    return _merged(writers, chunk)


def _refuse(scenario: Scenario, rows: int) -> None:
    why = ""
    if scenario.deal.mode != "own-rates":
        why = "its rows are dealt out to writers"
    elif scenario.before or scenario.phase:
        why = "its table has a past"
    elif any(part.restarts or part.shards for part in scenario.writer) or scenario.server.restarts:
        why = "its writers restart, or write to several shards"
    if why:
        raise UsageError(
            f"scenario {scenario.name} cannot be forecast at {rows:,} rows, because {why}: choose fewer rows, or "
            "another scenario."
        )


def _stream(made: Layout, shard: int, place: tuple[int, int], seed: tuple[int, ...], clock: Clock) -> Stream:
    index, of = place
    process = Process("keybench", 4242, shard=shard).partition(index, of=of)
    entropy = AesEntropy.seeded(*seed, made.name).partition(index, of=of)
    return made.stream(process, clock, entropy)


def _merged(writers: Sequence[_Writer], chunk: int, of_all: Stream | None = None) -> Iterator[Rows]:
    ahead = max(_LEAST, chunk // len(writers))
    while any(writer.computed < writer.rows.rows or len(writer.known) for writer in writers):
        for writer in writers:
            writer.look_ahead(ahead)
        until = min(writer.horizon for writer in writers)
        taken = [writer.take(until) for writer in writers]
        counts = list(map(len, taken))
        if not sum(counts):  # all known rows of a writer share one tick
            ahead *= 2
            continue
        numbers = np.repeat(np.arange(len(writers), dtype=np.int16), counts)
        order = np.argsort(np.concatenate(taken), kind="stable") if len(writers) > 1 else slice(None)
        if of_all is not None:
            yield Rows(of_all.take(len(numbers)), numbers[order])
            continue
        made = [writer.stream.take(n) for writer, n in zip(writers, counts, strict=True) if writer.stream]
        yield Rows(Keys.concat(made)[order] if len(made) > 1 else made[0], numbers[order])
