"""The source of each writer's keys: its rows, its clock, and its processes, which replace one another at restarts.

Keys that database servers make for all writers from one counter each, as NEWSEQUENTIALID does, are replicated by the
client (`KeyServer`). The measured server takes no part in that: restarts are those of the servers that the scenario
describes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.generators.core.clock import TICKS_PER_SECOND, UNIX_EPOCH, VirtualClock, ticks_of
from keybench.generators.core.entropy import AesEntropy
from keybench.generators.core.layout import Layout, Stream, layout
from keybench.generators.core.process import Process
from keybench.model.keys import Keys
from keybench.model.names import CONTROL
from keybench.runners.planning.columns import layouts_of_servers
from keybench.runners.planning.row_arrivals import Share, shares
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.scenarios.index_phases import PhasePart, expanded, rows_by_phase
from keybench.scenarios.schema import Scenario
from keybench.scenarios.writers import ClockPart, WriterPart

PROCESS: Final = Process("keybench", 4242)
"""The process that makes keys wherever keybench plans a load: its host's name and its number are parts of some keys."""


@dataclass(frozen=True, eq=False)
class KeyServer:
    """One database server: it makes the keys of its writers' rows in planned order, by its own, true clock."""

    index: int
    of: int
    """Number of servers."""
    hosts: int
    """Machines on which it runs in turn."""
    starts: tuple[int, ...]
    """Ticks of its starts, ascending; at each, the next host takes over."""
    planned: NDArray[np.int64]
    """(n,): numbers of its rows among all rows, from 1, ascending."""
    arrivals: NDArray[np.int64]
    """(n,): ticks at which these rows arrive."""

    def stream(self, chosen: Layout, seed: tuple[int | str, ...], rows: NDArray[np.int64]) -> Stream:
        """The keys of the rows with these planned numbers (ascending), of all that the server makes from that seed."""
        # the rows between two starts: `first` to `end` of the server's rows, wherever `edges` has two neighbours
        edges = [0, *np.searchsorted(self.arrivals, self.starts[1:]).tolist(), len(self.arrivals)]
        streams = [
            self._since_start(number, chosen, AesEntropy.seeded(*seed), self.arrivals[first:end])
            for number, (first, end) in enumerate(pairwise(edges))
        ]
        of_all_rows = ConsecutiveStreams(streams, np.diff(edges).tolist()) if len(streams) > 1 else streams[0]
        return SelectedKeys(of_all_rows, np.searchsorted(self.planned, rows) + 1)  # numbers among the server's rows

    def _since_start(self, number: int, chosen: Layout, entropy: AesEntropy, arrivals: NDArray[np.int64]) -> Stream:
        """The keys from start `number` (0: the first) until the next one. `arrivals`: of their rows. A machine has its
        own random bytes, the same after each of its starts, and counts its own starts."""
        boot, host = divmod(number, self.hosts)  # hosts take turns, so each has booted once per turn
        machines = self.of * self.hosts
        if machines > 1:
            entropy = entropy.partition(self.index * self.hosts + host, of=machines)
        return chosen.stream(replace(PROCESS, boot=boot), VirtualClock(arrivals, start=self.starts[number]), entropy)


def key_servers(scenario: Scenario, start: int, all_shares: Sequence[Share]) -> tuple[KeyServer, ...]:
    """For each writer, the database server that makes its keys; `start` is the tick of the scenario's first moment."""
    server_numbers = sorted({writer.server for writer in scenario.writer})
    restarts = (start + round(second * TICKS_PER_SECOND) for second in scenario.server.restarts)
    starts = (start, *restarts)
    servers = {}
    for index, number in enumerate(server_numbers):
        with_shares = zip(scenario.writer, all_shares, strict=True)
        its_shares = [share for writer, share in with_shares if writer.server == number]
        planned = np.concatenate([share.planned for share in its_shares])
        order = np.argsort(planned, kind="stable")  # merges the writers' ascending numbers
        arrivals = np.concatenate([share.arrivals for share in its_shares])[order] + start
        hosts = scenario.server.hosts
        servers[number] = KeyServer(
            index, len(server_numbers), hosts, starts, planned=planned[order], arrivals=arrivals
        )
    return tuple(servers[writer.server] for writer in scenario.writer)


class SelectedKeys(Stream):
    """One writer's keys from a stream that serves several: those with the given numbers, ascending from 1."""

    def __init__(self, stream: Stream, numbers: NDArray[np.int64]) -> None:
        self._stream_of_all, self._numbers, self._taken = stream, numbers, 0

    def take(self, n: int) -> Keys:
        """The next n keys; LookupError when there are no more."""
        chosen, self._numbers = self._numbers[:n], self._numbers[n:]
        if len(chosen) < n:
            raise LookupError(f"the plan gives this writer {n - len(chosen)} rows fewer than were asked for")
        # takes all keys up to the last one chosen, also those of other writers, and keeps those chosen
        keys = self._stream_of_all.take(int(chosen[-1]) - self._taken if n else 0)
        before = self._taken
        self._taken += len(keys)
        return keys[chosen - 1 - before]  # numbers begin with 1


