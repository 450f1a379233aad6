"""How long transactions take: the spread of each layout's."""

from __future__ import annotations

from keybench.model.metric import Metric
from keybench.results.analysis.groups import Arm, Group
from keybench.results.plots import rows as plots
from keybench.results.plots.rows import Dot, Panel
from keybench.results.report.figures.figure import (
    Figure,
    GroupFigure,
    Styles,
    extremes,
    join,
    medians_note,
    missing,
    origin_note,
    rows_of,
)
from keybench.results.wording import number

_SPREAD = (Metric.TX_P50_MS, Metric.TX_P95_MS, Metric.TX_P99_MS, Metric.TX_MAX_MS)
_NAMES = ("median", "p95", "p99", "longest")


def _spread(group: Group, styles: Styles, prefix: str) -> Figure:
    title, unit = "How long a transaction takes", "ms, lower is better"
    if not group.values(Metric.TX_P50_MS):
        return Figure(prefix, title, unit, missing(group, Metric.TX_P50_MS))
    found = [[_median(arm, metric) for metric in _SPREAD] for arm in group.arms]
    dots = [_dot(values) for values in found]
    every = [value for values in found for value in values if value]
    limits = min(every) / 1.2, max(every) * 1.2
    p99 = [
        (group.label(arm), values[2]) for arm, values in zip(group.arms, found, strict=True) if values[2] is not None
    ]
    return Figure(
        key=prefix,
        title=title,
        unit=unit,
        caption=join(
            "Dots are medians; thick lines reach to the 99th percentile, thin ones to the longest; at the right median "
            "and 99th percentile.",
            medians_note(group),
            "" if group.run.load_path == "rows" else "Transactions are bulk calls.",
        ),
        origin=origin_note(group, _SPREAD),
        alt=join("Dot plot with ranges. The 99th percentile:", extremes(p99) if p99 else ""),
        svg=plots.dots(
            rows_of(group, group.arms, styles), [Panel("", dots, "ms, log scale", limits, decades=True)], prefix
        ),
        header=("layout", "column", *(f"{name}, ms" for name in _NAMES)),
        rows=tuple((arm.layout, arm.column, *values) for arm, values in zip(group.arms, found, strict=True)),
    )


def _median(arm: Arm, metric: Metric) -> float | None:
    summary = arm.summary(metric)
    return summary.median if summary else None


def _dot(values: list[float | None]) -> Dot:
    middle, _, high, longest = values
    if middle is None or high is None or longest is None:
        return Dot(None, text="–")
    return Dot(middle, middle, high, f"{number(middle)} … {number(high)}", far=longest)


FIGURES = (GroupFigure("latency", 40, _spread),)
