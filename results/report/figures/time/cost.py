"""The cost of a row as the table grows, and where the index outgrows the server's cache; rows a second likewise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keybench.model.metric import Metric
from keybench.model.reading import Series
from keybench.results.analysis.groups import Arm, Group
from keybench.results.plots.curves import Curve, curves
from keybench.results.report.figures.figure import (
    MOST_PANELS,
    Figure,
    GroupFigure,
    Styles,
    blocks_note,
    extremes,
    join,
    missing,
    origin_note,
    rows_of,
    shown,
)
from keybench.results.wording import listed, plural, rows_unit

_MOST_PLACES = 40


@dataclass(frozen=True)
class _Along:
    """A quantity along the load, from the milliseconds that 1,000 rows take: (n,) to (n,)."""

    title: str
    unit: str
    label: str
    of: Callable[[NDArray[np.float64]], NDArray[np.float64]]

    def draw(self, group: Group, styles: Styles, prefix: str) -> Figure:
        """A panel for each arm."""
        series = {arm.name: timed(arm) for arm in group.arms}
        arms = [arm for arm in group.arms if series[arm.name]]
        if not arms:
            if group.values(Metric.INSERT_SECONDS):
                return Figure(prefix, self.title, self.unit, "No trial recorded its insert time along the way.")
            return Figure(prefix, self.title, self.unit, missing(group, Metric.INSERT_SECONDS))
        points = min(len(line.x) for own in series.values() for line in own)
        edges = np.linspace(0, group.rows, min(_MOST_PLACES, points) + 1)
        divisor, word = rows_unit(group.rows)
        places = (edges[:-1] + edges[1:]) / 2 / divisor
        found = []
        for arm, row in zip(arms, rows_of(group, arms, styles), strict=True):
            values = self.of(np.array([interval_cost(line, edges) for line in series[arm.name]]))
            mark = cache_place(group, arm)
            mark = None if mark is None else mark / divisor
            found.append(Curve(row, np.median(values, 0), values.min(0), values.max(0), mark))
        named = dict(zip([arm.name for arm in arms], found, strict=True))
        chosen, note = shown(group, arms, MOST_PANELS)
        drawn = [named[arm.name] for arm in chosen]
        control = named.get(group.control.name) if group.control else None
        without = [group.label(arm) for arm in group.arms if not series[arm.name]]
        several = len(group.blocks) > 1
        last = [(group.label(arm), float(named[arm.name].middle[-1])) for arm in arms]
        return Figure(
            key=prefix,
            title=self.title,
            unit=self.unit,
            caption=join(
                "Lines are medians, bands reach from the lowest block to the highest."
                if several
                else blocks_note(group),
                "" if control is None else "Dashed: the control.",
                _cache_note(group, found),
                f"No curve of {listed(without)}." if without else "",
                note,
            ),
            origin=join(
                f"Derived from insert times: {origin_note(group, [Metric.INSERT_SECONDS]).lower()}",
                "The cache mark is estimated." if any(curve.mark for curve in found) else "",
            ),
            alt=join(f"Small multiples, {plural(len(chosen), 'panel')}. At the last rows:", extremes(last)),
            svg=curves(places, drawn, control, (f"{word} inserted", self.label), prefix),
            header=("rows inserted up to", *(f"{group.label(arm)}, median" for arm in arms)),
            rows=tuple(
                (f"{edge:.0f}", *(float(curve.middle[i]) for curve in found)) for i, edge in enumerate(edges[1:])
            ),
        )


def interval_cost(line: Series, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Milliseconds for 1,000 rows in each interval between `edges` (n + 1,), from seconds up to each row: (n,)."""
    elapsed = np.interp(edges, np.concatenate([[0], line.x]), np.concatenate([[0.0], line.y]))
    cost_of_row: NDArray[np.float64] = np.diff(elapsed) / np.diff(edges)
    return cost_of_row * 1e6


def cache_place(group: Group, arm: Arm) -> float | None:
    """Rows at which the key's index outgrows the server's cache, were it to grow evenly; None where it never does."""
    index = arm.summary(Metric.INDEX_BYTES)
    cache = group.environment.cache_bytes if group.environment else 0
    if index is None or cache <= 0 or index.median <= cache:
        return None
    return group.rows * cache / index.median


def timed(arm: Arm) -> list[Series]:
    """The insert time along each good trial."""
    return [
        line
        for trial in arm.trials
        for line in trial.series
        if trial.status == "ok" and line.metric == Metric.INSERT_SECONDS and len(line.x)
    ]


def _cache_note(group: Group, found: list[Curve]) -> str:
    if any(curve.mark for curve in found):
        return "Dotted: there the key's index outgrows the server's cache, estimated as if it grew evenly."
    if group.environment and group.environment.cache_bytes > 0 and group.values(Metric.INDEX_BYTES):
        return "No index outgrew the server's cache."
    return ""


COST = _Along(
    "Cost of a row as the table grows",
    "ms per 1,000 rows, lower is better",
    "ms per 1,000 rows",
    lambda cost: cost,
)
SPEED = _Along(
    "Rows a second as the table grows",
    "rows a second, higher is better",
    "rows a second",
    lambda cost: 1e6 / np.maximum(cost, 1e-9),
)
FIGURES = (GroupFigure("cost", 30, COST.draw), GroupFigure("speed", 32, SPEED.draw))
