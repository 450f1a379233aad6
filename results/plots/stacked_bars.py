"""Stacked bars: one for each row. Every total is written beside its bar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keybench.results.plots.canvas import SMALL, WIDTH, fill, text_width
from keybench.results.plots.palette import SOFT
from keybench.results.plots.panels import GAP, LINE, NamedRows, PlotRow
from keybench.results.plots.scales import Scale


@dataclass(frozen=True)
class BarPart:
    """One part of all bars: its name, and its length in each bar (None if a bar has no such part)."""

    name: str
    values: Sequence[float | None]
    colour: str
    hatch: str = ""


def stacked_bars(
    rows: Sequence[PlotRow], parts: Sequence[BarPart], totals: Sequence[str], label: str, above: str, prefix: str
) -> str:
    """A bar for each row as SVG; `totals`, under the heading `above`, stand at the right, or the reason for no bar."""
    named = [part for part in parts if any(value is not None for value in part.values)]
    legend = _legend(named, WIDTH - text_width(above) - 12)
    table = NamedRows(rows, top=24 + LINE * (len(legend) - 1), bottom=38)
    canvas = table.canvas
    has = [any(part.values[i] is not None for part in parts) for i in range(len(rows))]
    text_room = max([text_width(text, SMALL) for text, shown in zip(totals, has, strict=True) if shown], default=0)
    left = table.left + GAP
    width = WIDTH - left - text_room - 8
    ends = [sum(part.values[i] or 0.0 for part in parts) for i in range(len(rows))]
    box = table.box(left, width, Scale.linear(0.0, max([*ends, 0.0]) * 1.02 or 1.0, 5), label)
    begin = np.zeros(len(rows))
    pale = {"alpha": 0.55} if any(row.hollow for row in rows) else {}
    canvas.text(WIDTH, 9, above, ha="right", color=SOFT, fontsize=SMALL)
    for number, line in enumerate(legend):
        for x, part in line:
            canvas.swatch(x, 9 + LINE * number, part.colour, part.hatch)
            canvas.text(x + 14, 9 + LINE * number, part.name, fontsize=SMALL)
    for part in parts:
        length = np.array([value or 0.0 for value in part.values])
        shown = length > 0
        from_, to = (box.places(edges, 0.0)[:, 0] for edges in (begin[shown], (begin + length)[shown]))
        middle = table.centres[shown]
        bars = np.stack([from_, middle - 5.5, to, middle + 5.5], axis=1)
        canvas.bars(bars, **fill(part.colour, part.hatch), **pale)
        begin += length
    for text, shown_row, y in zip(totals, has, table.centres, strict=True):
        if shown_row:
            canvas.text(WIDTH, y, text, ha="right", fontsize=SMALL)
        else:
            canvas.text(left + 4, y, text, color=SOFT, fontsize=SMALL, font_style="italic")
    return canvas.svg(prefix)


def _legend(parts: Sequence[BarPart], width: float) -> list[list[tuple[float, BarPart]]]:
    """The parts in lines of this width, each with its place."""
    lines: list[list[tuple[float, BarPart]]] = [[]]
    x = 0.0
    for part in parts:
        needed = 14 + text_width(part.name, SMALL)
        if lines[-1] and x + needed > width:
            lines.append([])
            x = 0.0
        lines[-1].append((x, part))
        x += needed + 12
    return lines
