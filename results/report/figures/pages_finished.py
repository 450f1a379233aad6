"""Density and fragmentation of the leaf pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.model.metric import Metric
from keybench.model.subject import MODEL
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.plots.canvas import SMALL
from keybench.results.plots.dots import Panel, dot_plot
from keybench.results.plots.palette import INK, SOFT
from keybench.results.plots.panels import Panels
from keybench.results.plots.scales import Scale
from keybench.results.report.figures.figure import (
    MOST_CLOUDS,
    MOST_LINES,
    STATISTICS,
    GroupFigure,
    ReportFigure,
    Styles,
    blocks_note,
    cells,
    dot,
    evenly_chosen,
    extremes,
    gaps,
    join,
    named_rows,
    origin_note,
    stored_blob,
)
from keybench.results.store.blobs import MODEL_PAGES, PAGES, Blob
from keybench.results.wording import BETTER, listed, plural


def _density(group: Group, styles: Styles, prefix: str) -> ReportFigure:
    metrics = (Metric.LEAF_DENSITY, Metric.LEAF_FRAGMENTATION)
    title, unit = "Density and fragmentation of the leaf pages", "% of the leaf pages of the key's index"
    shown = [metric for metric in metrics if group.values(metric)]
    if not shown:
        return ReportFigure(prefix, title, unit, gaps(group, metrics))
    panels, alts = [], []
    for metric in shown:
        about = metric.definition
        base = group.control.summary(metric) if group.control else None
        dots = [dot(arm, arm.summary(metric), lambda value: f"{value:.1f}") for arm in group.arms]
        name = about.title.removeprefix("Leaf ").capitalize()
        known = [(group.label(arm), summary.median) for arm, summary in group.values(metric)]
        alts.append(f"{about.title}: {extremes(known)}")
        panels.append(Panel(name, dots, f"%, {BETTER[about.better]}", (0.0, 100.0), base.median if base else None))
    return ReportFigure(
        key=prefix,
        title=title,
        unit=unit,
        caption=join(
            blocks_note(group),
            "The grey line is the control." if group.control else "",
            "Half-empty pages can be in perfect order; fragmentation alone would not show them.",
            gaps(group, metrics),
        ),
        origin=origin_note(group, shown),
        alt=join("Dot plot.", *alts),
        svg=dot_plot(named_rows(group, group.arms, styles), panels, prefix),
        header=("layout", "column", *(f"{m.definition.title} (%), {part}" for m in shown for part in STATISTICS)),
        rows=tuple((arm.layout, arm.column, *(c for m in shown for c in cells(arm.summary(m)))) for arm in group.arms),
    )


_POINTS: Final = 400
"""Leaf pages drawn for each index."""


def _page_order(group: Group, styles: Styles, prefix: str) -> ReportFigure:
    title = "Page order of the finished index"
    unit = "place in the file by place in key order, % of the leaf pages; a diagonal is perfect order"
    blobs = {arm.name: blob for arm in group.arms if (blob := stored_blob(arm, PAGES, MODEL_PAGES))}
    if not blobs:
        why = gaps(group, [Metric.LEAF_PAGES]) or "No trial stored the order of its pages."
        return ReportFigure(prefix, title, unit, why)
    arms, note = evenly_chosen(group, [arm for arm in group.arms if arm.name in blobs], MOST_CLOUDS)
    percent = Scale.linear(0.0, 100.0, 2, "{:g} %".format)
    panels = Panels(named_rows(group, arms, styles), percent, percent, ("place in key order", "place in the file"))
    fractions = np.linspace(0.0, 1.0, _POINTS)
    columns = []
    for arm, box in zip(arms, panels.boxes, strict=True):
        across, up = _places(blobs[arm.name], fractions)
        columns.append(up)
        box.points(across, up, styles[arm.layout].colour, 2.0)
    return ReportFigure(
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


_STEP: Final = 5
"""Width of a column, in % of a page."""

_EDGES: Final = np.arange(0, 100 + _STEP, _STEP, dtype=np.float64)

Shares = tuple[NDArray[np.float64], float]
"""The share of leaf pages in each step, in %, and the mean fill of all, in %."""


def _fill_histogram(group: Group, styles: Styles, prefix: str) -> ReportFigure:
    title = "Fill of the leaf pages"
    unit = "share of the leaf pages by how full they are, %; further right is better"
    shares = {arm.name: fill for arm in group.arms if (fill := _shares(arm))}
    if not shares:
        return ReportFigure(
            prefix, title, unit, gaps(group, [Metric.LEAF_PAGES]) or "No trial stored the rows of its pages."
        )
    arms, note = evenly_chosen(group, [arm for arm in group.arms if arm.name in shares], MOST_LINES)
    return ReportFigure(
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
        fill, mean = shares[arm.name]
        tallest = float(fill.max())
        pale = {"alpha": 0.55} if _modelled(arm) else {}
        box.columns(middles, fill / tallest, _STEP * 0.86, facecolor=styles[arm.layout].colour, **pale)
        box.upright(mean, INK, linestyle=(0, (1, 2)))
        ((x, y),) = box.places(middles[[int(fill.argmax())]], 1.0)
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
    if blob and blob.kind == MODEL_PAGES:
        mean = next(iter(arm.values(Metric.LEAF_DENSITY, MODEL).values()), mean)
    if blob is None or mean is None:
        return None
    rows = blob.arrays["rows"].astype(np.float64)
    fill = np.clip(rows / max(rows.mean(), 1e-9) * mean, 0, 99.99)
    return 100 * np.histogram(fill, _EDGES)[0] / max(1, len(rows)), mean


FIGURES = (
    GroupFigure("order", 20, _density),
    GroupFigure("pages", 60, _page_order),
    GroupFigure("fill", 62, _fill_histogram),
)
