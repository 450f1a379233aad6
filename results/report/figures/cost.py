"""The cost of a row as the table grows, and where the index outgrows the server's cache."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.results import plots
from keybench.results.metrics import Metric, Series
from keybench.results.plots import Curve
from keybench.results.report.figure import (
    Figure,
    GroupFigure,
    Styles,
    blocks_note,
    extremes,
    join,
    missing,
    origin_note,
    rows_of,
)
from keybench.results.report.groups import Arm, Group
from keybench.results.report.wording import listed, plural

_MOST_PLACES = 40


def _cost(group: Group, styles: Styles, prefix: str) -> Figure:
    """Milliseconds for 1,000 rows against rows inserted, a panel for each arm."""
    title, unit = "Cost of a row as the table grows", "ms per 1,000 rows, lower is better"
    series = {arm.name: _series(arm) for arm in group.arms}
    arms = [arm for arm in group.arms if series[arm.name]]
    if not arms:
        if group.values(Metric.INSERT_SECONDS):
            return Figure(prefix, title, unit, "No trial recorded its insert time along the way.")
        return Figure(prefix, title, unit, missing(group, Metric.INSERT_SECONDS))
    points = min(len(line.x) for own in series.values() for line in own)
    edges = np.linspace(0, group.rows, min(_MOST_PLACES, points) + 1)
    places, divisor, word = _rows_unit((edges[:-1] + edges[1:]) / 2, group.rows)
    curves = []
    for arm, row in zip(arms, rows_of(group, arms, styles), strict=True):
        costs = np.array([interval_cost(line, edges) for line in series[arm.name]])
        mark = cache_place(group, arm)
        mark = None if mark is None else mark / divisor
        curves.append(Curve(row, np.median(costs, 0), costs.min(0), costs.max(0), mark))
    control = next((curve for curve, arm in zip(curves, arms, strict=True) if arm is group.control), None)
    without = [group.label(arm) for arm in group.arms if not series[arm.name]]
    several = len(group.blocks) > 1
    return Figure(
        key=prefix,
        title=title,
        unit=unit,
        caption=join(
            "Lines are medians, bands reach from the lowest block to the highest." if several else blocks_note(group),
            "" if control is None else "Dashed: the control.",
            _cache_note(group, curves),
            f"No curve of {listed(without)}." if without else "",
        ),
        origin=join(
            f"Derived from insert times: {origin_note(group, [Metric.INSERT_SECONDS]).lower()}",
            "The cache mark is estimated." if any(curve.mark for curve in curves) else "",
        ),
        alt=join(
            f"Small multiples, {plural(len(arms), 'panel')}. At the last rows:",
            extremes([(group.label(arm), float(curve.middle[-1])) for arm, curve in zip(arms, curves, strict=True)]),
        ),
        svg=plots.curves(places, curves, control, (f"{word} inserted", "ms per 1,000 rows"), prefix),
        header=("rows inserted up to", *(f"{group.label(arm)}, median" for arm in arms)),
        rows=tuple((f"{edge:.0f}", *(float(curve.middle[i]) for curve in curves)) for i, edge in enumerate(edges[1:])),
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


def _series(arm: Arm) -> list[Series]:
    return [
        line
        for trial in arm.trials
        for line in trial.series
        if trial.status == "ok" and line.metric == Metric.INSERT_SECONDS and len(line.x)
    ]


def _rows_unit(places: NDArray[np.float64], rows: int) -> tuple[NDArray[np.float64], float, str]:
    for divisor, word in ((1e6, "million rows"), (1e3, "thousand rows")):
        if rows >= 2 * divisor:
            return places / divisor, divisor, word
    return places, 1.0, "rows"


def _cache_note(group: Group, curves: list[Curve]) -> str:
    if any(curve.mark for curve in curves):
        return "Dotted: there the key's index outgrows the server's cache, estimated as if it grew evenly."
    if group.environment and group.environment.cache_bytes > 0 and group.values(Metric.INDEX_BYTES):
        return "No index outgrew the server's cache."
    return ""


FIGURE = GroupFigure("cost", 30, _cost)
