"""Charts from plain values to SVG: dots with their ranges, stacked bars, and small multiples of curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.results.plots.canvas import INK, SMALL, SOFT, WIDTH, Hatch, label_lines, text_width
from keybench.results.plots.panels import GAP, LINE, NamedRows, Panels, PlotRow, Scale, draw_legend, legend_height

_TICK: Final = 30.0
"""Width of a tick's label, in pixels."""
_BOLD: Final = 1.1 * SMALL
"""Size of plain text that is as wide as bold text of size `SMALL`."""


@dataclass(frozen=True)
class Dot:
    """A value with its range and its text; without a value, the text says why in a word."""

    value: float | None
    low: float = 0.0
    high: float = 0.0
    text: str = ""
    hollow: bool = False


@dataclass(frozen=True)
class Panel:
    """One column of dots. `limits` fix the axis; `reference` is drawn as a line."""

    title: str
    dots: Sequence[Dot]
    label: str
    limits: tuple[float, float] | None = None
    reference: float | None = None
    ratio: bool = False


def dot_plot(rows: Sequence[PlotRow], panels: Sequence[Panel], prefix: str) -> str:
    """A dot for each row in each panel, over the line of its range, as SVG."""
    names_width = NamedRows(rows, top=0, bottom=0).left  # the same for any `top`, which is not known yet
    # each panel has the room of its texts; what is left is divided equally among their axes
    text_widths = [
        max((text_width(dot.text, SMALL) for dot in panel.dots if dot.value is not None), default=0) for panel in panels
    ]
    room = WIDTH - names_width - sum(width + 6 for width in text_widths) - GAP * len(panels)  # 6: beside each axis
    width = room / len(panels)
    titles = [
        label_lines(panel.title, max(1, int((width + text_room + GAP) / text_width("m", _BOLD))))  # characters
        for panel, text_room in zip(panels, text_widths, strict=True)
    ]
    table = NamedRows(rows, top=8 + LINE * max(map(len, titles)), bottom=38)  # 38: ticks and label of the axis
    left = table.left + GAP
    for panel, title, text_room in zip(panels, titles, text_widths, strict=True):
        right = left + width + 6 + text_room
        for number, line in enumerate(title):
            table.canvas.text(left, 8 + LINE * number, line, font_weight="bold", size=SMALL)
        _draw_panel(table, rows, panel, left, width, right)
        left = right + GAP
    return table.canvas.svg(prefix)


def _draw_panel(
    table: NamedRows, rows: Sequence[PlotRow], panel: Panel, left: float, width: float, right: float
) -> None:
    """Draws one column: its axis from `left` over `width` pixels, and the dots' texts up to `right`."""
    canvas = table.canvas
    box = table.box(left, width, _scale(panel, width), panel.label)
    if panel.reference is not None:
        box.upright(panel.reference)
    for row, dot, y in zip(rows, panel.dots, table.centres, strict=True):
        if dot.value is None:
            canvas.text(right, y, dot.text, ha="right", color=SOFT, size=SMALL, font_style="italic")
            continue
        canvas.interval(box.across(dot.low), box.across(dot.high), y, row.style.colour)
        canvas.marker(box.across(dot.value), y, row.style, hollow=row.hollow or dot.hollow)
        canvas.text(right, y, dot.text, ha="right", size=SMALL)


