"""Distribution of transaction times."""

from __future__ import annotations

from keybench.model.metric import Metric
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.plots.dots import Dot, Panel, dot_plot
from keybench.results.report.figures.captions import extremes, join, medians_note, missing, origin_note
from keybench.results.report.figures.figure import Figure, GroupFigure, Styles
from keybench.results.report.figures.selection import named_rows
from keybench.results.wording import number

_PERCENTILES = (Metric.TX_P50_MS, Metric.TX_P95_MS, Metric.TX_P99_MS, Metric.TX_MAX_MS)
_NAMES = ("median", "p95", "p99", "longest")


def _transactions(group: Group, styles: Styles, prefix: str) -> Figure:
    title, unit = "Transaction time", "ms, lower is better"
    if not group.values(Metric.TX_P50_MS):
        return Figure(prefix, title, unit, missing(group, Metric.TX_P50_MS))
    times = [[_median(arm, metric) for metric in _PERCENTILES] for arm in group.arms]
    every = [value for values in times for value in values if value]
    limits = min(every) / 1.2, max(every) * 1.2
    p99 = [
        (group.label(arm), values[2]) for arm, values in zip(group.arms, times, strict=True) if values[2] is not None
    ]
    panel = Panel("", [_dot(values) for values in times], "ms, log scale", limits, decades=True)
    return Figure(
        key=prefix,
        title=title,
        unit=unit,
        caption=join(
            "Dots are medians; thick lines reach to the 99th percentile, thin lines to the longest transaction. The "
            "figures at the right are the median and the 99th percentile.",
            medians_note(group),
            group.load_path.latency_note,
        ),
        origin=origin_note(group, _PERCENTILES),
        alt=join("Dot plot with ranges. The 99th percentile:", extremes(p99)),
        svg=dot_plot(named_rows(group, group.arms, styles), [panel], prefix),
        header=("layout", "column", *(f"{name}, ms" for name in _NAMES)),
        rows=tuple((arm.layout, arm.column, *values) for arm, values in zip(group.arms, times, strict=True)),
    )


def _median(arm: Arm, metric: Metric) -> float | None:
    summary = arm.summary(metric)
    return summary.median if summary else None


def _dot(values: list[float | None]) -> Dot:
    middle, _, high, longest = values
    if middle is None or high is None or longest is None:
        return Dot(None, text="–")
    return Dot(middle, middle, high, f"{number(middle)} … {number(high)}", far=longest)


FIGURES = (GroupFigure("latency", 40, _transactions),)
