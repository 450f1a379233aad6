"""Pictures with a row for each layout: dots with ranges, and stacked bars.

Each takes plain values and gives SVG. Rows are named beside the picture and values are written out, so that nothing
hangs on telling colours apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from keybench.results.drawing import PAPER, RULE, SMALL, SOFT, WIDTH, Canvas, fill, lines, text_width
from keybench.results.panels import GAP as _GAP
from keybench.results.panels import LINE as _LINE
from keybench.results.panels import Row

_TICK: Final = 30.0
"""Pixels that the label of a tick takes."""


@dataclass(frozen=True)
class Dot:
    """A value with its range, and how it is written; or without value why there is none, in a word."""

    value: float | None
    low: float = 0.0
    high: float = 0.0
    text: str = ""
    modelled: bool = False
    """Whether it is a page model's among values of a server."""


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
            hollow = (
                {"markerfacecolor": PAPER, "markeredgewidth": 1.6}
                if row.modelled or dot.modelled
                else {"markeredgewidth": 0}
            )
            axes.plot(dot.value, y, row.style.marker, color=row.style.colour, markersize=6.5, clip_on=False, **hollow)
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
        axes.xaxis.set_major_locator(MaxNLocator(max(1, min(4, int(width // _TICK) - 1))))
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
    pale = {"alpha": 0.55} if any(row.modelled for row in rows) else {}
    table.canvas.text(WIDTH, 9, above, ha="right", color=SOFT, fontsize=SMALL)
    for part in parts:
        if any(value is not None for value in part.values):
            table.canvas.swatch(x, 9, part.colour, part.hatch)
            table.canvas.text(x + 14, 9, part.name, fontsize=SMALL)
            x += 14 + text_width(part.name, SMALL) + 12
        length = np.array([value or 0.0 for value in part.values])
        shown = length > 0
        axes.barh(table.centres[shown], length[shown], 11.0, left=begin[shown], **fill(part.colour, part.hatch), **pale)
        begin += length
    for text, shown_row, y in zip(totals, has, table.centres, strict=True):
        if shown_row:
            table.canvas.text(WIDTH, y, text, ha="right", fontsize=SMALL)
        else:
            table.canvas.text(left + 4, y, text, color=SOFT, fontsize=SMALL, style="italic")
    return table.canvas.svg(prefix)
