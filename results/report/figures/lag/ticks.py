"""Density over keys in a clock tick and processes, by the page model: the heat map of a scenario with a grid."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from keybench.model.metric import Metric
from keybench.model.subject import SubjectKind
from keybench.results.analysis.groups import Arm, Group
from keybench.results.plots.canvas import INK, PAPER, PLAIN, SMALL
from keybench.results.plots.panels import Panels, Scale
from keybench.results.report.figures.figure import MOST_CLOUDS, Figure, GroupFigure, Styles, join, rows_of, shown
from keybench.results.wording import plural

_HEIGHT = 19.0
_PALE, _DARK = 35.0, 100.0
"""Densities, in %, of the palest and the darkest cell."""


def _ticks(group: Group, styles: Styles, prefix: str) -> Figure | None:
    title = "Density by keys in a clock tick and processes, by the page model"
    unit = "% of the leaf pages' room, higher (darker) is better; keys in a tick are those of all processes together"
    found = {arm.name: cells for arm in group.arms if (cells := _cells(arm))}
    if not found:
        return None
    arms, note = shown(group, [arm for arm in group.arms if arm.name in found], MOST_CLOUDS)
    places = {cell for cells in found.values() for cell in cells}
    processes, together = (sorted({cell[axis] for cell in places}) for axis in (0, 1))
    across = Scale(0.0, len(together), tuple((i + 0.5, f"{n:,}") for i, n in enumerate(together)))
    up = Scale(0.0, len(processes), tuple((i + 0.5, f"{n}") for i, n in enumerate(processes)))
    panels = Panels(
        rows_of(group, arms, styles),
        across,
        up,
        ("keys in a clock tick", "processes"),
        height=_HEIGHT * len(processes),
        most_columns=2,
    )
    for arm, box in zip(arms, panels.boxes, strict=True):
        for (rows, keys), density in found[arm.name].items():
            x, y = float(together.index(keys)), float(processes.index(rows))
            strength = min(1.0, max(0.0, (density - _PALE) / (_DARK - _PALE)))
            ((left, bottom), (right, top)) = box.places(np.array([x, x + 1]), np.array([y, y + 1]))
            panels.canvas.bars(np.array([[left, top, right - 1, bottom - 1]]), facecolor=PAPER)
            panels.canvas.bars(
                np.array([[left, top, right - 1, bottom - 1]]), facecolor=PLAIN, alpha=0.06 + 0.9 * strength
            )
            panels.canvas.text(
                (left + right) / 2,
                (top + bottom) / 2,
                f"{density:.0f}",
                ha="center",
                fontsize=SMALL,
                color=PAPER if strength > 0.75 else INK,
            )
    every = [(density, group.label(arm), cell) for arm in arms for cell, density in found[arm.name].items()]
    low = min(every)
    return Figure(
        key=prefix,
        title=title,
        unit=unit,
        caption=join(
            "Keys of one tick come in no order of time: where many processes share a tick, its keys spread over many "
            "pages at the right edge.",
            note,
        ),
        origin="Modelled, in planned order.",
        alt=f"Heat maps, {plural(len(arms), 'panel')}. Lowest: {low[1]}, {low[0]:.0f} % at {low[2][0]} processes and "
        f"{low[2][1]} keys in a tick.",
        svg=panels.canvas.svg(prefix),
        header=("processes", "keys in a clock tick", *(f"{group.label(arm)}, density, %" for arm in arms)),
        rows=tuple(
            (f"{rows}", f"{keys}", *(found[arm.name].get((rows, keys)) for arm in arms))
            for rows in processes
            for keys in together
        ),
    )


def _cells(arm: Arm) -> Mapping[tuple[int, int], float]:
    """Density by (processes, keys in a tick)."""
    return {
        reading.subject.cell: reading.value
        for trial in arm.trials
        for reading in trial.readings
        if reading.metric == Metric.LEAF_DENSITY
        and reading.value is not None
        and reading.subject.kind == SubjectKind.GRID
    }


FIGURES = (GroupFigure("ticks", 17, _ticks),)
