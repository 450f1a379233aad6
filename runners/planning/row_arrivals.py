"""Computes when each writer's rows arrive: a scenario's busy spells, rates and `[deal]` mode become arrays of ticks.

Everything is computed on whole arrays. This module knows neither layouts nor databases.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil, inf

import numpy as np
from numpy.typing import NDArray

from keybench.generators.core.clock import TICKS_PER_SECOND
from keybench.scenarios.schema import Scenario
from keybench.scenarios.writers import Phase, WriterPart

Ticks = NDArray[np.int64]
_Spell = tuple[float, float]
"""Begin and end of a time in which a writer is busy, in seconds since the scenario's start."""


@dataclass(frozen=True, eq=False)
class Share:
    """One writer's rows."""

    arrivals: Ticks
    """(n,): ticks since the scenario's start, ascending."""
    planned: NDArray[np.int64]
    """(n,): row numbers among all writers, from 1, in order of arrival."""
    phases: tuple[int, ...]
    """Rows in each of the scenario's phases."""
    started: int
    """When the process starts: ticks since the scenario's start."""


def shares(scenario: Scenario, rows: int, seed: tuple[int, ...]) -> tuple[Share, ...]:
    """The writers' shares of a load of `rows` rows. `seed`: of random choices among busy writers."""
    scale = rows / scenario.rows if scenario.rows else 1.0  # the rates follow the rows, so that the times stay
    phases = scenario.phases(rows)
    if scenario.deal.mode == "own-rates":
        return _by_own_rates(scenario.writer, phases, scale, rows)
    return _distributed(scenario, phases, scale, rows, seed)


def apportion(rows: int, parts: Sequence[float]) -> list[int]:
    """`rows` divided into whole numbers in proportion to `parts`, by the method of largest remainders."""
    exact = [rows * part / sum(parts) for part in parts]
    whole = [int(value) for value in exact]
    # the rows still missing go, one each, to the parts that lost most by cutting: `whole - exact` is the lowest there
    for i in sorted(range(len(whole)), key=lambda i: whole[i] - exact[i])[: rows - sum(whole)]:
        whole[i] += 1
    return whole


def _by_own_rates(writers: Sequence[WriterPart], phases: Sequence[Phase], scale: float, rows: int) -> tuple[Share, ...]:
    """The writers' shares where each has its own rate: its rows arrive at even intervals while it is busy, and writers
    with the same rate take turns. `scale`: times the rates; `rows`: of all writers together."""
    # how many rows each writer has
    busy_seconds = [sum(phase.end - phase.begin for phase in phases if i in phase.busy) for i in range(len(writers))]
    loads = apportion(rows, [writer.rate * seconds for writer, seconds in zip(writers, busy_seconds, strict=True)])
    # when they arrive
    phase_starts = [_tick(phase.begin) for phase in phases]
    arrivals, counts, started = [], [], []
    for i, (writer, load) in enumerate(zip(writers, loads, strict=True)):
        # the times when it is busy; of the last phase, rounding may put the last row a little behind the end
        spells = [(phase.begin, inf if phase is phases[-1] else phase.end) for phase in phases if i in phase.busy]
        rate = writer.rate * scale
        place = i / len(writers)  # by how much of an interval its first row is late, so that equal writers take turns
        ticks = _even_arrivals(load, place, _joined(spells), rate)
        first_turn = _tick(writer.start) + int(place * (TICKS_PER_SECOND / rate))
        arrivals.append(ticks)
        counts.append(_rows_in_phases(ticks, phase_starts))
        # at its first turn, but never after its first row, which rounding may put a tick earlier
        started.append(min(first_turn, int(ticks[0])) if len(ticks) else first_turn)
    return tuple(map(Share, arrivals, _numbers(arrivals), counts, started))


def _joined(spells: Sequence[_Spell]) -> list[_Spell]:
    """The spells, with adjacent ones joined."""
    joined: list[_Spell] = []
    for begin, end in spells:
        if joined and joined[-1][1] == begin:
            begin, _ = joined.pop()
        joined.append((begin, end))
    return joined


