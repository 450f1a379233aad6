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

from keybench.results.plots.canvas import WIDTH, Canvas, Side
from keybench.results.plots.labels import SMALL, label_lines, text_width
from keybench.results.plots.palette import INK, RULE, SOFT, Style
from keybench.results.plots.scales import Scale

LINE: Final = 14.0
GAP: Final = 16.0
HEIGHT: Final = 78.0
_AXIS: Final = 36.0


@dataclass(frozen=True)
class Row:
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
                side: Side = "right" if x > self.left + self.width - 4 else "center"
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
        rows: Sequence[Row],
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
