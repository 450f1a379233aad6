"""Density of the leaf pages as the table grows, from the page model."""

from __future__ import annotations

import numpy as np

from keybench.model.metric import Metric
from keybench.results.analysis.groups import Group
from keybench.results.analysis.phases import phases_of
from keybench.results.plots.curves import Curve, curve_panels
from keybench.results.plots.scales import Scale
from keybench.results.report.figures.captions import extremes, gaps, join
from keybench.results.report.figures.figure import Figure, GroupFigure, Styles
from keybench.results.report.figures.selection import MOST_LINES, evenly_chosen, named_rows, stored_blob
from keybench.results.store.blobs import GROWTH
from keybench.results.wording import plural, rows_unit


def _density_growth(group: Group, styles: Styles, prefix: str) -> Figure | None:
    if any(phases_of(arm) for arm in group.arms):
        return None  # the figure of the phases shows it
    title, unit = "Density as the table grows, from the page model", "% of the leaf pages' room, higher is better"
    blobs = {arm.name: blob for arm in group.arms if (blob := stored_blob(arm, GROWTH)) and len(blob.arrays["rows"])}
    if not blobs:
        why = gaps(group, [Metric.LEAF_DENSITY]) or "No trial stored the model's prediction along the load."
        return Figure(prefix, title, unit, why)
    arms = [arm for arm in group.arms if arm.name in blobs]
    places = next(iter(blobs.values())).arrays["rows"].astype(np.float64)
    divisor, word = rows_unit(group.rows)
    lines = {
        arm.name: np.interp(places, blobs[arm.name].arrays["rows"], blobs[arm.name].arrays["density"]) for arm in arms
    }
    chosen, note = evenly_chosen(group, arms, MOST_LINES)
    rows = named_rows(group, chosen, styles)
    drawn = [Curve.single(row, lines[arm.name]) for arm, row in zip(chosen, rows, strict=True)]
    control = next((curve for arm, curve in zip(chosen, drawn, strict=True) if arm is group.control), None)
    return Figure(
        key=prefix,
        title=title,
        unit=unit,
        caption=join(
            "With random keys the density swings around 69\u00a0%, because all pages fill and split at about the same "
            "time.",
            "" if control is None else "Dashed: the control.",
            note,
        ),
        origin=join("Modelled.", *sorted({str(blobs[arm.name].about["note"]) for arm in arms} - {""})),
        alt=join(
            f"Small multiples, {plural(len(chosen), 'panel')}. At the last rows:",
            extremes([(group.label(arm), float(lines[arm.name][-1])) for arm in arms]),
        ),
        svg=curve_panels(
            places / divisor,
            drawn,
            (f"{word} inserted", "density, %"),
            prefix,
            reference=None if control is None else (control, "control"),
            y=Scale.linear(0.0, 100.0, 2),
        ),
        header=("rows inserted", *(f"{group.label(arm)}, density, %" for arm in arms)),
        rows=tuple((f"{place:.0f}", *(float(lines[arm.name][i]) for arm in arms)) for i, place in enumerate(places)),
    )


FIGURES = (GroupFigure("growth", 58, _density_growth),)
