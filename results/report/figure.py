"""What every figure of a report has, and the notes that figures share."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from keybench.results.drawing import Style
from keybench.results.metrics import DEFINITIONS, Direction, Metric
from keybench.results.plots import Row
from keybench.results.report.groups import Arm, Group, Summary
from keybench.results.report.wording import BETTER, listed, number, plural

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
        """The data as a page shows it."""
        return [
            [cell if isinstance(cell, str) else "–" if cell is None else number(cell) for cell in row]
            for row in self.rows
        ]

    @property
    def csv(self) -> str:
        """The data as a link: every digit, absent values empty."""
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerows([self.header, *self.rows])
        return "data:text/csv;charset=utf-8," + quote(buffer.getvalue())


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
    draw: Callable[[Sequence[Group], Styles, str], Figure | None]


def rows_of(group: Group, arms: Sequence[Arm], styles: Styles) -> list[Row]:
    """Names for a picture: with their columns, unless all layouts but the control share one."""
    return [Row(arm.layout, arm.column if group.several_columns else "", styles[arm.layout]) for arm in arms]


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
            found.setdefault(origin, []).append(DEFINITIONS[metric].title.lower())
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
            found.setdefault((why, whom), []).append(DEFINITIONS[metric].title.lower())
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
