"""The three kinds of picture: dots with ranges, stacked bars, and small multiples of curves.

Each takes plain values and gives SVG. Rows are named beside the picture and values are written out, so that nothing
hangs on telling colours apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Final

import numpy as np
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator
from numpy.typing import NDArray

from keybench.results.drawing import INK, RULE, SMALL, SOFT, WIDTH, Canvas, Style, fill, lines, text_width

_LINE: Final = 14.0
_GAP: Final = 16.0
_PANEL: Final = 78.0
_TICK: Final = 30.0
"""Pixels that the label of a tick takes."""


@dataclass(frozen=True)
class Row:
    """What a row or a panel is about; `column` is empty where it goes without saying."""

    layout: str
    column: str
    style: Style


@dataclass(frozen=True)
class Dot:
    """A value with its range, and how it is written; or without value why there is none, in a word."""

    value: float | None
    low: float = 0.0
    high: float = 0.0
    text: str = ""


@dataclass(frozen=True)
class Panel:
    """One column of dots. `limits` fix the axis; `reference` is drawn as a line."""

    title: str
    dots: Sequence[Dot]
    label: str
    limits: tuple[float, float] | None = None
    reference: float | None = None
    ratio: bool = False


@dataclass(frozen=True)
class Part:
    """One part of all bars: its name and its length in each; None where a bar has no such part."""

    name: str
    values: Sequence[float | None]
    colour: str
    hatch: str = ""


@dataclass(frozen=True, eq=False)
class Curve:
    """A median with its range at the places x, each (n,); `mark` is a place to be marked."""

    row: Row
    middle: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    mark: float | None = None


_ROUND: Final = (
    1.0,
    *(base * 10.0**power for base in (1, 2, 5, 3, 7) for power in range(-6, 7)),
    *(1.5, 1.2, 0.8, 1.1, 0.9, 1.05, 0.95, 1.02, 0.98, 1.01, 0.99),
)
"""Ratios that may stand at a tick, the roundest first."""


class _Table:
    """Rows of a picture: their heights, their names at the left."""

    def __init__(self, rows: Sequence[Row], top: float, bottom: float) -> None:
        self._rows = rows
        self._labels = [(lines(row.layout, ""), lines(row.column, "") if row.column else []) for row in rows]
        heights = [max(21.0, 8.0 + _LINE * (len(name) + len(column))) for name, column in self._labels]
        self.edges = top + np.concatenate([[0.0], np.cumsum(heights)])
        self.centres = (self.edges[:-1] + self.edges[1:]) / 2
        self.top = top
        self.left = 4 + max(text_width(line) for name, column in self._labels for line in (*name, *column))
        self.canvas = Canvas(self.edges[-1] + bottom)

    @property
    def height(self) -> float:
        return float(self.edges[-1] - self.top)

    def draw_names(self) -> None:
        for (name, column), centre in zip(self._labels, self.centres, strict=True):
            y = centre - _LINE * (len(name) + len(column) - 1) / 2
            for line in name:
                self.canvas.text(0, y, line)
                y += _LINE
            for line in column:
                self.canvas.text(0, y, line, color=SOFT, fontsize=SMALL)
                y += _LINE

    def axes(self, left: float, width: float, limits: tuple[float, float], label: str) -> Any:
        """Axes whose y is pixels down from the canvas's top, with a hair line between rows."""
        axes = self.canvas.axes(left, self.top, width, self.height)
        axes.set_ylim(self.edges[-1], self.edges[0])
        axes.set_xlim(*limits)
        axes.yaxis.set_major_locator(NullLocator())
        axes.set_xlabel(label, fontsize=SMALL, labelpad=3)
        axes.grid(axis="x", color=RULE, linewidth=1)
        axes.set_axisbelow(True)
        return axes


