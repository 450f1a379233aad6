"""Pictures with a row for each layout: dots with ranges, and stacked bars.

Each takes plain values and gives SVG. Rows are named beside the picture and values are written out, so that nothing
hangs on telling colours apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from keybench.results.plots.canvas import SMALL, SOFT, WIDTH, Canvas, fill, lines, text_width
from keybench.results.plots.panels import GAP as _GAP
from keybench.results.plots.panels import LINE as _LINE
from keybench.results.plots.panels import Box, Row, Scale

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
    far: float | None = None
    """How far a thin line reaches beyond the range."""


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
    """Whether the axis is logarithmic without being a ratio's."""


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

    def box(self, left: float, width: float, scale: Scale, label: str) -> Box:
        """A panel over all rows: lines at its ticks, their labels and what they are below."""
        box = Box(self.canvas, left, self.top, width, self.height, scale, Scale(0.0, 1.0, ()))
        box.frame(left=False, below=True)
        below = self.top + self.height + 26
        self.canvas.text(left + width / 2, below, label, ha="center", fontsize=SMALL, color=SOFT)
        return box


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
        box = table.box(left, width, _scale(panel, width), panel.label)
        if panel.title:
            table.canvas.text(left, 8, panel.title, font_weight="bold")
        if panel.reference is not None:
            box.upright(panel.reference, SOFT)
        right = left + width + 6 + value_width
        for row, dot, y in zip(rows, panel.dots, table.centres, strict=True):
            if dot.value is None:
                table.canvas.text(right, y, dot.text, ha="right", color=SOFT, fontsize=SMALL, font_style="italic")
                continue
            low, at, high = (float(box.places(value, 0.0)[0]) for value in (dot.low, dot.value, dot.high))
            if dot.far is not None:
                table.canvas.path(box.places(np.array([dot.high, dot.far]), 0.0) * (1, 0) + (0, y), **_thin(row))
            if high > low:
                table.canvas.bars(np.array([[low, y - 1.1, high, y + 1.1]]), facecolor=row.style.colour)
            table.canvas.marker(at, y, row.style, hollow=row.modelled or dot.modelled)
            table.canvas.text(right, y, dot.text, ha="right", fontsize=SMALL)
        left = right + _GAP
    return table.canvas.svg(prefix)


def _thin(row: Row) -> dict[str, Any]:
    return {"edgecolor": row.style.colour, "linewidth": 0.8}


def _limits(panel: Panel) -> tuple[float, float]:
    shown = [dot for dot in panel.dots if dot.value is not None]
    return ratio_limits([edge for dot in shown for edge in (dot.low, dot.high)])


def ratio_limits(values: Sequence[float]) -> tuple[float, float]:
    """Limits of a logarithmic axis that holds 1 and all the values, with some air."""
    low, high = min([1.0, *values]), max([1.0, *values])
    air = max((high / low) ** 0.06, 1.01)
    return low / air, high * air


def _scale(panel: Panel, width: float) -> Scale:
    low, high = panel.limits or _limits(panel)
    if panel.ratio:
        ticks = ratio_ticks(low, high, width / _TICK)
        return Scale(low, high, tuple((tick, f"{tick:g}×") for tick in ticks), log=True)
    if panel.decades:
        return Scale.logarithmic(low, high)
    return Scale.linear(low, high, max(1, min(4, int(width // _TICK) - 1)))


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
    box = table.box(left, width, Scale.linear(0.0, max([*ends, 0.0]) * 1.02 or 1.0, 5), label)
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
        from_, to = (box.places(ends_, 0.0)[:, 0] for ends_ in (begin[shown], (begin + length)[shown]))
        middle = table.centres[shown]
        bars = np.stack([from_, middle - 5.5, to, middle + 5.5], axis=1)
        table.canvas.bars(bars, **fill(part.colour, part.hatch), **pale)
        begin += length
    for text, shown_row, y in zip(totals, has, table.centres, strict=True):
        if shown_row:
            table.canvas.text(WIDTH, y, text, ha="right", fontsize=SMALL)
        else:
            table.canvas.text(left + 4, y, text, color=SOFT, fontsize=SMALL, font_style="italic")
    return table.canvas.svg(prefix)
