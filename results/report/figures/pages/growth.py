"""How full the leaf pages are as the table grows, by the page model."""

from __future__ import annotations

import numpy as np

from keybench.model.metric import Metric
from keybench.results.analysis.groups import Group
from keybench.results.plots.curves import Curve, curves
from keybench.results.plots.panels import Scale
from keybench.results.report.figures.figure import (
    MOST_PANELS,
    Figure,
    GroupFigure,
    Styles,
    extremes,
    gaps,
    join,
    kept,
    rows_of,
    shown,
)
from keybench.results.store.blobs import GROWTH
from keybench.results.wording import plural, rows_unit


def _growth(group: Group, styles: Styles, prefix: str) -> Figure:
    title, unit = "Density as the table grows, by the page model", "% of the leaf pages' room, higher is better"
    found = {arm.name: blob for arm in group.arms if (blob := kept(arm, GROWTH)) and len(blob.arrays["rows"])}
    if not found:
        return Figure(prefix, title, unit, gaps(group, [Metric.LEAF_DENSITY]) or "No trial kept what the model says.")
    arms = [arm for arm in group.arms if arm.name in found]
    places = next(iter(found.values())).arrays["rows"].astype(np.float64)
    divisor, word = rows_unit(group.rows)
    lines = {
        arm.name: np.interp(places, found[arm.name].arrays["rows"], found[arm.name].arrays["density"]) for arm in arms
    }
    chosen, note = shown(group, arms, MOST_PANELS)
    rows = rows_of(group, chosen, styles)
    drawn = [Curve.single(row, lines[arm.name]) for arm, row in zip(chosen, rows, strict=True)]
    control = next((curve for arm, curve in zip(chosen, drawn, strict=True) if arm is group.control), None)
    return Figure(
        key=prefix,
        title=title,
        unit=unit,
        caption=join(
            "Random keys swing around 69 % as all pages fill and split together.",
            "" if control is None else "Dashed: the control.",
            note,
        ),
        origin=join("Modelled.", *sorted({str(found[arm.name].about["note"]) for arm in arms} - {""})),
        alt=join(
            f"Small multiples, {plural(len(chosen), 'panel')}. At the last rows:",
            extremes([(group.label(arm), float(lines[arm.name][-1])) for arm in arms]),
        ),
        svg=curves(
            places / divisor, drawn, control, (f"{word} inserted", "density, %"), prefix, y=Scale.linear(0.0, 100.0, 2)
        ),
        header=("rows inserted", *(f"{group.label(arm)}, density, %" for arm in arms)),
        rows=tuple((f"{place:.0f}", *(float(lines[arm.name][i]) for arm in arms)) for i, place in enumerate(places)),
    )


FIGURES = (GroupFigure("growth", 58, _growth),)
