"""The first screen of a report: three pictures that carry the argument, and one table of what each layout costs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from keybench.model.metric import Metric
from keybench.model.names import CONTROL
from keybench.model.subject import MODEL
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.group_comparison import Judgement, time_metric
from keybench.results.analysis.groups import Group, splits_inside
from keybench.results.analysis.p_values import ENOUGH_BLOCKS
from keybench.results.analysis.ratios import Summary, summarise
from keybench.results.plots.charts import Dot, Panel, dot_plot
from keybench.results.plots.panels import PlotRow
from keybench.results.report.figures.figure import ReportFigure, Styles, dot, evenly_chosen, extremes, join
from keybench.results.report.figures.places import insert_positions
from keybench.results.report.tables import MARKS, TableCell, TableColumn, time_columns
from keybench.results.report.what_people_use import lag_clauses
from keybench.results.wording import decimals, number, ratio

MOST_GROUPS: Final = 4
"""Databases side by side; the others have their pictures further down."""
_MOST_ROWS: Final = 12
"""Rows of a picture."""


def pictures(groups: Sequence[Group], styles: Styles) -> list[ReportFigure]:
    """Time, density and splits of the first `MOST_GROUPS` groups that have an index and a good trial; no picture
    without such a group. If the first one's writers fall behind: where their keys go, in place of time."""
    shown = [group for group in groups if not group.only_keys and any(arm.good for arm in group.arms)][:MOST_GROUPS]
    if shown and lag_clauses(shown[0]) and (places := insert_positions.of(shown[0], styles, "answer")):
        return [places, _density(shown, styles), _splits(shown, styles)]
    return [_time(shown, styles), _density(shown, styles), _splits(shown, styles)] if shown else []


def splits_of(group: Group, arm: Arm) -> tuple[Summary | None, bool]:
    """(splits inside the index for each 1,000 rows, over blocks; whether only the page model knows them)."""
    counts, modelled = splits_inside(group, arm)
    return summarise(counts.values()), modelled


def _time(groups: Sequence[Group], styles: Styles) -> ReportFigure:
    """Insert times over the control's; without any, the reason in place of the picture."""
    key, title = "answer-time", "How long inserting takes"
    unit = f"time over that of {CONTROL} in the same repetition; further left is better"
    timed = [group for group in groups if group.control and group.values(time_metric(group))]
    if not timed:
        modelled = all(group.modelled for group in groups)
        why = "A page model has no times." if modelled else "No times can be compared."
        return ReportFigure(key=key, title=title, unit=unit, caption=why)
    most = max(len(group.blocks) for group in timed)
    lines = "Lines are what was seen, and prove nothing." if most > 1 else "Measured once, which proves nothing."
    if most >= ENOUGH_BLOCKS:
        lines = "Lines are 95\u00a0% intervals: the truth is likely inside."
    return _Picture(
        key=key,
        title=title,
        unit=unit,
        caption=f"1 is as fast as an integer key, 2 takes twice as long. {lines}",
        label="× control",
        value_of=lambda group, arm: (group.ratio(arm, time_metric(group)), group.modelled),
        write=ratio,
        ratios=True,
    ).draw(timed, styles)


def _density(groups: Sequence[Group], styles: Styles) -> ReportFigure:
    """The density of the leaf pages, in %."""
    return _Picture(
        key="answer-density",
        title="How full the pages are",
        unit="% of each page of the index that is in use; further right is better",
        caption="Half-empty pages mean a larger index, of which a cache holds less.",
        label="% full",
        value_of=lambda group, arm: (arm.summary(Metric.LEAF_DENSITY), group.modelled),
        write=lambda value: f"{value:.0f}",
        limits=(0.0, 100.0),
    ).draw(groups, styles)


def merge_note(group: Group) -> str:
    """What a number of splits below zero means, if an arm has one; else empty."""
    counts = [splits_of(group, arm)[0] for arm in group.arms]
    if not any(count and count.low < 0 for count in counts):
        return ""
    return "Below zero: neighbouring pages were merged, and more pages were given back than splits added."


def _splits(groups: Sequence[Group], styles: Styles) -> ReportFigure:
    """Splits inside the index for each 1,000 rows, by the server or else by the page model."""
    return _Picture(
        key="answer-splits",
        title="How often a page inside the index is split",
        unit="splits for each 1,000 rows; further left is better",
        caption="A split moves part of a page to a new one and leaves both partly empty. Not counted: pages added at "
        "the end, and splits of the last page, which leave it full. Hollow: from the page model, not from the server. "
        + next(filter(None, map(merge_note, groups)), ""),
        label="per 1,000 rows",
        value_of=splits_of,
        write=lambda value: number(value, 1) if value else "0",
    ).draw(groups, styles)


