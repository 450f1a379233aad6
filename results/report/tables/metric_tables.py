"""The tables of one group: a row for each arm, a column for each metric, a footnote for each reason of absence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isnan

from keybench.model.definition import Theme
from keybench.model.metric import Metric, of_theme
from keybench.model.reading import Origin
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.group_comparison import Judgement
from keybench.results.analysis.groups import Group
from keybench.results.analysis.summary import Summary
from keybench.results.analysis.verdict import MARGIN, Verdict
from keybench.results.wording import decimals, heading, number, ratio, why_absent

_VERDICTS: dict[Verdict, str] = {
    "faster": "faster",
    "slower": "slower",
    "same": f"within {MARGIN:.0%}".replace("%", "\u00a0%"),
    "unclear": "undecided",
}

MARKS: dict[Origin, str] = {"measured": "", "derived": "d", "modelled": "m", "absent": ""}


@dataclass(frozen=True)
class Cell:
    """One value as text, its range in small print, the mark of its origin, the footnote that says why it is absent."""

    text: str
    span: str = ""
    mark: str = ""
    note: int = 0


@dataclass(frozen=True)
class Column:
    """Title, unit with better direction, and a cell for each arm."""

    title: str
    unit: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class MetricTable:
    """A table with a row for each arm."""

    title: str
    columns: tuple[Column, ...]


@dataclass
class Notes:
    """Footnotes of a group: each text once, numbered from 1."""

    texts: list[str] = field(default_factory=list)

    def number(self, text: str) -> int:
        """The number of the footnote with this text."""
        if text not in self.texts:
            self.texts.append(text)
        return self.texts.index(text) + 1


def metric_tables(group: Group, judgement: Judgement | None = None) -> tuple[list[MetricTable], list[str]]:
    """The significance of the times, tables of all metrics that a trial of the group mentions, and their footnotes."""
    notes = Notes()
    tables: list[MetricTable] = []
    if judgement is not None and judgement.enough:
        tables.append(_significance(group, judgement, notes))
    for theme in Theme:
        shown = [metric for metric in of_theme(theme) if any(arm.mentions(metric) for arm in group.arms)]
        columns = []
        for metric in shown:
            columns.append(_column(group, metric, notes))
            if metric == Metric.INSERT_SECONDS and group.control:
                columns.append(_ratios(group, notes))
        if columns:
            tables.append(MetricTable(theme.value, tuple(columns)))
    return tables, notes.texts


def successful(group: Group) -> list[str]:
    """For each arm how many of its trials succeeded: `3 of 3`."""
    return [f"{len(arm.trials) - len(arm.failed)} of {len(arm.trials)}" for arm in group.arms]


def _column(group: Group, metric: Metric, notes: Notes) -> Column:
    summaries = [arm.summary(metric) for arm in group.arms]
    percent = metric.definition.is_percentage
    places = 1 if percent else decimals([summary.median for summary in summaries if summary], digits=4)
    cells = [_cell(arm, metric, summary, places, notes) for arm, summary in zip(group.arms, summaries, strict=True)]
    return Column(*heading(metric), tuple(cells))


def _cell(arm: Arm, metric: Metric, summary: Summary | None, places: int, notes: Notes) -> Cell:
    if summary is None:
        return Cell("–", note=notes.number(why_absent(arm, metric)))
    marks = "".join(sorted({MARKS[origin] for origin in arm.origins(metric)}))
    small = abs(summary.median) > 0 and abs(summary.median) < 0.5 * 10.0**-places
    places = decimals([summary.median], digits=1) if small else places
    return Cell(number(summary.median, places), mark=marks)


def _significance(group: Group, judgement: Judgement, notes: Notes) -> MetricTable:
    """Each arm against the control: ratio with interval, p of the joint test, verdict, and whether it is first."""
    ratios, p_values, verdicts, first = [], [], [], []
    for arm in group.arms:
        judged = judgement.find(arm)
        if judged is not None:
            ratios.append(_ratio(judged.ratio))
            p_values.append(Cell("–" if isnan(judged.p) else number(judged.p, 3)))
            verdicts.append(Cell(_VERDICTS[judged.verdict]))
        else:
            missing = (
                Cell("1.00×")
                if arm is group.control
                else Cell("–", note=notes.number(why_absent(arm, judgement.metric)))
            )
            ratios.append(missing)
            p_values.append(Cell("–"))
            verdicts.append(Cell("the control" if arm is group.control else "–"))
        first.append(Cell("yes" if arm in judgement.first else "no"))
    title = judgement.metric.definition.title
    columns = (
        Column(title, "× control ↓", tuple(ratios)),
        Column("p", "joint test", tuple(p_values)),
        Column("Against the control", "", tuple(verdicts)),
        Column("Shares the first place", "", tuple(first)),
    )
    return MetricTable("Significance of the times", columns)


def _ratio(summary: Summary) -> Cell:
    span = f"{ratio(summary.low)[:-1]}–{ratio(summary.high)[:-1]}" if summary.blocks > 1 else ""
    return Cell(ratio(summary.median), span, MARKS["derived"])


def _ratios(group: Group, notes: Notes) -> Column:
    ratios: Sequence[Summary | None] = [group.ratio(arm, Metric.INSERT_SECONDS) for arm in group.arms]
    cells = []
    for arm, summary in zip(group.arms, ratios, strict=True):
        if summary is None:
            cells.append(Cell("–", note=notes.number(why_absent(arm, Metric.INSERT_SECONDS))))
        else:
            cells.append(Cell(ratio(1.0), mark=MARKS["derived"]) if arm is group.control else _ratio(summary))
    return Column("Insert time", "× control ↓", tuple(cells))
