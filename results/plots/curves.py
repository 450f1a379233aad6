"""Small multiples of a median with its range, and a reference line in each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.results.plots.canvas import SMALL, Canvas, text_width
from keybench.results.plots.palette import INK, SOFT
from keybench.results.plots.panels import Panels, PlotRow
from keybench.results.plots.scales import Scale

_DASHED: Final = (0, (3, 2))
_DOTTED: Final = (0, (1, 2))


@dataclass(frozen=True, eq=False)
class Curve:
    """A median with its range at the places x, each (n,); `mark` is a place for a dotted line."""

    row: PlotRow
    middle: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    mark: float | None = None
    point: float | None = None
    """A value at the last place, drawn as a dot."""

    @staticmethod
    def single(row: PlotRow, values: NDArray[np.float64]) -> Curve:
        """One line without a range."""
        return Curve(row, values, values, values)


def curve_panels(
    x: NDArray[np.float64],
    shown: Sequence[Curve],
    labels: tuple[str, str],
    prefix: str,
    *,
    reference: tuple[Curve, str] | None = None,
    mark_label: str = "",
    y: Scale | None = None,
    x_scale: Scale | None = None,
    dashed: Sequence[NDArray[np.float64]] = (),
) -> str:
    """A small panel for each curve, all with the same axes, as SVG.

    `reference` is a curve with its name; it is drawn dashed in every panel but its own. `mark_label` says what the
    curves' marks mean. Without `y` the scale fits the values, and
    without `x_scale` it goes from 0 to the last place. `dashed` are second lines of the curves, in their order.
    """
    points = np.array([curve.point for curve in shown if curve.point is not None])
    values = np.concatenate([line for curve in shown for line in (curve.low, curve.high)] + [points, *dashed])
    across = x_scale or Scale.linear(0.0, float(x[-1]))
    panels = Panels([curve.row for curve in shown], across, y or Scale.fitting(values), labels)
    _draw_legend(panels.canvas, mark_label if any(curve.mark for curve in shown) else "", reference and reference[1])
    for i, (curve, box) in enumerate(zip(shown, panels.boxes, strict=True)):
        if reference is not None and reference[0] is not curve:
            box.line(x, reference[0].middle, SOFT, 1.0, linestyle=_DASHED)
        if (curve.high > curve.low).any():
            box.band(x, curve.low, curve.high, curve.row.style.colour)
        if len(dashed):
            box.line(x, dashed[i], curve.row.style.colour, 1.2, linestyle=_DASHED)
        box.line(x, curve.middle, curve.row.style.colour)
        if curve.point is not None:
            box.points(x[-1:], np.array([curve.point]), INK, 5.0)
        if curve.mark is not None:
            box.upright(curve.mark, INK, linestyle=_DOTTED)
    return panels.canvas.svg(prefix)


def _draw_legend(canvas: Canvas, mark: str, reference: str | None) -> None:
    """The meaning of dotted and dashed lines, from the right edge leftwards."""
    x = canvas.width
    for text, dash, colour in ((mark, _DOTTED, INK), (reference, _DASHED, SOFT)):
        if text:
            canvas.text(x, 8, text, fontsize=SMALL, ha="right", color=SOFT)
            x -= text_width(text, SMALL) + 22
            canvas.line(x, 8, 18, edgecolor=colour, linewidth=1.2, linestyle=dash)
            x -= 12