def dots(rows: Sequence[Row], panels: Sequence[Panel], prefix: str) -> str:
    """A dot for each row in each panel, over the line of its range, its value written at the right."""
    table = _Table(rows, top=22 if any(panel.title for panel in panels) else 6, bottom=38)
    table.draw_names()
    values = [
        max((text_width(dot.text, SMALL) for dot in panel.dots if dot.value is not None), default=0) for panel in panels
    ]
    room = WIDTH - table.left - sum(value + 6 for value in values) - _GAP * len(panels)
    width = room / len(panels)
    left = table.left + _GAP
    for panel, value_width in zip(panels, values, strict=True):
        axes = table.axes(left, width, panel.limits or _limits(panel), panel.label)
        _scale(axes, panel, width)
        if panel.title:
            table.canvas.text(left, 8, panel.title, fontweight="bold")
        if panel.reference is not None:
            axes.axvline(panel.reference, color=SOFT, linewidth=1.2, zorder=1)
        right = left + width + 6 + value_width
        for row, dot, y in zip(rows, panel.dots, table.centres, strict=True):
            if dot.value is None:
                table.canvas.text(right, y, dot.text, ha="right", color=SOFT, fontsize=SMALL, style="italic")
                continue
            if dot.high > dot.low:
                axes.plot([dot.low, dot.high], [y, y], color=row.style.colour, linewidth=2.2, solid_capstyle="butt")
            axes.plot(
                dot.value, y, row.style.marker, color=row.style.colour, markersize=6.5, markeredgewidth=0, clip_on=False
            )
            table.canvas.text(right, y, dot.text, ha="right", fontsize=SMALL)
        left = right + _GAP
    return table.canvas.svg(prefix)


def _limits(panel: Panel) -> tuple[float, float]:
    shown = [dot for dot in panel.dots if dot.value is not None]
    return ratio_limits([edge for dot in shown for edge in (dot.low, dot.high)])


def ratio_limits(values: Sequence[float]) -> tuple[float, float]:
    """Limits of a logarithmic axis that holds 1 and all the values, with some air."""
    low, high = min([1.0, *values]), max([1.0, *values])
    air = max((high / low) ** 0.06, 1.01)
    return low / air, high * air


def _scale(axes: Any, panel: Panel, width: float) -> None:
    if panel.ratio:
        axes.set_xscale("log")
        low, high = axes.get_xlim()
        axes.xaxis.set_major_locator(FixedLocator(ratio_ticks(low, high, width / _TICK)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
    else:
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))


def ratio_ticks(low: float, high: float, room: float = 4.0) -> list[float]:
    """Round ratios between the limits of a logarithmic axis that has room for so many: 1 first, then the roundest."""
    least = np.log(high / low) / room
    found: list[float] = []
    for tick in _ROUND:
        if low <= tick <= high and all(abs(np.log(tick / other)) >= least for other in found):
            found.append(tick)
    return found


def stacks(
    rows: Sequence[Row], parts: Sequence[Part], totals: Sequence[str], label: str, above: str, prefix: str
) -> str:
    """A bar for each row, made of parts; `totals` are written at the right below `above`, or why there is no bar."""
    table = _Table(rows, top=24, bottom=38)
    table.draw_names()
    has = [any(part.values[i] is not None for part in parts) for i in range(len(rows))]
    value_width = max([text_width(text, SMALL) for text, shown in zip(totals, has, strict=True) if shown], default=0)
    left = table.left + _GAP
    width = WIDTH - left - value_width - 8
    ends = [sum(part.values[i] or 0.0 for part in parts) for i in range(len(rows))]
    axes = table.axes(left, width, (0.0, max([*ends, 0.0]) * 1.02 or 1.0), label)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    x = 0.0
    begin = np.zeros(len(rows))
    table.canvas.text(WIDTH, 9, above, ha="right", color=SOFT, fontsize=SMALL)
    for part in parts:
        if any(value is not None for value in part.values):
            table.canvas.swatch(x, 9, part.colour, part.hatch)
            table.canvas.text(x + 14, 9, part.name, fontsize=SMALL)
            x += 14 + text_width(part.name, SMALL) + 12
        length = np.array([value or 0.0 for value in part.values])
        shown = length > 0
        axes.barh(table.centres[shown], length[shown], 11.0, left=begin[shown], **fill(part.colour, part.hatch))
        begin += length
    for text, shown_row, y in zip(totals, has, table.centres, strict=True):
        if shown_row:
            table.canvas.text(WIDTH, y, text, ha="right", fontsize=SMALL)
        else:
            table.canvas.text(left + 4, y, text, color=SOFT, fontsize=SMALL, style="italic")
    return table.canvas.svg(prefix)


