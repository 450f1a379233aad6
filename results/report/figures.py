"""The figures of one group: what is drawn, what stands under it, and the numbers behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from keybench.results import plots
from keybench.results.drawing import KINDS, PLAIN, Style
from keybench.results.metrics import DEFINITIONS, Metric
from keybench.results.plots import Dot, Panel, Part, Row
from keybench.results.report.curves import cost
from keybench.results.report.figure import (
    Figure,
    Value,
    blocks_note,
    extremes,
    gaps,
    join,
    medians_note,
    missing,
    origin_note,
    rows_of,
    unit_of,
    word,
)
from keybench.results.report.groups import CONTROL, Arm, Group, Summary
from keybench.results.report.wording import BETTER, decimals, listed, number, ratio

RANDOM = "uuid-v4"
"""The layout that the time to make a key is set against: what people use who choose nothing."""

_HALVES = (Metric.FIRST_HALF_SECONDS, Metric.SECOND_HALF_SECONDS)
_SPLITS = (Metric.APPENDS, Metric.EDGE_SPLITS, Metric.INTERIOR_SPLITS)
_TOGETHER = Metric.EDGE_AND_INTERIOR_SPLITS
_LOOKS = dict(zip(_SPLITS, zip(KINDS, ("", "\\\\\\\\", "////"), strict=True), strict=True)) | {
    _TOGETHER: (KINDS[2], "xxxx")
}
_STATISTICS = ("median", "lowest", "highest")


def figures(group: Group, styles: Mapping[str, Style], prefix: str) -> list[Figure]:
    """Every figure that the group's readings allow, then the others with the reason; `prefix` makes ids unique."""
    if group.only_keys:
        return [_making(group, styles, f"{prefix}-keys")]
    rows = rows_of(group, group.arms, styles)
    made = [
        _times(group, styles, f"{prefix}-time"),
        _order(group, rows, f"{prefix}-order"),
        cost(group, styles, f"{prefix}-cost"),
        _splits(group, rows, f"{prefix}-splits"),
        _log(group, rows, f"{prefix}-log"),
        _sizes(group, rows, f"{prefix}-size"),
    ]
    return sorted(made, key=lambda figure: not figure.svg)


def _times(group: Group, styles: Mapping[str, Style], prefix: str) -> Figure:
    title = "Insert time against the control"
    unit = unit_of(f"ratio to {CONTROL} in the same block", "lower")
    metrics = [metric for metric in _HALVES if group.values(metric)] or [Metric.INSERT_SECONDS]
    if not group.values(metrics[0]):
        return Figure(prefix, title, unit, missing(group, Metric.INSERT_SECONDS))
    if group.control is None:
        why = f"Ratios need the control {CONTROL}, which has no good trial here."
        return Figure(
            prefix, title, unit, f"{why} A run always measures it: see its errors above, or go on with --resume."
        )
    arms = group.others
    found = {metric: [group.ratio(arm, metric) for arm in arms] for metric in metrics}
    known = [summary for part in found.values() for summary in part if summary]
    if not known:
        return Figure(prefix, title, unit, "No layout but the control has a good trial here.")
    limits = plots.ratio_limits([edge for summary in known for edge in (summary.low, summary.high)])
    panels = []
    for metric in metrics:
        row = [_dot(arm, summary, ratio) for arm, summary in zip(arms, found[metric], strict=True)]
        panels.append(Panel(_half(group, metric), row, "× control, log scale", limits, reference=1.0, ratio=True))
    last = [(group.label(arm), each.median) for arm, each in zip(arms, found[metrics[-1]], strict=True) if each]
    return Figure(
        key=prefix,
        title=title,
        unit=unit,
        caption=join(blocks_note(group), "The line at 1× is the control."),
        origin=f"Ratios of times: {origin_note(group, metrics).lower()}",
        alt=f"Dot plot of insert time over the control's. {extremes(last) if last else ''}",
        svg=plots.dots(rows_of(group, arms, styles), panels, prefix),
        header=("layout", "column", *(f"{_half(group, m)}, {part}" for m in metrics for part in _STATISTICS)),
        rows=tuple(
            (arm.layout, arm.column, *(cell for metric in metrics for cell in _cells(found[metric][i])))
            for i, arm in enumerate(arms)
        ),
    )


