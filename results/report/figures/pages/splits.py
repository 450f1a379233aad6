"""Page splits by kind."""

from __future__ import annotations

from keybench.model.metric import Metric
from keybench.results.analysis.groups import Group
from keybench.results.plots.palette import KINDS
from keybench.results.plots.stacked_bars import Part
from keybench.results.report.figures.bar_figure import BarFigure
from keybench.results.report.figures.figure import Figure, GroupFigure, Styles
from keybench.results.report.figures.summaries import per_row, total

_SPLITS = (Metric.APPENDS, Metric.EDGE_SPLITS, Metric.INTERIOR_SPLITS)
_TOGETHER = Metric.EDGE_AND_INTERIOR_SPLITS
_LOOKS = dict(zip(_SPLITS, zip(KINDS, ("", "\\\\\\\\", "////"), strict=True), strict=True)) | {
    _TOGETHER: (KINDS[2], "xxxx")
}
"""Colour and hatching of each kind."""


def _splits(group: Group, styles: Styles, prefix: str) -> Figure:
    bars = BarFigure(
        "Page splits by kind", "leaf pages added per 1,000 rows; only appends are harmless", "per 1,000 rows"
    )
    kinds = {
        metric: [per_row(group, arm, metric, 1000) for arm in group.arms]
        for metric in (*_SPLITS, _TOGETHER)
        if group.values(metric)
    }
    parts = [Part(metric.definition.title, values, *_LOOKS[metric]) for metric, values in kinds.items()]
    harmful = [
        [values[i] for metric, values in kinds.items() if metric != Metric.APPENDS] for i in range(len(group.arms))
    ]
    totals = [total(values) for values in harmful]
    return bars.draw(group, styles, prefix, parts, totals, "edge + interior", _SPLITS)


FIGURES = (GroupFigure("splits", 50, _splits),)
