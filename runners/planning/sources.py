"""Where each writer's keys come from: its rows, its clock, and the processes that it is one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from keybench.generators.core.clock import TICKS_PER_SECOND, UNIX_EPOCH, VirtualClock, ticks_of
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import Stream, layout
from keybench.generators.core.process import Process
from keybench.model.keys import Keys
from keybench.model.names import CONTROL
from keybench.runners.planning import server_keys
from keybench.runners.planning.plan import Request, TrialPlan
from keybench.runners.planning.schedule import Share, shares, through
from keybench.scenarios.writers import ClockPart, WriterPart

_TICKS_PER_MICROSECOND = 10


@dataclass(frozen=True)
class Life:
    """One process of a writer, from its start to its end or restart."""

    layout: str
    rows: int
    began: int
    """Tick from the trial's first moment at which it starts and its generator reads the clock."""


@dataclass(frozen=True, eq=False)
class WriterPlan:
    """One writer's share of a trial and when its rows arrive, in virtual time."""

    id: str
    index: int
    of: int
    refill_rows: int
    start: int
    """Tick of the trial's first moment."""
    arrivals: NDArray[np.int64]
    """(rows + refill_rows,): ticks from the trial's first moment at which its rows arrive, by a true clock."""
    phases: tuple[int, ...]
    """Rows of the load in each phase."""
    lives: tuple[Life, ...]
    """Its processes; their rows are those of load and refill."""
    clock: ClockPart
    shard: int = 0
    """Its shard key."""

    @property
    def rows(self) -> int:
        """Rows of the load."""
        return sum(self.phases)

    def readings(self) -> NDArray[np.int64]:
        """What the writer's clock shows as each of its rows arrives."""
        return through(self.clock, self.arrivals, self.start)


@dataclass(frozen=True, eq=False)
class KeySource:
    """All that a process needs to make one writer's keys, again and again the same."""

    layout: str
    writer: WriterPlan
    planned: NDArray[np.int64]
    seed: tuple[int, ...]
    everyone: NDArray[np.int64] | None = None
    """(all rows,): true ticks at which all writers' rows arrive, where one server makes the keys of all."""

    def stream(self) -> Stream:
        """The stream from its first key on."""
        readings = self.writer.readings()
        streams, first = [], 0
        for number, life in enumerate(self.writer.lives):
            end = first + life.rows
            streams.append(self._stream(number, life, readings[first:end], self.planned[first:end]))
            first = end
        rows = [life.rows for life in self.writer.lives]
        return streams[0] if len(streams) == 1 else Lives(streams, rows)

    def created(self) -> NDArray[np.int64]:
        """When the writer's rows, load and refill, were created by its own clock: microseconds since 1970."""
        return (self.writer.readings() - UNIX_EPOCH) // _TICKS_PER_MICROSECOND

    def _stream(self, number: int, life: Life, readings: NDArray[np.int64], planned: NDArray[np.int64]) -> Stream:
        writer, made, entropy = self.writer, layout(life.layout), AesEntropy.seeded(*self.seed, life.layout)
        if made.one_counter and self.everyone is not None:
            server = VirtualClock(self.everyone, start=writer.start)
            return Picked(made.stream(Process("keybench", 4242), server, entropy), planned)
        process = Process("keybench", 4242, shard=writer.shard)
        process = process.partition(writer.index, of=writer.of, planned=planned)
        entropy = entropy.partition(writer.index, of=writer.of)
        if number:  # a new process: another pid, other random bytes
            process = replace(process, pid=process.pid + number * writer.of)
            entropy = entropy.partition(number, of=len(writer.lives))
        began = through(writer.clock, np.array([life.began]), writer.start)
        return made.stream(process, VirtualClock(readings, start=int(began[0])), entropy)


class Picked(Stream):
    """One writer's keys of a stream that serves all writers: those with the given row numbers, from 1, ascending."""

    def __init__(self, everyones: Stream, numbers: NDArray[np.int64]) -> None:
        self._everyones, self._numbers, self._taken = everyones, numbers, 0

    def take(self, n: int) -> Keys:
        """The next n keys; LookupError when there are no more."""
        chosen, self._numbers = self._numbers[:n], self._numbers[n:]
        if len(chosen) < n:
            raise LookupError(f"the plan gives this writer {n - len(chosen)} rows fewer than were asked for")
        keys = self._everyones.take(int(chosen[-1]) - self._taken if n else 0)
        first, self._taken = self._taken, self._taken + len(keys)
        return keys[chosen - 1 - first]


