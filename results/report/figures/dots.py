"""Figures of dots with their ranges: density, insert time, transactions."""

from collections.abc import Sequence

from keybench.model.metric import Metric
from keybench.model.names import CONTROL
from keybench.results.analysis.groups import Group
from keybench.results.plots.charts import Dot, Panel, dot_plot
from keybench.results.plots.panels import ratio_limits
from keybench.results.report.figures.figure import (
    STATISTICS,
    Drawing,
    Styles,
    blocks_note,
    cells,
    dot,
    extremes,
    gaps,
    group_figure,
    join,
    medians_note,
    missing,
    named_rows,
    origin_note,
    ratios_note,
    statistics,
)
from keybench.results.wording import BETTER, number, ratio

_HALVES = (Metric.FIRST_HALF_SECONDS, Metric.SECOND_HALF_SECONDS)


@group_figure(
    "time", 10, "Insert time relative to the control", f"ratio to {CONTROL} in the same block, lower is better"
)
def _insert_time(group: Group, styles: Styles, key: str) -> Drawing | str:
    """Insert times over the control's, of both halves of the rows where they were timed apart."""
    metrics = [metric for metric in _HALVES if group.values(metric)] or [Metric.INSERT_SECONDS]
    if not group.values(metrics[0]):
        return missing(group, Metric.INSERT_SECONDS)
    if group.control is None:
        return (
            f"Ratios need the control {CONTROL}, which has no successful trial here. Every run measures it: see its "
            "errors above, or continue with --resume."
        )
    arms = group.treatments
    ratios = {metric: [group.ratio(arm, metric) for arm in arms] for metric in metrics}
    known = [summary for summaries in ratios.values() for summary in summaries if summary]
    if not known:
        return "No layout but the control has a successful trial here."
    limits = ratio_limits([edge for summary in known for edge in (summary.low, summary.high)])
    panels = []
    for metric in metrics:
        dots = [dot(arm, summary, ratio) for arm, summary in zip(arms, ratios[metric], strict=True)]
        panels.append(Panel(_half_name(group, metric), dots, "× control, log scale", limits, reference=1.0, ratio=True))
    last = [(group.label(arm), each.median) for arm, each in zip(arms, ratios[metrics[-1]], strict=True) if each]
    return Drawing(
        caption=join(ratios_note(group, known), "The line at 1× is the control."),
        origin=f"Ratios of times: {origin_note(group, metrics).lower()}",
        alt=join("Dot plot of insert time over the control's.", extremes(last)),
        svg=dot_plot(named_rows(group, arms, styles), panels, key),
        header=(
            "layout",
            "column",
            *(f"{_half_name(group, metric)}, {part}" for metric in metrics for part in statistics(known)),
        ),
        rows=tuple(
            (arm.layout, arm.column, *(cell for metric in metrics for cell in cells(ratios[metric][i])))
            for i, arm in enumerate(arms)
        ),
    )


def _half_name(group: Group, metric: Metric) -> str:
    """The rows that the time is of: `All rows`, `First half`; `First million` of two millions."""
    if metric == Metric.INSERT_SECONDS:
        return "All rows"
    place = "First" if metric == Metric.FIRST_HALF_SECONDS else "Second"
    return f"{place} {'million' if group.rows == 2_000_000 else 'half'}"


_PERCENTILES = (Metric.TX_P50_MS, Metric.TX_P95_MS, Metric.TX_P99_MS, Metric.TX_MAX_MS)
_NAMES = ("median", "p95", "p99", "longest")


@group_figure("latency", 40, "Transaction time", "ms, lower is better")
def _transactions(group: Group, styles: Styles, key: str) -> Drawing | str:
    """The median transaction time of each layout, with lines to the 99th percentile and to the longest."""
    if not group.values(Metric.TX_P50_MS):
        return missing(group, Metric.TX_P50_MS)
    summaries = [[arm.summary(metric) for metric in _PERCENTILES] for arm in group.arms]
    times = [[known.median if known else None for known in percentiles] for percentiles in summaries]
    every = [value for values in times for value in values if value]
    limits = min(every) / 1.2, max(every) * 1.2
    p99 = [
        (group.label(arm), values[2]) for arm, values in zip(group.arms, times, strict=True) if values[2] is not None
    ]
    panel = Panel("", [_range_to_longest(values) for values in times], "ms, log scale", limits, decades=True)
    return Drawing(
        caption=join(
            "Dots are medians; thick lines reach to the 99th percentile, thin lines to the longest transaction. The "
            "figures at the right are the median and the 99th percentile.",
            medians_note(group),
            group.load_path.latency_note,
        ),
        origin=origin_note(group, _PERCENTILES),
        alt=join("Dot plot with ranges. The 99th percentile:", extremes(p99)),
        svg=dot_plot(named_rows(group, group.arms, styles), [panel], key),
        header=("layout", "column", *(f"{name}, ms" for name in _NAMES)),
        rows=tuple((arm.layout, arm.column, *values) for arm, values in zip(group.arms, times, strict=True)),
    )


def _range_to_longest(percentiles: Sequence[float | None]) -> Dot:
    """The dot of an arm's times, which are those of `_PERCENTILES`; a dash if one is missing."""
    middle, _, high, longest = percentiles
    if middle is None or high is None or longest is None:
        return Dot(None, text="–")
    return Dot(middle, low=middle, high=high, text=f"{number(middle)} … {number(high)}", far=longest)


@group_figure("order", 20, "Density and fragmentation of the leaf pages", "% of the leaf pages of the key's index")
def _density(group: Group, styles: Styles, key: str) -> Drawing | str:
    """How full the leaf pages are, beside how many are out of order."""
    metrics = (Metric.LEAF_DENSITY, Metric.LEAF_FRAGMENTATION)
    shown = [metric for metric in metrics if group.values(metric)]
    if not shown:
        return gaps(group, metrics)
    panels, alts = [], []
    for metric in shown:
        about = metric.definition
        base = group.control.summary(metric) if group.control else None
        dots = [dot(arm, arm.summary(metric), lambda value: f"{value:.1f}") for arm in group.arms]
        name = about.title.removeprefix("Leaf ").capitalize()
        known = [(group.label(arm), summary.median) for arm, summary in group.values(metric)]
        alts.append(f"{about.title}: {extremes(known)}")
        label, reference = f"%, {BETTER[about.better]}", base.median if base else None
        panels.append(Panel(name, dots, label, limits=(0.0, 100.0), reference=reference))
    return Drawing(
        caption=join(
            blocks_note(group),
            "The grey line is the control." if group.control else "",
            "Half-empty pages can be in perfect order; fragmentation alone would not show them.",
            gaps(group, metrics),
        ),
        origin=origin_note(group, shown),
        alt=join("Dot plot.", *alts),
        svg=dot_plot(named_rows(group, group.arms, styles), panels, key),
        header=("layout", "column", *(f"{m.definition.title} (%), {part}" for m in shown for part in STATISTICS)),
        rows=tuple((arm.layout, arm.column, *(c for m in shown for c in cells(arm.summary(m)))) for arm in group.arms),
    )
