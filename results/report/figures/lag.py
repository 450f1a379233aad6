"""Density of the leaf pages by lag, and by keys per clock tick and processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from keybench.model.metric import Metric
from keybench.model.names import CONTROL
from keybench.model.subject import SubjectKind
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.plots.canvas import SMALL
from keybench.results.plots.palette import INK, PAPER, PLAIN
from keybench.results.plots.panels import Panels, PlotRow, draw_legend, legend_height
from keybench.results.plots.scales import Scale
from keybench.results.report.figures.figure import (
    MOST_CLOUDS,
    GroupFigure,
    ReportFigure,
    RunFigure,
    Styles,
    Value,
    evenly_chosen,
    join,
    named_rows,
)
from keybench.results.wording import listed, plural

_LEAST: Final = 0.1
"""The least distance, in leaves, that the logarithmic axis tells from 0, which is drawn one step to the left."""

Point = tuple[Arm, float, float]
"""An arm, its distance from the right edge in leaves, its density in %."""


def _density_by_lag(groups: Sequence[Group], styles: Styles, prefix: str) -> list[ReportFigure]:
    points = {place: markers for place, group in enumerate(groups) if (markers := _points(group))}
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
    every = [point for _, markers in panels_of for point in markers]
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
    for (group, markers), box in zip(panels_of, panels.boxes, strict=True):
        for arm, distance, density in markers:
            ((x, y),) = box.places(np.array([max(distance, _LEAST / 2)]), density)
            panels.canvas.marker(x, y, styles[arm.layout], hollow=group.modelled)
    return panels.canvas.svg(prefix)


def _name(group: Group) -> str:
    width = f", {group.run.characters(group.payload)}" if group.payload != 100 else ""
    return f"{group.database} {group.server}{width}"


def _ticks(furthest: float) -> tuple[tuple[float, str], ...]:
    powers = [10.0**power for power in range(0, 9, 1 if furthest < 1000 else 2) if 10.0**power <= furthest]
    return ((_LEAST / 2, "0"), *((power, f"{power:,g}") for power in powers))


_HEIGHT: Final = 19.0
_PALE, _DARK = 35.0, 100.0
"""Densities, in %, of the palest and the darkest cell."""

Cells = Mapping[tuple[int, int], float]
"""Density in % by (processes, keys per tick)."""


def _clock_ticks(group: Group, styles: Styles, prefix: str) -> ReportFigure | None:
    cells = {arm.name: densities for arm in group.arms if (densities := _cells(arm))}
    if not cells:
        return None
    arms, note = evenly_chosen(group, [arm for arm in group.arms if arm.name in cells], MOST_CLOUDS)
    places = {place for densities in cells.values() for place in densities}
    processes, keys = (sorted({place[axis] for place in places}) for axis in (0, 1))
    density, name, (at_processes, at_keys) = min(
        (density, group.label(arm), place) for arm in arms for place, density in cells[arm.name].items()
    )
    return ReportFigure(
        key=prefix,
        title="Density by keys per clock tick and processes, from the page model",
        unit="% of the leaf pages' room, higher (darker) is better; keys per tick are those of all processes together",
        caption=join(
            "Keys of one tick are in no order of time. If many processes share a tick, its keys spread over many pages "
            "at the right edge.",
            note,
        ),
        origin="Modelled, in planned order.",
        alt=f"Heat maps, {plural(len(arms), 'panel')}. Lowest: {name}, {density:.0f} % at {at_processes} processes and "
        f"{at_keys} keys per tick.",
        svg=_heat_maps(group, arms, cells, processes, keys, styles, prefix),
        header=("processes", "keys per clock tick", *(f"{group.label(arm)}, density, %" for arm in arms)),
        rows=tuple(
            (f"{rows}", f"{across}", *(cells[arm.name].get((rows, across)) for arm in arms))
            for rows in processes
            for across in keys
        ),
    )


def _heat_maps(
    group: Group,
    arms: Sequence[Arm],
    cells: Mapping[str, Cells],
    processes: Sequence[int],
    keys: Sequence[int],
    styles: Styles,
    prefix: str,
) -> str:
    panels = Panels(
        named_rows(group, arms, styles),
        Scale(0.0, len(keys), tuple((i + 0.5, f"{n:,}") for i, n in enumerate(keys))),
        Scale(0.0, len(processes), tuple((i + 0.5, f"{n}") for i, n in enumerate(processes))),
        ("keys per clock tick", "processes"),
        height=_HEIGHT * len(processes),
        most_columns=2,
    )
    for arm, box in zip(arms, panels.boxes, strict=True):
        for (row, column), density in cells[arm.name].items():
            x, y = float(keys.index(column)), float(processes.index(row))
            strength = min(1.0, max(0.0, (density - _PALE) / (_DARK - _PALE)))
            ((left, bottom), (right, top)) = box.places(np.array([x, x + 1]), np.array([y, y + 1]))
            cell = np.array([[left, top, right - 1, bottom - 1]])
            panels.canvas.bars(cell, facecolor=PAPER)
            panels.canvas.bars(cell, facecolor=PLAIN, alpha=0.06 + 0.9 * strength)
            panels.canvas.text(
                (left + right) / 2,
                (top + bottom) / 2,
                f"{density:.0f}",
                ha="center",
                fontsize=SMALL,
                color=PAPER if strength > 0.75 else INK,
            )
    return panels.canvas.svg(prefix)


def _cells(arm: Arm) -> Cells:
    return {
        reading.subject.cell: reading.value
        for trial in arm.trials
        for reading in trial.readings
        if reading.metric == Metric.LEAF_DENSITY
        and reading.value is not None
        and reading.subject.kind == SubjectKind.GRID
    }


FIGURES = (
    RunFigure("lag", 30, _density_by_lag),
    GroupFigure("ticks", 17, _clock_ticks),
)
