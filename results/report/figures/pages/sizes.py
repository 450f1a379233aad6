"""Bytes on disk a row: the key's index, and the rest of the table."""

from __future__ import annotations

from keybench.model.metric import Metric
from keybench.results.analysis.groups import Group
from keybench.results.plots.palette import KINDS, PLAIN
from keybench.results.plots.stacked_bars import Part
from keybench.results.report.figures.bar_figure import BarFigure
from keybench.results.report.figures.captions import unit_of
from keybench.results.report.figures.figure import Figure, GroupFigure, Styles
from keybench.results.report.figures.summaries import per_row, total


def _sizes(group: Group, styles: Styles, prefix: str) -> Figure:
    bars = BarFigure("Size on disk", unit_of("bytes a row", "lower"), "bytes a row")
    metrics = (Metric.INDEX_BYTES, Metric.TABLE_BYTES)
    index, table = ([per_row(group, arm, metric) for arm in group.arms] for metric in metrics)
    rest = [None if t is None or i is None else max(t - i, 0.0) for t, i in zip(table, index, strict=True)]
    parts = []
    if group.values(Metric.INDEX_BYTES):
        parts.append(Part("Key's index", index, PLAIN))
        if any(rest):
            parts.append(Part("Rest of the table", rest, KINDS[0]))
    totals = [total([i, r]) for i, r in zip(index, rest, strict=True)]
    return bars.draw(group, styles, prefix, parts, totals, "total", metrics)


FIGURES = (GroupFigure("size", 75, _sizes),)