class ConsecutiveStreams(Stream):
    """The streams of processes that follow one another; `rows` is the number of keys from each."""

    def __init__(self, streams: Sequence[Stream], rows: Sequence[int]) -> None:
        self._streams, self._left = list(streams), list(rows)

    def take(self, n: int) -> Keys:
        """The next n keys; LookupError when the last process has no more."""
        parts = []
        while n:
            while not self._left[0] and len(self._left) > 1:  # this process has made all of its keys: the next one
                del self._streams[0], self._left[0]
            rows = min(n, self._left[0])
            if not rows:
                raise LookupError(f"the writer's processes have made all of their keys, {n} more were asked for")
            parts.append(self._streams[0].take(rows))
            self._left[0] -= rows
            n -= rows
        return Keys.concat(parts) if parts else self._streams[0].take(0)


_TICKS_PER_MICROSECOND, _TICKS_PER_DAY = 10, 86_400 * TICKS_PER_SECOND


@dataclass(frozen=True)
class WriterProcess:
    """One process of a writer, from its start until it is restarted or ends."""

    layout: str
    rows: int
    started: int
    """When it starts and its generator reads the clock: ticks since the trial's first moment."""
    ahead: int = 0
    """By how many ticks its clock is ahead of the writer's."""


@dataclass(frozen=True, eq=False)
class WriterPlan:
    """One writer's share of a trial, and when its rows arrive in virtual time."""

    id: str
    index: int
    of: int
    """Number of writers."""
    start: int
    """Tick of the trial's first moment."""
    arrivals: NDArray[np.int64]
    """(rows,): when its rows arrive by a true clock, in ticks since the trial's first moment."""
    phases: tuple[int, ...]
    """Rows of the load in each phase."""
    processes: tuple[WriterProcess, ...]
    """Its processes in order; together they have its rows."""
    clock: ClockPart
    shard: int = 0
    """The shard key of its rows, for layouts that have a field for it."""

    @property
    def rows(self) -> int:
        """Its number of rows."""
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
    """(rows,): the numbers of its rows among those of all writers, from 1, ascending."""
    seed: tuple[int, ...]  # of the run, and the number of the block
    server: KeyServer | None = None
    """The database server that makes its keys, if the layout is one whose keys a server makes for all writers."""

    def stream(self) -> Stream:
        """A new stream that begins with the first key."""
        readings = self.writer.readings()
        streams, first = [], 0
        for number, process in enumerate(self.writer.processes):
            end = first + process.rows
            streams.append(self._stream(number, process, slice(first, end), readings[first:end] + process.ahead))
            first = end
        rows = [process.rows for process in self.writer.processes]
        return streams[0] if len(streams) == 1 else ConsecutiveStreams(streams, rows)

    def created(self) -> NDArray[np.int64]:
        """When the writer's rows were created, by its own clock: microseconds since 1970."""
        return (self.writer.readings() - UNIX_EPOCH) // _TICKS_PER_MICROSECOND

    def _stream(self, number: int, process_plan: WriterProcess, rows: slice, readings: NDArray[np.int64]) -> Stream:
        """The keys of one process of the writer, its `number`-th (0: the first). `rows`: the places of its rows
        among the writer's; `readings`: what its clock shows for each."""
        writer, chosen, row_numbers = self.writer, layout(process_plan.layout), self.planned[rows]
        seed: tuple[int | str, ...] = (*self.seed, process_plan.layout)
        # keys from one counter for all writers: the server makes them
        if chosen.one_counter and self.server is not None:
            return self.server.stream(chosen, seed, row_numbers)
        # other keys: the process, its share of the random bytes, and its clock
        process = replace(PROCESS, shard=writer.shard)
        process = process.partition(writer.index, of=writer.of, planned=row_numbers)
        entropy = AesEntropy.seeded(*seed).partition(writer.index, of=writer.of)
        if number:  # a later process: a pid that no other process has, and other random bytes
            process = replace(process, pid=process.pid + number * writer.of)
            entropy = entropy.partition(number, of=len(writer.processes))
        started = clock_readings(writer.clock, np.array([process_plan.started]), writer.start)
        return chosen.stream(process, VirtualClock(readings, start=int(started[0]) + process_plan.ahead), entropy)


def key_sources(request: Request, trial: TrialPlan) -> tuple[KeySource, ...]:
    """The source of each writer's keys. Within a block, a layout has the same keys on every database."""
    seed = (request.seed, trial.block)
    all_shares = shares(request.scenario, trial.rows, seed)
    return sources_of_load(request.scenario, trial.layout, trial.rows, seed, all_shares)