def _even_arrivals(rows: int, place: float, spells: Sequence[_Spell], rate: float) -> Ticks:
    """The ticks at which a writer's rows arrive, (rows,), at `rate` rows a second during the spells. `place`: how much
    later than the first moment the first row arrives, in intervals between two rows."""
    # `places`: of each row in the busy time, in intervals between two rows; spell by spell they become ticks
    places, ticks = np.arange(rows, dtype=np.float64) + place, np.empty(rows, np.int64)
    ends = list(accumulate((end - begin) * rate for begin, end in spells))  # of the spells, in the same unit
    edges = np.searchsorted(places, [0.0, *ends[:-1], inf])  # the first row of each spell, and the number of rows
    for (begin, end), begin_place, first, stop in zip(spells, [0.0, *ends], edges, edges[1:], strict=False):
        since_begin, of_spell = places[first:stop], ticks[first:stop]  # views of the two arrays
        since_begin -= begin_place  # in place, which saves an array as long as the load
        since_begin *= TICKS_PER_SECOND / rate
        of_spell[:] = since_begin  # cut to whole ticks
        of_spell += _tick(begin)
        if end != inf:  # because of rounding to whole rows, a fraction of a row may lie beyond the last spell
            np.minimum(of_spell, _tick(end) - 1, out=of_spell)
    return ticks


def _rows_in_phases(ticks: Ticks, phase_starts: Sequence[int]) -> tuple[int, ...]:
    """How many of the ascending `ticks` lie in each phase; `phase_starts` are the phases' first ticks."""
    # the first phase begins with tick 0, whatever its start
    return tuple(np.diff([*np.searchsorted(ticks, [0, *phase_starts[1:]]), len(ticks)]).tolist())


def _numbers(arrivals: Sequence[Ticks]) -> list[NDArray[np.int64]]:
    """Row numbers from 1 in order of arrival, for each writer; within a tick, in the order of writers."""
    together = np.concatenate(arrivals)
    numbers = np.empty(len(together), np.int64)
    # A stable sort is fast here: it merges runs that are already sorted.
    numbers[np.argsort(together, kind="stable")] = np.arange(1, len(together) + 1)
    return np.split(numbers, np.cumsum([len(ticks) for ticks in arrivals])[:-1])


def _distributed(
    scenario: Scenario, phases: Sequence[Phase], scale: float, rows: int, seed: tuple[int, ...]
) -> tuple[Share, ...]:
    """The writers' shares where all rows arrive in one stream, at even intervals, and each goes to a busy writer."""
    rng = np.random.default_rng(seed)
    # phase by phase: when all rows arrive, and the writer of each
    load_rows = apportion(rows, [phase.rows for phase in phases])
    owners, arrivals = [], []
    for phase, n in zip(phases, load_rows, strict=True):
        interval = TICKS_PER_SECOND / (phase.rate * scale)
        ticks = _tick(phase.begin) + (np.arange(n) * interval).astype(np.int64)
        # of the last phase, rounding may put the last row a little behind the end
        arrivals.append(ticks if phase is phases[-1] else np.minimum(ticks, _tick(phase.end) - 1))
        owners.append(_owners(scenario, phase, n, rng))
    # the same writer by writer; + 1, as planned numbers begin with 1
    all_owners, all_arrivals = np.concatenate(owners), np.concatenate(arrivals)
    ends = np.cumsum(load_rows)
    all_shares = []
    for i, writer in enumerate(scenario.writer):
        rows_of_writer = np.flatnonzero(all_owners == i)
        counts = tuple(np.diff(np.searchsorted(rows_of_writer, [0, *ends])).tolist())
        all_shares.append(Share(all_arrivals[rows_of_writer], rows_of_writer + 1, counts, started=_tick(writer.start)))
    return tuple(all_shares)


def _owners(scenario: Scenario, phase: Phase, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The index of the writer of each of n successive rows in a phase, by the scenario's `[deal]` mode: (n,)."""
    busy, mode = np.array(phase.busy), scenario.deal.mode
    if mode == "one-busy":
        return np.full(n, busy[0])
    if mode == "round-robin":
        return busy[np.arange(n) % len(busy)]
    # a random writer for each session, in proportion to the rates
    rate_sums = np.cumsum([scenario.writer[i].rate for i in phase.busy])
    session_rows = 1 if mode == "random" else scenario.deal.session_rows
    sessions = ceil(n / session_rows)
    choices = np.searchsorted(rate_sums, rng.random(sessions) * rate_sums[-1], side="right")
    owners: NDArray[np.int64] = busy[np.repeat(choices, session_rows)[:n]]
    return owners


def _tick(seconds: float) -> int:
    """The moment in whole ticks."""
    return round(seconds * TICKS_PER_SECOND)
