"""The tables of a group: all metrics, the columns of layouts, the phases of an index's life, the writers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Final

from keybench.model.column import Pairing
from keybench.model.definition import Theme
from keybench.model.metric import Metric, of_theme
from keybench.model.names import NATIVE, SUITED
from keybench.model.reading import Origin
from keybench.model.subject import Subject, SubjectKind
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.group_comparison import Judgement
from keybench.results.analysis.groups import Group
from keybench.results.analysis.ratios import MARGIN, Summary, Verdict
from keybench.results.analysis.subjects import after_phase, phases_of, summary_of, writers_of
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
    sentences = []
    for column, better in sorted(astray.items()):
        # Columns that suit most layouts come first, layouts that no column suits come last.
        ordered = sorted(better.items(), key=lambda item: (not item[0], -len(item[1]), item[0]))
        suited = "; ".join(f"{listed(layouts, _MOST_NAMES)} ({name or none} does)" for name, layouts in ordered)
        sentences.append(f"{column} does not suit {suited}.")
    if any(name for better in astray.values() for name in better) and set(group.run.columns) <= {NATIVE}:
        sentences.append(f"--column {SUITED} adds those that do.")
    return " ".join(sentences)


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


_PHASE_METRICS: Final = (
    Metric.PHASE_ROWS,
    Metric.LEAF_PAGES,
    Metric.LEAF_DENSITY,
    Metric.LEAF_FRAGMENTATION,
    Metric.APPENDS,
    Metric.EDGE_SPLITS,
    Metric.INTERIOR_SPLITS,
    Metric.STRANDED,
    Metric.REBUILD_FREES,
    Metric.LOG_BYTES,
    Metric.PHASE_SECONDS,
)
LAG_METRICS: Final = (
    Metric.LAGGING_INSERTS,
    Metric.LAG_ROWS_P50,
    Metric.LAG_ROWS_P95,
    Metric.LAG_SECONDS_P50,
    Metric.LAG_SECONDS_P95,
    Metric.LAG_LEAVES_P50,
    Metric.LAG_LEAVES_P95,
    Metric.DEEP_INSERTS,
)


@dataclass(frozen=True)
class SubjectTable:
    """A row for each arm and each of its phases or writers: `arms` and every column's cells have the same length."""

    arms: tuple[Arm, ...]
    columns: tuple[TableColumn, ...]
    most_open: int
    """A longer table is folded: a reader must open it."""

    @property
    def folded(self) -> bool:
        """Whether a reader must open it."""
        return len(self.arms) > self.most_open


def phase_table(group: Group) -> SubjectTable | None:
    """The index after each phase of its life, on the server and by the page model; None if it has no past."""
    rows = [(arm, name) for arm in group.arms for name in phases_of(arm)]
    return _subject_table("Phase", rows, _PHASE_METRICS, (SubjectKind.PHASE, SubjectKind.MODEL_PHASE), 40)


def writer_table(group: Group) -> SubjectTable | None:
    """How many of each writer's inserts lag, and how far.

    None if no writer has readings of its own: there is only one, or the trials have no positions.
    """
    writers = writers_of(group)
    rows = [(arm, writer) for arm in group.arms for writer in writers if summary_of(arm, LAG_METRICS[0], writer)]
    return _subject_table("Writer", rows, LAG_METRICS, (SubjectKind.WRITER,), 60)


def _subject_table(
    title: str, rows: Sequence[tuple[Arm, str]], metrics: Sequence[Metric], kinds: Sequence[SubjectKind], most_open: int
) -> SubjectTable | None:
    """A column for each metric of each kind of subject that any row has; `rows` are arms and names of subjects."""
    if not rows:
        return None
    columns = [_subject_column(metric, kind, rows) for metric in metrics for kind in kinds]
    names = TableColumn(title, "", tuple(TableCell(name) for _, name in rows))
    return SubjectTable(tuple(arm for arm, _ in rows), (names, *filter(None, columns)), most_open)


def _subject_column(metric: Metric, kind: SubjectKind, rows: Sequence[tuple[Arm, str]]) -> TableColumn | None:
    """One metric about each row's subject; None if no row has it. The page model's has a title of its own."""
    summaries = [after_phase(arm, metric, name, kind) for arm, name in rows]
    if not any(summaries):
        return None
    title, unit = heading(metric)
    medians = [summary.median for summary in summaries if summary]
    places = 1 if metric.definition.is_percentage else min(2, decimals(medians))
    cells = []
    for (arm, name), summary in zip(rows, summaries, strict=True):
        origins = {reading.origin for reading in arm.by_block(metric, Subject(kind, name)).values()}
        mark = MARKS[origins.pop()] if len(origins) == 1 else ""
        cells.append(TableCell(number(summary.median, places), mark=mark) if summary else TableCell("–"))
    return TableColumn(f"{title}, model" if kind == SubjectKind.MODEL_PHASE else title, unit, tuple(cells))