def _scale(panel: Panel, width: float) -> Scale:
    """The panel's axis, with as many ticks as `width` pixels have room for."""
    edges = [edge for dot in panel.dots if dot.value is not None for edge in (dot.low, dot.high)]
    if panel.limits:
        low, high = panel.limits
    else:  # 1 and all values, with a margin of 6 % of the logarithmic axis or of 1 %
        low, high = min([1.0, *edges]), max([1.0, *edges])
        margin = max((high / low) ** 0.06, 1.01)
        low, high = low / margin, high * margin
    if panel.ratio:
        return Scale.ratios(low, high, width / _TICK)
    return Scale.linear(low, high, max(1, min(4, int(width // _TICK) - 1)))  # one interval fewer than ticks


@dataclass(frozen=True)
class BarPart:
    """One part of all bars: its name, and its length in each bar (None if a bar has no such part)."""

    name: str
    values: Sequence[float | None]
    colour: str
    hatch: Hatch = ""


def stacked_bars(
    rows: Sequence[PlotRow], parts: Sequence[BarPart], totals: Sequence[str], label: str, above: str, prefix: str
) -> str:
    """A bar for each row as SVG; `totals`, under the heading `above`, stand at the right, or the reason for no bar."""
    # names at the left, totals at the right, and the axis between them
    legend = [(part.colour, part.hatch, part.name) for part in parts if any(value is not None for value in part.values)]
    legend_width = WIDTH - text_width(above)
    table = NamedRows(rows, top=legend_height(legend, legend_width) + 8, bottom=38)
    canvas = table.canvas
    has_bar = [any(part.values[i] is not None for part in parts) for i in range(len(rows))]
    text_room = max([text_width(text, SMALL) for text, shown in zip(totals, has_bar, strict=True) if shown], default=0)
    left = table.left + GAP
    width = WIDTH - left - text_room - 8
    lengths = [sum(part.values[i] or 0.0 for part in parts) for i in range(len(rows))]
    box = table.box(left, width, Scale.linear(0.0, max([*lengths, 0.0]) * 1.02 or 1.0, 5), label)  # 1: all are 0
    # the parts one after the other; `begin` is where the next part of each bar begins
    begin = np.zeros(len(rows))
    pale = {"alpha": 0.55} if any(row.hollow for row in rows) else {}
    canvas.text(WIDTH, 8, above, ha="right", color=SOFT, size=SMALL)
    draw_legend(canvas, legend, legend_width)
    for part in parts:
        length = np.array([value or 0.0 for value in part.values])
        shown = length > 0
        # [:, 0]: horizontal pixels
        left_edge, right_edge = (box.places(ends, 0.0)[:, 0] for ends in (begin[shown], (begin + length)[shown]))
        middle = table.centres[shown]
        bars = np.stack([left_edge, middle - 5.5, right_edge, middle + 5.5], axis=1)
        canvas.bars(bars, facecolor=part.colour, hatch=part.hatch, **pale)
        begin += length
    for text, shown_row, y in zip(totals, has_bar, table.centres, strict=True):
        if shown_row:
            canvas.text(WIDTH, y, text, ha="right", size=SMALL)
        else:
            canvas.text(left + 4, y, text, color=SOFT, size=SMALL, font_style="italic")
    return canvas.svg(prefix)


_DASHED: Final = (3, 2)


@dataclass(frozen=True, eq=False)
class Curve:
    """A median with its range at the places x, each (n,)."""

    row: PlotRow
    middle: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    point: float | None = None
    """A value at the last place, drawn as a dot."""


def curve_panels(
    x: NDArray[np.float64],
    shown: Sequence[Curve],
    labels: tuple[str, str],
    prefix: str,
    *,
    reference: tuple[Curve, str] | None = None,
    y: Scale | None = None,
    x_scale: Scale | None = None,
) -> str:
    """A small panel for each curve, all with the same axes, as SVG.

    `reference` is a curve with its name; it is drawn dashed in every panel but its own. Without `y` the scale fits the
    values, and without `x_scale` it goes from 0 to the last place.
    """
    points = np.array([curve.point for curve in shown if curve.point is not None])
    values = np.concatenate([line for curve in shown for line in (curve.low, curve.high)] + [points])
    across = x_scale or Scale.linear(0.0, float(x[-1]))
    panels = Panels([curve.row for curve in shown], across, y or Scale.fitting(values), labels)
    if reference is not None:  # its legend, from the right edge leftwards
        panels.canvas.text(WIDTH, 8, reference[1], size=SMALL, ha="right", color=SOFT)
        dash_left = WIDTH - text_width(reference[1], SMALL) - 22
        panels.canvas.line(dash_left, 8, 18, edgecolor=SOFT, linewidth=1.2, dashes=_DASHED)
    for curve, box in zip(shown, panels.boxes, strict=True):
        if reference is not None and reference[0] is not curve:
            box.line(x, reference[0].middle, SOFT, 1.0, dashes=_DASHED)
        if (curve.high > curve.low).any():
            box.band(x, curve.low, curve.high, curve.row.style.colour)
        box.line(x, curve.middle, curve.row.style.colour)
        if curve.point is not None:
            box.points(x[-1:], np.array([curve.point]), INK, 5.0)
    return panels.canvas.svg(prefix)
