"""Density of the leaf pages and splits along the phases of an index's life."""

from __future__ import annotations

import numpy as np

from keybench.model.metric import Metric
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.analysis.phases import after_phase, phases_of
from keybench.results.plots.curves import Curve, curve_panels
from keybench.results.plots.scales import Scale
from keybench.results.report.figures.captions import extremes, join, origin_note
from keybench.results.report.figures.figure import Figure, GroupFigure, Styles
from keybench.results.report.figures.selection import MOST_LINES, evenly_chosen, named_rows
from keybench.results.wording import plural


def _along(group: Group, styles: Styles, prefix: str) -> Figure | None:
    arms = [arm for arm in group.arms if phases_of(arm)]
    if not arms:
        return None
    names = max((phases_of(arm) for arm in arms), key=len)
    lines = {arm.name: _densities(arm, names) for arm in arms}
    chosen, note = evenly_chosen(group, arms, MOST_LINES)
    drawn = [
        Curve.single(row, lines[arm.name]) for arm, row in zip(chosen, named_rows(group, chosen, styles), strict=True)
    ]
    control = next((curve for arm, curve in zip(chosen, drawn, strict=True) if arm is group.control), None)
    return Figure(
        key=prefix,
        title="Density along the phases",
        unit="% of the leaf pages' room, higher is better",
        caption=join(
            "After each phase. A line falls where pages split or rows are deleted, and rises where pages fill or the "
            "index is rebuilt.",
            "" if control is None else "Dashed: the control.",
            note,
        ),
        origin=origin_note(group, [Metric.LEAF_DENSITY]),
        alt=join(
            f"Small multiples, {plural(len(chosen), 'panel')}. After the last phase:",
            extremes([(group.label(arm), float(lines[arm.name][-1])) for arm in arms]),
        ),
        svg=curve_panels(
            np.arange(1.0, len(names) + 1),
            drawn,
            ("phase", "density, %"),
            prefix,
            reference=None if control is None else (control, "control"),
            y=Scale.linear(0.0, 100.0, 2),
        ),
        header=("phase", *(f"{group.label(arm)}, density, %" for arm in arms)),
        rows=tuple((name, *(float(lines[arm.name][i]) for arm in arms)) for i, name in enumerate(names)),
    )


def _densities(arm: Arm, names: list[str]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    known = [after_phase(arm, Metric.LEAF_DENSITY, name) for name in names]
    return np.array([one.median if one else np.nan for one in known])


FIGURES = (GroupFigure("phases", 22, _along),)
