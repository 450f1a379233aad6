"""Insert time of each layout over the control's, with its interval."""

from __future__ import annotations

from keybench.model.metric import Metric
from keybench.model.names import CONTROL
from keybench.results.analysis.groups import Group
from keybench.results.plots.dots import Panel, dot_plot
from keybench.results.plots.scales import ratio_limits
from keybench.results.report.figures.captions import extremes, join, missing, origin_note, ratios_note, unit_of
from keybench.results.report.figures.figure import Figure, GroupFigure, Styles
from keybench.results.report.figures.selection import named_rows
from keybench.results.report.figures.summaries import cells, dot, statistics
from keybench.results.wording import ratio

_HALVES = (Metric.FIRST_HALF_SECONDS, Metric.SECOND_HALF_SECONDS)


def _insert_time(group: Group, styles: Styles, prefix: str) -> Figure:
    title = "Insert time relative to the control"
    unit = unit_of(f"ratio to {CONTROL} in the same block", "lower")
    metrics = [metric for metric in _HALVES if group.values(metric)] or [Metric.INSERT_SECONDS]
    if not group.values(metrics[0]):
        return Figure(prefix, title, unit, missing(group, Metric.INSERT_SECONDS))
    if group.control is None:
        why = f"Ratios need the control {CONTROL}, which has no successful trial here."
        return Figure(
            prefix, title, unit, f"{why} Every run measures it: see its errors above, or continue with --resume."
        )
    arms = group.treatments
    ratios = {metric: [group.ratio(arm, metric) for arm in arms] for metric in metrics}
    known = [summary for own in ratios.values() for summary in own if summary]
    if not known:
        return Figure(prefix, title, unit, "No layout but the control has a successful trial here.")
    parts = statistics(known)
    limits = ratio_limits([edge for summary in known for edge in (summary.low, summary.high)])
    panels = []
    for metric in metrics:
        dots = [dot(arm, summary, ratio) for arm, summary in zip(arms, ratios[metric], strict=True)]
        panels.append(Panel(_half_name(group, metric), dots, "× control, log scale", limits, reference=1.0, ratio=True))
    last = [(group.label(arm), each.median) for arm, each in zip(arms, ratios[metrics[-1]], strict=True) if each]
    return Figure(
        key=prefix,
        title=title,
        unit=unit,
        caption=join(ratios_note(group, known), "The line at 1× is the control."),
        origin=f"Ratios of times: {origin_note(group, metrics).lower()}",
        alt=join("Dot plot of insert time over the control's.", extremes(last)),
        svg=dot_plot(named_rows(group, arms, styles), panels, prefix),
        header=(
            "layout",
            "column",
            *(f"{_half_name(group, m)}, {part}" for m in metrics for part in parts),
        ),
        rows=tuple(
            (arm.layout, arm.column, *(cell for metric in metrics for cell in cells(ratios[metric][i])))
            for i, arm in enumerate(arms)
        ),
    )


def _half_name(group: Group, metric: Metric) -> str:
    if metric == Metric.INSERT_SECONDS:
        return "All rows"
    place = "First" if metric == Metric.FIRST_HALF_SECONDS else "Second"
    return f"{place} {'million' if group.rows == 2_000_000 else 'half'}"


FIGURES = (GroupFigure("time", 10, _insert_time),)
