"""What a figure of a report is, how a module declares one, and the parts that figures share."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from keybench.model.metric import Metric
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.analysis.p_values import ENOUGH_BLOCKS
from keybench.results.analysis.ratios import Summary
from keybench.results.plots.canvas import Style
from keybench.results.plots.charts import Dot
from keybench.results.plots.panels import PlotRow
from keybench.results.store.blobs import Blob
from keybench.results.wording import listed, number, plural, why_absent

MOST_SHOWN: Final = 100
"""Rows of a figure's data shown on the page; the download has all."""

Value = str | float | None
Styles = Mapping[str, Style]
"""The style of each layout."""


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A picture with its caption, text alternative and data. Without `svg`, the caption says why."""

    caption: str
    origin: str = ""
    alt: str = ""
    svg: str = ""
    header: tuple[str, ...] = ()
    rows: tuple[tuple[Value, ...], ...] = ()


@dataclass(frozen=True, kw_only=True)
class ReportFigure(Drawing):
    """A drawing with its title and unit; `key` is its id on the page."""

    key: str
    title: str
    unit: str

    @property
    def shown_rows(self) -> list[list[str]]:
        """The first `MOST_SHOWN` rows of the data, as text."""
        return [
            [cell if isinstance(cell, str) else "–" if cell is None else number(cell) for cell in row]
            for row in self.rows[:MOST_SHOWN]
        ]

    @property
    def rest(self) -> str:
        """How many rows are not shown, as a sentence."""
        more = len(self.rows) - MOST_SHOWN
        return f"{plural(more, 'more row')} in the file." if more > 0 else ""

    @property
    def csv(self) -> str:
        """The data as a download link, with every digit; absent values are empty."""
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerows([self.header, *self.rows])
        return "data:text/csv;charset=utf-8," + quote(buffer.getvalue(), safe=",:/")


Draw = Callable[[Group, Styles, str], Drawing | str | None]


@dataclass(frozen=True)
class GroupFigure:
    """A figure of one group with an index. `draw` takes the group, the layouts' styles and the figure's key.

    `draw` returns the drawing, a text that says why values are absent, or None if the figure does not apply.
    """

    name: str
    """End of the figure's key."""
    place: int
    """Figures are ordered by it."""
    title: str
    unit: str
    draw: Draw

    def of(self, group: Group, styles: Styles, prefix: str) -> ReportFigure | None:
        """The group's figure; `prefix` makes its ids unique on the page."""
        key = f"{prefix}-{self.name}"
        drawing = self.draw(group, styles, key)
        if drawing is None:
            return None
        parts = {"caption": drawing} if isinstance(drawing, str) else vars(drawing)
        return ReportFigure(key=key, title=self.title, unit=self.unit, **parts)


def group_figure(name: str, place: int, title: str, unit: str) -> Callable[[Draw], GroupFigure]:
    """A decorator: the function below it draws this figure of each group."""
    return lambda draw: GroupFigure(name, place, title, unit, draw)


def blocks_note(group: Group) -> str:
    """A sentence that says what a dot and its line mean."""
    if len(group.blocks) == 1:
        return f"One block gives no interval; use --blocks {ENOUGH_BLOCKS}."
    return f"Dots are medians of {plural(len(group.blocks), 'block')}; lines span the range of the blocks."


def origin_note(group: Group, metrics: Sequence[Metric]) -> str:
    """Whether the values were measured, derived or modelled; by metric if they differ."""
    titles: dict[str, list[str]] = {}
    for metric in metrics:
        for origin in sorted({origin for arm in group.arms for origin in arm.origins(metric)}):
            titles.setdefault(origin, []).append(metric.definition.title.lower())
    if len(titles) == 1:
        return next(iter(titles)).capitalize() + "."
    return " ".join(
        f"{origin.capitalize()}: {listed(metrics_of_origin)}." for origin, metrics_of_origin in sorted(titles.items())
    )


def missing(group: Group, metric: Metric) -> str:
    """Why no arm has the metric."""
    return " ".join(dict.fromkeys(why_absent(arm, metric) for arm in group.arms))


