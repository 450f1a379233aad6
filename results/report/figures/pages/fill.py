"""How full the leaf pages are, as a histogram."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.model.metric import Metric
from keybench.model.subject import MODEL
from keybench.results.analysis.groups import Arm, Group
from keybench.results.plots.canvas import INK, SMALL, SOFT
from keybench.results.plots.panels import Panels, Scale
from keybench.results.report.figures.figure import (
    MOST_PANELS,
    Figure,
    GroupFigure,
    Styles,
    gaps,
    join,
    kept,
    rows_of,
    shown,
)
from keybench.results.store.blobs import MODEL_PAGES, PAGES
from keybench.results.wording import plural

_STEP = 5
"""Width of a column, in % of a page."""

_EDGES = np.arange(0, 100 + _STEP, _STEP, dtype=np.float64)


def _fill(group: Group, styles: Styles, prefix: str) -> Figure:
    title = "How full each leaf page is"
    unit = "share of the leaf pages by how full they are, %; further right is better"
    found = {arm.name: known for arm in group.arms if (known := _shares(arm))}
    if not found:
        return Figure(prefix, title, unit, gaps(group, [Metric.LEAF_PAGES]) or "No trial kept what its pages hold.")
    arms, note = shown(group, [arm for arm in group.arms if arm.name in found], MOST_PANELS)
    panels = Panels(
        rows_of(group, arms, styles),
        Scale.linear(0.0, 100.0, 2, "{:g}".format),
        Scale(0.0, 1.1, ()),
        ("how full a leaf page is, %", "share of the leaf pages; the tallest column is labelled"),
    )
    middles = (_EDGES[:-1] + _EDGES[1:]) / 2
    for arm, box in zip(arms, panels.boxes, strict=True):
        shares, mean = found[arm.name]
        tallest = float(shares.max())
        pale = {"alpha": 0.55} if _modelled(arm) else {}
        box.columns(middles, shares / tallest, _STEP * 0.86, facecolor=styles[arm.layout].colour, **pale)
        box.upright(mean, INK, linestyle=(0, (1, 2)))
        ((x, y),) = box.places(middles[[int(shares.argmax())]], 1.0)
        right = x < box.left + box.width / 2
        panels.canvas.text(
            x + (7 if right else -7),
            y - 1,
            f"{tallest:.0f} %",
            fontsize=SMALL,
            color=SOFT,
            ha="left" if right else "right",
        )
    return Figure(
        key=prefix,
        title=title,
        unit=unit,
        caption=join(
            "Dotted: the mean, which is the density. A narrow hump at 50 % are pages that were halved and "
            "never filled again.",
            note,
        ),
        origin=join(
            "Modelled."
            if all(_modelled(arm) for arm in arms)
            else "Derived from the rows on each page and the density.",
        ),
        alt=f"Histograms, {plural(len(arms), 'panel')}.",
        svg=panels.canvas.svg(prefix),
        header=("fill from, %", "to, %", *(f"{group.label(arm)}, % of the leaf pages" for arm in arms)),
        rows=tuple(
            (float(_EDGES[i]), float(_EDGES[i + 1]), *(float(found[arm.name][0][i]) for arm in arms))
            for i in range(len(middles))
        ),
    )


def _modelled(arm: Arm) -> bool:
    blob = kept(arm, PAGES, MODEL_PAGES)
    return blob is not None and blob.kind == MODEL_PAGES


def _shares(arm: Arm) -> tuple[NDArray[np.float64], float] | None:
    """The share of leaves in each step, in %, and their mean fill; rows are all of one size, so they tell the fill."""
    blob = kept(arm, PAGES, MODEL_PAGES)
    density = arm.summary(Metric.LEAF_DENSITY)
    mean = density.median if density else None
    if blob and blob.kind == MODEL_PAGES and (predicted := arm.predicted.get(MODEL, {}).get(Metric.LEAF_DENSITY)):
        mean = next((reading.value for reading in predicted.values() if reading.value is not None), mean)
    if blob is None or mean is None:
        return None
    rows = blob.arrays["rows"].astype(np.float64)
    fill = np.clip(rows / max(rows.mean(), 1e-9) * mean, 0, 99.99)
    return 100 * np.histogram(fill, _EDGES)[0] / max(1, len(rows)), mean


FIGURES = (GroupFigure("fill", 62, _fill),)
