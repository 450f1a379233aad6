"""Density against lag, over all layouts and databases of a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keybench.model.metric import Metric
from keybench.results.analysis.groups import Arm, Group
from keybench.results.plots.canvas import SMALL, SOFT, WIDTH, text_width
from keybench.results.plots.panels import LINE, Panels, Row, Scale
from keybench.results.report.figures.figure import MOST_CLOUDS, Figure, RunFigure, Styles, Value, join
from keybench.results.wording import listed, plural

_FIRST = 0.1
"""The least distance that the logarithmic axis tells from none, in leaves: 0 is drawn a step left of it."""


def _lag(groups: Sequence[Group], styles: Styles, prefix: str) -> list[Figure]:
    title = "Density against lag"
    unit = "mean distance of inserts from the right edge in leaf pages, and density in % (higher is better)"
    found = {place: points for place, group in enumerate(groups) if (points := _points(group))}
    if not found or not any(trial.writers > 1 for group in groups for trial in group.trials):
        return []  # of one writer it is the layout's own order, not lag
    chosen = list(found)[:MOST_CLOUDS]
    furthest = max([_FIRST * 100, *(x for place in chosen for _, x, _ in found[place])])
    lowest = min(y for place in chosen for _, _, y in found[place])
    names = list(dict.fromkeys(arm.layout for place in chosen for arm, _, _ in found[place]))
    rows = [Row(_name(groups[place]), groups[place].column, styles[names[0]]) for place in chosen]
    across = Scale(_FIRST / 3, furthest * 1.6, _ticks(furthest), log=True)
    labels = "mean distance from the right edge, leaf pages", "density, %"
    panels = Panels(
        rows,
        across,
        Scale.linear(min(50.0, 10 * ((lowest - 4) // 10)), 104.0, 3),
        labels,
        height=110,
        key=_key(None, names, styles),
        most_columns=2,
    )
    _key(panels, names, styles)
    for place, box in zip(chosen, panels.boxes, strict=True):
        for arm, x, y in found[place]:
            ((px, py),) = box.places(np.array([max(x, _FIRST / 2)]), y)
            panels.canvas.marker(px, py, styles[arm.layout], hollow=groups[place].modelled)
    left_out = [_name(groups[place]) for place in list(found)[MOST_CLOUDS:]]
    kinds = sorted({"modelled" if groups[place].modelled else "measured" for place in chosen})
    data: list[tuple[Value, ...]] = [
        (groups[place].database, groups[place].server, arm.layout, arm.column, x, y)
        for place in found
        for arm, x, y in found[place]
    ]
    return [
        Figure(
            key=prefix,
            title=title,
            unit=unit,
            caption=join(
                "Below the right edge keys go between others; whether that costs space is the engine's doing: one that "
                "splits where the last key went in, or spreads rows over neighbours, stays dense.",
                f"Not drawn: {listed(left_out)}." if left_out else "",
            ),
            origin=f"Distance: derived. Density: {listed(kinds)}"
            + (" (hollow markers)." if "modelled" in kinds else "."),
            alt=f"Scatter plots, {plural(len(chosen), 'panel')}, a marker for each layout.",
            svg=panels.canvas.svg(prefix),
            header=("database", "server", "layout", "column", "distance from the right edge, leaf pages", "density, %"),
            rows=tuple(data),
        )
    ]


def _points(group: Group) -> list[tuple[Arm, float, float]]:
    found = [(arm, arm.summary(Metric.EDGE_DISTANCE_PAGES), arm.summary(Metric.LEAF_DENSITY)) for arm in group.arms]
    return [(arm, distance.median, density.median) for arm, distance, density in found if distance and density]


def _name(group: Group) -> str:
    return f"{group.database} {group.server}" + (f", {group.payload} characters" if group.payload != 100 else "")


def _ticks(furthest: float) -> tuple[tuple[float, str], ...]:
    powers = [10.0**power for power in range(0, 9, 1 if furthest < 1000 else 2) if 10.0**power <= furthest]
    return ((_FIRST / 2, "0"), *((power, f"{power:,g}") for power in powers))


def _key(panels: Panels | None, names: Sequence[str], styles: Styles) -> float:
    """The layouts' markers with their names; the height that they take."""
    x, y = 0.0, 8.0
    for name in names:
        width = 14 + text_width(name, SMALL) + 12
        if x and x + width > WIDTH:
            x, y = 0.0, y + LINE + 2
        if panels:
            panels.canvas.marker(x + 5, y, styles[name])
            panels.canvas.text(x + 14, y, name, fontsize=SMALL, color=SOFT)
        x += width
    return y + 8


FIGURES = (RunFigure("lag", 30, _lag),)
