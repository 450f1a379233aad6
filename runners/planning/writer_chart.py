"""Draws a scenario as text: one line for each writer, time from left to right, in at most 100 columns."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from keybench.scenarios.schema import Scenario
from keybench.scenarios.writers import ClockPart, Phase, WriterPart

WIDTH: Final = 100
_NAME: Final = 18
_RATE: Final = 9
_MARKS: Final = 4
"""Parts into which labels divide the time axis."""


def lines(scenario: Scenario, rows: int) -> list[str]:
    """The lines of the chart, for a load of `rows` rows."""
    phases = scenario.phases(rows)
    end = phases[-1].end
    scale = rows / scenario.rows if scenario.rows else 1.0
    wide = min(_NAME, max(len("phases"), *(len(writer.id) for writer in scenario.writer)))
    columns = WIDTH - wide - _RATE - 2
    edges = np.linspace(0, end, columns + 1).tolist()
    gap = " " * (wide + _RATE + 2)
    lines = [gap + _axis(end, columns)]
    for writer in scenario.writer:
        rate = f"{writer.rate * scale:.4g}/s"
        lines.append(f"{_short(writer.id, wide):<{wide}} {rate:>{_RATE}} {_line(writer, edges)}".rstrip())
    lines.append(f"{'phases':<{wide + _RATE + 1}} {_cuts(phases, edges)}".rstrip())
    lines.append(f"{gap}# busy, - idle, R restarts, blank: not there; a phase begins at each |")
    if scenario.deal.mode != "own-rates":
        lines.append(f"dealt out: {_dealing(scenario)}")
    lines += [
        f"clock of {_short(writer.id, _NAME)}: {_clock(writer.clock)}"
        for writer in scenario.writer
        if writer.clock != ClockPart()
    ]
    if restarts := scenario.server.restarts:
        at = ", ".join(span(moment) for moment in restarts)
        hosts = f", on {scenario.server.hosts} machines in turn" if scenario.server.hosts > 1 else ""
        lines.append(f"servers that make keys restart at {at}{hosts}")
    if len(numbers := sorted({writer.server for writer in scenario.writer})) > 1:
        lines.append(f"servers that make keys: {', '.join(_clients(scenario, number) for number in numbers)}")
    if scenario.before:
        first = round(rows * scenario.before.share)
        lines.append(f"keys of rows 1 … {first:,}: {scenario.before.layout}, then the measured layout")
    return [_short(line, WIDTH) for line in lines]


def span(seconds: float) -> str:
    """A duration as readable text."""
    if seconds < 600:
        return f"{seconds:.4g} s"
    minutes = round(seconds / 60)
    hours = f"{minutes // 60} h" if minutes >= 60 else ""
    return " ".join(part for part in (hours, f"{minutes % 60} min" if minutes % 60 or not hours else "") if part)


def _axis(end: float, columns: int) -> str:
    """The line of moments above the chart."""
    line = [" "] * columns
    for mark in range(_MARKS + 1):
        text = span(end * mark / _MARKS)
        place = round(columns * mark / _MARKS) if mark < _MARKS else columns - len(text)
        line[place : place + len(text)] = text
    return "".join(line[:columns]).rstrip()


def _line(writer: WriterPart, edges: Sequence[float]) -> str:
    """One character for each column of time. A restart takes precedence over a busy spell, and that over idle time."""
    signs = []
    for begin, end in pairwise(edges):
        if any(begin <= at < end for at in writer.restarts):
            signs.append("R")
        elif any(a < end and b > begin for a, b in writer.spells):
            signs.append("#")
        else:
            signs.append("-" if writer.start < end and writer.last > begin else " ")
    return "".join(signs)


def _cuts(phases: Sequence[Phase], edges: Sequence[float]) -> str:
    """A stroke in each column of time in which a phase begins."""
    starts = [phase.begin for phase in phases]
    return "".join("|" if any(a <= start < b for start in starts) else " " for a, b in pairwise(edges))


def _short(name: str, wide: int) -> str:
    """The name, cut to `wide` characters with an ellipsis."""
    return name if len(name) <= wide else name[: wide - 1] + "…"


def _dealing(scenario: Scenario) -> str:
    """How rows are divided among the busy writers, in words."""
    return {
        "one-busy": "all rows to the first busy writer",
        "round-robin": "to the busy writers in turn",
        "random": "each row to a busy writer drawn at random, by rate",
        "sticky": f"sessions of {scenario.deal.session_rows} rows, each to a busy writer drawn at random, by rate",
    }[scenario.deal.mode]


def _clients(scenario: Scenario, server: int) -> str:
    """A server's number and its writers, as `1 (a, b)`."""
    return f"{server} ({', '.join(writer.id for writer in scenario.writer if writer.server == server)})"


def _clock(clock: ClockPart) -> str:
    """How a writer's clock differs from true time."""
    parts = []
    if clock.offset:
        parts.append(f"{span(abs(clock.offset))} {'ahead' if clock.offset > 0 else 'behind'}")
    if clock.drift:
        parts.append(f"{'gains' if clock.drift > 0 else 'loses'} {abs(clock.drift):g} µs a second")
    if clock.tick != ClockPart().tick:
        parts.append(f"ticks every {clock.tick * 1000:g} ms")
    shown = [f"{by:+g} s at {span(at)}" for at, by in clock.step[:2]]
    if more := len(clock.step) - len(shown):
        shown.append(f"{more} more")
    return ", ".join([*parts, *([f"steps {', '.join(shown)}"] if shown else [])])