class Lives(Stream):
    """The streams of a writer's processes, one after the other, each for so many rows."""

    def __init__(self, streams: Sequence[Stream], rows: Sequence[int]) -> None:
        self._streams, self._left = list(streams), list(rows)

    def take(self, n: int) -> Keys:
        """The next n keys; LookupError when the last process has no more."""
        parts = []
        while n:
            while not self._left[0] and len(self._left) > 1:
                del self._streams[0], self._left[0]
            rows = min(n, self._left[0])
            if not rows:
                raise LookupError(f"the writer's processes have made all of their keys, {n} more were asked for")
            parts.append(self._streams[0].take(rows))
            self._left[0] -= rows
            n -= rows
        return Keys.concat(parts) if parts else self._streams[0].take(0)


def key_sources(request: Request, trial: TrialPlan) -> tuple[KeySource, ...]:
    """Where each writer's keys come from. The same layout has the same keys on every database of a block."""
    scenario = request.scenario
    start = ticks_of(scenario.start)
    found = shares(scenario, trial.rows, (request.seed, trial.block))
    switch = _switch(request, trial, found)
    plans = [
        WriterPlan(
            part.id, i, len(found), len(share.arrivals) - share.rows, start, share.arrivals, share.phases,
            _lives(request, trial, part, share, switch), part.clock, part.shard,
        )
        for i, (part, share) in enumerate(zip(scenario.writer, found, strict=True))
    ]  # fmt: skip
    seed = (request.seed, trial.block)
    everyone = _everyone(trial, plans, found) if len(plans) > 1 else None
    return tuple(
        KeySource(trial.layout, plan, share.planned, seed, everyone) for plan, share in zip(plans, found, strict=True)
    )


def _everyone(trial: TrialPlan, plans: Sequence[WriterPlan], found: Sequence[Share]) -> NDArray[np.int64] | None:
    """All writers' arrivals in planned order, for a layout whose keys one server makes; None for others."""
    if trial.layout in server_keys.known() or not layout(trial.layout).one_counter:
        return None
    ticks = np.empty(sum(len(share.planned) for share in found), np.int64)
    for plan, share in zip(plans, found, strict=True):
        ticks[share.planned - 1] = plan.arrivals + plan.start
    return ticks


def _switch(request: Request, trial: TrialPlan, found: Sequence[Share]) -> int | None:
    """Tick from the start at which all writers change to the measured layout; None where they begin with it.

    The integer control has integers from the first row on: nothing else fits its column.
    """
    before = request.scenario.before
    if before is None or trial.layout == CONTROL:
        return None
    rows = round(trial.rows * before.share)
    return max((int(share.arrivals[share.planned <= rows].max(initial=-1)) for share in found), default=-1) + 1


def _lives(request: Request, trial: TrialPlan, part: WriterPart, share: Share, switch: int | None) -> tuple[Life, ...]:
    """The processes that make at least one key, in order; the first of a writer without rows.

    Layouts that never read the clock keep nothing that a restart would lose, nor do writers whose keys a server makes:
    their streams go on.
    """
    before = request.scenario.before.layout if request.scenario.before else ""
    changed = share.began if switch is None else switch
    starts = {share.began: before if share.began < changed else trial.layout}
    for at in part.restarts:
        tick = round(at * TICKS_PER_SECOND)
        name = before if tick < changed else trial.layout
        if layout(name).reads_clock != "never" and not layout(name).one_counter:
            starts[tick] = name
    if share.began < changed:
        starts[changed] = trial.layout
    begun = sorted(starts.items())
    edges = [0, *np.searchsorted(share.arrivals, [tick for tick, _ in begun[1:]]).tolist(), len(share.arrivals)]
    lives = [Life(name, b - a, tick) for (tick, name), (a, b) in zip(begun, pairwise(edges), strict=True)]
    return tuple(life for life in lives if life.rows) or tuple(lives[-1:])
