"""Dot plots: a dot with its range for each row, in one or more panels. Every value is written beside its dot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from keybench.results.plots.canvas import SIZE, SMALL, WIDTH, text_width
from keybench.results.plots.palette import SOFT
from keybench.results.plots.panels import GAP, NamedRows, PlotRow
from keybench.results.plots.scales import Scale, ratio_limits

_TICK: Final = 30.0
"""Width of a tick's label, in pixels."""


@dataclass(frozen=True)
class Dot:
    """A value with its range and its text; without a value, the text says why in a word."""

    value: float | None
    low: float = 0.0
    high: float = 0.0
    text: str = ""
    hollow: bool = False
    far: float | None = None
    """End of a thin line beyond the range."""


@dataclass(frozen=True)
class Panel:
    """One column of dots. `limits` fix the axis; `reference` is drawn as a line."""

    title: str
    dots: Sequence[Dot]
    label: str
    limits: tuple[float, float] | None = None
    reference: float | None = None
    ratio: bool = False
    decades: bool = False
    """Whether the axis is logarithmic though its values are not ratios."""


def dot_plot(rows: Sequence[PlotRow], panels: Sequence[Panel], prefix: str) -> str:
    """A dot for each row in each panel, over the line of its range, as SVG."""
    table = NamedRows(rows, top=22 if any(panel.title for panel in panels) else 6, bottom=38)
    widths = [
        max((text_width(dot.text, SMALL) for dot in panel.dots if dot.value is not None), default=0) for panel in panels
    ]
    room = WIDTH - table.left - sum(width + 6 for width in widths) - GAP * len(panels)
    width = room / len(panels)
    left = table.left + GAP
    for panel, text_room in zip(panels, widths, strict=True):
        right = left + width + 6 + text_room
        _draw_panel(table, rows, panel, left, width, right)
        left = right + GAP
    return table.canvas.svg(prefix)


def _draw_panel(
    table: NamedRows, rows: Sequence[PlotRow], panel: Panel, left: float, width: float, right: float
) -> None:
    canvas = table.canvas
    box = table.box(left, width, _scale(panel, width), panel.label)
    if panel.title:
        size = SMALL if text_width(panel.title) > right - left else SIZE
        canvas.text(left, 8, panel.title, font_weight="bold", fontsize=size)
    if panel.reference is not None:
        box.upright(panel.reference, SOFT)
    for row, dot, y in zip(rows, panel.dots, table.centres, strict=True):
        if dot.value is None:
            canvas.text(right, y, dot.text, ha="right", color=SOFT, fontsize=SMALL, font_style="italic")
            continue
        if dot.far is not None:
            ends = np.array([[box.across(dot.high), y], [box.across(dot.far), y]])
            canvas.path(ends, edgecolor=row.style.colour, linewidth=0.8)
        canvas.interval(box.across(dot.low), box.across(dot.high), y, row.style.colour)
        canvas.marker(box.across(dot.value), y, row.style, hollow=row.hollow or dot.hollow)
        canvas.text(right, y, dot.text, ha="right", fontsize=SMALL)


def _scale(panel: Panel, width: float) -> Scale:
    edges = [edge for dot in panel.dots if dot.value is not None for edge in (dot.low, dot.high)]
    low, high = panel.limits or ratio_limits(edges)
    if panel.ratio:
        return Scale.ratios(low, high, width / _TICK)
    if panel.decades:
        return Scale.logarithmic(low, high)
    return Scale.linear(low, high, max(1, min(4, int(width // _TICK) - 1)))
