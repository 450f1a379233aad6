"""Colours and markers of all plots.

matplotlib draws with stand-in colours; `css_colours` replaces them by CSS variables with a fallback. So a page can have
a dark mode, and a figure taken out of the page still has its colours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

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
