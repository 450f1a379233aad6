"""A canvas measured in pixels, its SVG, ready to stand inside a page, and the colours and markers of all plots.

Text stays text: it can be searched and selected, and takes the page's font. matplotlib draws with stand-in colours;
`css_colours` replaces them by CSS variables with a fallback. So a page can have a dark mode, and a figure taken out of
the page still has its colours.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal
from xml.sax.saxutils import escape

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.markers import MarkerStyle
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.transforms import Affine2D
from numpy.typing import NDArray

# Name of the CSS variable, and its fallback on white.
_VARIABLES: Final = {
    "ink": "#1f2328",
    "soft": "#656d76",
    "rule": "#dfe3e8",
    "paper": "#ffffff",
    "k1": "#b9c2cc",
    "k2": "#e3a008",
    "k3": "#b3261e",
    "k4": "#5b7c99",
    # Okabe and Ito's colours without yellow, then four of Tol's: they differ for every common colour blindness.
    "c0": "#0072b2",
    "c1": "#d55e00",
    "c2": "#009e73",
    "c3": "#cc79a7",
    "c4": "#e69f00",
    "c5": "#56b4e9",
    "c6": "#332288",
    "c7": "#882255",
    "c8": "#999933",
    "c9": "#44aa99",
    # A ramp from dark to light (after viridis), so that the colours differ in black-and-white print too.
    "w0": "#440154",
    "w1": "#46327e",
    "w2": "#365c8d",
    "w3": "#277f8e",
    "w4": "#1fa187",
    "w5": "#4ac16d",
    "w6": "#97c93c",
    "w7": "#d8bd12",
}
_STAND_IN: Final = {name: f"#0000{place + 1:02x}" for place, name in enumerate(_VARIABLES)}
_VARIABLE_OF: Final = {stand_in: f"var(--{name}, {_VARIABLES[name]})" for name, stand_in in _STAND_IN.items()}
_STAND_INS: Final = re.compile("|".join(_VARIABLE_OF))

INK, SOFT, RULE, PAPER = (_STAND_IN[name] for name in ("ink", "soft", "rule", "paper"))
KINDS: Final = tuple(_STAND_IN[name] for name in ("k1", "k2", "k3"))
"""Calm, noticeable, loud: for the parts of a whole."""
PLAIN: Final = _STAND_IN["k4"]
_RAMP: Final = tuple(_STAND_IN[f"w{number}"] for number in range(8))
_COLOURS: Final = tuple(_STAND_IN[f"c{number}"] for number in range(10))
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
        name: Style(_COLOURS[i % 10], _MARKERS[(i + i // 10) % 10])
        for i, name in enumerate(ordered)
    }


def ramp(count: int) -> list[str]:
    """`count` colours in a visible order; they repeat after eight."""
    return [_RAMP[i * 8 // max(count, 4)] for i in range(count)]


def css_colour(stand_in: str) -> str:
    """The CSS variable of one stand-in colour."""
    return _VARIABLE_OF[stand_in]


def css_colours(svg: str) -> str:
    """The SVG with CSS variables in place of the stand-in colours. It must not hold text from outside."""
    return _STAND_INS.sub(lambda match: _VARIABLE_OF[match[0]], svg)


SIZE: Final = 12.0
SMALL: Final = 11.0
"""Font sizes in pixels."""

_CHARACTER: Final = 0.56
"""Width of an average character, in font sizes."""


def text_width(text: str, size: float = SIZE) -> float:
    """Approximate width of a line of text, in pixels."""
    return len(text) * size * _CHARACTER


def label_lines(text: str, longest: int = 22) -> list[str]:
    """The text in lines of about `longest` characters, broken after hyphens; none for an empty text."""
    text = " ".join(text.split())
    if not text:
        return []
    if len(text) > 3 * longest:
        text = text[: 3 * longest - 1] + "…"
    parts = [piece for part in re.findall(r"[^-\s]*[-\s]?", text) for piece in _pieces(part, longest)]
    fewest = _packed(parts, longest)
    # The same number of lines, of lengths as even as possible.
    tries = (_packed(parts, limit) for limit in range(-(-len(text) // len(fewest)), longest))
    return next((packed for packed in tries if len(packed) == len(fewest)), fewest)


def _packed(parts: Sequence[str], longest: int) -> list[str]:
    lines = [""]
    for part in parts:
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > longest:
            lines.append("")
        lines[-1] += part
    return [line.strip() for line in lines]


def _pieces(text: str, longest: int) -> Sequence[str]:
    return [text[i : i + longest] for i in range(0, len(text), longest)]


WIDTH: Final = 460
"""Width of a figure in pixels: two stand side by side on a screen, one fits a phone."""

_BASELINE: Final = 0.36
"""Distance of a line's baseline from its middle, in font sizes."""

