"""Time to make a key, over that of a random GUID."""

from __future__ import annotations

from keybench.model.metric import Metric
from keybench.model.names import RANDOM
from keybench.results.analysis.groups import Group
from keybench.results.plots.dots import Panel, dot_plot
from keybench.results.plots.scales import ratio_limits
from keybench.results.report.figures.captions import extremes, join, origin_note, ratios_note, unit_of
from keybench.results.report.figures.figure import Figure, GroupFigure, Styles
from keybench.results.report.figures.selection import named_rows
from keybench.results.report.figures.summaries import cells, dot, statistics
from keybench.results.wording import ratio


def _key_generation(group: Group, styles: Styles, prefix: str) -> Figure:
    title, unit = "Time to make a key", unit_of(f"ratio to {RANDOM} in the same block", "lower")
    base = next((arm for arm in group.arms if arm.layout == RANDOM and arm.values(Metric.KEY_NS)), None)
    if base is None:
        return Figure(prefix, title, unit, f"Ratios need {RANDOM}: add it with --layout {RANDOM},….")
    arms = [arm for arm in group.arms if arm is not base]
    ratios = [group.ratio_between(arm, base, Metric.KEY_NS) for arm in arms]
    known = [(group.label(arm), each.median) for arm, each in zip(arms, ratios, strict=True) if each]
    dots = [dot(arm, summary, ratio) for arm, summary in zip(arms, ratios, strict=True)]
    limits = ratio_limits([edge for summary in ratios if summary for edge in (summary.low, summary.high)])
    panel = Panel("", dots, f"× {RANDOM}, log scale", limits, reference=1.0, ratio=True)
    return Figure(
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


FIGURES = (GroupFigure("keys", 10, _key_generation, about="keys"),)
