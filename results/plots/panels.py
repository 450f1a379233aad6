"""Small multiples: a panel for each row of a picture, all with the same axes.

Panels are drawn straight in pixels. An `Axes` of matplotlib for each would take ten times as long, and a report has
hundreds of panels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Final

import numpy as np
from matplotlib.ticker import LogLocator, MaxNLocator
from numpy.typing import NDArray

from keybench.results.plots.canvas import INK, RULE, SMALL, SOFT, WIDTH, Canvas, Side, Style, lines, text_width

LINE: Final = 14.0
GAP: Final = 16.0
HEIGHT: Final = 78.0
_AXIS: Final = 36.0


@dataclass(frozen=True)
class Row:
    """What a row or a panel is about; `column` is empty where it goes without saying."""

    layout: str
    column: str
    style: Style
    modelled: bool = False
    """Whether its values are a page model's: markers are hollow then, bars pale."""


@dataclass(frozen=True)
class Scale:
    """From values to places between 0 and 1, with the ticks to be labelled: (value, label)."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    log: bool = False

    @staticmethod
    def linear(low: float, high: float, most: int = 3, write: Callable[[float], str] = "{:,g}".format) -> Scale:
        """Ticks at round values, not more than about `most`."""
        values = MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
        return Scale(low, high, tuple((float(v), write(float(v))) for v in values if low <= v <= high))

    @staticmethod
    def logarithmic(low: float, high: float, write: Callable[[float], str] = "{:,g}".format) -> Scale:
        """Ticks at 1, 2 and 5 and their multiples by ten, or at powers of ten alone."""
        subs = (1.0, 2.0, 5.0) if high / low < 200 else (1.0,)
        values = LogLocator(10, subs, numticks=5).tick_values(low, high)
        return Scale(low, high, tuple((float(v), write(float(v))) for v in values if low <= v <= high), log=True)

    @staticmethod
    def fitting(values: NDArray[np.float64]) -> Scale:
        """From 0, or logarithmic where the values are far apart."""
        low, high = float(values.min()), float(values.max())
        if low > 0 and high / low > 8:
            return Scale.logarithmic(low / 1.15, high * 1.15)
        return Scale.linear(0.0, high * 1.08 or 1.0)

    def __call__(self, values: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Places of the values."""
        given = np.asarray(values, np.float64)
        if self.log:
            place: NDArray[np.float64] = np.log(given / self.low) / np.log(self.high / self.low)
            return place
        span = self.high - self.low
        return (given - self.low) / (span or 1.0)


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
        """A small square at each point, so many pixels `up`."""
        self.canvas.points(self.places(x, y) - (0.0, up), colour, size)

    def columns(self, x: NDArray[np.float64], y: NDArray[np.float64], width: float, **style: Any) -> None:
        """A column from the bottom to each y, `width` wide in units of x."""
        low = self.places(x - width / 2, np.full(len(x), self.y.low))
        high = self.places(x + width / 2, y)
        self.canvas.bars(np.stack([low[:, 0], high[:, 1], high[:, 0], low[:, 1]], axis=1), **style)

    def upright(self, x: float, colour: str, **style: Any) -> None:
        """A line from the bottom to the top."""
        ends = self.places(np.array([x, x]), np.array([self.y.low, self.y.high]))
        self.canvas.path(ends, edgecolor=colour, linewidth=1.2, **style)

    def frame(self, *, left: bool, below: bool) -> None:
        """Hair lines at the ticks, and their labels on the sides that are asked for."""
        rules = []
        for value, label in self.x.ticks:
            ((x, _),) = self.places(np.array([value]), self.y.low)
            rules += [[x, self.top], [x, self.top + self.height]]
            if below:  # at the right end not into the next panel
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
    """A canvas with a panel for each row, its name above; what the axes mean stands at the edges."""

    def __init__(
        self,
        rows: Sequence[Row],
        x: Scale,
        y: Scale,
        labels: tuple[str, str],
        *,
        height: float = HEIGHT,
        key: float = 0.0,
        most_columns: int = 3,
    ) -> None:
        """`labels` of x and y; `key` is the height of what the caller draws at the top, above the label of y."""
        names = [(lines(row.layout, ""), lines(row.column, "") if row.column else []) for row in rows]
        longest = max(text_width(line, SMALL) for pair in names for line in (*pair[0], *pair[1]))
        axis = max([_AXIS, *(text_width(label, SMALL) + 8 for _, label in y.ticks)])
        fitting = [n for n in range(1, most_columns + 1) if longest <= (WIDTH - axis) / n - GAP]
        columns = max([*fitting, 2]) if most_columns > 1 else 1
        count = ceil(len(rows) / columns)
        width = (WIDTH - axis - GAP * (columns - 1) - 6) / columns
        titles = [LINE * max(len(a) + len(b) for a, b in names[i * columns : (i + 1) * columns]) for i in range(count)]
        # Tops of the rows of panels, their titles above them.
        tops = key + 30.0 + np.cumsum(titles) + np.arange(count) * (height + 14)
        self.canvas = Canvas(float(tops[-1]) + height + 40)
        self.boxes = []
        for i, (name, column) in enumerate(names):
            row, place = divmod(i, columns)
            left = axis + place * (width + GAP)
            for number, line in enumerate((*column[::-1], *name[::-1])):
                at = tops[row] - 10 - LINE * number
                self.canvas.text(left, at, line, fontsize=SMALL, color=SOFT if number < len(column) else INK)
            box = Box(self.canvas, left, float(tops[row]), width, height, x, y)
            box.frame(left=place == 0, below=i + columns >= len(rows))
            self.boxes.append(box)
        self.canvas.text(axis, self.canvas.height - 8, labels[0] + _logarithmic(x), fontsize=SMALL, color=SOFT)
        self.canvas.text(0, key + 8, labels[1] + _logarithmic(y), fontsize=SMALL, color=SOFT)


def _logarithmic(scale: Scale) -> str:
    return ", log scale" if scale.log else ""


def key(canvas: Canvas | None, entries: Sequence[tuple[str, str]], top: float = 0.0) -> float:
    """Swatches with names, (colour, name), in as many lines as they take, from `top` on; the height of them all.

    Without canvas only the height.
    """
    x, y = 0.0, top + 8
    for colour, name in entries:
        width = 14 + text_width(name, SMALL) + 12
        if x and x + width > WIDTH:
            x, y = 0.0, y + LINE + 2
        if canvas:
            canvas.swatch(x, y, colour)
            canvas.text(x + 14, y, name, fontsize=SMALL)
        x += width
    return y + 8 - top