def gaps(group: Group, metrics: Sequence[Metric]) -> str:
    """Which arms lack which of the metrics, and why; arms whose trials all failed are listed elsewhere."""
    arms = [arm for arm in group.arms if len(arm.failed) < len(arm.trials)]
    # titles of metrics by (why they are absent, the arms that lack them); () stands for all arms
    titles: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for metric in metrics:
        lacking: dict[str, list[str]] = {}
        for arm in arms:
            if arm.summary(metric) is None:
                lacking.setdefault(why_absent(arm, metric), []).append(group.label(arm))
        for why, names in lacking.items():
            some_arms = () if len(names) == len(arms) else tuple(names)
            titles.setdefault((why, some_arms), []).append(metric.definition.title.lower())
    return " ".join(
        f"No {listed(absent, last='or')}{f' for {listed(names)}' if names else ''}: {why}"
        for (why, names), absent in titles.items()
    )


def extremes(values: Sequence[tuple[str, float]]) -> str:
    """Lowest and highest value in words, for readers who cannot see the picture; empty for no values."""
    if not values:
        return ""
    low, high = min(values, key=lambda item: item[1]), max(values, key=lambda item: item[1])
    return f"Lowest: {low[0]}, {number(low[1])}. Highest: {high[0]}, {number(high[1])}."


def placeholder(arm: Arm) -> str:
    """A word or a dash in place of a value that the arm does not have."""
    return "failed" if arm.failed and len(arm.failed) == len(arm.trials) else "–"


def join(*sentences: str) -> str:
    """The sentences that are not empty, separated by spaces."""
    return " ".join(sentence for sentence in sentences if sentence)


MOST_CLOUDS: Final = 12
"""Panels in a picture of points: each takes tens of kilobytes."""


def stored_blob(arm: Arm, *kinds: str) -> Blob | None:
    """What a successful trial of the arm stored for pictures: the first of these kinds that exists."""
    stored = {blob.kind: blob for trial in arm.trials if trial.status == "ok" for blob in trial.blobs}
    return next((stored[kind] for kind in kinds if kind in stored), None)


def doubts(blobs: Iterable[Blob]) -> list[str]:
    """Doubts about the order of arrival on which these data rest, each once."""
    return sorted({str(blob.about["note"]) for blob in blobs} - {""})


def named_rows(group: Group, arms: Sequence[Arm], styles: Styles) -> list[PlotRow]:
    """A row of a picture for each arm; with its column, unless all layouts but the control share one."""
    return [
        PlotRow(arm.layout, arm.column if group.several_columns else "", styles[arm.layout], hollow=group.modelled)
        for arm in arms
    ]


def evenly_chosen(group: Group, arms: Sequence[Arm], most: int) -> tuple[list[Arm], str]:
    """(at most `most` arms, evenly spaced, with the control if it is first; a note if some are left out, else "")."""
    if len(arms) <= most:
        return list(arms), ""
    first = [arm for arm in arms[:1] if arm is group.control]
    rest = list(arms[len(first) :])
    room = most - len(first)
    chosen = [rest[round(i * (len(rest) - 1) / (room - 1))] for i in range(room)]
    note = f"{most} of {len(arms)} are drawn, evenly spaced from the fastest to the slowest; the numbers list all."
    return first + chosen, note


STATISTICS: Final = ("median", "lowest", "highest")
"""Names of what `cells` returns."""


def dot(arm: Arm, summary: Summary | None, write: Callable[[float], str]) -> Dot:
    """A dot with its range or interval; without a value, a word in its place."""
    if summary is None:
        return Dot(None, text=placeholder(arm))
    return Dot(summary.median, low=summary.low, high=summary.high, text=write(summary.median))


def cells(summary: Summary | None) -> tuple[Value, Value, Value]:
    """(median, lowest, highest) of a summary, as cells of a figure's data; all None without one."""
    return (summary.median, summary.low, summary.high) if summary else (None, None, None)


def per_row(group: Group, arm: Arm, metric: Metric, rows: int = 1) -> float | None:
    """The arm's median of the metric, for each `rows` rows; None without a value."""
    summary = arm.summary(metric)
    return None if summary is None else summary.median * rows / group.rows
