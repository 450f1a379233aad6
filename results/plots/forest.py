"""Forest plots: ratios with their intervals on one logarithmic axis, in sections; each ratio is also written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from keybench.results.plots.canvas import SMALL, WIDTH, Canvas, text_width
from keybench.results.plots.palette import KINDS, SOFT, Style
from keybench.results.plots.panels import Box
from keybench.results.plots.scales import Scale, ratio_limits

_HEAD: Final = 30.0
_ROW, _TWO_LINES, _LINE = 18.0, 38.0, 15.0
_TICK: Final = 34.0
"""Width of a tick's label, in pixels."""


@dataclass(frozen=True)
class Ratio:
    """A ratio with its interval; `detail` is a second line below the name.

    `region` is drawn as a grey band behind it; where an end is None it reaches to the edge.
    """

    name: str
    value: float
    low: float
    high: float
    text: str
    style: Style
    hollow: bool = False
    detail: str = ""
    region: tuple[float | None, float | None] | None = None


@dataclass(frozen=True)
class Section:
    """Ratios below a heading, which may be empty."""

    title: str
    ratios: Sequence[Ratio]


def forest_plot(sections: Sequence[Section], label: str, prefix: str) -> str:
    """All sections on one axis, as SVG; `label` stands below the axis."""
    every = [ratio for section in sections for ratio in section.ratios]
    indent = 8.0 if any(section.title for section in sections) else 0.0
    row = _TWO_LINES if any(ratio.detail for ratio in every) else _ROW
    left = indent + 10 + max(max(text_width(ratio.name), text_width(ratio.detail, SMALL)) for ratio in every)
    width = WIDTH - left - 8 - max(text_width(ratio.text, SMALL) for ratio in every)
    height = sum((_HEAD if section.title else 0.0) + row * len(section.ratios) for section in sections)
    canvas = Canvas(height + (36 if label else 24))
    low, high = ratio_limits([edge for ratio in every for edge in _edges(ratio)])
    scale = Scale.ratios(low, high, width / _TICK)
    y = 4.0
    for section in sections:
        if section.title:
            canvas.text(0, y + 18, section.title, font_weight="bold")
            y += _HEAD
        box = Box(canvas, left, y, width, row * len(section.ratios), scale, Scale(0.0, 1.0, ()))
        box.frame(left=False, below=section is sections[-1])
        middles = [y + row * (place + 0.5) for place in range(len(section.ratios))]
        for ratio, middle in zip(section.ratios, middles, strict=True):
            if ratio.region is not None:
                _draw_region(box, ratio.region, middle)
        box.upright(1.0, SOFT)
        for ratio, middle in zip(section.ratios, middles, strict=True):
            _draw_ratio(box, ratio, middle, indent)
        y += box.height
    if label:
        canvas.text(left, canvas.height - 6, label, fontsize=SMALL, color=SOFT)
    return canvas.svg(prefix)


def _draw_region(box: Box, region: tuple[float | None, float | None], middle: float) -> None:
    begin, end = box.across(region[0] or box.x.low), box.across(region[1] or box.x.high)
    box.canvas.bars(np.array([[begin, middle - 9, max(end, begin + 2), middle + 9]]), facecolor=KINDS[0])


def _draw_ratio(box: Box, ratio: Ratio, middle: float, indent: float) -> None:
    canvas = box.canvas
    canvas.text(indent, middle - (_LINE / 2 if ratio.detail else 0.0), ratio.name)
    if ratio.detail:
        canvas.text(indent, middle + _LINE / 2, ratio.detail, fontsize=SMALL, color=SOFT)
    canvas.interval(box.across(ratio.low), box.across(ratio.high), middle, ratio.style.colour)
    canvas.marker(box.across(ratio.value), middle, ratio.style, hollow=ratio.hollow)
    canvas.text(WIDTH, middle, ratio.text, ha="right", fontsize=SMALL)


def _edges(ratio: Ratio) -> list[float]:
    edges = (ratio.low, ratio.value, ratio.high, *(ratio.region or ()))
    return [edge for edge in edges if edge is not None]
