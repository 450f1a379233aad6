"""Histogram of how full the leaf pages are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.model.metric import Metric
from keybench.model.subject import MODEL
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.plots.labels import SMALL
from keybench.results.plots.palette import INK, SOFT
from keybench.results.plots.panels import Panels
from keybench.results.plots.scales import Scale
from keybench.results.report.figures.captions import gaps, join
from keybench.results.report.figures.figure import Figure, GroupFigure, Styles
from keybench.results.report.figures.selection import MOST_LINES, evenly_chosen, named_rows, stored_blob
from keybench.results.store.blobs import MODEL_PAGES, PAGES
from keybench.results.wording import plural

_STEP: Final = 5
"""Width of a column, in % of a page."""

_EDGES: Final = np.arange(0, 100 + _STEP, _STEP, dtype=np.float64)

Shares = tuple[NDArray[np.float64], float]
"""The share of leaf pages in each step, in %, and the mean fill of all, in %."""


def _fill_histogram(group: Group, styles: Styles, prefix: str) -> Figure:
    title = "Fill of the leaf pages"
    unit = "share of the leaf pages by how full they are, %; further right is better"
    shares = {arm.name: own for arm in group.arms if (own := _shares(arm))}
    if not shares:
        return Figure(prefix, title, unit, gaps(group, [Metric.LEAF_PAGES]) or "No trial stored the rows of its pages.")
    arms, note = evenly_chosen(group, [arm for arm in group.arms if arm.name in shares], MOST_LINES)
    return Figure(
        key=prefix,
        title=title,
        unit=unit,
        caption=join(
            "Dotted: the mean, which is the density. A narrow hump at 50\u00a0% means pages that were split in half "
            "and never filled again.",
            note,
        ),
        origin=join(
            "Modelled."
            if all(_modelled(arm) for arm in arms)
            else "Derived from the rows on each page and the density.",
        ),
        alt=f"Histograms, {plural(len(arms), 'panel')}.",
        svg=_drawn(group, arms, shares, styles, prefix),
        header=("fill from, %", "to, %", *(f"{group.label(arm)}, % of the leaf pages" for arm in arms)),
        rows=tuple(
            (float(low), float(low) + _STEP, *(float(shares[arm.name][0][i]) for arm in arms))
            for i, low in enumerate(_EDGES[:-1])
        ),
    )


def _drawn(group: Group, arms: Sequence[Arm], shares: Mapping[str, Shares], styles: Styles, prefix: str) -> str:
    panels = Panels(
        named_rows(group, arms, styles),
        Scale.linear(0.0, 100.0, 2, "{:g}".format),
        Scale(0.0, 1.1, ()),
        ("how full a leaf page is, %", "share of the leaf pages; the tallest column is labelled"),
    )
    middles = (_EDGES[:-1] + _EDGES[1:]) / 2
    for arm, box in zip(arms, panels.boxes, strict=True):
        own, mean = shares[arm.name]
        tallest = float(own.max())
        pale = {"alpha": 0.55} if _modelled(arm) else {}
        box.columns(middles, own / tallest, _STEP * 0.86, facecolor=styles[arm.layout].colour, **pale)
        box.upright(mean, INK, linestyle=(0, (1, 2)))
        ((x, y),) = box.places(middles[[int(own.argmax())]], 1.0)
        right = x < box.left + box.width / 2
        panels.canvas.text(
            x + (7 if right else -7),
            y - 1,
            f"{tallest:.0f} %",
            fontsize=SMALL,
            color=SOFT,
            ha="left" if right else "right",
        )
    return panels.canvas.svg(prefix)


def _modelled(arm: Arm) -> bool:
    blob = stored_blob(arm, PAGES, MODEL_PAGES)
    return blob is not None and blob.kind == MODEL_PAGES


def _shares(arm: Arm) -> Shares | None:
    """All rows have the same size, so the number of rows on a page gives its fill."""
    blob = stored_blob(arm, PAGES, MODEL_PAGES)
    density = arm.summary(Metric.LEAF_DENSITY)
    mean = density.median if density else None
    if blob and blob.kind == MODEL_PAGES and (predicted := arm.predicted.get(MODEL, {}).get(Metric.LEAF_DENSITY)):
        mean = next((reading.value for reading in predicted.values() if reading.value is not None), mean)
    if blob is None or mean is None:
        return None
    rows = blob.arrays["rows"].astype(np.float64)
    fill = np.clip(rows / max(rows.mean(), 1e-9) * mean, 0, 99.99)
    return 100 * np.histogram(fill, _EDGES)[0] / max(1, len(rows)), mean


FIGURES = (GroupFigure("fill", 62, _fill_histogram),)