_UNPRINTABLE: Final = re.compile("[\x00-\x1f\ud800-\udfff\ufffe\uffff]")
_FONT: Final = "font-family: 'DejaVu Sans', sans-serif"
_LEVEL: Final = re.compile(r"M (\S+) (\S+) \nL (\S+) \2 (?=\n|\")")
"""Horizontal strokes: most of a picture of points consists of them."""
_ID: Final = re.compile(r'(\s)id="([^"]+)"')
_SPACES: Final = re.compile(r"\s*\n?([MLHCQz])\s*(?=[-\d.\"])")
"""Spaces that a path does not need."""

_SETTINGS: Final[Any] = {
    "svg.hashsalt": "keybench",
    "hatch.linewidth": 0.8,
}

Align = Literal["left", "center", "right"]


@contextmanager
def drawing() -> Iterator[None]:
    """Sets matplotlib's settings for our figures, and restores them."""
    with mpl.rc_context(_SETTINGS):
        yield


class Canvas:
    """A figure whose coordinates are pixels from the top left corner."""

    def __init__(self, height: float, width: float = WIDTH) -> None:
        self.width = width
        self.height = height
        self._figure = Figure(figsize=(width / 72, height / 72), dpi=72)
        self._figure.patch.set_visible(False)
        FigureCanvasSVG(self._figure)
        self._texts: list[str] = []
        self._pixels = Affine2D().scale(1 / width, -1 / height).translate(0, 1) + self._figure.transFigure

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        ha: Align = "left",
        color: str = INK,
        fontsize: float = SIZE,
        **style: str,
    ) -> None:
        """One line of text, vertically centred on the point; `style` holds SVG attributes, with _ in place of -.

        It is written straight into the SVG: matplotlib would measure each glyph, which the browser does anyway.
        """
        anchor = {"left": "", "center": ' text-anchor="middle"', "right": ' text-anchor="end"'}[ha]
        more = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in style.items())
        self._texts.append(
            f'<text x="{x:.1f}" y="{y + _BASELINE * fontsize:.1f}"{anchor} font-size="{fontsize:g}" '
            f'style="fill: {css_colour(color)}"{more}>{escape(_printable(text))}</text>'
        )

    def path(
        self, points: NDArray[np.float64], codes: Sequence[int] | None = None, *, digits: int = 1, **style: Any
    ) -> None:
        """A path through (n, 2) pixels, rounded to `digits`; `codes` are matplotlib's, by default one line."""
        path = Path(np.round(points, digits), codes)
        path.should_simplify = False
        self._figure.add_artist(PathPatch(path, transform=self._pixels, **{"facecolor": "none", **style}))

    def points(self, points: NDArray[np.float64], colour: str, size: float = 1.6) -> None:
        """A small square at each of (n, 2) pixels, all in one path: one marker each would take four times the bytes."""
        if len(points):
            ends = np.repeat(points, 2, axis=0)
            ends[::2, 0] -= size / 2
            ends[1::2, 0] += size / 2
            self.path(ends, [1, 2] * len(points), edgecolor=colour, linewidth=size, capstyle="butt")

    def bars(self, boxes: NDArray[np.float64], **style: Any) -> None:
        """Filled rectangles in one path; (n, 4) pixels: left, top, right, bottom."""
        if len(boxes):
            left, top, right, bottom = boxes.T
            corners = np.stack([left, top, right, top, right, bottom, left, bottom, left, top], axis=1)
            self.path(corners.reshape(-1, 2), [1, 2, 2, 2, 79] * len(boxes), **{"linewidth": 0, **style})

    def interval(self, low: float, high: float, y: float, colour: str) -> None:
        """A thick horizontal line between two places; nothing if it has no length."""
        if high > low:
            self.bars(np.array([[low, y - 1.1, high, y + 1.1]]), facecolor=colour)

    def marker(self, x: float, y: float, style: Style, size: float = 6.5, *, hollow: bool = False) -> None:
        """The marker of that style."""
        points, codes = _shape(style.marker)
        look = {"facecolor": PAPER, "linewidth": 1.4} if hollow else {"facecolor": style.colour, "linewidth": 0}
        self.path(points * size + (x, y), codes, digits=2, edgecolor=style.colour, **look)

    def swatch(self, x: float, y: float, colour: str, hatch: str = "") -> None:
        """A small filled square; the point is the middle of its left side."""
        self.bars(np.array([[x, y - 5, x + 10, y + 5]]), **fill(colour, hatch))

    def line(self, x: float, y: float, length: float, **style: Any) -> None:
        """A horizontal line that begins at the point."""
        self.path(np.array([[x, y], [x + length, y]]), **style)

    def svg(self, prefix: str) -> str:
        """The picture as an SVG element; `prefix` makes its ids unique on the page."""
        buffer = io.StringIO()
        self._figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        drawn, _, end = buffer.getvalue().rpartition("</svg>")
        texts = "\n".join(self._texts)
        return f'{_clean(drawn, prefix)}<g style="{_FONT}">\n{texts}\n</g>\n</svg>{end}'


