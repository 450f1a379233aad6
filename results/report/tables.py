"""The tables of a group: all metrics, the columns of layouts, its writers, phases and page models."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import Final

from keybench.model.column import Pairing
from keybench.model.definition import Theme
from keybench.model.metric import LAG_METRICS, Metric, of_theme
from keybench.model.reading import Origin
from keybench.model.subject import MODEL, Subject, SubjectKind
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.group_comparison import Judgement
from keybench.results.analysis.groups import Group, phases_of, writers_of
from keybench.results.analysis.ratios import Summary, Verdict
from keybench.results.wording import decimals, heading, number, ratio, why_absent

_VERDICTS: dict[Verdict, str] = {
    "faster": "faster", "slower": "slower", "same": "costs the same", "unclear": "not decided",
}  # fmt: skip

MARKS: dict[Origin, str] = {"measured": "", "derived": "d", "modelled": "m", "absent": ""}
"""What stands beside a value, by its origin."""


@dataclass(frozen=True)
class TableCell:
    """One value as text, its range in small print, the mark of its origin, and the number of the footnote that says why
    it is absent (0: none)."""

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


def metric_tables(group: Group, judgement: Judgement | None = None) -> tuple[list[MetricTable], list[str]]:
    """(tables of the times against the control and of all metrics that a trial mentions, their footnotes)."""
    notes: list[str] = []
    tables: list[MetricTable] = []
    if judgement is not None:
        tables.append(_against_control(group, judgement))
    for theme in Theme:
        shown = [metric for metric in of_theme(theme) if any(arm.mentions(metric) for arm in group.arms)]
        if shown:
            tables.append(MetricTable(theme.value, tuple(_column(group, metric, notes) for metric in shown)))
    return tables, notes


def _column(group: Group, metric: Metric, notes: list[str]) -> TableColumn:
    """The metric of each arm as median over blocks; reasons for absent values are added to `notes`."""
    summaries = [arm.summary(metric) for arm in group.arms]
    percent = metric.definition.is_percentage
    places = 1 if percent else decimals([summary.median for summary in summaries if summary], digits=4)
    cells = [_cell(arm, metric, summary, places, notes) for arm, summary in zip(group.arms, summaries, strict=True)]
    return TableColumn(*heading(metric), tuple(cells))


def _cell(arm: Arm, metric: Metric, summary: Summary | None, places: int, notes: list[str]) -> TableCell:
    """The median with `places` decimals, more if it would be 0; else a dash and a footnote, added to `notes`."""
    if summary is None:
        why = why_absent(arm, metric)
        if why not in notes:  # each text stands once; the footnotes are numbered from 1
            notes.append(why)
        return TableCell("–", note=notes.index(why) + 1)
    marks = "".join(sorted({MARKS[origin] for origin in arm.origins(metric)}))
    rounded_to_0 = 0 < abs(summary.median) < 0.5 * 10.0**-places
    places = decimals([summary.median], digits=1) if rounded_to_0 else places
    return TableCell(number(summary.median, places), mark=marks)


def time_columns(group: Group, judgement: Judgement, arms: Sequence[Arm], title: str) -> list[TableColumn]:
    """Two columns: each arm's time over the control's with its interval, under `title`, and the verdict."""
    times, verdicts = [], []
    for arm in arms:
        result = judgement.find(arm)
        if result is not None:
            times.append(_ratio(result.ratio))
            verdicts.append(TableCell(_VERDICTS[result.verdict]))
        else:
            is_control = arm is group.control
            times.append(TableCell("1.00×" if is_control else "–"))
            verdicts.append(TableCell("the control" if is_control else "–"))
    return [TableColumn(title, "× control ↓", tuple(times)), TableColumn("Against the control", "", tuple(verdicts))]


def _against_control(group: Group, judgement: Judgement) -> MetricTable:
    """Each arm against the control: ratio with interval or range, p of the joint test, and verdict."""
    p_values = []
    for arm in group.arms:
        result = judgement.find(arm)
        p_values.append(TableCell("–" if result is None or isnan(result.p) else number(result.p, 3)))
    times, verdicts = time_columns(group, judgement, group.arms, judgement.metric.definition.title)
    p_column = TableColumn("p", "joint test", tuple(p_values))
    return MetricTable("Times against the control", (times, p_column, verdicts))


def _ratio(summary: Summary) -> TableCell:
    """A ratio with its interval or range in small print."""
    span = f"{ratio(summary.low)[:-1]}–{ratio(summary.high)[:-1]}" if summary.blocks > 1 else ""
    return TableCell(ratio(summary.median), span, MARKS["derived"])


def column_table(group: Group) -> MetricTable | None:
    """For each arm, whether its column suits the layout and which one does; None if the run did not record it."""
    pairs = [group.run.pairing(group.database, arm.layout) for arm in group.arms]
    if not any(pairs):
        return None
    suits = [TableCell(_suits(pair, arm)) for pair, arm in zip(pairs, group.arms, strict=True)]
    # a layout without an order has no suiting column; another may have none on this database
    suiting = [TableCell("–" if pair is None or not pair.ordered else pair.suited or "none") for pair in pairs]
    columns = (TableColumn("Suits the layout", "", tuple(suits)), TableColumn("Suiting column", "", tuple(suiting)))
    return MetricTable("In which columns the keys ascend", columns)


def _suits(pair: Pairing | None, arm: Arm) -> str:
    """Whether keys ascend in the arm's column; `no order` if they do in none; a dash if the run did not record it."""
    if pair is None:
        return "–"
    return "no order" if not pair.ordered else "yes" if arm.column in pair.suiting else "no"


