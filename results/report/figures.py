"""The figures of one group: what is drawn, what stands under it, and the numbers behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

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
from keybench.results.report.wording import BETTER, decimals, listed, number, plural, ratio

_HALVES = (Metric.FIRST_HALF_SECONDS, Metric.SECOND_HALF_SECONDS)
_SPLITS = (Metric.APPENDS, Metric.EDGE_SPLITS, Metric.INTERIOR_SPLITS)


def figures(group: Group, styles: Mapping[str, Style], prefix: str) -> list[Figure]:
    """Every figure that the group's readings allow, then the others with the reason; `prefix` makes ids unique."""
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
    metrics: tuple[Metric, ...] = tuple(metric for metric in _HALVES if group.values(metric)) or (
        Metric.INSERT_SECONDS,
    )
    if not group.values(metrics[0]):
        return Figure(prefix, title, unit, missing(group, Metric.INSERT_SECONDS))
    if group.control is None:
        return Figure(
            prefix, title, unit,
            f"Ratios need the control {CONTROL}, which has no good trial here: add it with --layout {CONTROL},…",
        )  # fmt: skip
    arms = group.others
    found = {metric: [group.ratio(arm, metric) for arm in arms] for metric in metrics}
    known = [summary for part in found.values() for summary in part if summary]
    if not known:
        return Figure(prefix, title, unit, "No layout but the control has a good trial here.")
    limits = plots.ratio_limits([edge for summary in known for edge in (summary.low, summary.high)])
    panels = [
        Panel(
            _half(group, metric),
            [_dot(arm, summary, ratio) for arm, summary in zip(arms, found[metric], strict=True)],
            "× control, log scale",
            limits,
            reference=1.0,
            ratio=True,
        )  # fmt: skip
        for metric in metrics
    ]
    last = [
        (group.label(arm), summary.median) for arm, summary in zip(arms, found[metrics[-1]], strict=True) if summary
    ]
    return Figure(
        prefix, title, unit,
        join(blocks_note(group), "The line at 1× is the control."),
        join(f"Ratios of times that were {origin_note(group, metrics).lower()}"),
        join(f"Dot plot of insert time over the control's, {plural(len(arms), 'layout')}.", last and extremes(last) or ""),
        plots.dots(rows_of(group, arms, styles), panels, prefix),
        ("layout", "column", *(f"{_half(group, m)}, {part}" for m in metrics for part in ("median", "lowest", "highest"))),
        tuple(
            (arm.layout, arm.column, *(cell for metric in metrics for cell in _cells(found[metric][i])))
            for i, arm in enumerate(arms)
        ),
    )  # fmt: skip


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
        return Figure(prefix, title, unit, join(*dict.fromkeys(missing(group, metric) for metric in metrics)))
    panels = []
    for metric in shown:
        about = DEFINITIONS[metric]
        base = group.control.summary(metric) if group.control else None
        panels.append(
            Panel(
                about.title.removeprefix("Leaf ").capitalize(),
                [_dot(arm, arm.summary(metric), lambda value: f"{value:.1f}") for arm in group.arms],
                f"%, {BETTER[about.better]}",
                (0.0, 100.0),
                base.median if base else None,
            )  # fmt: skip
        )
    alt = [
        f"{DEFINITIONS[m].title}: {extremes([(group.label(arm), s.median) for arm, s in group.values(m)])}"
        for m in shown
    ]
    return Figure(
        prefix, title, unit,
        join(
            blocks_note(group),
            "The grey line is the control." if group.control else "",
            "Half-empty pages may lie in perfect order: fragmentation alone would not show them.", gaps(group, metrics),
        ),
        origin_note(group, shown),
        join("Dot plot in two panels.", *alt),
        plots.dots(rows, panels, prefix),
        ("layout", "column", *(f"{DEFINITIONS[m].title} (%), {part}" for m in shown for part in ("median", "lowest", "highest"))),
        tuple((arm.layout, arm.column, *(c for m in shown for c in _cells(arm.summary(m)))) for arm in group.arms),
    )  # fmt: skip


