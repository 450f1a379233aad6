"""Rows of a picture: their heights, their names at the left."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keybench.results.plots.canvas import Canvas
from keybench.results.plots.labels import SMALL, label_lines, text_width
from keybench.results.plots.palette import SOFT
from keybench.results.plots.panels import LINE, Box, Row
from keybench.results.plots.scales import Scale


class NamedRows:
    """A canvas with a named row for each `Row`, `top` pixels above them and `bottom` below."""

    def __init__(self, rows: Sequence[Row], top: float, bottom: float) -> None:
        labels = [(label_lines(row.name), label_lines(row.detail)) for row in rows]
        heights = [max(21.0, 8.0 + LINE * (len(name) + len(detail))) for name, detail in labels]
        edges = top + np.concatenate([[0.0], np.cumsum(heights)])
        self.centres = (edges[:-1] + edges[1:]) / 2
        self.left = 4 + max(text_width(line) for name, detail in labels for line in (*name, *detail))
        """Where the names end."""
        self.canvas = Canvas(edges[-1] + bottom)
        self._top, self._height = top, float(edges[-1] - top)
        for (name, detail), centre in zip(labels, self.centres, strict=True):
            y = centre - LINE * (len(name) + len(detail) - 1) / 2
            for line in name:
                self.canvas.text(0, y, line)
                y += LINE
            for line in detail:
                self.canvas.text(0, y, line, color=SOFT, fontsize=SMALL)
                y += LINE

    def box(self, left: float, width: float, scale: Scale, label: str) -> Box:
        """A panel over all rows, with grid lines at its ticks and its label below."""
        box = Box(self.canvas, left, self._top, width, self._height, scale, Scale(0.0, 1.0, ()))
        box.frame(left=False, below=True)
        below = self._top + self._height + 26
        self.canvas.text(left + width / 2, below, label, ha="center", fontsize=SMALL, color=SOFT)
        return box
