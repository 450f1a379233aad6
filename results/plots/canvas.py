"""A canvas measured in pixels, its SVG, ready to stand inside a page, and the colours and markers of all plots.

Text stays text: it can be searched and selected, and takes the page's font. Colours are CSS variables with a fallback,
so a page can have a dark mode, and a figure taken out of the page still has its colours.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from textwrap import wrap
from typing import Any, Final, Literal
from xml.sax.saxutils import escape

import numpy as np
from matplotlib.markers import MarkerStyle
from matplotlib.transforms import Affine2D
from numpy.typing import NDArray

# Name of the CSS variable, and its fallback on white.
_FALLBACKS: Final = {
    "ink": "#1f2328", "soft": "#656d76", "rule": "#dfe3e8", "paper": "#ffffff",
    "k1": "#b9c2cc", "k2": "#e3a008", "k3": "#b3261e", "k4": "#5b7c99",
    # Okabe and Ito's colours without yellow, then four of Tol's: they differ for every common colour blindness.
    "c0": "#0072b2", "c1": "#d55e00", "c2": "#009e73", "c3": "#cc79a7", "c4": "#e69f00",
    "c5": "#56b4e9", "c6": "#332288", "c7": "#882255", "c8": "#999933", "c9": "#44aa99",
    # A ramp from dark to light (after viridis), so that the colours differ in black-and-white print too.
    "w0": "#440154", "w1": "#46327e", "w2": "#365c8d", "w3": "#277f8e",
    "w4": "#1fa187", "w5": "#4ac16d", "w6": "#97c93c", "w7": "#d8bd12",
}  # fmt: skip


def _css(name: str) -> str:
    return f"var(--{name}, {_FALLBACKS[name]})"


INK, SOFT, RULE, PAPER = (_css(name) for name in ("ink", "soft", "rule", "paper"))
KINDS: Final = tuple(_css(name) for name in ("k1", "k2", "k3"))
"""Calm, noticeable, loud: for the parts of a whole."""
PLAIN: Final = _css("k4")
_RAMP: Final = tuple(_css(f"w{number}") for number in range(8))
_COLOURS: Final = tuple(_css(f"c{number}") for number in range(10))
_MARKERS: Final = "osD^vPX<>p"


@dataclass(frozen=True)
class Style:
    """Colour and marker of one name in every figure; the marker tells apart what colours alone may not."""

    colour: str
    marker: str


def styles(names: Iterable[str], reference: str) -> dict[str, Style]:
    """One style for each name, by its place among the sorted names; the reference is drawn in ink."""
    ordered = sorted({name for name in names if name != reference})
    return {reference: Style(INK, "o")} | {
        # Colours repeat after ten names, with the markers shifted by one: a hundred names differ.
        name: Style(_COLOURS[i % len(_COLOURS)], _MARKERS[(i + i // len(_COLOURS)) % len(_MARKERS)])
        for i, name in enumerate(ordered)
    }


def ramp(count: int) -> list[str]:
    """`count` colours from dark to light: fewer than four are the first of four, more than eight repeat some."""
    return [_RAMP[i * len(_RAMP) // max(count, 4)] for i in range(count)]


SIZE: Final = 12.0
SMALL: Final = 11.0
"""Font sizes in pixels."""

_CHARACTER: Final = 0.56
"""Width of an average character, in font sizes."""


def text_width(text: str, size: float = SIZE) -> float:
    """Approximate width of a line of text, in pixels."""
    return len(text) * size * _CHARACTER


def label_lines(text: str, longest: int = 22) -> list[str]:
    """The text in at most three lines of about `longest` characters, broken after hyphens; none for an empty text."""
    return wrap(text, longest, max_lines=3, placeholder="…")


WIDTH: Final = 460
"""Width of a figure in pixels: two stand side by side on a screen, one fits a phone."""

_BASELINE: Final = 0.36
"""Distance of a line's baseline from its middle, in font sizes."""

