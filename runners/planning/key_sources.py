"""The source of each writer's keys: its rows, its clock, and its processes, which replace one another at restarts."""

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
from keybench.runners.planning.row_arrivals import Share, shares
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.planning.writer_clock import clock_readings
from keybench.scenarios.writers import ClockPart, WriterPart

_TICKS_PER_MICROSECOND = 10


@dataclass(frozen=True)
class WriterProcess:
    """One process of a writer, from its start until it is restarted or ends."""

    layout: str
    rows: int
    started: int
    """When it starts and its generator reads the clock: ticks since the trial's first moment."""


@dataclass(frozen=True, eq=False)
class WriterPlan:
    """One writer's share of a trial, and when its rows arrive in virtual time."""

    id: str
    index: int
    of: int
    refill_rows: int
    start: int
    """Tick of the trial's first moment."""
    arrivals: NDArray[np.int64]
    """(rows + refill_rows,): when its rows arrive by a true clock, in ticks since the trial's first moment."""
    phases: tuple[int, ...]
    """Rows of the load in each phase."""
    processes: tuple[WriterProcess, ...]
    """Its processes in order; together they have the rows of the load and of the refill."""
    clock: ClockPart
    shard: int = 0
    """Its shard key."""

    @property
    def rows(self) -> int:
        """Rows of the load."""
        return sum(self.phases)

    def readings(self) -> NDArray[np.int64]:
        """What the writer's clock shows as each of its rows arrives."""
        return clock_readings(self.clock, self.arrivals, self.start)


@dataclass(frozen=True, eq=False)
class KeySource:
    """All that is needed to make one writer's keys. The keys are the same each time."""

    layout: str
    writer: WriterPlan
    planned: NDArray[np.int64]
    seed: tuple[int, ...]
    arrivals_of_all: NDArray[np.int64] | None = None
    """(all rows,): when the rows of all writers arrive, in true ticks; only where one server makes all keys."""

    def stream(self) -> Stream:
        """A new stream that begins with the first key."""
        readings = self.writer.readings()
        streams, first = [], 0
        for number, part in enumerate(self.writer.processes):
            end = first + part.rows
            streams.append(self._stream(number, part, readings[first:end], self.planned[first:end]))
            first = end
        rows = [part.rows for part in self.writer.processes]
        return streams[0] if len(streams) == 1 else ConsecutiveStreams(streams, rows)

    def created(self) -> NDArray[np.int64]:
        """When the writer's rows (load and refill) were created, by its own clock: microseconds since 1970."""
        return (self.writer.readings() - UNIX_EPOCH) // _TICKS_PER_MICROSECOND

    def _stream(
        self, number: int, part: WriterProcess, readings: NDArray[np.int64], planned: NDArray[np.int64]
    ) -> Stream:
        writer, made, entropy = self.writer, layout(part.layout), AesEntropy.seeded(*self.seed, part.layout)
        if made.one_counter and self.arrivals_of_all is not None:
            server = VirtualClock(self.arrivals_of_all, start=writer.start)
            return SelectedKeys(made.stream(Process("keybench", 4242), server, entropy), planned)
        process = Process("keybench", 4242, shard=writer.shard)
        process = process.partition(writer.index, of=writer.of, planned=planned)
        entropy = entropy.partition(writer.index, of=writer.of)
        if number:  # a new process has another pid and other random bytes
            process = replace(process, pid=process.pid + number * writer.of)
            entropy = entropy.partition(number, of=len(writer.processes))
        started = clock_readings(writer.clock, np.array([part.started]), writer.start)
        return made.stream(process, VirtualClock(readings, start=int(started[0])), entropy)


