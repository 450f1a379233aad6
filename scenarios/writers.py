"""The writers of a scenario: when each one runs and is busy, what its clock shows, and how work is divided among them.

From their busy spells follow the phases of a load, and when the last row has been sent.

All times are seconds of virtual time since the scenario's start. A writer is one process of the application: it runs
from `start` to `stop` and sends rows in its busy spells. A restart is a new process with new generator state.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from keybench.model.names import MOST_ROWS
from keybench.scenarios.parts import FilePart, Seconds

Offset = Annotated[float, Field(ge=-1e9, le=1e9)]  # seconds by which a clock is ahead; negative if it is behind

Mode = Literal["own-rates", "one-busy", "round-robin", "random", "sticky"]
"""`own-rates`: each writer has work of its own. Otherwise the work of all goes to one busy writer at a time: to the
first one, to each in turn, to one drawn at random for each row, or to one drawn at random for each session of rows."""


class ClockPart(FilePart):
    """How a writer's clock differs from true time."""

    offset: Offset = 0.0
    """Seconds that it is ahead of true time."""
    drift: Annotated[float, Field(gt=-1e6, le=1e6)] = 0.0
    """Microseconds that it gains each second, from the scenario's start on."""
    tick: Annotated[float, Field(gt=0, le=86_400)] = 1e-7
    """Seconds between two ticks; the minimum is 100 ns, the unit of all clocks."""
    step: tuple[tuple[Seconds, Offset], ...] = ()
    """[at, by]: from time `at` on, the clock shows `by` seconds more."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.tick < 1e-7:
            raise ValueError(f"a tick of {self.tick:g} s is below 100 ns, in which all clocks count: give 1e-7 or more")
        if any(later[0] <= earlier[0] for earlier, later in pairwise(self.step)):
            raise ValueError("the steps are not in order of time, or two are at once: sort or add them up")
        return self


class WriterPart(FilePart):
    """One writer; `rate` is rows a second of virtual time while it is busy."""

    id: Annotated[str, Field(min_length=1)]
    rate: Annotated[float, Field(gt=0, le=1e12)] = 1000.0
    start: Seconds = 0.0
    stop: Seconds | None = None
    """The default is the end of the load."""
    busy: tuple[tuple[Seconds, Seconds], ...] | None = None
    """[from, to] of each busy spell; by default the writer is busy from start to stop."""
    restarts: tuple[Seconds, ...] = ()
    shard: Annotated[int, Field(ge=0, lt=1 << 32)] = 0
    """The shard key, or region, of its rows, for layouts whose keys carry it."""
    server: Annotated[int, Field(ge=0, lt=1 << 16)] = 0
    """The database server that makes its keys, if servers do; the measured table brings rows of several together."""
    clock: ClockPart = ClockPart()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        there = f"writer {self.id} is there from {self.start:g} s"
        there += f" to {self.stop:g} s" if self.stop is not None else " on"
        if self.stop is not None and self.stop <= self.start:
            raise ValueError(f"writer {self.id} stops at {self.stop:g} s and starts at {self.start:g} s: stop it later")
        if self.busy == ():
            raise ValueError(f"writer {self.id} is never busy: give it a spell, or leave it out")
        for begin, end in self.busy or ():
            if end <= begin:
                raise ValueError(f"writer {self.id} is busy from {begin:g} s to {end:g} s: put the earlier first")
            if begin < self.start or end > self.last:
                raise ValueError(f"{there}, and busy from {begin:g} s to {end:g} s: keep its spells within that")
        for (_, end), (begin, _) in pairwise(self.busy or ()):
            if begin < end:
                raise ValueError(
                    f"writer {self.id} has a busy spell from {begin:g} s, and the one ahead of it ends at {end:g} s: "
                    "join or sort them"
                )
        for moment in self.restarts:
            if not self.start < moment < self.last:
                raise ValueError(f"{there}, and restarts at {moment:g} s: restart it within that")
        if any(later <= earlier for earlier, later in pairwise(self.restarts)):
            raise ValueError(f"the restarts of writer {self.id} are not in order of time: sort them")
        return self

    @property
    def last(self) -> float:
        """When it stops; infinite if it never stops."""
        return inf if self.stop is None else self.stop

    @property
    def spells(self) -> tuple[tuple[float, float], ...]:
        """(from, to) of each busy spell; the last may have no end."""
        return self.busy or ((self.start, self.last),)

    @property
    def plain(self) -> bool:
        """Whether it differs from a default writer only in its id, rate and shard."""
        return self == WriterPart(id=self.id, rate=self.rate, shard=self.shard)


class DealPart(FilePart):
    """How arriving rows are divided among the busy writers."""

    mode: Mode = "own-rates"
    session_rows: Annotated[int, Field(gt=0, le=MOST_ROWS)] = 100
    """In sticky mode: rows of a session, which all go to one writer."""


_LONGEST: Final = 1e11
"""Seconds, some 3,000 years. Most layouts hold no more, and 64-bit ticks some 29,000 years."""


@dataclass(frozen=True)
class Phase:
    """A stretch of time in which the same writers are busy, in seconds since the scenario's start."""

    begin: float
    end: float
    busy: tuple[int, ...]
    """Indices of the writers, ascending; never empty."""
    rate: float
    """Rows a second that they send together."""

    @property
    def rows(self) -> float:
        """Rows that they send in this phase."""
        return (self.end - self.begin) * self.rate


