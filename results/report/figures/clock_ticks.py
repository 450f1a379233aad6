"""Density by keys per clock tick and processes, from the page model: the heat map of a scenario with a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from keybench.model.metric import Metric
from keybench.model.subject import SubjectKind
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.plots.canvas import SMALL
from keybench.results.plots.palette import INK, PAPER, PLAIN
from keybench.results.plots.panels import Panels
from keybench.results.plots.scales import Scale
from keybench.results.report.figures.figure import (
    MOST_CLOUDS,
    GroupFigure,
    ReportFigure,
    Styles,
    evenly_chosen,
    join,
    named_rows,
)
from keybench.results.wording import plural

_HEIGHT: Final = 19.0
_PALE, _DARK = 35.0, 100.0
"""Densities, in %, of the palest and the darkest cell."""

Cells = Mapping[tuple[int, int], float]
"""Density in % by (processes, keys per tick)."""


def _clock_ticks(group: Group, styles: Styles, prefix: str) -> ReportFigure | None:
    cells = {arm.name: own for arm in group.arms if (own := _cells(arm))}
    if not cells:
        return None
    arms, note = evenly_chosen(group, [arm for arm in group.arms if arm.name in cells], MOST_CLOUDS)
    places = {place for own in cells.values() for place in own}
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
        svg=_drawn(group, arms, cells, processes, keys, styles, prefix),
        header=("processes", "keys per clock tick", *(f"{group.label(arm)}, density, %" for arm in arms)),
        rows=tuple(
            (f"{rows}", f"{across}", *(cells[arm.name].get((rows, across)) for arm in arms))
            for rows in processes
            for across in keys
        ),
    )


def _drawn(
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


FIGURES = (GroupFigure("ticks", 17, _clock_ticks),)