def _splits(group: Group, rows: Sequence[Row], prefix: str) -> Figure:
    title, unit = "Page splits by kind", "leaf pages added per 1,000 rows; only appends are harmless"
    parts = [
        (metric, [_per_row(group, arm, metric, 1000) for arm in group.arms])
        for metric in _SPLITS
        if group.values(metric)
    ]
    if not parts:
        return Figure(prefix, title, unit, join(*dict.fromkeys(missing(group, metric) for metric in _SPLITS)))
    looks = dict(zip(_SPLITS, zip(KINDS, ("", "\\\\\\\\", "////"), strict=True), strict=True))
    harmful = [
        sum(v for metric, values in parts if metric != Metric.APPENDS and (v := values[i]) is not None)
        for i in range(len(rows))
    ]
    places = decimals(harmful)
    return _stacked(
        group, rows, prefix, title, unit,
        [Part(DEFINITIONS[metric].title, values, *looks[metric]) for metric, values in parts],
        [number(value, places) for value in harmful],
        join("Written at the right: all splits that are not appends.", gaps(group, _SPLITS)),
        [metric for metric, _ in parts], "per 1,000 rows", "edge + interior", harmful,
    )  # fmt: skip


def _log(group: Group, rows: Sequence[Row], prefix: str) -> Figure:
    title, unit = "Log written", unit_of("bytes a row", "lower")
    whole = [_per_row(group, arm, Metric.LOG_BYTES) for arm in group.arms]
    if not group.values(Metric.LOG_BYTES):
        return Figure(prefix, title, unit, missing(group, Metric.LOG_BYTES))
    images = [_per_row(group, arm, Metric.LOG_PAGE_IMAGE_BYTES) for arm in group.arms]
    split = bool(group.values(Metric.LOG_PAGE_IMAGE_BYTES))
    rest = [None if w is None else w - min(i or 0.0, w) for w, i in zip(whole, images, strict=True)]
    parts = [Part("Records" if split else "Log", rest, PLAIN)]
    if split:
        parts.append(Part("Full-page images", images, KINDS[1], "////"))
    places = decimals([value for value in whole if value is not None])
    return _stacked(
        group, rows, prefix, title, unit, parts,
        [number(value or 0.0, places) for value in whole],
        gaps(group, (Metric.LOG_BYTES, Metric.LOG_PAGE_IMAGE_BYTES)),
        [Metric.LOG_BYTES, *([Metric.LOG_PAGE_IMAGE_BYTES] if split else [])], "bytes a row", "total", whole,
    )  # fmt: skip


def _sizes(group: Group, rows: Sequence[Row], prefix: str) -> Figure:
    title, unit = "Size on disk", unit_of("bytes a row", "lower")
    index = [_per_row(group, arm, Metric.INDEX_BYTES) for arm in group.arms]
    table = [_per_row(group, arm, Metric.TABLE_BYTES) for arm in group.arms]
    if not group.values(Metric.INDEX_BYTES):
        return Figure(prefix, title, unit, missing(group, Metric.INDEX_BYTES))
    rest = [None if t is None or i is None else max(t - i, 0.0) for t, i in zip(table, index, strict=True)]
    parts = [Part("Key's index", index, PLAIN)]
    if any(value for value in rest):
        parts.append(Part("Rest of the table", rest, KINDS[0]))
    whole = [None if i is None else i + (r or 0.0) for i, r in zip(index, rest, strict=True)]
    places = decimals([value for value in whole if value is not None])
    return _stacked(
        group, rows, prefix, title, unit, parts,
        [number(value or 0.0, places) for value in whole],
        gaps(group, (Metric.INDEX_BYTES, Metric.TABLE_BYTES)),
        [Metric.INDEX_BYTES, Metric.TABLE_BYTES], "bytes a row", "total", whole,
    )  # fmt: skip


def _per_row(group: Group, arm: Arm, metric: Metric, rows: int = 1) -> float | None:
    summary = arm.summary(metric)
    return None if summary is None else summary.median * rows / group.rows


def _stacked(
    group: Group, rows: Sequence[Row], prefix: str, title: str, unit: str, parts: Sequence[Part], texts: Sequence[str],
    note: str, metrics: Sequence[Metric], label: str, above: str,
    whole: Sequence[float | None],
) -> Figure:  # fmt: skip
    has = [any(part.values[i] is not None for part in parts) for i in range(len(rows))]
    totals = [text if shown else word(arm) for text, shown, arm in zip(texts, has, group.arms, strict=True)]
    known = [
        (group.label(arm), value)
        for arm, value, shown in zip(group.arms, whole, has, strict=True)
        if shown and value is not None
    ]
    return Figure(
        prefix, title, unit,
        join(medians_note(group), note),
        origin_note(group, metrics),
        join(f"Stacked bars of {listed([part.name.lower() for part in parts])}, {label}.", extremes(known) if known else ""),
        plots.stacks(rows, parts, totals, label, above, prefix),
        ("layout", "column", *(f"{part.name}, {label}" for part in parts)),
        tuple(
            (arm.layout, arm.column, *(part.values[i] for part in parts)) for i, arm in enumerate(group.arms)
        ),
    )  # fmt: skip
