"""Density by lag, for all layouts and databases of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from keybench.model.metric import Metric
from keybench.model.names import CONTROL
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.plots.panels import Panels, PlotRow, draw_legend, legend_height
from keybench.results.plots.scales import Scale
from keybench.results.report.figures.figure import MOST_CLOUDS, ReportFigure, RunFigure, Styles, Value, join
from keybench.results.wording import listed, plural

_LEAST: Final = 0.1
"""The least distance, in leaves, that the logarithmic axis tells from 0, which is drawn one step to the left."""

Point = tuple[Arm, float, float]
"""An arm, its distance from the right edge in leaves, its density in %."""


def _density_by_lag(groups: Sequence[Group], styles: Styles, prefix: str) -> list[ReportFigure]:
    points = {place: own for place, group in enumerate(groups) if (own := _points(group))}
    if not points or not any(trial.writers > 1 for group in groups for trial in group.trials):
        return []  # with one writer the distance is the layout's own order, not lag
    chosen = list(points)[:MOST_CLOUDS]
    left_out = [_name(groups[place]) for place in list(points)[MOST_CLOUDS:]]
    origins = sorted({"modelled" if groups[place].modelled else "measured" for place in chosen})
    data: list[tuple[Value, ...]] = [
        (groups[place].database, groups[place].server, arm.layout, arm.column, distance, density)
        for place in points
        for arm, distance, density in points[place]
    ]
    return [
        ReportFigure(
            key=prefix,
            title="Density by lag",
            unit="density in % (higher is better) by mean distance of inserts from the right edge in leaf pages",
            caption=join(
                "A key below the right edge goes between existing keys. Whether that costs space depends on the "
                "engine: one that splits at the last insertion, or moves rows to neighbouring pages, stays dense.",
                f"Not drawn: {listed(left_out)}." if left_out else "",
            ),
            origin=f"Distance: derived. Density: {listed(origins)}"
            + (" (hollow markers)." if "modelled" in origins else "."),
            alt=f"Scatter plots, {plural(len(chosen), 'panel')}, one marker for each layout.",
            svg=_drawn([(groups[place], points[place]) for place in chosen], styles, prefix),
            header=("database", "server", "layout", "column", "distance from the right edge, leaf pages", "density, %"),
            rows=tuple(data),
        )
    ]


def _points(group: Group) -> list[Point]:
    known = [(arm, arm.summary(Metric.EDGE_DISTANCE_PAGES), arm.summary(Metric.LEAF_DENSITY)) for arm in group.arms]
    return [(arm, distance.median, density.median) for arm, distance, density in known if distance and density]


def _drawn(panels_of: Sequence[tuple[Group, Sequence[Point]]], styles: Styles, prefix: str) -> str:
    every = [point for _, own in panels_of for point in own]
    furthest = max([_LEAST * 100, *(distance for _, distance, _ in every)])
    lowest = min(density for _, _, density in every)
    names = dict.fromkeys(arm.layout for arm, _, _ in every)
    entries = [(styles[name], name) for name in names]
    panels = Panels(
        [PlotRow(_name(group), group.column, styles[CONTROL]) for group, _ in panels_of],
        Scale(_LEAST / 3, furthest * 1.6, _ticks(furthest), log=True),
        Scale.linear(min(50.0, 10 * ((lowest - 4) // 10)), 104.0, 3),
        ("mean distance from the right edge, leaf pages", "density, %"),
        height=110,
        legend=legend_height(entries),
        most_columns=2,
    )
    draw_legend(panels.canvas, entries)
    for (group, own), box in zip(panels_of, panels.boxes, strict=True):
        for arm, distance, density in own:
            ((x, y),) = box.places(np.array([max(distance, _LEAST / 2)]), density)
            panels.canvas.marker(x, y, styles[arm.layout], hollow=group.modelled)
    return panels.canvas.svg(prefix)


def _name(group: Group) -> str:
    width = f", {group.run.characters(group.payload)}" if group.payload != 100 else ""
    return f"{group.database} {group.server}{width}"


def _ticks(furthest: float) -> tuple[tuple[float, str], ...]:
    powers = [10.0**power for power in range(0, 9, 1 if furthest < 1000 else 2) if 10.0**power <= furthest]
    return ((_LEAST / 2, "0"), *((power, f"{power:,g}") for power in powers))


FIGURES = (RunFigure("lag", 30, _density_by_lag),)
