"""What every figure of a report has, and the notes that figures share."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from keybench.model.definition import Direction
from keybench.model.metric import Metric
from keybench.results.analysis.groups import Arm, Group, Summary
from keybench.results.plots.canvas import Style
from keybench.results.plots.panels import Row
from keybench.results.store.blobs import Blob
from keybench.results.wording import BETTER, listed, number, plural

MOST_SHOWN = 100
"""Rows of a figure's data that stand on the page; all are in the download."""

MOST_PANELS = 24
"""Panels of a picture of lines."""

MOST_CLOUDS = 12
"""Panels of a picture of points: each takes tens of kilobytes."""

Value = str | float | None
Styles = Mapping[str, Style]
"""How each layout looks."""


@dataclass(frozen=True)
class Figure:
    """A picture with its title, caption, text alternative and data; or without `svg` the `caption` says why not."""

    key: str
    title: str
    unit: str
    caption: str
    origin: str = ""
    alt: str = ""
    svg: str = ""
    header: tuple[str, ...] = ()
    rows: tuple[tuple[Value, ...], ...] = ()

    @property
    def shown_rows(self) -> list[list[str]]:
        """The data as a page shows it, the first `MOST_SHOWN` rows."""
        return [
            [cell if isinstance(cell, str) else "–" if cell is None else number(cell) for cell in row]
            for row in self.rows[:MOST_SHOWN]
        ]

    @property
    def rest(self) -> str:
        """What is said where that is not all."""
        more = len(self.rows) - MOST_SHOWN
        return f"{plural(more, 'more row')} in the file." if more > 0 else ""

    @property
    def csv(self) -> str:
        """The data as a link: every digit, absent values empty."""
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerows([self.header, *self.rows])
        return "data:text/csv;charset=utf-8," + quote(buffer.getvalue(), safe=",:/")


@dataclass(frozen=True)
class GroupFigure:
    """A figure of one group: `draw` is given the group, the looks of layouts and the figure's key.

    It gives None where the group's work has nothing to do with it, a `Figure` without picture where values are absent.
    """

    name: str
    """Ends the figure's key."""
    place: int
    """Figures stand in this order."""
    draw: Callable[[Group, Styles, str], Figure | None]
    keys_alone: bool = False
    """Whether it is of trials that make keys and put them nowhere; else of an index."""


@dataclass(frozen=True)
class RunFigure:
    """A figure of all groups of one run, likewise."""

    name: str
    place: int
    draw: Callable[[Sequence[Group], Styles, str], Sequence[Figure]]


def kept(arm: Arm, *kinds: str) -> Blob | None:
    """What a trial of the arm keeps for pictures: of the first of these kinds that there is."""
    found = {blob.kind: blob for trial in arm.trials if trial.status == "ok" for blob in trial.blobs}
    return next((found[kind] for kind in kinds if kind in found), None)


def rows_of(group: Group, arms: Sequence[Arm], styles: Styles) -> list[Row]:
    """Names for a picture: with their columns, unless all layouts but the control share one."""
    column = group.several_columns
    return [Row(arm.layout, arm.column if column else "", styles[arm.layout], group.modelled) for arm in arms]


def shown(group: Group, arms: Sequence[Arm], most: int) -> tuple[list[Arm], str]:
    """The control and as many others as fit, evenly from the first to the last, and a note where that is not all."""
    if len(arms) <= most:
        return list(arms), ""
    first = [arm for arm in arms[:1] if arm is group.control]
    rest = list(arms[len(first) :])
    room = most - len(first)
    chosen = [rest[round(i * (len(rest) - 1) / (room - 1))] for i in range(room)]
    note = f"{most} of {len(arms)} are drawn, evenly from the fastest to the slowest; the numbers have them all."
    return first + chosen, note


def blocks_note(group: Group) -> str:
    """What a dot and its line stand for."""
    if len(group.blocks) == 1:
        return "One block: no interval; use --blocks 6."
    return (
        f"Dots are medians over {plural(len(group.blocks), 'block')}; lines reach from the lowest block to the highest."
    )


def ratios_note(group: Group, ratios: Sequence[Summary | None]) -> str:
    """What a dot and its line stand for where they are ratios: from six blocks on they have intervals."""
    if not any(found.interval for found in ratios if found):
        return blocks_note(group)
    return f"Dots are medians over {plural(len(group.blocks), 'block')}; lines are their 95 % intervals."


def medians_note(group: Group) -> str:
    """What a bar stands for."""
    return "" if len(group.blocks) == 1 else f"Medians over {plural(len(group.blocks), 'block')}."


def origin_note(group: Group, metrics: Sequence[Metric]) -> str:
    """Whether the values were measured, derived or modelled, and which if they differ."""
    found: dict[str, list[str]] = {}
    for metric in metrics:
        for origin in sorted({origin for arm in group.arms for origin in arm.origins(metric)}):
            found.setdefault(origin, []).append(metric.definition.title.lower())
    if len(found) == 1:
        return next(iter(found)).capitalize() + "."
    return " ".join(f"{origin.capitalize()}: {listed(titles)}." for origin, titles in sorted(found.items()))


def missing(group: Group, metric: Metric) -> str:
    """Why no arm has the metric."""
    return " ".join(dict.fromkeys(arm.reason(metric) for arm in group.arms))


def gaps(group: Group, metrics: Sequence[Metric]) -> str:
    """Which arms lack which of the metrics, and why; arms of which every trial failed are told of elsewhere."""
    arms = [arm for arm in group.arms if len(arm.failed) < len(arm.trials)]
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for metric in metrics:
        lacking: dict[str, list[str]] = {}
        for arm in arms:
            if arm.summary(metric) is None:
                lacking.setdefault(arm.reason(metric), []).append(group.label(arm))
        for why, names in lacking.items():
            whom = () if len(names) == len(arms) else tuple(names)
            found.setdefault((why, whom), []).append(metric.definition.title.lower())
    return " ".join(
        f"No {listed(titles)}{f' of {listed(names)}' if names else ''}: {why}" for (why, names), titles in found.items()
    )


def extremes(values: Sequence[tuple[str, float]]) -> str:
    """Lowest and highest in words, for who cannot see the picture."""
    low, high = min(values, key=lambda item: item[1]), max(values, key=lambda item: item[1])
    return f"Lowest: {low[0]}, {number(low[1])}. Highest: {high[0]}, {number(high[1])}."


def unit_of(text: str, better: Direction) -> str:
    """A unit with the better direction."""
    return f"{text}, {BETTER[better]}" if BETTER[better] else text


def word(arm: Arm) -> str:
    """What stands in place of a value that an arm does not have."""
    return "failed" if arm.failed and len(arm.failed) == len(arm.trials) else "–"


def join(*sentences: str) -> str:
    """Sentences in a row, the empty ones left out."""
    return " ".join(sentence for sentence in sentences if sentence)