_MOST_OPEN: Final = 40
"""Rows of a table of subjects; a longer one is folded."""

_PHASE_METRICS: Final = (
    Metric.PHASE_ROWS, Metric.HOT_UPDATES, Metric.ENTRIES_ADDED, Metric.LEAF_PAGES, Metric.LEAF_DENSITY,
    Metric.LEAF_FRAGMENTATION, Metric.APPENDS, Metric.EDGE_SPLITS, Metric.INTERIOR_SPLITS, Metric.STRANDED,
    Metric.REBUILD_FREES, Metric.LOG_BYTES, Metric.PHASE_SECONDS,
)  # fmt: skip


@dataclass(frozen=True)
class SubjectTable:
    """A row for each arm and each of its writers, phases or page models.

    `arms` and the cells of every column have the same length.
    """

    title: str
    arms: tuple[Arm, ...]
    columns: tuple[TableColumn, ...]
    note: str = ""

    @property
    def folded(self) -> bool:
        """Whether a reader must open it."""
        return len(self.arms) > _MOST_OPEN


def subject_tables(group: Group) -> list[SubjectTable]:
    """The tables that the group's readings allow: of writers, phases, and page models beside a server."""
    tables = (_writers(group), _phases(group), _models(group))
    return [table for table in tables if table.arms]


def _writers(group: Group) -> SubjectTable:
    """How many of each writer's inserts lag, and how far. Empty with one writer, or if the trials have no positions."""
    rows = [
        (arm, writer)
        for arm in group.arms
        for writer in writers_of(group)
        if arm.summary(LAG_METRICS[0], Subject.writer(writer))
    ]
    return _subject_table(
        "Lag of each writer", "Writer", rows, (*LAG_METRICS, Metric.DEEP_INSERTS), (SubjectKind.WRITER,)
    )


def _phases(group: Group) -> SubjectTable:
    """The index after each phase of its life, on the server and by the page model."""
    rows = [(arm, name) for arm in group.arms for name in phases_of(arm)]
    kinds = (SubjectKind.PHASE, SubjectKind.MODEL_PHASE)
    return _subject_table("The index after each phase", "Phase", rows, _PHASE_METRICS, kinds)


def _models(group: Group) -> SubjectTable:
    """What page models predict beside the group's own figures."""
    arms = [arm for arm in group.arms if MODEL in arm.readings]
    readings = [one for arm in arms for by_block in arm.readings[MODEL].values() for one in by_block.values()]
    rows = [(arm, "") for arm in arms]  # the subject of a page model has no name
    columns = [_subject_column(metric, SubjectKind.MODEL, rows) for metric in Metric]
    note = " ".join(sorted({reading.reason for reading in readings} - {""}))
    return SubjectTable("Predicted by the page model", tuple(arms), tuple(filter(None, columns)), note)


def _subject_table(
    title: str, heading: str, rows: Sequence[tuple[Arm, str]], metrics: Sequence[Metric], kinds: Sequence[SubjectKind]
) -> SubjectTable:
    """A column for each metric of each kind of subject that any row has; `rows` are arms and names of subjects. The
    first column, under the `heading`, has the subjects' names."""
    columns = [_subject_column(metric, kind, rows) for metric in metrics for kind in kinds]
    names = TableColumn(heading, "", tuple(TableCell(name or "–") for _, name in rows))
    return SubjectTable(title, tuple(arm for arm, _ in rows), (names, *filter(None, columns)))


def _subject_column(metric: Metric, kind: SubjectKind, rows: Sequence[tuple[Arm, str]]) -> TableColumn | None:
    """One metric about each row's subject; None if no row has it. A page model's phases have `, model` in the title."""
    summaries = [arm.summary(metric, Subject(kind, name)) for arm, name in rows]
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