@cache
def _shape(marker: str) -> tuple[NDArray[np.float64], Sequence[int] | None]:
    """A marker's path of height 1 around the origin, y downwards."""
    style = MarkerStyle(marker)
    path = style.get_path().transformed(style.get_transform() + Affine2D().scale(1, -1))
    return np.asarray(path.vertices), None if path.codes is None else np.asarray(path.codes).tolist()


def _printable(text: str) -> str:
    """The text with a replacement character for each character that XML forbids."""
    return _UNPRINTABLE.sub("\ufffd", text)


def fill(colour: str, hatch: str = "") -> dict[str, Any]:
    """Arguments of a filled patch; hatching is drawn in the colour of the paper."""
    return {"facecolor": colour, "edgecolor": PAPER, "linewidth": 0.0, "hatch": hatch or None}


def _clean(svg: str, prefix: str) -> str:
    """matplotlib's SVG without prologue, metadata and fixed size, with unique ids and CSS variables for colours.

    It holds no text from outside, so replacing in all of it is safe.
    """
    svg = svg[svg.index("<svg") :]
    for element in ("metadata", "style"):  # a style element would apply to the whole page
        svg = re.sub(rf"\s*<{element}\b.*?</{element}>", "", svg, flags=re.DOTALL)
    svg = re.sub(
        r'<svg [^>]*?viewBox="([^"]+)"[^>]*>', r'<svg viewBox="\1" aria-hidden="true" focusable="false">', svg, count=1
    )
    svg = _SPACES.sub(r"\1", _LEVEL.sub(r"M\1 \2H\3", svg))
    svg = _ID.sub(rf'\1id="{prefix}-\2"', svg)
    svg = svg.replace('xlink:href="#', f'href="#{prefix}-').replace("url(#", f"url(#{prefix}-")
    return css_colours(svg)
