"""The tables of a group: all metrics, the columns of layouts, the phases of an index's life, the writers."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from statistics import median
from typing import Final

from keybench.model.column import Pairing
from keybench.model.definition import Theme
from keybench.model.metric import Metric, of_theme
from keybench.model.names import NATIVE, SUITED
from keybench.model.reading import Origin
from keybench.model.subject import Subject, SubjectKind
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.group_comparison import Judgement
from keybench.results.analysis.groups import Group, phases_of, writers_of
from keybench.results.analysis.ratios import Summary, Verdict
from keybench.results.wording import decimals, heading, listed, number, plural, ratio, why_absent

_VERDICTS: dict[Verdict, str] = {
    "faster": "faster", "slower": "slower", "same": "costs the same", "unclear": "not decided",
}  # fmt: skip

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


def _absent(arm: Arm, metric: Metric, notes: list[str]) -> TableCell:
    """A cell without a value; the reason is added to the footnotes, where each text stands once, numbered from 1."""
    why = why_absent(arm, metric)
    if why not in notes:
        notes.append(why)
    return TableCell("–", note=notes.index(why) + 1)


def metric_tables(group: Group, judgement: Judgement | None = None) -> tuple[list[MetricTable], list[str]]:
    """The significance of the times, tables of all metrics that a trial of the group mentions, and their footnotes."""
    notes: list[str] = []
    tables: list[MetricTable] = []
    if judgement is not None and judgement.enough:
        tables.append(_significance(group, judgement))
    for theme in Theme:
        shown = [metric for metric in of_theme(theme) if any(arm.mentions(metric) for arm in group.arms)]
        columns = []
        for metric in shown:
            columns.append(_column(group, metric, notes))
            if metric == Metric.INSERT_SECONDS and group.control:
                columns.append(_ratios(group, notes))
        if columns:
            tables.append(MetricTable(theme.value, tuple(columns)))
    return tables, notes


def _column(group: Group, metric: Metric, notes: list[str]) -> TableColumn:
    """The metric of each arm as median over blocks; reasons for absent values are added to `notes`."""
    summaries = [arm.summary(metric) for arm in group.arms]
    percent = metric.definition.is_percentage
    places = 1 if percent else decimals([summary.median for summary in summaries if summary], digits=4)
    cells = [_cell(arm, metric, summary, places, notes) for arm, summary in zip(group.arms, summaries, strict=True)]
    return TableColumn(*heading(metric), tuple(cells))


def _cell(arm: Arm, metric: Metric, summary: Summary | None, places: int, notes: list[str]) -> TableCell:
    """The median with so many decimals, more if it would be rounded to 0; or the number of the footnote that says why
    there is none."""
    if summary is None:
        return _absent(arm, metric, notes)
    marks = "".join(sorted({MARKS[origin] for origin in arm.origins(metric)}))
    rounded_to_0 = 0 < abs(summary.median) < 0.5 * 10.0**-places
    places = decimals([summary.median], digits=1) if rounded_to_0 else places
    return TableCell(number(summary.median, places), mark=marks)


def time_columns(group: Group, judgement: Judgement, arms: Sequence[Arm], title: str) -> list[TableColumn]:
    """Each arm's time over the control's with its interval, and the verdict."""
    times, verdicts = [], []
    for arm in arms:
        judged = judgement.find(arm)
        if judged is not None:
            times.append(_ratio(judged.ratio))
            verdicts.append(TableCell(_VERDICTS[judged.verdict]))
        else:
            is_control = arm is group.control
            times.append(TableCell("1.00×" if is_control else "–"))
            verdicts.append(TableCell("the control" if is_control else "–"))
    return [TableColumn(title, "× control ↓", tuple(times)), TableColumn("Against the control", "", tuple(verdicts))]


def _significance(group: Group, judgement: Judgement) -> MetricTable:
    """Each arm against the control: ratio with interval, p of the joint test, verdict, and whether it is first."""
    p_values = []
    for arm in group.arms:
        judged = judgement.find(arm)
        p_values.append(TableCell("–" if judged is None or isnan(judged.p) else number(judged.p, 3)))
    first = tuple(TableCell("yes" if arm in judgement.first else "no") for arm in group.arms)
    times, verdicts = time_columns(group, judgement, group.arms, judgement.metric.definition.title)
    p_column = TableColumn("p", "joint test", tuple(p_values))
    return MetricTable(
        "Significance of the times", (times, p_column, verdicts, TableColumn("Shares the first place", "", first))
    )


def _ratio(summary: Summary) -> TableCell:
    """A ratio with its interval or range in small print."""
    span = f"{ratio(summary.low)[:-1]}–{ratio(summary.high)[:-1]}" if summary.blocks > 1 else ""
    return TableCell(ratio(summary.median), span, MARKS["derived"])


def _ratios(group: Group, notes: list[str]) -> TableColumn:
    """Each arm's insert time over the control's; reasons for absent ratios are added to `notes`."""
    cells = []
    for arm in group.arms:
        summary = group.ratio(arm, Metric.INSERT_SECONDS)
        if summary is None:
            cells.append(_absent(arm, Metric.INSERT_SECONDS, notes))
        else:
            cells.append(TableCell(ratio(1.0), mark=MARKS["derived"]) if arm is group.control else _ratio(summary))
    return TableColumn("Insert time", "× control ↓", tuple(cells))


_MOST_NAMES = 4


def other_columns(group: Group) -> str:
    """Which layouts are in columns that do not suit them, and which columns do; empty if there are none."""
    # Layouts by their column and the column that would suit them.
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
    """Whether keys ascend in the arm's column; `no order` if the layout's keys ascend in no column."""
    if pair is None:
        return "–"
    return "no order" if not pair.ordered else "yes" if arm.column in pair.suiting else "no"


_MOST_OPEN: Final = 40
"""Rows of a table of phases or writers; a longer one is folded."""

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

    @property
    def folded(self) -> bool:
        """Whether a reader must open it."""
        return len(self.arms) > _MOST_OPEN


def phase_table(group: Group) -> SubjectTable | None:
    """The index after each phase of its life, on the server and by the page model; None if it has no past."""
    rows = [(arm, name) for arm in group.arms for name in phases_of(arm)]
    return _subject_table("Phase", rows, _PHASE_METRICS, (SubjectKind.PHASE, SubjectKind.MODEL_PHASE))


def writer_table(group: Group) -> SubjectTable | None:
    """How many of each writer's inserts lag, and how far.

    None if no writer has readings of its own: there is only one, or the trials have no positions.
    """
    writers = writers_of(group)
    rows = [
        (arm, writer) for arm in group.arms for writer in writers if arm.summary(LAG_METRICS[0], Subject.writer(writer))
    ]
    return _subject_table("Writer", rows, LAG_METRICS, (SubjectKind.WRITER,))


def _subject_table(
    title: str, rows: Sequence[tuple[Arm, str]], metrics: Sequence[Metric], kinds: Sequence[SubjectKind]
) -> SubjectTable | None:
    """A column for each metric of each kind of subject that any row has; `rows` are arms and names of subjects."""
    if not rows:
        return None
    columns = [_subject_column(metric, kind, rows) for metric in metrics for kind in kinds]
    names = TableColumn(title, "", tuple(TableCell(name) for _, name in rows))
    return SubjectTable(tuple(arm for arm, _ in rows), (names, *filter(None, columns)))


def _subject_column(metric: Metric, kind: SubjectKind, rows: Sequence[tuple[Arm, str]]) -> TableColumn | None:
    """One metric about each row's subject; None if no row has it. The page model's has a title of its own."""
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


_SAME = 1e-6
"""Smaller differences come from the order in which floats are summed."""


@dataclass(frozen=True)
class Fidelity:
    """One model beside one group's server: a sentence, and a table with a row for each arm."""

    title: str
    text: str
    caption: str
    columns: tuple[TableColumn, ...]


