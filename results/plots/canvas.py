"""What all plots share: a canvas measured in pixels, colours, and SVG fit to stand inside a page.

Colours are written as CSS variables with a fallback, so that a page can turn dark and a figure taken out of it still
has its colours. Text stays text: it can be searched, selected, and takes the page's font.
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

WIDTH: Final = 460
"""Width of a figure in pixels: two stand side by side on a screen, one fits a phone."""

SIZE: Final = 12.0
SMALL: Final = 11.0
_BASELINE: Final = 0.36
"""How far the baseline of a line lies below its middle, in font sizes."""

_UNPRINTABLE: Final = re.compile("[\x00-\x1f\ud800-\udfff\ufffe\uffff]")
_FONT: Final = "font-family: 'DejaVu Sans', sans-serif"
_CHARACTER: Final = 0.56
"""Width of an average character, in font sizes."""

# Stand-ins that matplotlib writes and `_clean` turns into variables: name, then the fallback on white.
_VARIABLES: Final = {
    "ink": "#1f2328",
    "soft": "#656d76",
    "rule": "#dfe3e8",
    "paper": "#ffffff",
    "k1": "#b9c2cc",
    "k2": "#e3a008",
    "k3": "#b3261e",
    "k4": "#5b7c99",
    # Okabe and Ito's colours without yellow, then four of Tol's: apart for every common colour blindness.
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
    # Writers, in the order of the scenario: a ramp from dark to light (after viridis), so that print keeps them apart.
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
_LEVEL: Final = re.compile(r"M (\S+) (\S+) \nL (\S+) \2 (?=\n|\")")
_ID: Final = re.compile(r'(\s)id="([^"]+)"')
_SPACES: Final = re.compile(r"\s*\n?([MLHCQz])\s*(?=[-\d.\"])")
"""Level strokes, which are most of a picture of points, and the spaces that paths do without."""

KINDS: Final = tuple(_STAND_IN[name] for name in ("k1", "k2", "k3"))
"""Calm, noticeable, loud: for the parts of a whole that are not layouts."""
PLAIN: Final = _STAND_IN["k4"]

_RAMP: Final = tuple(_STAND_IN[f"w{number}"] for number in range(8))

_COLOURS: Final = tuple(_STAND_IN[f"c{number}"] for number in range(10))
_MARKERS: Final = "osD^vPX<>p"

_SETTINGS: Final[Any] = {
    "svg.hashsalt": "keybench",
    "hatch.linewidth": 0.8,
}


Side = Literal["left", "center", "right"]


@dataclass(frozen=True)
class Style:
    """How a layout looks in every figure: the marker tells apart what the colour may not."""

    colour: str
    marker: str


def styles(layouts: Iterable[str], control: str) -> dict[str, Style]:
    """One style for each layout, by its place among the sorted names; the control is drawn in ink."""
    names = sorted({name for name in layouts if name != control})
    found = {
        # Colours come round after ten, markers one step later each time: a hundred layouts differ.
        name: Style(_COLOURS[i % 10], _MARKERS[(i + i // 10) % 10])
        for i, name in enumerate(names)
    }
    return {control: Style(INK, "o"), **found}


def ramp(count: int) -> list[str]:
    """So many colours in an order that can be seen: for writers, which are not layouts. Beyond eight they repeat."""
    return [_RAMP[i * 8 // max(count, 4)] for i in range(count)]


@contextmanager
def drawing() -> Iterator[None]:
    """matplotlib's settings for our figures, and nobody else's."""
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
        ha: Side = "left",
        color: str = INK,
        fontsize: float = SIZE,
        **style: str,
    ) -> None:
        """One line of text, vertically centred on the point; `style` as SVG's presentation attributes, with _ for -.

        It is written straight into the SVG: matplotlib would measure each glyph, which a page's reader does anyhow.
        """
        anchor = {"left": "", "center": ' text-anchor="middle"', "right": ' text-anchor="end"'}[ha]
        more = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in style.items())
        self._texts.append(
            f'<text x="{x:.1f}" y="{y + _BASELINE * fontsize:.1f}"{anchor} font-size="{fontsize:g}" '
            f'style="fill: {_VARIABLE_OF[color]}"{more}>{escape(_printable(text))}</text>'
        )

    def path(
        self, points: NDArray[np.float64], codes: Sequence[int] | None = None, *, digits: int = 1, **style: Any
    ) -> None:
        """A path through (n, 2) pixels, to a tenth of one; `codes` as matplotlib's, one line where none are given."""
        path = Path(np.round(points, digits), codes)
        path.should_simplify = False
        self._figure.add_artist(PathPatch(path, transform=self._pixels, **{"facecolor": "none", **style}))

    def points(self, points: NDArray[np.float64], colour: str, size: float = 1.6) -> None:
        """A small square at each of (n, 2) pixels, all in one path: a marker each would take four times the bytes."""
        if len(points):
            ends = np.repeat(points, 2, axis=0)
            ends[::2, 0] -= size / 2
            ends[1::2, 0] += size / 2
            self.path(ends, [1, 2] * len(points), edgecolor=colour, linewidth=size, capstyle="butt")

    def bars(self, boxes: NDArray[np.float64], **style: Any) -> None:
        """Filled rectangles, (n, 4) pixels: left, top, right, bottom; all in one path."""
        if len(boxes):
            left, top, right, bottom = boxes.T
            corners = np.stack([left, top, right, top, right, bottom, left, bottom, left, top], axis=1)
            self.path(corners.reshape(-1, 2), [1, 2, 2, 2, 79] * len(boxes), **{"linewidth": 0, **style})

    def marker(self, x: float, y: float, style: Style, size: float = 6.5, *, hollow: bool = False) -> None:
        """A layout's marker at that point."""
        points, codes = _shape(style.marker)
        look = {"facecolor": PAPER, "linewidth": 1.4} if hollow else {"facecolor": style.colour, "linewidth": 0}
        self.path(points * size + (x, y), codes, digits=2, edgecolor=style.colour, **look)

    def swatch(self, x: float, y: float, colour: str, hatch: str = "") -> None:
        """A small square of that colour, its left centre at the point."""
        self.bars(np.array([[x, y - 5, x + 10, y + 5]]), **fill(colour, hatch))

    def line(self, x: float, y: float, length: float, **style: Any) -> None:
        """A horizontal line that begins at the point."""
        self.path(np.array([[x, y], [x + length, y]]), **style)

    def svg(self, prefix: str) -> str:
        """The picture as an SVG element; `prefix` keeps its ids apart from those of other figures on the page."""
        buffer = io.StringIO()
        self._figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        drawn, _, end = buffer.getvalue().rpartition("</svg>")
        texts = "\n".join(self._texts)
        return _clean(f'{drawn}<g style="{_FONT}">\n{texts}\n</g>\n</svg>{end}', prefix)