def _making(group: Group, styles: Mapping[str, Style], prefix: str) -> Figure:
    """Time to make a key, over that of a random GUID."""
    title, unit = "Time to make a key", unit_of(f"ratio to {RANDOM} in the same block", "lower")
    base = next((arm for arm in group.arms if arm.layout == RANDOM and arm.values(Metric.KEY_NS)), None)
    if base is None:
        return Figure(prefix, title, unit, f"Ratios need {RANDOM}: run it along, with --layout {RANDOM},….")
    arms = [arm for arm in group.arms if arm is not base]
    found = [group.over(arm, base, Metric.KEY_NS) for arm in arms]
    known = [(group.label(arm), each.median) for arm, each in zip(arms, found, strict=True) if each]
    dots = [_dot(arm, summary, ratio) for arm, summary in zip(arms, found, strict=True)]
    limits = plots.ratio_limits([edge for summary in found if summary for edge in (summary.low, summary.high)])
    return Figure(
        key=prefix,
        title=title,
        unit=unit,
        caption=join(blocks_note(group), f"The line at 1× is {RANDOM}."),
        origin=f"Ratios of times: {origin_note(group, [Metric.KEY_NS]).lower()}",
        alt=f"Dot plot of the time to make a key over {RANDOM}'s. {extremes(known) if known else ''}",
        svg=plots.dots(
            rows_of(group, arms, styles),
            [Panel("", dots, f"× {RANDOM}, log scale", limits, reference=1.0, ratio=True)],
            prefix,
        ),
        header=("layout", *(f"time to make a key, {part}" for part in _STATISTICS)),
        rows=tuple((arm.layout, *_cells(each)) for arm, each in zip(arms, found, strict=True)),
    )


def _half(group: Group, metric: Metric) -> str:
    if metric == Metric.INSERT_SECONDS:
        return "All rows"
    place = "First" if metric == Metric.FIRST_HALF_SECONDS else "Second"
    return f"{place} {'million' if group.rows == 2_000_000 else 'half'}"


def _dot(arm: Arm, summary: Summary | None, write: Callable[[float], str]) -> Dot:
    if summary is None:
        return Dot(None, text=word(arm))
    return Dot(summary.median, summary.low, summary.high, write(summary.median))


def _cells(summary: Summary | None) -> tuple[Value, Value, Value]:
    return (summary.median, summary.low, summary.high) if summary else (None, None, None)


def _order(group: Group, rows: Sequence[Row], prefix: str) -> Figure:
    metrics = (Metric.LEAF_DENSITY, Metric.LEAF_FRAGMENTATION)
    title, unit = "How full the leaf pages are, and how far out of order", "% of the leaf pages of the key's index"
    shown = [metric for metric in metrics if group.values(metric)]
    if not shown:
        return Figure(prefix, title, unit, gaps(group, metrics))
    panels, alts = [], []
    for metric in shown:
        about = DEFINITIONS[metric]
        base = group.control.summary(metric) if group.control else None
        dots = [_dot(arm, arm.summary(metric), lambda value: f"{value:.1f}") for arm in group.arms]
        name = about.title.removeprefix("Leaf ").capitalize()
        known = [(group.label(arm), summary.median) for arm, summary in group.values(metric)]
        alts.append(f"{about.title}: {extremes(known)}")
        panels.append(Panel(name, dots, f"%, {BETTER[about.better]}", (0.0, 100.0), base.median if base else None))
    return Figure(
        key=prefix,
        title=title,
        unit=unit,
        caption=join(
            blocks_note(group),
            "The grey line is the control." if group.control else "",
            "Half-empty pages may lie in perfect order: fragmentation alone would not show them.",
            gaps(group, metrics),
        ),
        origin=origin_note(group, shown),
        alt=join("Dot plot.", *alts),
        svg=plots.dots(rows, panels, prefix),
        header=("layout", "column", *(f"{DEFINITIONS[m].title} (%), {part}" for m in shown for part in _STATISTICS)),
        rows=tuple((arm.layout, arm.column, *(c for m in shown for c in _cells(arm.summary(m)))) for arm in group.arms),
    )


