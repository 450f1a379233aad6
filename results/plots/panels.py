"""Panels with scales, drawn straight in pixels: small multiples with the same axes, and a box beside named rows.

One matplotlib `Axes` for each panel would take ten times as long, and a page can have hundreds of panels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from matplotlib.ticker import LogLocator, MaxNLocator
from numpy.typing import NDArray

from keybench.results.plots.canvas import INK, RULE, SMALL, SOFT, WIDTH, Canvas, Hatch, Style, label_lines, text_width

_ROUND: Final = (
    1.0,
    *(base * 10.0**power for base in (1, 2, 5, 3, 7) for power in range(-6, 7)),
    *(1.5, 1.2, 0.8, 1.1, 0.9, 1.05, 0.95, 1.02, 0.98, 1.01, 0.99),
)
"""Ratios that can be ticks, the roundest first."""


@dataclass(frozen=True)
class Scale:
    """Maps values to places between 0 and 1; `ticks` are pairs of value and label."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    log: bool = False

    @staticmethod
    def linear(low: float, high: float, most: int = 3, write: Callable[[float], str] = "{:,g}".format) -> Scale:
        """A scale with ticks at round values, at most about `most`; `write` gives a tick's label."""
        values = MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
        return Scale(low, high, tuple((float(v), write(float(v))) for v in values if low <= v <= high))

    @staticmethod
    def fitting(values: NDArray[np.float64]) -> Scale:
        """A scale from 0. If the largest value is more than 8 times the smallest, a logarithmic one: with ticks at 1, 2
        and 5 times powers of ten, or at powers of ten alone."""
        low, high = float(values.min()), float(values.max())
        if low <= 0 or high / low <= 8:
            return Scale.linear(0.0, high * 1.08 or 1.0)
        low, high = low / 1.15, high * 1.15
        ticks = LogLocator(10, (1.0, 2.0, 5.0) if high / low < 200 else (1.0,), numticks=5).tick_values(low, high)
        return Scale(low, high, tuple((float(v), f"{v:,g}") for v in ticks if low <= v <= high), log=True)

    @staticmethod
    def ratios(low: float, high: float, room: float) -> Scale:
        """A logarithmic scale of ratios between these limits with about `room` ticks: 1 first, then the roundest that
        are far enough from the ones before."""
        distance = np.log(high / low) / room
        ticks: list[float] = []
        for tick in _ROUND:
            if low <= tick <= high and all(abs(np.log(tick / other)) >= distance for other in ticks):
                ticks.append(tick)
        return Scale(low, high, tuple((tick, f"{tick:g}×") for tick in ticks), log=True)

    def __call__(self, values: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Where the values lie on the scale: 0 at its low end, 1 at its high end."""
        numbers = np.asarray(values, np.float64)
        if self.log:
            place: NDArray[np.float64] = np.log(numbers / self.low) / np.log(self.high / self.low)
            return place
        span = self.high - self.low
        return (numbers - self.low) / (span or 1.0)  # 1: a scale of one value


LINE: Final = 14.0
GAP: Final = 16.0
"""Height of a line of text and distance of two panels, in pixels."""
HEIGHT: Final = 78.0
"""Height of a panel in pixels."""
_MOST_COLUMNS: Final = 3
_AXIS: Final = 36.0
"""Width of the labels at the y axis in pixels, at least."""


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
        """A small square at each point, moved up by `up` pixels."""
        self.canvas.points(self.places(x, y) - (0.0, up), colour, size)

    def upright(self, x: float) -> None:
        """A vertical line from bottom to top."""
        self.line(np.array([x, x]), np.array([self.y.low, self.y.high]), SOFT, 1.2)

    def frame(self, *, left: bool, below: bool) -> None:
        """Grid lines at the ticks, and tick labels on the chosen sides."""
        rules = []
        for value, label in self.x.ticks:
            x = self.across(value)
            rules += [[x, self.top], [x, self.top + self.height]]
            if below:
                last = x > self.left + self.width - 4  # there, the label must not reach into the next panel
                below_it = self.top + self.height + 9
                self.canvas.text(x, below_it, label, ha="right" if last else "center", size=SMALL, color=SOFT)
        for value, label in self.y.ticks:
            ((_, y),) = self.places(self.x.low, np.array([value]))
            rules += [[self.left, y], [self.left + self.width, y]]
            if left:
                self.canvas.text(self.left - 4, y, label, ha="right", size=SMALL, color=SOFT)
        if rules:
            codes = [1, 2] * (len(rules) // 2)  # matplotlib's: move to a line's start, draw to its end
            self.canvas.path(np.array(rules), codes, edgecolor=RULE, linewidth=1)


class Panels:
    """A canvas with one panel for each row, its name above it; the labels of the axes stand at the edges."""

    def __init__(
        self, rows: Sequence[PlotRow], x: Scale, y: Scale, labels: tuple[str, str], *, legend: float = 0.0
    ) -> None:
        """`labels`: of x and y. `legend`: pixels that the caller's legend takes, above the label of y."""
        # how many columns fit, and how wide a panel is
        titles = [(label_lines(row.name), label_lines(row.detail)) for row in rows]
        longest_title = max(text_width(line, SMALL) for name, detail in titles for line in (*name, *detail))
        y_labels = max([_AXIS, *(text_width(label, SMALL) + 8 for _, label in y.ticks)])
        fitting = [n for n in range(1, _MOST_COLUMNS + 1) if longest_title <= (WIDTH - y_labels) / n - GAP]
        columns = max([*fitting, 2])  # two, even if the longest title needs more
        width = (WIDTH - y_labels - GAP * (columns - 1) - 6) / columns  # 6: at the right edge
        # tops of the rows of panels, with their titles above; 30 pixels are for the label of y
        lines = [len(name) + len(detail) for name, detail in titles]
        title_heights = [LINE * max(lines[first : first + columns]) for first in range(0, len(rows), columns)]
        tops = legend + 30.0 + np.cumsum(title_heights) + np.arange(len(title_heights)) * (HEIGHT + 14)
        self.canvas = Canvas(float(tops[-1]) + HEIGHT + 40)  # 40: ticks and label of x
        # the panels and their titles, then the labels of the axes
        self.boxes = []
        for i, (name, detail) in enumerate(titles):
            row, column = divmod(i, columns)
            left, top = y_labels + column * (width + GAP), float(tops[row])
            for lines_below, line in enumerate((*detail[::-1], *name[::-1])):  # upwards from the panel
                colour = SOFT if lines_below < len(detail) else INK
                self.canvas.text(left, top - 10 - LINE * lines_below, line, size=SMALL, color=colour)
            box = Box(self.canvas, left=left, top=top, width=width, height=HEIGHT, x=x, y=y)
            box.frame(left=column == 0, below=i + columns >= len(rows))
            self.boxes.append(box)
        self.canvas.text(y_labels, self.canvas.height - 8, labels[0] + _logarithmic(x), size=SMALL, color=SOFT)
        self.canvas.text(0, legend + 8, labels[1] + _logarithmic(y), size=SMALL, color=SOFT)


def _logarithmic(scale: Scale) -> str:
    """What an axis' label says of its scale."""
    return ", log scale" if scale.log else ""


class NamedRows:
    """A canvas with a named row for each `PlotRow`, `top` pixels above them and `bottom` below."""

    def __init__(self, rows: Sequence[PlotRow], top: float, bottom: float) -> None:
        # a row is as high as its lines of text need; its centre is where dots and bars are drawn
        labels = [(label_lines(row.name), label_lines(row.detail)) for row in rows]
        heights = [max(21.0, 8.0 + LINE * (len(name) + len(detail))) for name, detail in labels]
        edges = top + np.concatenate([[0.0], np.cumsum(heights)])
        self.centres = (edges[:-1] + edges[1:]) / 2
        # `default`: for empty names, which have no line
        self.left = 4 + max((text_width(line) for name, detail in labels for line in (*name, *detail)), default=0.0)
        """Where the names end."""
        self.canvas = Canvas(edges[-1] + bottom)
        self._top, self._height = top, float(edges[-1] - top)
        for (name, detail), centre in zip(labels, self.centres, strict=True):
            y = centre - LINE * (len(name) + len(detail) - 1) / 2
            for line in name:
                self.canvas.text(0, y, line)
                y += LINE
            for line in detail:
                self.canvas.text(0, y, line, color=SOFT, size=SMALL)
                y += LINE

    def box(self, left: float, width: float, scale: Scale, label: str) -> Box:
        """A panel over all rows, with grid lines at its ticks and its label below."""
        no_scale = Scale(0.0, 1.0, ())
        box = Box(self.canvas, left=left, top=self._top, width=width, height=self._height, x=scale, y=no_scale)
        box.frame(left=False, below=True)
        below = self._top + self._height + 26
        self.canvas.text(left + width / 2, below, label, ha="center", size=SMALL, color=SOFT)
        return box


Entry = tuple[str, Hatch, str]
"""Of a legend: a colour, a hatch and a name."""


def legend_height(entries: Sequence[Entry], width: float = WIDTH) -> float:
    """Height of the legend in pixels."""
    return _entry_positions(entries, width)[1]


def draw_legend(canvas: Canvas, entries: Sequence[Entry], width: float = WIDTH) -> None:
    """Draws the legend at the top left of the canvas, in lines of at most `width` pixels."""
    for (colour, hatch, name), (x, y) in zip(entries, _entry_positions(entries, width)[0], strict=True):
        canvas.bars(np.array([[x, y - 5, x + 10, y + 5]]), facecolor=colour, hatch=hatch)
        canvas.text(x + 14, y, name, size=SMALL)


def _entry_positions(entries: Sequence[Entry], width: float) -> tuple[list[tuple[float, float]], float]:
    """((x, y) of each entry in pixels, height of all entries together)."""
    x, y = 0.0, 8.0
    places = []
    for *_, name in entries:
        needed = 14 + text_width(name, SMALL) + 12  # the coloured box, the name, a gap
        if x and x + needed > width:  # a line has at least one entry
            x, y = 0.0, y + LINE + 2
        places.append((x, y))
        x += needed
    return places, y + 8
