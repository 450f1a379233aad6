"""Place of each leaf page in the file by its place in key order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.model.metric import Metric
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.plots.panels import Panels
from keybench.results.plots.scales import Scale
from keybench.results.report.figures.captions import gaps, join
from keybench.results.report.figures.figure import Figure, GroupFigure, Styles
from keybench.results.report.figures.selection import MOST_CLOUDS, evenly_chosen, named_rows, stored_blob
from keybench.results.store.blobs import MODEL_PAGES, PAGES, Blob
from keybench.results.wording import listed, plural

_POINTS: Final = 400
"""Leaf pages drawn for each index."""


def _page_order(group: Group, styles: Styles, prefix: str) -> Figure:
    title = "Page order of the finished index"
    unit = "place in the file by place in key order, % of the leaf pages; a diagonal is perfect order"
    blobs = {arm.name: blob for arm in group.arms if (blob := stored_blob(arm, PAGES, MODEL_PAGES))}
    if not blobs:
        why = gaps(group, [Metric.LEAF_PAGES]) or "No trial stored the order of its pages."
        return Figure(prefix, title, unit, why)
    arms, note = evenly_chosen(group, [arm for arm in group.arms if arm.name in blobs], MOST_CLOUDS)
    percent = Scale.linear(0.0, 100.0, 2, "{:g} %".format)
    panels = Panels(named_rows(group, arms, styles), percent, percent, ("place in key order", "place in the file"))
    fractions = np.linspace(0.0, 1.0, _POINTS)
    columns = []
    for arm, box in zip(arms, panels.boxes, strict=True):
        across, up = _places(blobs[arm.name], fractions)
        columns.append(up)
        box.points(across, up, styles[arm.layout].colour, 2.0)
    return Figure(
        key=prefix,
        title=title,
        unit=unit,
        caption=join(
            f"Each point is a leaf page, up to {_POINTS} an index. A scan in key order jumps up and down the file as "
            "the points do.",
            note,
        ),
        origin=_origin(group, arms, blobs),
        alt=f"Small multiples of points, {plural(len(arms), 'panel')}: a diagonal if pages are in key order, "
        "a cloud if they are not.",
        svg=panels.canvas.svg(prefix),
        header=("place in key order, %", *(f"{group.label(arm)}, place in the file, %" for arm in arms)),
        rows=tuple(
            (100 * float(place), *(round(float(column[i]), 2) for column in columns))
            for i, place in enumerate(fractions)
        ),
    )


def _places(blob: Blob, fractions: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Places in key order and in the file, both in %, of the leaf pages nearest to these fractions of the key order."""
    leaves = int(blob.about["leaves"])
    near = np.round(fractions * (len(blob.arrays["place"]) - 1)).astype(np.int64)
    first, last = int(blob.about["first"]), int(blob.about["last"])
    numbers = blob.arrays["number"][near].astype(np.float64)
    return 100 * blob.arrays["place"][near] / max(1, leaves - 1), 100 * (numbers - first) / max(1, last - first)


def _origin(group: Group, arms: Sequence[Arm], blobs: Mapping[str, Blob]) -> str:
    """Which were read from the server."""
    modelled = [group.label(arm) for arm in arms if blobs[arm.name].kind == MODEL_PAGES]
    if not modelled:
        return "Measured."
    notes = sorted({str(blob.about["note"]) for blob in blobs.values()} - {""})
    if len(modelled) == len(arms):
        return join("Modelled." if group.modelled else "Modelled: this server's pages cannot be read.", *notes)
    return join(f"Modelled: {listed(modelled)}; measured: the others.", *notes)


FIGURES = (GroupFigure("pages", 60, _page_order),)