class SelectedKeys(Stream):
    """One writer's keys from a stream that serves all writers: those with the given row numbers, ascending from 1."""

    def __init__(self, stream: Stream, numbers: NDArray[np.int64]) -> None:
        self._stream_of_all, self._numbers, self._taken = stream, numbers, 0

    def take(self, n: int) -> Keys:
        """The next n keys; LookupError when there are no more."""
        chosen, self._numbers = self._numbers[:n], self._numbers[n:]
        if len(chosen) < n:
            raise LookupError(f"the plan gives this writer {n - len(chosen)} rows fewer than were asked for")
        keys = self._stream_of_all.take(int(chosen[-1]) - self._taken if n else 0)
        first, self._taken = self._taken, self._taken + len(keys)
        return keys[chosen - 1 - first]


class ConsecutiveStreams(Stream):
    """The streams of a writer's processes, one after the other; `rows` is the number of keys from each."""

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
    """The source of each writer's keys. Within a block, a layout has the same keys on every database."""
    scenario = request.scenario
    start = ticks_of(scenario.start)
    all_shares = shares(scenario, trial.rows, (request.seed, trial.block))
    switch = _switch(request, trial, all_shares)
    plans = [
        WriterPlan(
            part.id, i, len(all_shares), len(share.arrivals) - share.rows, start, share.arrivals, share.phases,
            _processes(request, trial, part, share, switch), part.clock, part.shard,
        )
        for i, (part, share) in enumerate(zip(scenario.writer, all_shares, strict=True))
    ]  # fmt: skip
    seed = (request.seed, trial.block)
    arrivals_of_all = _arrivals_of_all(trial, plans, all_shares) if len(plans) > 1 else None
    return tuple(
        KeySource(trial.layout, plan, share.planned, seed, arrivals_of_all)
        for plan, share in zip(plans, all_shares, strict=True)
    )


def _arrivals_of_all(
    trial: TrialPlan, plans: Sequence[WriterPlan], all_shares: Sequence[Share]
) -> NDArray[np.int64] | None:
    """The arrivals of all writers in planned order, for a layout whose keys one server makes; else None."""
    if trial.layout in server_keys.known() or not layout(trial.layout).one_counter:
        return None
    ticks = np.empty(sum(len(share.planned) for share in all_shares), np.int64)
    for plan, share in zip(plans, all_shares, strict=True):
        ticks[share.planned - 1] = plan.arrivals + plan.start
    return ticks


def _switch(request: Request, trial: TrialPlan, all_shares: Sequence[Share]) -> int | None:
    """When all writers change to the measured layout, in ticks since the start; None if they begin with it.

    The control uses integers from its first row, because its column cannot hold other keys.
    """
    before = request.scenario.before
    if before is None or trial.layout == CONTROL:
        return None
    rows = round(trial.rows * before.share)
    return max((int(share.arrivals[share.planned <= rows].max(initial=-1)) for share in all_shares), default=-1) + 1


def _processes(
    request: Request, trial: TrialPlan, part: WriterPart, share: Share, switch: int | None
) -> tuple[WriterProcess, ...]:
    """The processes that make at least one key, in order. For a writer without rows, only its last process.

    A restart changes nothing for layouts that never read the clock and for keys that one server makes: their streams
    continue.
    """
    before = request.scenario.before.layout if request.scenario.before else ""
    changed = share.started if switch is None else switch
    starts = {share.started: before if share.started < changed else trial.layout}
    for at in part.restarts:
        tick = round(at * TICKS_PER_SECOND)
        name = before if tick < changed else trial.layout
        if layout(name).reads_clock != "never" and not layout(name).one_counter:
            starts[tick] = name
    if share.started < changed:
        starts[changed] = trial.layout
    begun = sorted(starts.items())
    edges = [0, *np.searchsorted(share.arrivals, [tick for tick, _ in begun[1:]]).tolist(), len(share.arrivals)]
    processes = [WriterProcess(name, b - a, tick) for (tick, name), (a, b) in zip(begun, pairwise(edges), strict=True)]
    return tuple(process for process in processes if process.rows) or tuple(processes[-1:])
