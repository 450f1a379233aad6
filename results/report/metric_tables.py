"""The tables of one group: a row for each arm, a column for each metric, a footnote for each reason of absence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan

from keybench.model.column import Pairing
from keybench.model.definition import Theme
from keybench.model.metric import Metric, of_theme
from keybench.model.names import NATIVE, SUITED
from keybench.model.reading import Origin
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.group_comparison import Judgement
from keybench.results.analysis.groups import Group
from keybench.results.analysis.ratios import MARGIN, Summary, Verdict
from keybench.results.wording import decimals, heading, listed, number, ratio, why_absent

_VERDICTS: dict[Verdict, str] = {
    "faster": "faster",
    "slower": "slower",
    "same": f"within {MARGIN:.0%}".replace("%", "\u00a0%"),
    "unclear": "undecided",
}

MARKS: dict[Origin, str] = {"measured": "", "derived": "d", "modelled": "m", "absent": ""}


@dataclass(frozen=True)
class TableCell:
    """One value as text, its range in small print, the mark of its origin, the footnote that says why it is absent."""

    text: str
    span: str = ""
    mark: str = ""
    note: int = 0


@dataclass(frozen=True)
class TableColumn:
    """Title, unit with better direction, and a cell for each arm."""

    title: str
    unit: str
    cells: tuple[TableCell, ...]


@dataclass(frozen=True)
class MetricTable:
    """A table with a row for each arm."""

    title: str
    columns: tuple[TableColumn, ...]


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


def _column(group: Group, metric: Metric, notes: Notes) -> TableColumn:
    summaries = [arm.summary(metric) for arm in group.arms]
    percent = metric.definition.is_percentage
    places = 1 if percent else decimals([summary.median for summary in summaries if summary], digits=4)
    cells = [_cell(arm, metric, summary, places, notes) for arm, summary in zip(group.arms, summaries, strict=True)]
    return TableColumn(*heading(metric), tuple(cells))


def _cell(arm: Arm, metric: Metric, summary: Summary | None, places: int, notes: Notes) -> TableCell:
    if summary is None:
        return TableCell("–", note=notes.number(why_absent(arm, metric)))
    marks = "".join(sorted({MARKS[origin] for origin in arm.origins(metric)}))
    small = abs(summary.median) > 0 and abs(summary.median) < 0.5 * 10.0**-places
    places = decimals([summary.median], digits=1) if small else places
    return TableCell(number(summary.median, places), mark=marks)


def _significance(group: Group, judgement: Judgement, notes: Notes) -> MetricTable:
    """Each arm against the control: ratio with interval, p of the joint test, verdict, and whether it is first."""
    ratios, p_values, verdicts, first = [], [], [], []
    for arm in group.arms:
        judged = judgement.find(arm)
        if judged is not None:
            ratios.append(_ratio(judged.ratio))
            p_values.append(TableCell("–" if isnan(judged.p) else number(judged.p, 3)))
            verdicts.append(TableCell(_VERDICTS[judged.verdict]))
        else:
            missing = (
                TableCell("1.00×")
                if arm is group.control
                else TableCell("–", note=notes.number(why_absent(arm, judgement.metric)))
            )
            ratios.append(missing)
            p_values.append(TableCell("–"))
            verdicts.append(TableCell("the control" if arm is group.control else "–"))
        first.append(TableCell("yes" if arm in judgement.first else "no"))
    title = judgement.metric.definition.title
    columns = (
        TableColumn(title, "× control ↓", tuple(ratios)),
        TableColumn("p", "joint test", tuple(p_values)),
        TableColumn("Against the control", "", tuple(verdicts)),
        TableColumn("Shares the first place", "", tuple(first)),
    )
    return MetricTable("Significance of the times", columns)


def _ratio(summary: Summary) -> TableCell:
    span = f"{ratio(summary.low)[:-1]}–{ratio(summary.high)[:-1]}" if summary.blocks > 1 else ""
    return TableCell(ratio(summary.median), span, MARKS["derived"])


def _ratios(group: Group, notes: Notes) -> TableColumn:
    ratios: Sequence[Summary | None] = [group.ratio(arm, Metric.INSERT_SECONDS) for arm in group.arms]
    cells = []
    for arm, summary in zip(group.arms, ratios, strict=True):
        if summary is None:
            cells.append(TableCell("–", note=notes.number(why_absent(arm, Metric.INSERT_SECONDS))))
        else:
            cells.append(TableCell(ratio(1.0), mark=MARKS["derived"]) if arm is group.control else _ratio(summary))
    return TableColumn("Insert time", "× control ↓", tuple(cells))


_MOST_NAMES = 4


def other_columns(group: Group) -> str:
    """Which layouts are in columns that do not suit them, and which columns do; empty if there are none."""
    astray: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for arm in group.treatments:
        pair = _pair(group, arm)
        if pair and pair.ordered and arm.column not in pair.suiting:
            astray[arm.column][pair.suited].append(arm.layout)
    none = f"no column of {group.run.title(group.database)}"
    sentences = [
        f"{column} does not suit {'; '.join(_unsuited(suited, layouts, none) for suited, layouts in _places(found))}."
        for column, found in sorted(astray.items())
    ]
    if any(suited for found in astray.values() for suited in found) and set(group.run.columns) <= {NATIVE}:
        sentences.append(f"--column {SUITED} adds those that do.")
    return " ".join(sentences)


def _places(found: Mapping[str, list[str]]) -> list[tuple[str, list[str]]]:
    """Suiting columns with their layouts: those of most layouts first, no column last."""
    return sorted(found.items(), key=lambda item: (not item[0], -len(item[1]), item[0]))


def _unsuited(suited: str, layouts: list[str], none: str) -> str:
    return f"{listed(layouts, _MOST_NAMES)} ({suited or none} does)"


def column_table(group: Group) -> MetricTable | None:
    """For each arm, whether its column suits the layout and which one does; None if the run did not record it."""
    pairs = [_pair(group, arm) for arm in group.arms]
    if not any(pairs):
        return None
    suits = [TableCell(_suits(pair, arm)) for pair, arm in zip(pairs, group.arms, strict=True)]
    suiting = [TableCell("–" if pair is None or not pair.ordered else pair.suited or "none") for pair in pairs]
    columns = (TableColumn("Suits the layout", "", tuple(suits)), TableColumn("Suiting column", "", tuple(suiting)))
    return MetricTable("In which columns the keys ascend", columns)


def _pair(group: Group, arm: Arm) -> Pairing | None:
    return group.run.pairing(group.database, arm.layout)


def _suits(pair: Pairing | None, arm: Arm) -> str:
    if pair is None:
        return "–"
    return "no order" if not pair.ordered else "yes" if arm.column in pair.suiting else "no"