_UNPRINTABLE: Final = re.compile("[\x00-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML forbids."""
_FONT: Final = "font-family: 'DejaVu Sans', sans-serif"
_CURVE, _CLOSE = 4, 79
_COMMANDS: Final = {1: "M", 2: "L", _CURVE: "C"}
"""SVG's commands for matplotlib's codes of a path (`matplotlib.path.Path`); `_CLOSE` closes it."""

Hatch = Literal["", "/", "\\", "x"]
_STROKES: Final[dict[Hatch, str]] = {"/": "M0 6L6 0", "\\": "M0 0L6 6", "x": "M0 6L6 0M0 0L6 6"}
"""The strokes of a hatch in a square of six pixels; they have the colour of the paper."""

Align = Literal["left", "center", "right"]


class Canvas:
    """A figure whose coordinates are pixels from the top left corner."""

    def __init__(self, height: float, width: float = WIDTH) -> None:
        self.width = width
        self.height = height
        self._paths: list[str] = []
        self._texts: list[str] = []

    def text(
        self, x: float, y: float, text: str, *, ha: Align = "left", color: str = INK, size: float = SIZE, **style: str
    ) -> None:
        """One line of text, vertically centred on the point; `style` holds SVG attributes, with _ in place of -."""
        anchor = {"left": "", "center": ' text-anchor="middle"', "right": ' text-anchor="end"'}[ha]
        more = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in style.items())
        printable = _UNPRINTABLE.sub("\ufffd", text)
        self._texts.append(
            f'<text x="{x:.1f}" y="{y + _BASELINE * size:.1f}"{anchor} font-size="{size:g}" '
            f'style="fill: {color}"{more}>{escape(printable)}</text>'
        )

    def path(self, points: NDArray[np.float64], codes: Sequence[int] = (), *, digits: int = 1, **style: Any) -> None:
        """A path through (n, 2) pixels, rounded to `digits`; `codes` are matplotlib's (1 moves to a point, 2 draws a
        line to it). Without codes, it is one line through all points."""
        places = [f"{x:g} {y:g}" for x, y in np.round(points, digits).tolist()]
        steps, previous = [], 0
        for code, place in zip(codes or [1] + [2] * (len(places) - 1), places, strict=True):
            if code == _CLOSE:
                steps.append("z")
            else:  # the points of a curve follow one command
                steps.append(f" {place}" if code == previous == _CURVE else _COMMANDS[code] + place)
            previous = code
        self._add("".join(steps), **style)

    def _add(
        self,
        path: str,
        *,
        edgecolor: str = "none",
        facecolor: str = "none",
        linewidth: float = 1.0,
        dashes: Sequence[float] = (),
        alpha: float = 1.0,
        hatch: Hatch = "",
    ) -> None:
        """Adds a path of SVG's commands; `dashes` are in widths of the line. A hatch is a second path over it."""
        style = f"fill: {facecolor}; opacity: {alpha:.3g}"
        if edgecolor != "none":
            style += f"; stroke: {edgecolor}; stroke-width: {linewidth:g}"
            style += f"; stroke-dasharray: {','.join(f'{part * linewidth:g}' for part in dashes)}" if dashes else ""
        self._paths.append(f'<path d="{path}" style="{style}"/>')
        if hatch:
            place = tuple(_STROKES).index(hatch)  # `svg` replaces the prefix
            self._paths.append(f'<path d="{path}" style="fill: url(#{{prefix}}-hatch{place}); opacity: {alpha:.3g}"/>')

    def points(self, points: NDArray[np.float64], colour: str, size: float = 1.6) -> None:
        """A small square at each of (n, 2) pixels, all in one path: one marker each would take four times the bytes."""
        if len(points):
            lines = (f"M{x - size / 2:.1f} {y:.1f}H{x + size / 2:.1f}" for x, y in points.tolist())
            self._add("".join(lines), edgecolor=colour, linewidth=size)

    def bars(self, boxes: NDArray[np.float64], **style: Any) -> None:
        """Filled rectangles in one path; (n, 4) pixels: left, top, right, bottom."""
        if len(boxes):
            shapes = (
                f"M{left:.1f} {top:.1f}H{right:.1f}V{bottom:.1f}H{left:.1f}z" for left, top, right, bottom in boxes
            )
            self._add("".join(shapes), **style)

    def interval(self, low: float, high: float, y: float, colour: str) -> None:
        """A thick horizontal line between two places; nothing if it has no length."""
        if high > low:
            self.bars(np.array([[low, y - 1.1, high, y + 1.1]]), facecolor=colour)

    def marker(self, x: float, y: float, style: Style, size: float = 6.5, *, hollow: bool = False) -> None:
        """Draws the marker of that style, `size` pixels high, around the point."""
        points, codes = _shape(style.marker)
        look = {"facecolor": PAPER, "edgecolor": style.colour} if hollow else {"facecolor": style.colour}
        self.path(points * size + (x, y), codes, digits=2, linewidth=1.4, **look)

    def line(self, x: float, y: float, length: float, **style: Any) -> None:
        """A horizontal line that begins at the point."""
        self.path(np.array([[x, y], [x + length, y]]), **style)

    def svg(self, prefix: str) -> str:
        """The picture as an SVG element; `prefix` makes its ids unique on the page."""
        paths = "\n".join(self._paths).replace("{prefix}", prefix)
        hatches = "".join(
            f'<pattern id="{prefix}-hatch{place}" width="6" height="6" patternUnits="userSpaceOnUse">'
            f'<path d="{strokes}" style="fill: none; stroke: {PAPER}; stroke-width: 0.8"/></pattern>'
            for place, strokes in enumerate(_STROKES.values())
            if f"#{prefix}-hatch{place}" in paths
        )
        texts = "\n".join(self._texts)
        return (
            f'<svg viewBox="0 0 {self.width:g} {self.height:g}" aria-hidden="true" focusable="false">'
            f'<defs>{hatches}</defs>\n<g stroke-linejoin="round">\n{paths}\n</g>\n<g style="{_FONT}">\n{texts}\n</g>\n'
            "</svg>\n"
        )


@cache
def _shape(marker: str) -> tuple[NDArray[np.float64], Sequence[int]]:
    """(points, matplotlib's code of each) of a marker's path: height 1 around the origin, y downwards. There are no
    codes if all points are joined by straight lines."""
    style = MarkerStyle(marker)
    path = style.get_path().transformed(style.get_transform() + Affine2D().scale(1, -1))  # matplotlib's y goes upwards
    return np.asarray(path.vertices), () if path.codes is None else np.asarray(path.codes).tolist()
