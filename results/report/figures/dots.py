"""Figures of dots with their ranges: density and insert time."""

from keybench.model.metric import Metric
from keybench.model.names import CONTROL
from keybench.results.analysis.groups import Group
from keybench.results.plots.charts import Panel, dot_plot
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
    missing,
    named_rows,
    origin_note,
    ratios_note,
    statistics,
)
from keybench.results.wording import BETTER, ratio

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
