"""Insert time of every layout on every database over the control's, on one axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keybench.model.metric import Metric
from keybench.model.names import CONTROL
from keybench.results.analysis.groups import Arm, Group, Summary
from keybench.results.plots import rows as plots
from keybench.results.plots.canvas import SMALL, SOFT, WIDTH, Canvas, lines, text_width
from keybench.results.plots.panels import Box, Scale
from keybench.results.report.figures.figure import Figure, RunFigure, Styles, Value, extremes, join, ratios_note, shown
from keybench.results.report.figures.summaries import cells, statistics
from keybench.results.wording import plural, ratio

_ROW, _HEAD = 18.0, 30.0
_MOST_ROWS = 72
"""Rows of the picture, shared by the databases."""


def _forest(groups: Sequence[Group], styles: Styles, prefix: str) -> list[Figure]:
    timed = [(group, known) for group in groups if (known := _ratios(group))]
    if len(timed) < 2:
        return []
    most = max(3, _MOST_ROWS // len(timed))
    sections, notes = [], []
    for group, known in timed:
        chosen, note = shown(group, [arm for arm, _ in known], most)
        names = {arm.name for arm in chosen}
        sections.append((group, [(arm, summary) for arm, summary in known if arm.name in names]))
        notes.append(note)
    named = [(f"{arm.layout} on {group.database}", known.median) for group, part in timed for arm, known in part]
    every = [summary for _, part in timed for _, summary in part]
    data: list[tuple[Value, ...]] = [
        (group.database, group.server, group.payload, arm.layout, arm.column, *cells(summary))
        for group, part in timed
        for arm, summary in part
    ]
    return [
        Figure(
            key=prefix,
            title="Insert time on every database",
            unit=f"ratio to {CONTROL} of the same database in the same block, lower is better",
            caption=join(
                ratios_note(groups[0], every),
                "The line at 1× is the control. Ratios compare layouts on one database, not databases.",
                f"Of each database {most} layouts are drawn, evenly from the fastest to the slowest."
                if any(notes)
                else "",
            ),
            origin="Ratios of times: measured.",
            alt=f"Forest plot over {plural(len(timed), 'database')}. {extremes(named)}",
            svg=_drawn(sections, styles, prefix),
            header=(
                "database",
                "server",
                "payload",
                "layout",
                "column",
                *(f"ratio, {part}" for part in statistics(every)),
            ),
            rows=tuple(data),
        )
    ]


def _ratios(group: Group) -> list[tuple[Arm, Summary]]:
    """The fastest first."""
    found = [(arm, summary) for arm in group.others if (summary := group.ratio(arm, Metric.INSERT_SECONDS))]
    return sorted(found, key=lambda item: item[1].median)


def _drawn(sections: Sequence[tuple[Group, Sequence[tuple[Arm, Summary]]]], styles: Styles, prefix: str) -> str:
    """A heading for each database, a row for each layout; the ratio is written at the right."""
    names = {arm.layout: lines(arm.layout, "", 30)[0] for _, part in sections for arm, _ in part}
    left = 16 + max(text_width(name) for name in names.values())
    right = 8 + max(text_width(ratio(summary.median), SMALL) for _, part in sections for _, summary in part)
    height = sum(_HEAD + _ROW * len(part) for _, part in sections)
    canvas = Canvas(height + 36)
    edges = [edge for _, part in sections for _, summary in part for edge in (summary.low, summary.high)]
    low, high = plots.ratio_limits(edges)
    width = WIDTH - left - right
    ticks = tuple((tick, f"{tick:g}×") for tick in plots.ratio_ticks(low, high, width / 34))
    box = Box(canvas, left, 4, width, height, Scale(low, high, ticks, log=True), Scale(0.0, height, ()))
    box.frame(left=False, below=True)
    box.upright(1.0, SOFT)
    y = 4.0
    for group, part in sections:
        title = " · ".join(word for word in (group.database, group.server, group.column) if word)
        canvas.text(0, y + 18, title, font_weight="bold")
        y += _HEAD
        for arm, summary in part:
            middle = y + _ROW / 2
            canvas.text(8, middle, names[arm.layout])
            places = [float(box.places(value, 0.0)[0]) for value in (summary.low, summary.median, summary.high)]
            if summary.high > summary.low:
                canvas.bars(
                    np.array([[places[0], middle - 1.1, places[2], middle + 1.1]]), facecolor=styles[arm.layout].colour
                )
            canvas.marker(places[1], middle, styles[arm.layout], hollow=group.modelled)
            canvas.text(WIDTH, middle, ratio(summary.median), ha="right", fontsize=SMALL)
            y += _ROW
    canvas.text(left, canvas.height - 6, "× control, log scale", fontsize=SMALL, color=SOFT)
    return canvas.svg(prefix)


FIGURES = (RunFigure("forest", 10, _forest),)
