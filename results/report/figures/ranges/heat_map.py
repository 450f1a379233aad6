"""Which ranges of a cluster take the inserts, along the load: a heat map for each layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.model.metric import Metric
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.plots.palette import PLAIN
from keybench.results.plots.panels import Panels
from keybench.results.plots.scales import Scale
from keybench.results.report.figures.captions import gaps, join
from keybench.results.report.figures.figure import Figure, GroupFigure, Styles
from keybench.results.report.figures.selection import MOST_CLOUDS, evenly_chosen, named_rows, stored_blob
from keybench.results.store.blobs import RANGES, Blob
from keybench.results.wording import plural

_STEPS: Final = 8
"""Shades of a cell."""

Cells = NDArray[np.float64]
"""(parts of the time, ranges): share of that time's inserts, 0 to 1."""


def _heat_map(group: Group, styles: Styles, prefix: str) -> Figure | None:
    title = "Which ranges take the inserts"
    unit = "ranges of the finished table by time; the stronger the colour, the larger the share of that time's inserts"
    found = {arm.name: blob for arm in group.arms if (blob := stored_blob(arm, RANGES))}
    if not found:
        return Figure(prefix, title, unit, gaps(group, [Metric.RANGES]) or "No trial stored where its rows went.")
    cells = {name: _cells(blob) for name, blob in found.items()}
    arms, note = evenly_chosen(group, [arm for arm in group.arms if arm.name in cells], MOST_CLOUDS)
    return Figure(
        key=prefix,
        title=title,
        unit=unit,
        caption=join(
            "A diagonal: one range at a time takes all inserts, and the next one takes over. "
            "One even colour: all share.",
            note,
        ),
        origin="Modelled: a range splits when it holds more than 1/32 of the finished table.",
        alt=f"Heat maps, {plural(len(arms), 'panel')}: time across, ranges in key order upwards. Largest shares: "
        + ", ".join(f"{group.label(arm)} {100 * cells[arm.name].max():.0f} %" for arm in arms)
        + ".",
        svg=_drawn(group, arms, cells, styles, prefix),
        header=("part of the load", "range", *(f"{group.label(arm)}, % of the inserts" for arm in arms)),
        rows=_rows(arms, cells),
    )


def _cells(blob: Blob) -> Cells:
    rows = np.zeros((int(blob.about["times"]), int(blob.about["ranges"])))
    rows[blob.arrays["time"], blob.arrays["range"]] = blob.arrays["rows"]
    shares: Cells = rows / np.maximum(rows.sum(axis=1, keepdims=True), 1)
    return shares


def _rows(arms: Sequence[Arm], cells: Mapping[str, Cells]) -> tuple[tuple[str | float | None, ...], ...]:
    """Cells in which some layout has rows."""
    times = max(own.shape[0] for own in cells.values())
    ranges = max(own.shape[1] for own in cells.values())
    shares = np.full((len(arms), times, ranges), np.nan)
    for i, arm in enumerate(arms):
        own = cells[arm.name]
        shares[i, : own.shape[0], : own.shape[1]] = own
    some = np.argwhere((np.nan_to_num(shares) > 0).any(axis=0))
    return tuple(
        (
            f"{time + 1}",
            f"{place + 1}",
            *(None if np.isnan(share) else round(100 * float(share), 2) for share in shares[:, time, place]),
        )
        for time, place in some.tolist()
    )


def _drawn(group: Group, arms: Sequence[Arm], cells: Mapping[str, Cells], styles: Styles, prefix: str) -> str:
    percent = Scale.linear(0.0, 100.0, 2, "{:g} %".format)
    panels = Panels(
        named_rows(group, arms, styles), percent, percent, ("part of the load's time", "range, in key order"), height=96
    )
    for arm, box in zip(arms, panels.boxes, strict=True):
        own = cells[arm.name]
        across, up = (np.linspace(0, 100, count + 1) for count in own.shape)
        shade = np.ceil(_STEPS * np.sqrt(own)).astype(np.int64)  # the root tells 1/64 from nothing
        for step in range(1, _STEPS + 1):
            time, place = np.nonzero(shade == step)
            if not len(time):
                continue
            low, high = box.places(across[time], up[place]), box.places(across[time + 1], up[place + 1])
            bars = np.stack([low[:, 0], high[:, 1], high[:, 0], low[:, 1]], axis=1)
            panels.canvas.bars(bars, facecolor=PLAIN, alpha=step / _STEPS)
    return panels.canvas.svg(prefix)


FIGURES = (GroupFigure("ranges", 10, _heat_map, about="ranges"),)
