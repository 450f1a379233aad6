"""Small multiples: one panel for each row of a picture, all with the same axes.

Panels are drawn straight in pixels. One matplotlib `Axes` for each would take ten times as long, and a page can have
hundreds of panels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from keybench.results.plots.canvas import SMALL, WIDTH, Align, Canvas, label_lines, text_width
from keybench.results.plots.palette import INK, RULE, SOFT, Style
from keybench.results.plots.scales import Scale

LINE: Final = 14.0
GAP: Final = 16.0
HEIGHT: Final = 78.0
_AXIS: Final = 36.0


@dataclass(frozen=True)
class PlotRow:
    """One row or panel of a picture: its name, a second line that may be empty, and its style."""

    name: str
    detail: str
    style: Style
    hollow: bool = False
    """Whether markers are hollow and bars pale."""


@dataclass(frozen=True, eq=False)
class Box:
    """One panel: a rectangle of the canvas with its scales; y grows upwards."""

    canvas: Canvas
    left: float
    top: float
    width: float
    height: float
    x: Scale
    y: Scale

    def places(self, x: NDArray[np.float64] | float, y: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Pixels of the points: (n, 2)."""
        across, up = np.broadcast_arrays(self.x(x), self.y(y))
        return np.stack([self.left + self.width * across, self.top + self.height * (1 - up)], axis=-1)

    def across(self, x: float) -> float:
        """Horizontal pixel of a value."""
        return self.left + self.width * float(self.x(x))

    def line(
        self, x: NDArray[np.float64], y: NDArray[np.float64], colour: str, width: float = 1.6, **style: Any
    ) -> None:
        """A line through the points."""
        self.canvas.path(self.places(x, y), edgecolor=colour, linewidth=width, **style)

    def band(self, x: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64], colour: str) -> None:
        """The area between two lines."""
        edge = np.concatenate([self.places(x, low), self.places(x, high)[::-1]])
        self.canvas.path(edge, facecolor=colour, alpha=0.25, linewidth=0)

    def points(
        self, x: NDArray[np.float64], y: NDArray[np.float64], colour: str, size: float = 1.6, *, up: float = 0.0
    ) -> None:
        """A small square at each point, moved `up` by so many pixels."""
        self.canvas.points(self.places(x, y) - (0.0, up), colour, size)

    def columns(self, x: NDArray[np.float64], y: NDArray[np.float64], width: float, **style: Any) -> None:
        """A column from the bottom to each y; `width` is in units of x."""
        low = self.places(x - width / 2, np.full(len(x), self.y.low))
        high = self.places(x + width / 2, y)
        self.canvas.bars(np.stack([low[:, 0], high[:, 1], high[:, 0], low[:, 1]], axis=1), **style)

    def upright(self, x: float, colour: str, **style: Any) -> None:
        """A vertical line from bottom to top."""
        ends = self.places(np.array([x, x]), np.array([self.y.low, self.y.high]))
        self.canvas.path(ends, edgecolor=colour, linewidth=1.2, **style)

    def frame(self, *, left: bool, below: bool) -> None:
        """Grid lines at the ticks, and tick labels on the chosen sides."""
        rules = []
        for value, label in self.x.ticks:
            x = self.across(value)
            rules += [[x, self.top], [x, self.top + self.height]]
            if below:  # at the right end, the label must not reach into the next panel
                side: Align = "right" if x > self.left + self.width - 4 else "center"
                self.canvas.text(x, self.top + self.height + 9, label, ha=side, fontsize=SMALL, color=SOFT)
        for value, label in self.y.ticks:
            ((_, y),) = self.places(self.x.low, np.array([value]))
            rules += [[self.left, y], [self.left + self.width, y]]
            if left:
                self.canvas.text(self.left - 4, y, label, ha="right", fontsize=SMALL, color=SOFT)
        if rules:
            codes = [1, 2] * (len(rules) // 2)
            self.canvas.path(np.array(rules), codes, edgecolor=RULE, linewidth=1)


class Panels:
    """A canvas with one panel for each row, its name above it; the labels of the axes stand at the edges."""

    def __init__(
        self,
        rows: Sequence[PlotRow],
        x: Scale,
        y: Scale,
        labels: tuple[str, str],
        *,
        height: float = HEIGHT,
        legend: float = 0.0,
        most_columns: int = 3,
    ) -> None:
        """`labels` are those of x and y; `legend` is the height of the caller's legend, above the label of y."""
        names = [(label_lines(row.name), label_lines(row.detail)) for row in rows]
        longest = max(text_width(line, SMALL) for pair in names for line in (*pair[0], *pair[1]))
        axis = max([_AXIS, *(text_width(label, SMALL) + 8 for _, label in y.ticks)])
        fitting = [n for n in range(1, most_columns + 1) if longest <= (WIDTH - axis) / n - GAP]
        columns = max([*fitting, 2]) if most_columns > 1 else 1
        count = ceil(len(rows) / columns)
        width = (WIDTH - axis - GAP * (columns - 1) - 6) / columns
        titles = [LINE * max(len(a) + len(b) for a, b in names[i * columns : (i + 1) * columns]) for i in range(count)]
        # Tops of the rows of panels; the titles stand above them.
        tops = legend + 30.0 + np.cumsum(titles) + np.arange(count) * (height + 14)
        self.canvas = Canvas(float(tops[-1]) + height + 40)
        self.boxes = []
        for i, (name, detail) in enumerate(names):
            row, place = divmod(i, columns)
            left = axis + place * (width + GAP)
            for number, line in enumerate((*detail[::-1], *name[::-1])):
                at = tops[row] - 10 - LINE * number
                self.canvas.text(left, at, line, fontsize=SMALL, color=SOFT if number < len(detail) else INK)
            box = Box(self.canvas, left, float(tops[row]), width, height, x, y)
            box.frame(left=place == 0, below=i + columns >= len(rows))
            self.boxes.append(box)
        self.canvas.text(axis, self.canvas.height - 8, labels[0] + _logarithmic(x), fontsize=SMALL, color=SOFT)
        self.canvas.text(0, legend + 8, labels[1] + _logarithmic(y), fontsize=SMALL, color=SOFT)


def _logarithmic(scale: Scale) -> str:
    return ", log scale" if scale.log else ""


class NamedRows:
    """A canvas with a named row for each `PlotRow`, `top` pixels above them and `bottom` below."""

    def __init__(self, rows: Sequence[PlotRow], top: float, bottom: float) -> None:
        labels = [(label_lines(row.name), label_lines(row.detail)) for row in rows]
        heights = [max(21.0, 8.0 + LINE * (len(name) + len(detail))) for name, detail in labels]
        edges = top + np.concatenate([[0.0], np.cumsum(heights)])
        self.centres = (edges[:-1] + edges[1:]) / 2
        self.left = 4 + max(text_width(line) for name, detail in labels for line in (*name, *detail))
        """Where the names end."""
        self.canvas = Canvas(edges[-1] + bottom)
        self._top, self._height = top, float(edges[-1] - top)
        for (name, detail), centre in zip(labels, self.centres, strict=True):
            y = centre - LINE * (len(name) + len(detail) - 1) / 2
            for line in name:
                self.canvas.text(0, y, line)
                y += LINE
            for line in detail:
                self.canvas.text(0, y, line, color=SOFT, fontsize=SMALL)
                y += LINE

    def box(self, left: float, width: float, scale: Scale, label: str) -> Box:
        """A panel over all rows, with grid lines at its ticks and its label below."""
        box = Box(self.canvas, left, self._top, width, self._height, scale, Scale(0.0, 1.0, ()))
        box.frame(left=False, below=True)
        below = self._top + self._height + 26
        self.canvas.text(left + width / 2, below, label, ha="center", fontsize=SMALL, color=SOFT)
        return box


Entry = tuple[str | Style, str]
"""A colour (drawn as a swatch) or a style (drawn as a marker), and its name."""


def legend_height(entries: Sequence[Entry]) -> float:
    """Height of the legend in pixels."""
    return _placed(entries)[1]


def draw_legend(canvas: Canvas, entries: Sequence[Entry]) -> None:
    """Draws the legend at the top of the canvas."""
    for (look, name), (x, y) in zip(entries, _placed(entries)[0], strict=True):
        if isinstance(look, Style):
            canvas.marker(x + 5, y, look)
        else:
            canvas.swatch(x, y, look)
        canvas.text(x + 14, y, name, fontsize=SMALL, color=SOFT if isinstance(look, Style) else INK)


def _placed(entries: Sequence[Entry]) -> tuple[list[tuple[float, float]], float]:
    """The place of each entry, and the height of all."""
    x, y = 0.0, 8.0
    places = []
    for _, name in entries:
        width = 14 + text_width(name, SMALL) + 12
        if x and x + width > WIDTH:
            x, y = 0.0, y + LINE + 2
        places.append((x, y))
        x += width
    return places, y + 8
