"""Tells in words, for `--dry-run`, what each writer of a scenario does and when."""

from collections.abc import Iterable
from typing import Final

from keybench.scenarios.schema import Scenario
from keybench.scenarios.writers import ClockPart, WriterPart

_MOST: Final = 5
"""Moments of one list that a line names; the others are counted."""

_DEALING: Final = {
    "one-busy": "all rows to the first busy writer",
    "round-robin": "to the busy writers in turn",
    "random": "each row to a busy writer drawn at random, by rate",
    "sticky": "sessions of {session_rows} rows, each to a busy writer drawn at random, by rate",
}
"""How rows are divided among the busy writers, by the `[deal]` mode."""


def lines(scenario: Scenario, rows: int) -> list[str]:
    """One line for each writer of a load of `rows` rows; then how rows are dealt out, restarts, and earlier layouts."""
    end = scenario.phases(rows)[-1].end
    scale = rows / scenario.rows if scenario.rows else 1.0  # other numbers of rows change the rates, not the times
    several_servers = len({writer.server for writer in scenario.writer}) > 1
    told = [_writer(writer, writer.rate * scale, end, several_servers) for writer in scenario.writer]
    if scenario.deal.mode != "own-rates":
        told.append(f"dealt out: {_DEALING[scenario.deal.mode].format(session_rows=scenario.deal.session_rows)}")
    if scenario.server.restarts:
        hosts = f", on {scenario.server.hosts} machines in turn" if scenario.server.hosts > 1 else ""
        told.append(f"servers that make keys restart at {_first(map(span, scenario.server.restarts))}{hosts}")
    if scenario.before:
        first = round(rows * scenario.before.share)
        told.append(f"keys of rows 1 … {first:,}: {scenario.before.layout}, then the measured layout")
    return told


def span(seconds: float) -> str:
    """A duration as readable text: 0.05 s, 10 min, 2 h 30 min."""
    if seconds < 600:
        return f"{seconds:.4g} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return " ".join(text for number, text in ((hours, f"{hours} h"), (minutes, f"{minutes} min")) if number)


def _writer(writer: WriterPart, rate: float, end: float, several_servers: bool) -> str:
    """What one writer does until the load's last row, at `end` seconds. It is busy all the time unless told."""
    parts = [f"{rate:.4g} rows/s", f"runs {span(writer.start)} … {span(min(writer.last, end))}"]
    if writer.busy:
        spells = [f"{span(begin)} … {span(min(stop, end))}" for begin, stop in writer.busy if begin < end]
        parts.append(f"busy {_first(spells)}")
    if writer.restarts:
        parts.append(f"restarts at {_first(map(span, writer.restarts))}")
    if several_servers:
        parts.append(f"keys of server {writer.server}")
    if writer.clock != ClockPart():
        parts.append(f"clock {_clock(writer.clock)}")
    return f"{writer.id}: {'; '.join(parts)}"


def _clock(clock: ClockPart) -> str:
    """How a writer's clock differs from true time."""
    parts = []
    if clock.offset:
        parts.append(f"{span(abs(clock.offset))} {'ahead' if clock.offset > 0 else 'behind'}")
    if clock.drift:
        parts.append(f"{'gains' if clock.drift > 0 else 'loses'} {abs(clock.drift):g} µs a second")
    if clock.tick != ClockPart().tick:
        parts.append(f"ticks every {clock.tick * 1000:g} ms")
    if clock.step:
        parts.append(f"steps {_first(f'{by:+g} s at {span(at)}' for at, by in clock.step)}")
    return ", ".join(parts)


def _first(texts: Iterable[str]) -> str:
    """The first `_MOST` texts, separated by commas, and how many more there are."""
    every = list(texts)
    more = [f"{len(every) - _MOST} more"] if len(every) > _MOST else []
    return ", ".join([*every[:_MOST], *more])
