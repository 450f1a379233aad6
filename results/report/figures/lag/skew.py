"""Where each writer's keys went into the index as time passed: the picture of the lag problem."""

from __future__ import annotations

import numpy as np

from keybench.results.analysis.groups import Group
from keybench.results.plots.canvas import ramp
from keybench.results.plots.panels import Panels, Scale, key
from keybench.results.report.figures.figure import (
    MOST_CLOUDS,
    Figure,
    GroupFigure,
    Styles,
    Value,
    join,
    kept,
    rows_of,
    shown,
)
from keybench.results.store.blobs import POSITIONS
from keybench.results.wording import plural

_POINTS = 800
"""Insertions that are drawn of each trial."""

_APART = 1.2
"""Pixels between writers at one place, so that none hides the others."""

_EDGES = Scale(-3.0, 103.0, ((100.0, "right edge"), (50.0, "middle"), (0.0, "left edge")))


def _skew(group: Group, styles: Styles, prefix: str) -> Figure | None:
    title = "Where each writer's keys go"
    unit = "insert position in key order against the scenario's time, a colour a writer; only the right edge appends"
    found = {arm.name: blob for arm in group.arms if (blob := kept(arm, POSITIONS)) and len(blob.arrays["row"])}
    if not found or max(len(blob.about["writers"]) for blob in found.values()) < 2:
        return None
    arms, note = shown(group, [arm for arm in group.arms if arm.name in found], MOST_CLOUDS)
    writers = next(iter(found.values())).about["writers"]
    colours = ramp(len(writers))
    entries = list(zip(colours, writers, strict=True))
    last = max(float(blob.arrays["second"].max()) for blob in found.values())
    divisor, word = next(((d, w) for d, w in ((3600, "hours"), (60, "minutes")) if last >= 2 * d), (1, "seconds"))
    panels = Panels(
        rows_of(group, arms, styles),
        Scale.linear(0.0, last / divisor or 1.0),
        _EDGES,
        (f"{word} of the scenario", "where in the index a key goes"),
        key=key(None, entries),
    )
    key(panels.canvas, entries)
    columns: list[list[Value]] = []
    header: list[str] = []
    for arm, box in zip(arms, panels.boxes, strict=True):
        arrays = found[arm.name].arrays
        near = np.unique(np.linspace(0, len(arrays["row"]) - 1, _POINTS).round().astype(np.int64))
        seconds, writer = arrays["second"][near].astype(np.float64), arrays["writer"][near]
        below = 100 * (1 - arrays["above"][near].astype(np.float64))
        for i, colour in enumerate(colours):
            apart = (i - (len(writers) - 1) / 2) * _APART
            box.points(seconds[writer == i] / divisor, below[writer == i], colour, 2.0, up=apart)
        when = [[round(second, 3) for second in seconds.tolist()], [writers[i] for i in writer.tolist()]]
        if columns[:2] != when:  # in planned order, the same for all of them
            columns += when
            header += [f"second of {group.label(arm)}", f"writer of {group.label(arm)}"]
        columns.append([round(value, 2) for value in below.tolist()])
        header.append(f"{group.label(arm)}, keys present below, %")
    return Figure(
        key=prefix,
        title=title,
        unit=unit,
        caption=join(
            f"Each point is a row, up to {len(columns[0]):,} of a trial. Rows that do not go to the right edge split "
            "pages inside the index. Writers at one place are drawn a hair apart.",
            note,
        ),
        origin=join(
            "Derived from the keys and their order of arrival.",
            *sorted({str(found[arm.name].about["note"]) for arm in arms} - {""}),
        ),
        alt=f"Small multiples of points, {plural(len(arms), 'panel')}, a colour for each of {len(writers)} writers.",
        svg=panels.canvas.svg(prefix),
        header=tuple(header),
        rows=tuple(
            tuple(column[i] if i < len(column) else None for column in columns) for i in range(max(map(len, columns)))
        ),
    )


FIGURES = (GroupFigure("skew", 15, _skew),)
