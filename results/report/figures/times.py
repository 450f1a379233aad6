"""Insert time of each layout over the control's, with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from keybench.model.metric import Metric
from keybench.model.names import CONTROL, RANDOM
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.analysis.ratios import Summary
from keybench.results.plots.canvas import label_lines
from keybench.results.plots.dots import Dot, Panel, dot_plot
from keybench.results.plots.forest import Ratio, Section, forest_plot
from keybench.results.plots.scales import ratio_limits
from keybench.results.report.figures.figure import (
    GroupFigure,
    ReportFigure,
    RunFigure,
    Styles,
    Value,
    cells,
    dot,
    evenly_chosen,
    extremes,
    join,
    medians_note,
    missing,
    named_rows,
    origin_note,
    ratios_note,
    statistics,
    unit_of,
)
from keybench.results.wording import number, plural, ratio

_HALVES = (Metric.FIRST_HALF_SECONDS, Metric.SECOND_HALF_SECONDS)


def _insert_time(group: Group, styles: Styles, prefix: str) -> ReportFigure:
    title = "Insert time relative to the control"
    unit = unit_of(f"ratio to {CONTROL} in the same block", "lower")
    metrics = [metric for metric in _HALVES if group.values(metric)] or [Metric.INSERT_SECONDS]
    if not group.values(metrics[0]):
        return ReportFigure(prefix, title, unit, missing(group, Metric.INSERT_SECONDS))
    if group.control is None:
        why = f"Ratios need the control {CONTROL}, which has no successful trial here."
        return ReportFigure(
            prefix, title, unit, f"{why} Every run measures it: see its errors above, or continue with --resume."
        )
    arms = group.treatments
    ratios = {metric: [group.ratio(arm, metric) for arm in arms] for metric in metrics}
    known = [summary for summaries in ratios.values() for summary in summaries if summary]
    if not known:
        return ReportFigure(prefix, title, unit, "No layout but the control has a successful trial here.")
    parts = statistics(known)
    limits = ratio_limits([edge for summary in known for edge in (summary.low, summary.high)])
    panels = []
    for metric in metrics:
        dots = [dot(arm, summary, ratio) for arm, summary in zip(arms, ratios[metric], strict=True)]
        panels.append(Panel(_half_name(group, metric), dots, "× control, log scale", limits, reference=1.0, ratio=True))
    last = [(group.label(arm), each.median) for arm, each in zip(arms, ratios[metrics[-1]], strict=True) if each]
    return ReportFigure(
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


def _key_generation(group: Group, styles: Styles, prefix: str) -> ReportFigure:
    title, unit = "Time to make a key", unit_of(f"ratio to {RANDOM} in the same block", "lower")
    base = next((arm for arm in group.arms if arm.layout == RANDOM and arm.values(Metric.KEY_NS)), None)
    if base is None:
        return ReportFigure(prefix, title, unit, f"Ratios need {RANDOM}: add it with --layout {RANDOM},….")
    arms = [arm for arm in group.arms if arm is not base]
    ratios = [group.ratio_between(arm, base, Metric.KEY_NS) for arm in arms]
    known = [(group.label(arm), each.median) for arm, each in zip(arms, ratios, strict=True) if each]
    dots = [dot(arm, summary, ratio) for arm, summary in zip(arms, ratios, strict=True)]
    limits = ratio_limits([edge for summary in ratios if summary for edge in (summary.low, summary.high)])
    panel = Panel("", dots, f"× {RANDOM}, log scale", limits, reference=1.0, ratio=True)
    return ReportFigure(
        key=prefix,
        title=title,
        unit=unit,
        caption=join(ratios_note(group, ratios), f"The line at 1× is {RANDOM}."),
        origin=f"Ratios of times: {origin_note(group, [Metric.KEY_NS]).lower()}",
        alt=join(f"Dot plot of the time to make a key over {RANDOM}'s.", extremes(known)),
        svg=dot_plot(named_rows(group, arms, styles), [panel], prefix),
        header=("layout", *(f"time to make a key, {part}" for part in statistics(ratios))),
        rows=tuple((arm.layout, *cells(each)) for arm, each in zip(arms, ratios, strict=True)),
    )


_MOST_ROWS: Final = 72
"""Rows of the picture, shared by the databases."""


def _forest(groups: Sequence[Group], styles: Styles, prefix: str) -> list[ReportFigure]:
    timed = [(group, known) for group in groups if (known := _ratios(group))]
    if len(timed) < 2:
        return []
    most = max(3, _MOST_ROWS // len(timed))
    sections = [_section(group, known, most, styles) for group, known in timed]
    named = [(f"{arm.layout} on {group.database}", known.median) for group, part in timed for arm, known in part]
    every = [summary for _, part in timed for _, summary in part]
    data: list[tuple[Value, ...]] = [
        (group.database, group.server, group.payload, arm.layout, arm.column, *cells(summary))
        for group, part in timed
        for arm, summary in part
    ]
    return [
        ReportFigure(
            key=prefix,
            title="Insert time on every database",
            unit=f"ratio to {CONTROL} on the same database in the same block, lower is better",
            caption=join(
                ratios_note(groups[0], every),
                "The line at 1× is the control. Ratios compare layouts on one database, not databases.",
                f"{most} layouts of each database are drawn, evenly spaced from the fastest to the slowest."
                if any(len(known) > most for _, known in timed)
                else "",
            ),
            origin="Ratios of times: measured.",
            alt=f"Forest plot of {plural(len(timed), 'database')}. {extremes(named)}",
            svg=forest_plot(sections, "× control, log scale", prefix),
            header=(
                "database",
                "server",
                "payload",
                "layout",
                "column",
                *(f"ratio, {part}" for part in statistics(every)),
            ),
            rows=tuple(data),
        )
    ]


def _ratios(group: Group) -> list[tuple[Arm, Summary]]:
    """The fastest first."""
    known = [(arm, summary) for arm in group.treatments if (summary := group.ratio(arm, Metric.INSERT_SECONDS))]
    return sorted(known, key=lambda item: item[1].median)


def _section(group: Group, known: Sequence[tuple[Arm, Summary]], most: int, styles: Styles) -> Section:
    chosen = {arm.name for arm in evenly_chosen(group, [arm for arm, _ in known], most)[0]}
    ratios = [
        Ratio(
            name=label_lines(arm.layout, 30)[0],
            value=summary.median,
            low=summary.low,
            high=summary.high,
            text=ratio(summary.median),
            style=styles[arm.layout],
            hollow=group.modelled,
        )
        for arm, summary in known
        if arm.name in chosen
    ]
    return Section(" · ".join(word for word in (group.database, group.server, group.column) if word), ratios)


_PERCENTILES = (Metric.TX_P50_MS, Metric.TX_P95_MS, Metric.TX_P99_MS, Metric.TX_MAX_MS)
_NAMES = ("median", "p95", "p99", "longest")


def _transactions(group: Group, styles: Styles, prefix: str) -> ReportFigure:
    title, unit = "Transaction time", "ms, lower is better"
    if not group.values(Metric.TX_P50_MS):
        return ReportFigure(prefix, title, unit, missing(group, Metric.TX_P50_MS))
    times = [[_median(arm, metric) for metric in _PERCENTILES] for arm in group.arms]
    every = [value for values in times for value in values if value]
    limits = min(every) / 1.2, max(every) * 1.2
    p99 = [
        (group.label(arm), values[2]) for arm, values in zip(group.arms, times, strict=True) if values[2] is not None
    ]
    panel = Panel("", [_dot(values) for values in times], "ms, log scale", limits, decades=True)
    return ReportFigure(
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


FIGURES = (
    GroupFigure("time", 10, _insert_time),
    GroupFigure("keys", 10, _key_generation, about="keys"),
    RunFigure("forest", 10, _forest),
    GroupFigure("latency", 40, _transactions),
)
