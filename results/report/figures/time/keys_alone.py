"""Time to make a key, over that of a random GUID."""

from __future__ import annotations

from keybench.model.metric import Metric
from keybench.results.analysis.groups import Group
from keybench.results.plots import rows as plots
from keybench.results.plots.rows import Panel
from keybench.results.report.figures.figure import (
    Figure,
    GroupFigure,
    Styles,
    extremes,
    join,
    origin_note,
    ratios_note,
    rows_of,
    unit_of,
)
from keybench.results.report.figures.summaries import cells, dot, statistics
from keybench.results.wording import ratio

_RANDOM = "uuid-v4"
"""The layout that the time to make a key is set against: what people use who choose nothing."""


def _making(group: Group, styles: Styles, prefix: str) -> Figure:
    """Time to make a key, over that of a random GUID."""
    title, unit = "Time to make a key", unit_of(f"ratio to {_RANDOM} in the same block", "lower")
    base = next((arm for arm in group.arms if arm.layout == _RANDOM and arm.values(Metric.KEY_NS)), None)
    if base is None:
        return Figure(prefix, title, unit, f"Ratios need {_RANDOM}: run it along, with --layout {_RANDOM},….")
    arms = [arm for arm in group.arms if arm is not base]
    found = [group.over(arm, base, Metric.KEY_NS) for arm in arms]
    known = [(group.label(arm), each.median) for arm, each in zip(arms, found, strict=True) if each]
    dots = [dot(arm, summary, ratio) for arm, summary in zip(arms, found, strict=True)]
    limits = plots.ratio_limits([edge for summary in found if summary for edge in (summary.low, summary.high)])
    return Figure(
        key=prefix,
        title=title,
        unit=unit,
        caption=join(ratios_note(group, found), f"The line at 1× is {_RANDOM}."),
        origin=f"Ratios of times: {origin_note(group, [Metric.KEY_NS]).lower()}",
        alt=f"Dot plot of the time to make a key over {_RANDOM}'s. {extremes(known) if known else ''}",
        svg=plots.dots(
            rows_of(group, arms, styles),
            [Panel("", dots, f"× {_RANDOM}, log scale", limits, reference=1.0, ratio=True)],
            prefix,
        ),
        header=("layout", *(f"time to make a key, {part}" for part in statistics(found))),
        rows=tuple((arm.layout, *cells(each)) for arm, each in zip(arms, found, strict=True)),
    )


FIGURES = (GroupFigure("keys", 10, _making, keys_alone=True),)
