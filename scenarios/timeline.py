"""The phases of a load: which writers are busy when, and when the last row has been sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import Final

from keybench.scenarios.writers import WriterPart

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


def phases(writers: Sequence[WriterPart], rows: float) -> tuple[Phase, ...]:
    """The phases of a load in order of time; a new phase begins whenever the set of busy writers changes.

    The last phase ends when `rows` rows have been sent, or with the writers' last busy spell if they never send that
    many. Times in which no writer is busy belong to no phase.
    """
    edges = sorted({moment for writer in writers for spell in writer.spells for moment in spell})
    planned: list[Phase] = []
    left = float(rows)
    for begin, end in pairwise(edges):
        busy = tuple(i for i, writer in enumerate(writers) if any(a <= begin and end <= b for a, b in writer.spells))
        if not busy:
            continue
        rate = sum(writers[i].rate for i in busy)
        enough = left <= (end - begin) * rate * (1 + 1e-12)
        if planned and (planned[-1].end, planned[-1].busy) == (begin, busy):  # adjacent spells
            begin, left = planned[-1].begin, left + planned.pop().rows
        phase = Phase(begin, begin + left / rate if enough else end, busy, rate)
        planned.append(phase)
        if enough:
            break
        left -= phase.rows
    return tuple(planned)


def too_long(plan: Sequence[Phase]) -> str:
    """Why a load takes more time than keys can hold; empty if it does not."""
    end = plan[-1].end
    if end <= _LONGEST:
        return ""
    return (
        f"the last row would be sent at {end:g} s, thousands of years after the start: give fewer rows or higher rates"
    )


def sent(writers: Sequence[WriterPart]) -> float:
    """Rows that the writers can send in total; infinite if one of them never stops."""
    return sum(writer.rate * sum(end - begin for begin, end in writer.spells) for writer in writers)


def problem(writers: Sequence[WriterPart], rows: int) -> str:
    """Why these writers cannot send `rows` rows, or why one of them would send none; empty if there is no problem."""
    total = sent(writers)
    if total != inf and rows > total * (1 + 1e-9):
        return (
            f"the writers send {total:,.0f} rows in their time, not {rows:,}: give fewer rows, higher rates or "
            "longer spells"
        )
    plan = phases(writers, rows)
    if long := too_long(plan):
        return long
    end = plan[-1].end
    for i, writer in enumerate(writers):
        if not any(i in phase.busy for phase in plan):
            return (
                f"writer {writer.id} is first busy at {writer.spells[0][0]:g} s, but the last of {rows:,} rows is sent "
                f"at {end:g} s: give more rows, or let it begin earlier"
            )
        if late := [at for at in writer.restarts if at >= end]:
            return (
                f"writer {writer.id} restarts at {late[0]:g} s, but the last of {rows:,} rows is sent at {end:g} s: "
                "give more rows, or leave the restart out"
            )
    return ""
