"""Log bytes a row: records and full-page images."""

from __future__ import annotations

from keybench.model.metric import Metric
from keybench.results.analysis.groups import Group
from keybench.results.plots.palette import KINDS, PLAIN
from keybench.results.plots.stacked_bars import Part
from keybench.results.report.figures.bar_figure import BarFigure
from keybench.results.report.figures.captions import unit_of
from keybench.results.report.figures.figure import Figure, GroupFigure, Styles
from keybench.results.report.figures.summaries import per_row


def _log_written(group: Group, styles: Styles, prefix: str) -> Figure:
    bars = BarFigure("Log written", unit_of("bytes a row", "lower"), "bytes a row")
    metrics = (Metric.LOG_BYTES, Metric.LOG_PAGE_IMAGE_BYTES)
    whole, images = ([per_row(group, arm, metric) for arm in group.arms] for metric in metrics)
    parts = []
    if group.values(Metric.LOG_BYTES):
        split = bool(group.values(Metric.LOG_PAGE_IMAGE_BYTES))
        rest = [None if w is None else w - min(i or 0.0, w) for w, i in zip(whole, images, strict=True)]
        parts.append(Part("Records" if split else "Log", rest, PLAIN))
        if split:
            parts.append(Part("Full-page images", images, KINDS[1], "////"))
    return bars.draw(group, styles, prefix, parts, whole, "total", metrics)


FIGURES = (GroupFigure("log", 70, _log_written),)
