"""A figure with a panel of curves for each arm: all figures along the load, and along the phases of an index's life."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.plots.curves import Curve, curve_panels
from keybench.results.report.figures.figure import (
    MOST_LINES,
    ReportFigure,
    Styles,
    evenly_chosen,
    extremes,
    join,
    named_rows,
)
from keybench.results.wording import plural

Line = NDArray[np.float64]


def single_curves(group: Group, styles: Styles, lines: Mapping[str, Line]) -> dict[str, Curve]:
    """A curve without a range for each arm's line; both by the arm's name."""
    arms = [arm for arm in group.arms if arm.name in lines]
    rows = named_rows(group, arms, styles)
    return {arm.name: Curve.single(row, lines[arm.name]) for arm, row in zip(arms, rows, strict=True)}


def curve_figure(
    group: Group,
    text: ReportFigure,
    curves: Mapping[str, Curve],
    x: Line,
    labels: tuple[str, str],
    places: tuple[str, Sequence[str]],
    columns: Sequence[tuple[str, Callable[[Arm], Line]]],
    *,
    control: bool = True,
    notes: Sequence[str] = (),
    last: str = "At the last rows:",
    **axes: Any,
) -> ReportFigure:
    """`text` has key, title, unit and origin of the figure, and the beginning of its caption; `notes` follow it.

    `curves` are by the arm's name, over `x`; with `control`, the control's is drawn dashed in all panels. `places` are
    the first column of the data with its name, `columns` the names of further columns of each arm, and their values.
    """
    arms = [arm for arm in group.arms if arm.name in curves]
    chosen, note = evenly_chosen(group, arms, MOST_LINES)
    reference = curves.get(group.control.name) if control and group.control else None
    values = [(f"{group.label(arm)}, {name}", of(arm)) for arm in arms for name, of in columns]
    ends = [(group.label(arm), float(curves[arm.name].middle[-1])) for arm in arms]
    return replace(
        text,
        caption=join(text.caption, "" if reference is None else "Dashed: the control.", *notes, note),
        alt=join(f"Small multiples, {plural(len(chosen), 'panel')}. {last}", extremes(ends)),
        svg=curve_panels(
            x,
            [curves[arm.name] for arm in chosen],
            labels,
            text.key,
            reference=None if reference is None else (reference, "control"),
            **axes,
        ),
        header=(places[0], *(name for name, _ in values)),
        rows=tuple((place, *(float(line[i]) for _, line in values)) for i, place in enumerate(places[1])),
    )
