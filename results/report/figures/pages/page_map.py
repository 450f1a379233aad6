"""Where the leaf pages lie in the file: across in key order, up by page number."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.model.metric import Metric
from keybench.results.analysis.groups import Arm, Group
from keybench.results.plots.panels import Panels, Scale
from keybench.results.report.figures.figure import (
    MOST_CLOUDS,
    Figure,
    GroupFigure,
    Styles,
    gaps,
    join,
    kept,
    rows_of,
    shown,
)
from keybench.results.store.blobs import MODEL_PAGES, PAGES, Blob
from keybench.results.wording import listed, plural

_POINTS = 400
"""Leaves that are drawn of each index."""


def _page_map(group: Group, styles: Styles, prefix: str) -> Figure:
    title = "Where the pages of the finished index lie"
    unit = "place in the file against place in key order, % of the leaf pages; a diagonal is perfect order"
    found = {arm.name: blob for arm in group.arms if (blob := kept(arm, PAGES, MODEL_PAGES))}
    if not found:
        return Figure(prefix, title, unit, gaps(group, [Metric.LEAF_PAGES]) or "No trial kept the order of its pages.")
    arms, note = shown(group, [arm for arm in group.arms if arm.name in found], MOST_CLOUDS)
    percent = Scale.linear(0.0, 100.0, 2, "{:g} %".format)
    panels = Panels(rows_of(group, arms, styles), percent, percent, ("place in key order", "place in the file"))
    fractions = np.linspace(0.0, 1.0, _POINTS)
    columns = []
    for arm, box in zip(arms, panels.boxes, strict=True):
        across, up = _places(found[arm.name], fractions)
        columns.append(up)
        box.points(across, up, styles[arm.layout].colour, 2.0)
    return Figure(
        key=prefix,
        title=title,
        unit=unit,
        caption=join(
            f"Each point is a leaf page, up to {_POINTS} of an index. Who reads in key order jumps up and down the "
            "file as the points do.",
            note,
        ),
        origin=_origin(group, arms, found),
        alt=f"Small multiples of points, {plural(len(arms), 'panel')}: a diagonal where pages lie in key order, "
        "a cloud where they do not.",
        svg=panels.canvas.svg(prefix),
        header=("place in key order, %", *(f"{group.label(arm)}, place in the file, %" for arm in arms)),
        rows=tuple(
            (100 * float(place), *(round(float(column[i]), 2) for column in columns))
            for i, place in enumerate(fractions)
        ),
    )


def _places(blob: Blob, fractions: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of the leaves nearest to these places in key order: their places there and in the file, both in %."""
    leaves = int(blob.about["leaves"])
    near = np.round(fractions * (len(blob.arrays["place"]) - 1)).astype(np.int64)
    first, last = int(blob.about["first"]), int(blob.about["last"])
    numbers = blob.arrays["number"][near].astype(np.float64)
    return 100 * blob.arrays["place"][near] / max(1, leaves - 1), 100 * (numbers - first) / max(1, last - first)


def _origin(group: Group, arms: list[Arm], found: dict[str, Blob]) -> str:
    """Which were read on the server."""
    modelled = [group.label(arm) for arm in arms if found[arm.name].kind == MODEL_PAGES]
    if not modelled:
        return "Measured."
    notes = sorted({str(blob.about["note"]) for blob in found.values()} - {""})
    if len(modelled) == len(arms):
        return join("Modelled." if group.modelled else "Modelled: this server's pages cannot be read.", *notes)
    return join(f"Modelled: {listed(modelled)}; measured: the others.", *notes)


FIGURES = (GroupFigure("pages", 60, _page_map),)