def load_phases(writers: Sequence[WriterPart], rows: float) -> tuple[Phase, ...]:
    """The phases of a load in order of time; a new phase begins whenever the set of busy writers changes.

    The last phase ends when `rows` rows have been sent, or with the writers' last busy spell if they never send that
    many. Times in which no writer is busy belong to no phase.
    """
    # Between two neighbouring edges the same writers are busy.
    edges = sorted({moment for writer in writers for spell in writer.spells for moment in spell})
    phases: list[Phase] = []
    left = float(rows)  # rows that no phase has sent yet
    for begin, end in pairwise(edges):
        busy = tuple(i for i, writer in enumerate(writers) if any(a <= begin and end <= b for a, b in writer.spells))
        if not busy:
            continue
        rate = sum(writers[i].rate for i in busy)
        is_last = left <= (end - begin) * rate * (1 + 1e-12)  # 1e-12: despite the rounding errors of doubles
        if phases and (phases[-1].end, phases[-1].busy) == (begin, busy):  # the same writers go on: one phase for both
            earlier = phases.pop()
            begin = earlier.begin
            left += earlier.rows  # the joined phase sends them, too
        phase = Phase(begin, begin + left / rate if is_last else end, busy, rate)
        phases.append(phase)
        if is_last:
            break
        left -= phase.rows
    return tuple(phases)


def duration_problem(plan: Sequence[Phase]) -> str:
    """A message if a load with these phases takes more time than keys can hold; empty if it does not."""
    end = plan[-1].end
    if end <= _LONGEST:
        return ""
    return (
        f"the last row would be sent at {end:g} s, thousands of years after the start: give fewer rows or higher rates"
    )


def rows_sent(writers: Sequence[WriterPart]) -> float:
    """Rows that the writers can send in total; infinite if one of them never stops."""
    return sum(writer.rate * sum(end - begin for begin, end in writer.spells) for writer in writers)


def timeline_problem(writers: Sequence[WriterPart], rows: int) -> str:
    """Why these writers cannot send `rows` rows, or why one of them would send none; empty if there is no problem."""
    total = rows_sent(writers)
    if total != inf and rows > total * (1 + 1e-9):
        return (
            f"the writers send {total:,.0f} rows in their time, not {rows:,}: give fewer rows, higher rates or "
            "longer spells"
        )
    plan = load_phases(writers, rows)
    if problem := duration_problem(plan):
        return problem
    end = plan[-1].end
    for i, writer in enumerate(writers):
        if not any(i in phase.busy for phase in plan):
            return (
                f"writer {writer.id} is first busy at {writer.spells[0][0]:g} s, but the last of {rows:,} rows is sent "
                f"at {end:g} s: give more rows, or let it begin earlier"
            )
        if late := [moment for moment in writer.restarts if moment >= end]:
            return (
                f"writer {writer.id} restarts at {late[0]:g} s, but the last of {rows:,} rows is sent at {end:g} s: "
                "give more rows, or leave the restart out"
            )
    return ""
