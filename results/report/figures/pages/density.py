"""Density and fragmentation of the leaf pages."""

from __future__ import annotations

from keybench.model.metric import Metric
from keybench.results.analysis.groups import Group
from keybench.results.plots.dots import Panel, dot_plot
from keybench.results.report.figures.captions import blocks_note, extremes, gaps, join, origin_note
from keybench.results.report.figures.figure import Figure, GroupFigure, Styles
from keybench.results.report.figures.selection import named_rows
from keybench.results.report.figures.summaries import STATISTICS, cells, dot
from keybench.results.wording import BETTER


def _density(group: Group, styles: Styles, prefix: str) -> Figure:
    metrics = (Metric.LEAF_DENSITY, Metric.LEAF_FRAGMENTATION)
    title, unit = "Density and fragmentation of the leaf pages", "% of the leaf pages of the key's index"
    shown = [metric for metric in metrics if group.values(metric)]
    if not shown:
        return Figure(prefix, title, unit, gaps(group, metrics))
    panels, alts = [], []
    for metric in shown:
        about = metric.definition
        base = group.control.summary(metric) if group.control else None
        dots = [dot(arm, arm.summary(metric), lambda value: f"{value:.1f}") for arm in group.arms]
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
            "Half-empty pages can be in perfect order; fragmentation alone would not show them.",
            gaps(group, metrics),
        ),
        origin=origin_note(group, shown),
        alt=join("Dot plot.", *alts),
        svg=dot_plot(named_rows(group, group.arms, styles), panels, prefix),
        header=("layout", "column", *(f"{m.definition.title} (%), {part}" for m in shown for part in STATISTICS)),
        rows=tuple((arm.layout, arm.column, *(c for m in shown for c in cells(arm.summary(m)))) for arm in group.arms),
    )


FIGURES = (GroupFigure("order", 20, _density),)
