"""Where each writer's keys went into the index as time passed: the picture of the lag problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.plots.legend import draw_legend, legend_height
from keybench.results.plots.palette import ramp
from keybench.results.plots.panels import Panels
from keybench.results.plots.scales import Scale
from keybench.results.report.figures.captions import join
from keybench.results.report.figures.figure import Figure, GroupFigure, Styles, Value
from keybench.results.report.figures.selection import MOST_CLOUDS, evenly_chosen, named_rows, stored_blob
from keybench.results.store.blobs import POSITIONS, Blob
from keybench.results.wording import plural

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_POINTS: Final = 800
"""Points drawn for each trial."""

_OFFSET: Final = 1.2
_WIDEST: Final = 10.0
"""Pixels between two writers at the same place, so that none hides another, and between the first and the last."""

_EDGES: Final = Scale(-3.0, 103.0, ((100.0, "right edge"), (50.0, "middle"), (0.0, "left edge")))


def _insert_positions(group: Group, styles: Styles, prefix: str) -> Figure | None:
    blobs = {arm.name: blob for arm in group.arms if (blob := stored_blob(arm, POSITIONS)) and len(blob.arrays["row"])}
    if not blobs or max(len(blob.about["writers"]) for blob in blobs.values()) < 2:
        return None
    arms, note = evenly_chosen(group, [arm for arm in group.arms if arm.name in blobs], MOST_CLOUDS)
    writers = next(iter(blobs.values())).about["writers"]
    header, columns = _data(group, arms, blobs, writers)
    return Figure(
        key=prefix,
        title="Insert positions of each writer",
        unit="position in key order by the scenario's time, one colour a writer; only the right edge appends",
        caption=join(
            f"Each point is a row, up to {len(columns[0]):,} a trial. A row that does not go to the right edge can "
            "split a page inside the index. Points of several writers at one place are drawn slightly apart.",
            note,
        ),
        origin=join(
            "Derived from the keys and their order of arrival.",
            *sorted({str(blobs[arm.name].about["note"]) for arm in arms} - {""}),
        ),
        alt=f"Small multiples of points, {plural(len(arms), 'panel')}, one colour for each of {len(writers)} writers.",
        svg=_drawn(group, arms, blobs, writers, styles, prefix),
        header=tuple(header),
        rows=tuple(
            tuple(column[i] if i < len(column) else None for column in columns) for i in range(max(map(len, columns)))
        ),
    )


def _drawn(
    group: Group, arms: Sequence[Arm], blobs: Mapping[str, Blob], writers: Sequence[str], styles: Styles, prefix: str
) -> str:
    colours = ramp(len(writers))
    entries = list(zip(colours, writers, strict=True))
    last = max(float(blob.arrays["second"].max()) for blob in blobs.values())
    divisor, unit = next(((d, w) for d, w in ((3600, "hours"), (60, "minutes")) if last >= 2 * d), (1, "seconds"))
    panels = Panels(
        named_rows(group, arms, styles),
        Scale.linear(0.0, last / divisor or 1.0),
        _EDGES,
        (f"{unit} of the scenario", "position in the index"),
        legend=legend_height(entries),
    )
    draw_legend(panels.canvas, entries)
    apart = min(_OFFSET, _WIDEST / len(writers))
    for arm, box in zip(arms, panels.boxes, strict=True):
        seconds, writer, below = _points(blobs[arm.name])
        for i, colour in enumerate(colours):
            offset = (i - (len(writers) - 1) / 2) * apart
            box.points(seconds[writer == i] / divisor, below[writer == i], colour, 2.0, up=offset)
    return panels.canvas.svg(prefix)


def _points(blob: Blob) -> tuple[Floats, Ints, Floats]:
    """Second, writer's number, and % of the present keys below the row, for up to `_POINTS` rows."""
    arrays = blob.arrays
    near = np.unique(np.linspace(0, len(arrays["row"]) - 1, _POINTS).round().astype(np.int64))
    below = 100 * (1 - arrays["above"][near].astype(np.float64))
    return arrays["second"][near].astype(np.float64), arrays["writer"][near], below


def _data(
    group: Group, arms: Sequence[Arm], blobs: Mapping[str, Blob], writers: Sequence[str]
) -> tuple[list[str], list[list[Value]]]:
    """Header and columns. Second and writer follow planned order, so they are listed once if all arms share them."""
    header: list[str] = []
    columns: list[list[Value]] = []
    for arm in arms:
        seconds, writer, below = _points(blobs[arm.name])
        when = [[round(second, 3) for second in seconds.tolist()], [writers[i] for i in writer.tolist()]]
        if columns[:2] != when:
            columns += when
            header += [f"second of {group.label(arm)}", f"writer of {group.label(arm)}"]
        columns.append([round(value, 2) for value in below.tolist()])
        header.append(f"{group.label(arm)}, keys present below, %")
    return header, columns


FIGURES = (GroupFigure("skew", 15, _insert_positions),)