@cache
def _shape(marker: str) -> tuple[NDArray[np.float64], Sequence[int] | None]:
    """A marker's path of height 1 around the origin, y downwards."""
    style = MarkerStyle(marker)
    path = style.get_path().transformed(style.get_transform() + Affine2D().scale(1, -1))
    return np.asarray(path.vertices), None if path.codes is None else np.asarray(path.codes).tolist()


def _printable(text: str) -> str:
    """Without the characters that no XML may hold."""
    return _UNPRINTABLE.sub("\ufffd", text)


def fill(colour: str, hatch: str = "") -> dict[str, Any]:
    """Arguments of a filled patch; hatching is drawn in the colour of the paper."""
    return {"facecolor": colour, "edgecolor": PAPER, "linewidth": 0.0, "hatch": hatch or None}


def text_width(text: str, size: float = SIZE) -> float:
    """About how many pixels a line of text takes."""
    return len(text) * size * _CHARACTER


def lines(name: str, column: str, longest: int = 22) -> list[str]:
    """A label in lines of about `longest` characters, broken after hyphens; the column, where given, on its own."""
    return _broken(name, longest) + (_broken(column, longest) if column else [])


def _broken(text: str, longest: int) -> list[str]:
    text = " ".join(text.split())
    if len(text) > 3 * longest:
        text = text[: 3 * longest - 1] + "…"
    parts = [piece for part in re.findall(r"[^-\s]*[-\s]?", text) for piece in _pieces(part, longest)]
    fewest = _packed(parts, longest)
    # The same number of lines, as even as can be.
    tries = (_packed(parts, limit) for limit in range(-(-len(text) // len(fewest)), longest))
    return next((found for found in tries if len(found) == len(fewest)), fewest)


def _packed(parts: Sequence[str], longest: int) -> list[str]:
    found = [""]
    for part in parts:
        if found[-1] and len(found[-1]) + len(part.rstrip()) > longest:
            found.append("")
        found[-1] += part
    return [line.strip() for line in found]


def _pieces(text: str, longest: int) -> Sequence[str]:
    return [text[i : i + longest] for i in range(0, len(text), longest)]


def _clean(svg: str, prefix: str) -> str:
    """What matplotlib drew, without prologue, metadata and fixed size; ids made unique, colours made variables.

    No text that others wrote is in it, so that all of it may be searched.
    """
    svg = svg[svg.index("<svg") :]
    for element in ("metadata", "style"):  # a style inside would hold for the whole page
        svg = re.sub(rf"\s*<{element}\b.*?</{element}>", "", svg, flags=re.DOTALL)
    svg = re.sub(
        r'<svg [^>]*?viewBox="([^"]+)"[^>]*>', r'<svg viewBox="\1" aria-hidden="true" focusable="false">', svg, count=1
    )
    svg = _SPACES.sub(r"\1", _LEVEL.sub(r"M\1 \2H\3", svg))
    svg = _ID.sub(rf'\1id="{prefix}-\2"', svg)
    svg = svg.replace('xlink:href="#', f'href="#{prefix}-').replace("url(#", f"url(#{prefix}-")
    return _STAND_INS.sub(lambda found: _VARIABLE_OF[found[0]], svg)