def _splits(group: Group, rows: Sequence[Row], prefix: str) -> Figure:
    bars = _Bars("Page splits by kind", "leaf pages added per 1,000 rows; only appends are harmless", "per 1,000 rows")
    kinds = {
        metric: [_per_row(group, arm, metric, 1000) for arm in group.arms]
        for metric in (*_SPLITS, _TOGETHER)
        if group.values(metric)
    }
    parts = [Part(DEFINITIONS[metric].title, values, *_LOOKS[metric]) for metric, values in kinds.items()]
    harmful = [[values[i] for metric, values in kinds.items() if metric != Metric.APPENDS] for i in range(len(rows))]
    totals = [_sum(values) for values in harmful]
    return bars.figure(group, rows, prefix, parts, totals, "edge + interior", _SPLITS)


def _log(group: Group, rows: Sequence[Row], prefix: str) -> Figure:
    bars = _Bars("Log written", unit_of("bytes a row", "lower"), "bytes a row")
    metrics = (Metric.LOG_BYTES, Metric.LOG_PAGE_IMAGE_BYTES)
    whole, images = ([_per_row(group, arm, metric) for arm in group.arms] for metric in metrics)
    parts = []
    if group.values(Metric.LOG_BYTES):
        split = bool(group.values(Metric.LOG_PAGE_IMAGE_BYTES))
        rest = [None if w is None else w - min(i or 0.0, w) for w, i in zip(whole, images, strict=True)]
        parts.append(Part("Records" if split else "Log", rest, PLAIN))
        if split:
            parts.append(Part("Full-page images", images, KINDS[1], "////"))
    return bars.figure(group, rows, prefix, parts, whole, "total", metrics)


def _sizes(group: Group, rows: Sequence[Row], prefix: str) -> Figure:
    bars = _Bars("Size on disk", unit_of("bytes a row", "lower"), "bytes a row")
    metrics = (Metric.INDEX_BYTES, Metric.TABLE_BYTES)
    index, table = ([_per_row(group, arm, metric) for arm in group.arms] for metric in metrics)
    rest = [None if t is None or i is None else max(t - i, 0.0) for t, i in zip(table, index, strict=True)]
    parts = []
    if group.values(Metric.INDEX_BYTES):
        parts.append(Part("Key's index", index, PLAIN))
        if any(rest):
            parts.append(Part("Rest of the table", rest, KINDS[0]))
    totals = [_sum([i, r]) for i, r in zip(index, rest, strict=True)]
    return bars.figure(group, rows, prefix, parts, totals, "total", metrics)


def _per_row(group: Group, arm: Arm, metric: Metric, rows: int = 1) -> float | None:
    summary = arm.summary(metric)
    return None if summary is None else summary.median * rows / group.rows


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


@dataclass(frozen=True)
class _Bars:
    """A figure of stacked bars, a bar an arm."""

    title: str
    unit: str
    label: str

    def figure(
        self,
        group: Group,
        rows: Sequence[Row],
        prefix: str,
        parts: Sequence[Part],
        totals: Sequence[float | None],
        above: str,
        metrics: Sequence[Metric],
    ) -> Figure:
        """The figure; `totals`, under the heading `above`, are written at the right."""
        if not parts:
            return Figure(prefix, self.title, self.unit, gaps(group, metrics) or missing(group, metrics[0]))
        places = decimals([value for value in totals if value is not None])
        has = [any(part.values[i] is not None for part in parts) for i in range(len(rows))]
        texts = [
            word(arm) if not shown else "–" if value is None else number(value, places)
            for arm, value, shown in zip(group.arms, totals, has, strict=True)
        ]
        known = [(group.label(arm), value) for arm, value in zip(group.arms, totals, strict=True) if value is not None]
        names = listed([part.name.lower() for part in parts])
        return Figure(
            key=prefix,
            title=self.title,
            unit=self.unit,
            caption=join(medians_note(group), gaps(group, metrics)),
            origin=origin_note(group, metrics),
            alt=join(f"Stacked bars of {names}, {self.label}.", f"{above}: {extremes(known)}" if known else ""),
            svg=plots.stacks(rows, parts, texts, self.label, above, prefix),
            header=("layout", "column", *(f"{part.name}, {self.label}" for part in parts)),
            rows=tuple(
                (arm.layout, arm.column, *(part.values[i] for part in parts)) for i, arm in enumerate(group.arms)
            ),
        )
