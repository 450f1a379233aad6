"""Small multiples of a median with its range, the control's line in each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.results.plots.canvas import INK, SMALL, SOFT, Canvas, text_width
from keybench.results.plots.panels import Panels, Row, Scale

_DASHED: Final = (0, (3, 2))
_DOTTED: Final = (0, (1, 2))


@dataclass(frozen=True, eq=False)
class Curve:
    """A median with its range at the places x, each (n,); `mark` is a place to be marked."""

    row: Row
    middle: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    mark: float | None = None

    @staticmethod
    def single(row: Row, values: NDArray[np.float64]) -> Curve:
        """One line without a range."""
        return Curve(row, values, values, values)


def curves(
    x: NDArray[np.float64],
    found: Sequence[Curve],
    control: Curve | None,
    labels: tuple[str, str],
    prefix: str,
    *,
    y: Scale | None = None,
    dashed: Sequence[NDArray[np.float64]] = (),
) -> str:
    """A small panel for each curve, all with the same axes, the control's dashed in each of them.

    `y` is fitted to the values where it is not given. `dashed` are second lines of the curves, beside which the
    control's is left out.
    """
    values = np.concatenate([line for curve in found for line in (curve.low, curve.high)] + list(dashed))
    panels = Panels([curve.row for curve in found], Scale.linear(0.0, float(x[-1])), y or Scale.fitting(values), labels)
    shown = control is not None and not dashed
    _key(panels.canvas, any(curve.mark for curve in found), shown)
    for i, (curve, box) in enumerate(zip(found, panels.boxes, strict=True)):
        if control is not None and shown and control is not curve:
            box.line(x, control.middle, SOFT, 1.0, linestyle=_DASHED)
        if (curve.high > curve.low).any():
            box.band(x, curve.low, curve.high, curve.row.style.colour)
        if len(dashed):
            box.line(x, dashed[i], curve.row.style.colour, 1.2, linestyle=_DASHED)
        box.line(x, curve.middle, curve.row.style.colour)
        if curve.mark is not None:
            box.upright(curve.mark, INK, linestyle=_DOTTED)
    return panels.canvas.svg(prefix)


def _key(canvas: Canvas, mark: bool, control: bool) -> None:
    """What the strokes mean, from the right edge leftwards."""
    x = canvas.width
    for shown, text, dash in ((mark, "index exceeds cache", _DOTTED), (control, "control", _DASHED)):
        if shown:
            canvas.text(x, 8, text, fontsize=SMALL, ha="right", color=SOFT)
            x -= text_width(text, SMALL) + 22
            canvas.line(x, 8, 18, edgecolor=INK if text != "control" else SOFT, linewidth=1.2, linestyle=dash)
            x -= 12
