"""Insert cost as the table grows, with the place where the index outgrows the server's cache; insert rate likewise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.model.metric import Metric
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.plots.curves import Curve, curve_panels
from keybench.results.report.figures.captions import blocks_note, extremes, join, missing, origin_note
from keybench.results.report.figures.figure import Figure, GroupFigure, Styles
from keybench.results.report.figures.insert_times import insert_times, interval_cost
from keybench.results.report.figures.selection import MOST_LINES, evenly_chosen, named_rows
from keybench.results.wording import listed, plural, rows_unit

_MOST_PLACES: Final = 40


@dataclass(frozen=True)
class _Quantity:
    """A quantity along the load; `convert` computes it from ms per 1,000 rows: (n,) to (n,)."""

    title: str
    unit: str
    label: str
    convert: Callable[[NDArray[np.float64]], NDArray[np.float64]]

    def draw(self, group: Group, styles: Styles, prefix: str) -> Figure:
        """One panel for each arm."""
        series = {arm.name: insert_times(arm) for arm in group.arms}
        arms = [arm for arm in group.arms if series[arm.name]]
        if not arms:
            if group.values(Metric.INSERT_SECONDS):
                return Figure(prefix, self.title, self.unit, "No trial recorded its insert time along the load.")
            return Figure(prefix, self.title, self.unit, missing(group, Metric.INSERT_SECONDS))
        points = min(len(line.x) for own in series.values() for line in own)
        edges = np.linspace(0, group.rows, min(_MOST_PLACES, points) + 1)
        divisor, word = rows_unit(group.rows)
        curves = {}
        for arm, row in zip(arms, named_rows(group, arms, styles), strict=True):
            values = self.convert(np.array([interval_cost(line, edges) for line in series[arm.name]]))
            mark = _cache_exceeded(group, arm)
            mark = None if mark is None else mark / divisor
            curves[arm.name] = Curve(row, np.median(values, 0), values.min(0), values.max(0), mark)
        chosen, note = evenly_chosen(group, arms, MOST_LINES)
        control = curves.get(group.control.name) if group.control else None
        without = [group.label(arm) for arm in group.arms if not series[arm.name]]
        last = [(group.label(arm), float(curves[arm.name].middle[-1])) for arm in arms]
        return Figure(
            key=prefix,
            title=self.title,
            unit=self.unit,
            caption=join(
                "Lines are medians; bands span the range of the blocks."
                if len(group.blocks) > 1
                else blocks_note(group),
                "" if control is None else "Dashed: the control.",
                _cache_note(group, list(curves.values())),
                f"No curve for {listed(without)}." if without else "",
                note,
            ),
            origin=join(
                f"Derived from insert times: {origin_note(group, [Metric.INSERT_SECONDS]).lower()}",
                "The cache mark is estimated." if any(curve.mark for curve in curves.values()) else "",
            ),
            alt=join(f"Small multiples, {plural(len(chosen), 'panel')}. At the last rows:", extremes(last)),
            svg=curve_panels(
                (edges[:-1] + edges[1:]) / 2 / divisor,
                [curves[arm.name] for arm in chosen],
                (f"{word} inserted", self.label),
                prefix,
                reference=None if control is None else (control, "control"),
                mark_label="index exceeds cache",
            ),
            header=("rows inserted up to", *(f"{group.label(arm)}, median" for arm in arms)),
            rows=tuple(
                (f"{edge:.0f}", *(float(curve.middle[i]) for curve in curves.values()))
                for i, edge in enumerate(edges[1:])
            ),
        )


def _cache_exceeded(group: Group, arm: Arm) -> float | None:
    """Rows at which the key's index outgrows the server's cache if it grows evenly; None if it never does."""
    index = arm.summary(Metric.INDEX_BYTES)
    cache = group.environment.cache_bytes if group.environment else 0
    if index is None or cache <= 0 or index.median <= cache:
        return None
    return group.rows * cache / index.median


def _cache_note(group: Group, curves: Sequence[Curve]) -> str:
    if any(curve.mark for curve in curves):
        return "Dotted: here the key's index outgrows the server's cache, estimated as if the index grew evenly."
    if group.environment and group.environment.cache_bytes > 0 and group.values(Metric.INDEX_BYTES):
        return "No index outgrew the server's cache."
    return ""


_COST = _Quantity(
    "Insert cost as the table grows",
    "ms per 1,000 rows, lower is better",
    "ms per 1,000 rows",
    lambda cost: cost,
)
_RATE = _Quantity(
    "Insert rate as the table grows",
    "rows a second, higher is better",
    "rows a second",
    lambda cost: 1e6 / np.maximum(cost, 1e-9),
)
FIGURES = (GroupFigure("cost", 30, _COST.draw), GroupFigure("speed", 32, _RATE.draw))
