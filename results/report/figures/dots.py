"""The figure of density and fragmentation, as dots with their ranges."""

from keybench.model.metric import Metric
from keybench.results.analysis.groups import Group
from keybench.results.plots.charts import Panel, dot_plot
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
    named_rows,
    origin_note,
)
from keybench.results.wording import BETTER


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