def sources_of_load(
    scenario: Scenario, name: str, rows: int, seed: tuple[int, ...], all_shares: Sequence[Share]
) -> tuple[KeySource, ...]:
    """The source of each writer's keys, for a load of `rows` rows of the layout `name`; a share for each writer."""
    start = ticks_of(scenario.start)
    switch = _switch_tick(scenario, name, rows, all_shares)
    plans = [
        WriterPlan(
            id=part.id,
            index=i,
            of=len(all_shares),
            start=start,
            arrivals=share.arrivals,
            phases=share.phases,
            processes=_phase_processes(scenario.phase, name, share) or _processes(scenario, name, part, share, switch),
            clock=part.clock,
            shard=part.shard,
        )
        for i, (part, share) in enumerate(zip(scenario.writer, all_shares, strict=True))
    ]
    servers: Sequence[KeyServer | None] = [None] * len(all_shares)
    # servers are needed only for layouts whose keys come from one counter for all writers
    if any(one not in layouts_of_servers() and layout(one).one_counter for one in (name, *scenario.other_layouts)):
        servers = key_servers(scenario, start, all_shares)
    return tuple(
        KeySource(layout=name, writer=plan, planned=share.planned, seed=seed, server=server)
        for plan, share, server in zip(plans, all_shares, servers, strict=True)
    )


def _switch_tick(scenario: Scenario, name: str, rows: int, all_shares: Sequence[Share]) -> int | None:
    """When all writers change to the measured layout, in ticks since the start; None if they begin with it.

    The change comes one tick after the last row that `scenario.before` leaves to the other layout. The control has no
    change: its keys are integers from the first row, because its column cannot hold other keys.
    """
    before = scenario.before
    if before is None or name == CONTROL:
        return None
    rows_before = round(rows * before.share)
    lasts = (int(share.arrivals[share.planned <= rows_before].max(initial=-1)) for share in all_shares)
    return max(lasts, default=-1) + 1  # -1: without such a row, writers change at tick 0


def _processes(
    scenario: Scenario, measured: str, writer: WriterPart, share: Share, switch: int | None
) -> tuple[WriterProcess, ...]:
    """The processes that make at least one key, in order. For a writer without rows, only its last process.

    `switch`: see `_switch_tick`. A restart changes nothing for layouts that never read the clock and for keys that a
    server makes: their streams continue. The restarts of that server are the scenario's `server.restarts`.
    """
    layout_before = scenario.before.layout if scenario.before else measured
    change = share.started if switch is None else switch  # at its start: all of its keys are of the measured layout
    # the layout of each process, by the tick of its start: the first one, those after restarts, the one at the change
    starts = {share.started: layout_before if share.started < change else measured}
    for second in writer.restarts:
        tick = round(second * TICKS_PER_SECOND)
        name = layout_before if tick < change else measured
        if layout(name).reads_clock != "never" and not layout(name).one_counter:
            starts[tick] = name
    if share.started < change:  # else it has this layout from its start
        starts[change] = measured
    # each process makes the keys of the rows that arrive before the next one starts
    in_order = sorted(starts.items())
    edges = [0, *np.searchsorted(share.arrivals, [tick for tick, _ in in_order[1:]]).tolist(), len(share.arrivals)]
    processes = [
        WriterProcess(layout=name, rows=end - first, started=tick)
        for (tick, name), (first, end) in zip(in_order, pairwise(edges), strict=True)
    ]
    return tuple(process for process in processes if process.rows) or tuple(processes[-1:])


def _phase_processes(phases: tuple[PhasePart, ...], measured: str, share: Share) -> tuple[WriterProcess, ...]:
    """The processes of the only writer, where phases have keys of their own; empty elsewhere, and for the control. A
    new process starts where layout or clock change. Layouts that read no clock, and counters, ignore the clock."""
    if measured == CONTROL or not any(phase.own_keys for phase in phases):
        return ()
    processes: list[WriterProcess] = []
    first = 0
    for phase, end in zip(expanded(phases), rows_by_phase(phases, len(share.arrivals)), strict=True):
        of_phase = layout(phase.layout or measured)
        timeless = of_phase.reads_clock == "never" or of_phase.one_counter
        ahead = 0 if timeless else round(phase.days_ahead * _TICKS_PER_DAY)
        last = processes[-1] if processes else None
        if last and (last.layout, last.ahead) == (of_phase.name, ahead):  # it makes the keys of this phase, too
            processes[-1] = replace(last, rows=last.rows + end - first)
        elif end > first:
            started = int(share.arrivals[first]) if first else share.started
            processes.append(WriterProcess(of_phase.name, end - first, started, ahead))
        first = end
    return tuple(processes)


Ticks = NDArray[np.int64]


def clock_readings(clock: ClockPart, ticks: Ticks, start: int) -> Ticks:
    """What a clock shows at the true times `ticks`: ticks since year 1. `ticks` and the clock's steps count from
    `start`."""
    shown = ticks + (start + round(clock.offset * TICKS_PER_SECOND))
    if clock.drift:
        shown += np.rint(ticks * (clock.drift * 1e-6)).astype(np.int64)  # drift is in parts per million
    for at, by in clock.step:  # from second `at` on, `by` seconds more
        shown += (ticks >= round(at * TICKS_PER_SECOND)) * np.int64(round(by * TICKS_PER_SECOND))
    resolution = round(clock.tick * TICKS_PER_SECOND)
    return shown if resolution == 1 else shown - shown % resolution
