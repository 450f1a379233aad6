"""The tables of one group: a row for each layout and column, a column for each metric, a footnote for each gap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isnan

from keybench.model.definition import Theme
from keybench.model.metric import Metric, of_theme
from keybench.model.reading import Origin
from keybench.results.analysis.groups import Arm, Group, Summary
from keybench.results.analysis.judgement import Judgement
from keybench.results.analysis.statistics import MARGIN, Verdict
from keybench.results.wording import decimals, heading, number, ratio

_VERDICTS: dict[Verdict, str] = {
    "faster": "faster",
    "slower": "slower",
    "same": f"within {MARGIN:.0%}".replace("%", "\u00a0%"),
    "unclear": "not decided",
}

MARKS: dict[Origin, str] = {"measured": "", "derived": "d", "modelled": "m", "absent": ""}


@dataclass(frozen=True)
class Cell:
    """One value as written, its range in small, the mark of its origin, the number of the footnote on its absence."""

    text: str
    span: str = ""
    mark: str = ""
    note: int = 0


@dataclass(frozen=True)
class Column:
    """A column's title, unit with direction, and its cells, one an arm."""

    title: str
    unit: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Listing:
    """A table: arms down, metrics across."""

    title: str
    columns: tuple[Column, ...]


@dataclass
class Notes:
    """Footnotes of a group, each reason once, numbered from 1."""

    texts: list[str] = field(default_factory=list)

    def number(self, text: str) -> int:
        """The number of that footnote."""
        if text not in self.texts:
            self.texts.append(text)
        return self.texts.index(text) + 1


def listings(group: Group, judgement: Judgement | None = None) -> tuple[list[Listing], list[str]]:
    """What was proven of times, the tables of all metrics that any trial of the group mentions, and their footnotes."""
    notes, found = Notes(), []
    if judgement is not None and judgement.enough:
        found.append(_proven(group, judgement, notes))
    for theme in Theme:
        shown = [metric for metric in of_theme(theme) if any(arm.mentions(metric) for arm in group.arms)]
        columns = []
        for metric in shown:
            columns.append(_column(group, metric, notes))
            if metric == Metric.INSERT_SECONDS and group.control:
                columns.append(_ratios(group, notes))
        if columns:
            found.append(Listing(theme.value, tuple(columns)))
    return found, notes.texts


def good_of_all(group: Group) -> list[str]:
    """For each arm how many of its trials are good: `3 of 3`."""
    return [f"{len(arm.trials) - len(arm.failed)} of {len(arm.trials)}" for arm in group.arms]


def _column(group: Group, metric: Metric, notes: Notes) -> Column:
    summaries = [arm.summary(metric) for arm in group.arms]
    percent = metric.definition.is_percentage
    places = 1 if percent else decimals([summary.median for summary in summaries if summary], digits=4)
    cells = [_cell(arm, metric, summary, places, notes) for arm, summary in zip(group.arms, summaries, strict=True)]
    return Column(*heading(metric), tuple(cells))


def _cell(arm: Arm, metric: Metric, summary: Summary | None, places: int, notes: Notes) -> Cell:
    if summary is None:
        return Cell("–", note=notes.number(arm.reason(metric)))
    marks = "".join(sorted({MARKS[origin] for origin in arm.origins(metric)}))
    small = abs(summary.median) > 0 and abs(summary.median) < 0.5 * 10.0**-places
    places = decimals([summary.median], digits=1) if small else places
    return Cell(number(summary.median, places), mark=marks)


def _proven(group: Group, judgement: Judgement, notes: Notes) -> Listing:
    """Each arm beside the control: ratio with its interval, p of the joint test, verdict, and who is first."""
    ratios, chances, verdicts, first = [], [], [], []
    for arm in group.arms:
        found = judgement.of(arm)
        if found is not None:
            ratios.append(_ratio(found.ratio))
            chances.append(Cell("–" if isnan(found.p) else number(found.p, 3)))
            verdicts.append(Cell(_VERDICTS[found.verdict]))
        else:
            missing = (
                Cell("1.00×") if arm is group.control else Cell("–", note=notes.number(arm.reason(judgement.metric)))
            )
            ratios.append(missing)
            chances.append(Cell("–"))
            verdicts.append(Cell("the control" if arm is group.control else "–"))
        first.append(Cell("yes" if arm in judgement.first else "no"))
    title = judgement.metric.definition.title
    columns = (
        Column(title, "× control ↓", tuple(ratios)),
        Column("p", "of the joint test", tuple(chances)),
        Column("Against the control", "", tuple(verdicts)),
        Column("Shares the first place", "", tuple(first)),
    )
    return Listing("What the times prove", columns)


def _ratio(summary: Summary) -> Cell:
    span = f"{ratio(summary.low)[:-1]}–{ratio(summary.high)[:-1]}" if summary.blocks > 1 else ""
    return Cell(ratio(summary.median), span, MARKS["derived"])


def _ratios(group: Group, notes: Notes) -> Column:
    found: Sequence[Summary | None] = [group.ratio(arm, Metric.INSERT_SECONDS) for arm in group.arms]
    cells = []
    for arm, summary in zip(group.arms, found, strict=True):
        if summary is None:
            cells.append(Cell("–", note=notes.number(arm.reason(Metric.INSERT_SECONDS))))
        else:
            cells.append(Cell(ratio(1.0), mark=MARKS["derived"]) if arm is group.control else _ratio(summary))
    return Column("Insert time", "× control ↓", tuple(cells))
