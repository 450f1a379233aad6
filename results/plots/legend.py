"""Legends: swatches or markers with names, in as many lines as they need."""

from __future__ import annotations

from collections.abc import Sequence

from keybench.results.plots.canvas import WIDTH, Canvas
from keybench.results.plots.labels import SMALL, text_width
from keybench.results.plots.palette import INK, SOFT, Style
from keybench.results.plots.panels import LINE

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