def fidelity(group: Group) -> list[Fidelity]:
    """One for each model that predicted a trial of the group, the default model first."""
    models = dict.fromkeys(model for arm in group.arms for model in sorted(arm.predicted))
    return [_compared(group, model) for model in models]


def _compared(group: Group, model: Subject) -> Fidelity:
    """One page model (the default one, or a variant by name) against the group's figures."""
    shown = [metric for metric in Metric if any(arm.values(metric, model) for arm in group.arms)]
    columns = tuple(_predicted_column(group, model, metric) for metric in shown)
    variant = model.name
    title = "Page model with other rules" if group.modelled else "Page model beside the server"
    sentence = _agreement(group, model) if columns else ""
    if group.modelled and all(cell.span == "equal" for column in columns for cell in column.cells):
        sentence, columns = "The figures above follow these rules.", ()
    return Fidelity(
        title=title + (f": {variant}" if variant else ""),
        text=" ".join(filter(None, (sentence, _reasons(group, model)))),
        caption=f"In small print: difference from {'the figures above' if group.modelled else 'the server'}",
        columns=columns,
    )


def _pairs(arm: Arm, model: Subject, metric: Metric) -> list[tuple[float, float]]:
    """(server, model) of each block that has both."""
    real, modelled = arm.values(metric), arm.values(metric, model)
    return [(real[block], modelled[block]) for block in sorted(real) if block in modelled]