def curves(
    x: NDArray[np.float64], found: Sequence[Curve], control: Curve | None, labels: tuple[str, str], prefix: str
) -> str:
    """A small panel for each curve, all with the same axes, the control's dashed in each of them."""
    names = [(lines(c.row.layout, ""), lines(c.row.column, "") if c.row.column else []) for c in found]
    longest = max(text_width(line, SMALL) for pair in names for line in (*pair[0], *pair[1]))
    axis = 36.0
    columns = 3 if longest <= (WIDTH - axis) / 3 - _GAP else 2
    count = ceil(len(found) / columns)
    width = (WIDTH - axis - _GAP * (columns - 1) - 6) / columns
    titles = [_LINE * max(len(a) + len(b) for a, b in names[i * columns : (i + 1) * columns]) for i in range(count)]
    # Tops of the rows of panels, their titles above them.
    tops = 30.0 + np.cumsum(titles) + np.arange(count) * (_PANEL + 14)
    canvas = Canvas(float(tops[-1]) + _PANEL + 40)
    lowest = min(float(curve.low.min()) for curve in found)
    highest = max(float(curve.high.max()) for curve in found)
    logarithmic = lowest > 0 and highest / lowest > 8
    limits = (lowest / 1.15, highest * 1.15) if logarithmic else (0.0, highest * 1.08 or 1.0)
    _key(canvas, any(curve.mark for curve in found), control is not None)
    for i, (curve, (name, column)) in enumerate(zip(found, names, strict=True)):
        row, place = divmod(i, columns)
        left = axis + place * (width + _GAP)
        for number, line in enumerate((*column[::-1], *name[::-1])):
            y = tops[row] - 8 - _LINE * number
            canvas.text(left, y, line, fontsize=SMALL, color=SOFT if number < len(column) else INK)
        axes = canvas.axes(left, tops[row], width, _PANEL)
        _frame(axes, x, limits, logarithmic, labelled=(place == 0, i + columns >= len(found)))
        if control is not None and control is not curve:
            axes.plot(x, control.middle, color=SOFT, linewidth=1, linestyle=(0, (3, 2)))
        axes.fill_between(x, curve.low, curve.high, color=curve.row.style.colour, alpha=0.25, linewidth=0)
        axes.plot(x, curve.middle, color=curve.row.style.colour, linewidth=1.6)
        if curve.mark is not None:
            axes.axvline(curve.mark, color=INK, linewidth=1.2, linestyle=(0, (1, 2)))
    canvas.text(axis, canvas.height - 8, labels[0], fontsize=SMALL, color=SOFT)
    canvas.text(0, 8, labels[1] + (", log scale" if logarithmic else ""), fontsize=SMALL, color=SOFT)
    return canvas.svg(prefix)


def _key(canvas: Canvas, mark: bool, control: bool) -> None:
    """What the strokes mean, from the right edge leftwards."""
    x = canvas.width
    for shown, text, dash in ((mark, "index exceeds cache", (0, (1, 2))), (control, "control", (0, (3, 2)))):
        if shown:
            canvas.text(x, 8, text, fontsize=SMALL, ha="right", color=SOFT)
            x -= text_width(text, SMALL) + 22
            canvas.line(x, 8, 18, color=INK if text != "control" else SOFT, linewidth=1.2, linestyle=dash)
            x -= 12


def _frame(
    axes: Any, x: NDArray[np.float64], limits: tuple[float, float], logarithmic: bool, labelled: tuple[bool, bool]
) -> None:
    axes.set_xlim(0, float(x[-1]))
    if logarithmic:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(10, (1.0, 2.0, 5.0), numticks=4))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.yaxis.set_major_locator(MaxNLocator(3))
    axes.set_ylim(*limits)
    axes.xaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))
    plain = FuncFormatter(lambda value, _: f"{value:,g}")
    axes.yaxis.set_major_formatter(plain if labelled[0] else NullFormatter())
    axes.xaxis.set_major_formatter(plain if labelled[1] else NullFormatter())
    axes.grid(color=RULE, linewidth=1)
    axes.set_axisbelow(True)
