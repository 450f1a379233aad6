"""Density of the leaf pages and splits along the phases of an index's life."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keybench.model.metric import Metric
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.analysis.phases import after_phase, insertions, phases_of, splits_per_thousand
from keybench.results.plots.curves import Curve, curve_panels
from keybench.results.plots.scales import Scale
from keybench.results.report.figures.captions import extremes, join, origin_note
from keybench.results.report.figures.figure import Figure, GroupFigure, Styles
from keybench.results.report.figures.selection import MOST_LINES, evenly_chosen, named_rows
from keybench.results.wording import plural

Line = NDArray[np.float64]


@dataclass(frozen=True)
class _Drawn:
    """What one of the figures draws, a value for each phase."""

    title: str
    unit: str
    label: str
    """Of the axis."""
    place: str
    """What the places along the axis are."""
    caption: str
    metric: Metric
    highest: float | None = None


_DENSITY = _Drawn(
    "Density along the phases",
    "% of the leaf pages' room, higher is better",
    "density, %",
    "phase",
    "After each phase. A line falls where pages split or rows are deleted, and rises where pages fill or the index is "
    "rebuilt.",
    Metric.LEAF_DENSITY,
    highest=100.0,
)
_SPLITS = _Drawn(
    "Splits along the phases",
    "splits per 1,000 rows, lower is better",
    "splits per 1,000 rows",
    "insertion",
    "In each phase that inserts, whatever lies between them. Splits that move rows; appends are left out. Where the "
    "server counts none, they are the page model's.",
    Metric.INTERIOR_SPLITS,
)


def _densities(group: Group, styles: Styles, prefix: str) -> Figure | None:
    arms = [arm for arm in group.arms if phases_of(arm)]
    if not arms:
        return None
    names = max((phases_of(arm) for arm in arms), key=len)
    return _along(_DENSITY, group, styles, prefix, names, {arm.name: _density(arm, names) for arm in arms})


def _splits(group: Group, styles: Styles, prefix: str) -> Figure | None:
    names: list[str] = max((insertions(arm) for arm in group.arms), key=len, default=[])
    known = {arm.name: [splits_per_thousand(arm, name) for name in names] for arm in group.arms}
    lines = {name: np.array(own, np.float64) for name, own in known.items() if own and None not in own}
    return _along(_SPLITS, group, styles, prefix, names, lines) if len(names) > 1 and lines else None


def _along(
    drawn: _Drawn, group: Group, styles: Styles, prefix: str, names: list[str], lines: Mapping[str, Line]
) -> Figure:
    arms = [arm for arm in group.arms if arm.name in lines]
    chosen, note = evenly_chosen(group, arms, MOST_LINES)
    curves = [
        Curve.single(row, lines[arm.name]) for arm, row in zip(chosen, named_rows(group, chosen, styles), strict=True)
    ]
    control = next((curve for arm, curve in zip(chosen, curves, strict=True) if arm is group.control), None)
    return Figure(
        key=prefix,
        title=drawn.title,
        unit=drawn.unit,
        caption=join(drawn.caption, "" if control is None else "Dashed: the control.", note),
        origin=origin_note(group, [drawn.metric]),
        alt=join(
            f"Small multiples, {plural(len(chosen), 'panel')}. At the last {drawn.place}:",
            extremes([(group.label(arm), float(lines[arm.name][-1])) for arm in arms]),
        ),
        svg=curve_panels(
            np.arange(1.0, len(names) + 1),
            curves,
            (drawn.place, drawn.label),
            prefix,
            reference=None if control is None else (control, "control"),
            y=Scale.linear(0.0, drawn.highest, 2) if drawn.highest else _from_zero(lines),
        ),
        header=("phase", *(f"{group.label(arm)}, {drawn.label}" for arm in arms)),
        rows=tuple((name, *(float(lines[arm.name][i]) for arm in arms)) for i, name in enumerate(names)),
    )


def _from_zero(lines: Mapping[str, Line]) -> Scale:
    return Scale.linear(0.0, 1.08 * max(float(line.max()) for line in lines.values()) or 1.0, 3)


def _density(arm: Arm, names: list[str]) -> Line:
    known = [after_phase(arm, Metric.LEAF_DENSITY, name) for name in names]
    return np.array([one.median if one else np.nan for one in known])


FIGURES = (GroupFigure("phases", 22, _densities), GroupFigure("phase-splits", 23, _splits))