def _agreement(group: Group, model: Subject) -> str:
    """How often the model predicts the number of leaf pages exactly, and its largest error, as a sentence."""
    pairs = [pair for arm in group.arms for pair in _pairs(arm, model, Metric.LEAF_PAGES)]
    if group.modelled:
        return "No live server has confirmed which rules are right."
    if not pairs:
        return "The server reported no number of leaf pages to compare with."
    same = sum(real == model for real, model in pairs)
    if same == len(pairs):
        trials = "the one trial" if len(pairs) == 1 else f"all {len(pairs)} trials"
        return f"The model predicts the server's leaf pages exactly in {trials}."
    worst = max(abs(model / real - 1) for real, model in pairs if real)
    return (
        f"The model predicts the server's leaf pages exactly in {same} of {plural(len(pairs), 'trial')}; "
        f"its largest error is {100 * worst:.2f}\u00a0%."
    )


def _reasons(group: Group, model: Subject) -> str:
    """Notes on the predictions: why there is none, or which order of arrival they assume."""
    reasons = {
        reading.reason
        for arm in group.arms
        for blocks in arm.predicted.get(model, {}).values()
        for reading in blocks.values()
        if reading.reason
    }
    return " ".join(sorted(reasons))


def _predicted_column(group: Group, model: Subject, metric: Metric) -> TableColumn:
    """What the model predicts of each arm as median over blocks, with the largest difference from the server."""
    known = [arm.values(metric, model).values() for arm in group.arms]
    middles = [median(values) if values else None for values in known]
    percent = metric.definition.is_percentage
    places = 2 if percent else decimals([middle for middle in middles if middle is not None], digits=4)
    cells = []
    for arm, middle in zip(group.arms, middles, strict=True):
        if middle is None:
            cells.append(TableCell("–"))
        else:
            cells.append(TableCell(number(middle, places), _difference(arm, model, metric, percent), MARKS["modelled"]))
    return TableColumn(*heading(metric), tuple(cells))


def _difference(arm: Arm, model: Subject, metric: Metric, percent: bool) -> str:
    """The largest difference of all blocks: in points for a percentage, else absolute and in %."""
    pairs = _pairs(arm, model, metric)
    if not pairs:
        return "no server figure"
    real, modelled = max(pairs, key=lambda pair: abs(pair[1] - pair[0]))
    if abs(modelled - real) <= _SAME:
        return "equal"
    if percent:
        return f"{_signed(modelled - real, 2)} points"
    share = f" ({_signed(100 * (modelled / real - 1), 2)} %)" if real else ""
    return f"{_signed(modelled - real, 0)}{share}"


def _signed(value: float, places: int) -> str:
    return ("+" if value > 0 else "") + number(value, places)