@dataclass(frozen=True)
class _Picture:
    """A dot plot with a row for each layout and a panel for each database."""

    key: str
    title: str
    unit: str
    caption: str
    label: str
    value_of: Callable[[Group, Arm], tuple[Summary | None, bool]]
    """(the value of an arm, whether only the page model knows it: then its marker is hollow)."""
    write: Callable[[float], str]
    limits: tuple[float, float] | None = None
    ratios: bool = False
    """Whether the axis is logarithmic and the control, which is 1, is left out."""

    def draw(self, groups: Sequence[Group], styles: Styles) -> ReportFigure:
        """The picture of these groups; without any value, the reason in its place."""
        # a panel for each group with values, all with the same rows
        rows = self._rows(groups)
        chosen, note = evenly_chosen(groups[0], list(rows.values()), _MOST_ROWS)
        panels = [panel for group in groups if (panel := self._panel(group, groups, chosen))]
        if not panels:
            why = "Nothing was counted or predicted."
            return ReportFigure(key=self.key, title=self.title, unit=self.unit, caption=why)
        # its data: all arms, also those without a row
        data = [
            (group, arm, value)
            for group in groups
            for arm in self._arms(group)
            if (value := self.value_of(group, arm)[0])
        ]
        medians = [(f"{arm.layout} on {group.database}", value.median) for group, arm, value in data]
        with_column = len(groups) == 1 and groups[0].several_columns
        return ReportFigure(
            key=self.key,
            title=self.title,
            unit=self.unit,
            caption=join(self.caption, note),
            alt=f"Dot plot. {extremes(medians)}",
            svg=dot_plot(
                [PlotRow(arm.layout, arm.column if with_column else "", styles[arm.layout]) for arm in chosen],
                panels,
                self.key,
            ),
            header=("database", "server", "layout", "column", self.label, "from", "to"),
            rows=tuple(
                (group.database, group.server, arm.layout, arm.column, value.median, value.low, value.high)
                for group, arm, value in data
            ),
        )

    def _panel(self, group: Group, groups: Sequence[Group], chosen: Sequence[Arm]) -> Panel | None:
        """The panel of one of the `groups`, with a dot for each row (`chosen`: an arm of each); None without values."""
        arms = self._by_row(group, groups)
        dots = [self._dot(group, arms.get(_row(arm, groups))) for arm in chosen]
        with_value = [one for one in dots if one.value is not None]
        if not with_value:
            return None
        heading = " · ".join(filter(None, (group.run.title(group.database), group.column))) if len(groups) > 1 else ""
        panel = Panel(heading, dots, self.label if len(groups) < 3 else "", self.limits)  # three have no room
        if self.ratios:
            return replace(panel, reference=1.0, ratio=True)
        if self.limits:
            return panel
        least, most = min(one.low for one in with_value), max(one.high for one in with_value)
        return replace(panel, limits=(min(0.0, least), 1.05 * max(1.0, most)))  # 0 and 1 are always on the axis

    def _arms(self, group: Group) -> tuple[Arm, ...]:
        """The arms that may have a dot: without the control where dots are ratios to it."""
        return group.treatments if self.ratios else group.arms

    def _rows(self, groups: Sequence[Group]) -> dict[str, Arm]:
        """An arm for each row, in the order of the first group that has it."""
        rows: dict[str, Arm] = {}
        for group in groups:
            for name, arm in self._by_row(group, groups).items():
                rows.setdefault(name, arm)
        return rows

    def _by_row(self, group: Group, groups: Sequence[Group]) -> dict[str, Arm]:
        """The group's arms by row. Of a layout in several columns that share a row, the default column counts."""
        rows: dict[str, Arm] = {}
        for arm in self._arms(group):
            pair = group.run.pairing(group.database, arm.layout)
            name = _row(arm, groups)
            if name not in rows or (pair and arm.column == pair.default):
                rows[name] = arm
        return rows

    def _dot(self, group: Group, arm: Arm | None) -> Dot:
        """The arm's dot; a dash if the group has no such arm."""
        if arm is None:
            return Dot(None, text="–")
        value, hollow = self.value_of(group, arm)
        return replace(dot(arm, value, self.write), hollow=hollow or group.modelled)


def _row(arm: Arm, groups: Sequence[Group]) -> str:
    """The name of the arm's row: several databases share the rows of layouts, whose columns differ between them."""
    return arm.layout if len(groups) > 1 else arm.name


MOST_ROWS: Final = 14
"""Rows of the table; of more arms, some are chosen evenly."""


@dataclass(frozen=True)
class LayoutTable:
    """A row for each arm; `note` says if some are left out."""

    arms: Sequence[Arm]
    columns: tuple[TableColumn, ...]
    note: str
    legend: str


