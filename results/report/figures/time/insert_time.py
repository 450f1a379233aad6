"""Insert time of each layout over the control's, with its interval over blocks."""

from __future__ import annotations

from keybench.model.metric import Metric
from keybench.model.names import CONTROL
from keybench.results.analysis.groups import Group
from keybench.results.plots import rows as plots
from keybench.results.plots.rows import Panel
from keybench.results.report.figures.figure import (
    Figure,
    GroupFigure,
    Styles,
    extremes,
    join,
    missing,
    origin_note,
    ratios_note,
    rows_of,
    unit_of,
)
from keybench.results.report.figures.summaries import cells, dot, statistics
from keybench.results.wording import ratio

_HALVES = (Metric.FIRST_HALF_SECONDS, Metric.SECOND_HALF_SECONDS)


def _times(group: Group, styles: Styles, prefix: str) -> Figure:
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
    parts = statistics(known)
    limits = plots.ratio_limits([edge for summary in known for edge in (summary.low, summary.high)])
    panels = []
    for metric in metrics:
        row = [dot(arm, summary, ratio) for arm, summary in zip(arms, found[metric], strict=True)]
        panels.append(Panel(_half_name(group, metric), row, "× control, log scale", limits, reference=1.0, ratio=True))
    last = [(group.label(arm), each.median) for arm, each in zip(arms, found[metrics[-1]], strict=True) if each]
    return Figure(
        key=prefix,
        title=title,
        unit=unit,
        caption=join(ratios_note(group, known), "The line at 1× is the control."),
        origin=f"Ratios of times: {origin_note(group, metrics).lower()}",
        alt=f"Dot plot of insert time over the control's. {extremes(last) if last else ''}",
        svg=plots.dots(rows_of(group, arms, styles), panels, prefix),
        header=(
            "layout",
            "column",
            *(f"{_half_name(group, m)}, {part}" for m in metrics for part in parts),
        ),
        rows=tuple(
            (arm.layout, arm.column, *(cell for metric in metrics for cell in cells(found[metric][i])))
            for i, arm in enumerate(arms)
        ),
    )


def _half_name(group: Group, metric: Metric) -> str:
    if metric == Metric.INSERT_SECONDS:
        return "All rows"
    place = "First" if metric == Metric.FIRST_HALF_SECONDS else "Second"
    return f"{place} {'million' if group.rows == 2_000_000 else 'half'}"


FIGURES = (GroupFigure("time", 10, _times),)