def layout_table(group: Group, judgement: Judgement | None) -> LayoutTable | None:
    """The table of a group with an index; None for keys alone, or if no trial succeeded."""
    if group.only_keys or not any(arm.good for arm in group.arms):
        return None
    arms, _ = evenly_chosen(group, group.arms, MOST_ROWS)
    note = (
        f"{len(arms)} of {len(group.arms)} layouts, evenly spaced from the fastest to the slowest; “All metrics” below "
        "has all."
        if len(arms) < len(group.arms)
        else ""
    )
    pages_unit = "leaf pages" if group.modelled else "measured"
    columns = [] if judgement is None else time_columns(group, judgement, arms, "Insert time")
    columns += [
        _column("Pages full", "% ↑", arms, lambda arm: _metric(arm, Metric.LEAF_DENSITY), places=1),
        _column("Splits", "per 1,000 rows ↓", arms, lambda arm: _known_splits(group, arm)),
        _column("At the end", "per 1,000 rows", arms, lambda arm: _metric(arm, Metric.EDGE_SPLITS, group.rows / 1000)),
        _column("Log", "bytes a row ↓", arms, lambda arm: _metric(arm, Metric.LOG_BYTES, group.rows)),
        _column("Index", "bytes a row ↓", arms, lambda arm: _metric(arm, Metric.INDEX_BYTES, group.rows)),
        _column("Pages", pages_unit, arms, lambda arm: _metric(arm, Metric.LEAF_PAGES), places=0),
        TableColumn("Pages", "predicted", tuple(_predicted(arm) for arm in arms)),
    ]
    # Columns without any value are left out.
    shown = tuple(column for column in columns if any(cell.text != "–" for cell in column.cells))
    titles = {(column.title, column.unit) for column in shown}
    meanings = [text for title, text in _LEGEND.items() if title in titles]
    marks = "Marked d: computed from measured values; m: modelled."
    return LayoutTable(arms, shown, note, join(*meanings, marks, merge_note(group)))


_LEGEND: Final = {
    ("Insert time", "× control ↓"): "Insert time: over that of the control in the same repetition, with its 95\u00a0% "
    "interval in small print; “not decided” means that the interval leaves it open.",
    ("Splits", "per 1,000 rows ↓"): "Splits: rows that came to a full page inside the index and split it.",
    ("At the end", "per 1,000 rows"): "At the end: splits of the last page by a key that is not the highest; they "
    "leave it full.",
    ("Log", "bytes a row ↓"): "Log: what the server writes so that a crash loses nothing.",
    ("Pages full", "% ↑"): "An integer key has 8 bytes and a GUID 16, so part of the difference in pages and in size "
    "is the key's length.",
    ("Pages", "predicted"): "Pages, predicted: keybench's page model, which simulates the index without looking at the "
    "server.",
}
"""What columns mean, by title and unit."""


def _metric(arm: Arm, metric: Metric, rows: float = 1) -> tuple[Summary | None, str]:
    """(the metric over blocks, divided by `rows`; the marks of its origins, such as `d`)."""
    marks = "".join(sorted({MARKS[origin] for origin in arm.origins(metric)}))
    return summarise([value / rows for value in arm.values(metric).values()]), marks


def _known_splits(group: Group, arm: Arm) -> tuple[Summary | None, str]:
    """(splits inside the index per 1,000 rows, over blocks; the mark of their origin)."""
    splits, modelled = splits_of(group, arm)
    _, marks = _metric(arm, Metric.INTERIOR_SPLITS)
    return splits, MARKS["modelled"] if modelled else marks


def _column(
    title: str,
    unit: str,
    arms: Sequence[Arm],
    value_of: Callable[[Arm], tuple[Summary | None, str]],
    places: int | None = None,
) -> TableColumn:
    """The median of each arm's value, with its mark; `places` are decimals, by default at most one."""
    values = [value_of(arm) for arm in arms]
    if places is None:
        places = min(1, decimals([summary.median for summary, _ in values if summary]))
    cells = (TableCell(number(one.median, places), mark=mark) if one else TableCell("–") for one, mark in values)
    return TableColumn(title, unit, tuple(cells))


def _predicted(arm: Arm) -> TableCell:
    """The model's leaf pages; in small print, the largest difference of a block from the server's, in %, or `equal`."""
    predicted, counted = arm.values(Metric.LEAF_PAGES, MODEL), arm.values(Metric.LEAF_PAGES)
    middle = summarise(predicted.values())
    if middle is None:
        return TableCell("–")
    errors = [predicted[block] / counted[block] - 1 for block in predicted if counted.get(block)]
    worst = max(errors, key=abs) if errors else None
    text = "" if worst is None else "equal" if worst == 0 else f"{100 * worst:+.2f}\u00a0%".replace("-", "−")
    return TableCell(number(middle.median, 0), text, MARKS["modelled"])
