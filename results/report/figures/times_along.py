"""Figures of times along the load: cost of a row, rows a second, transactions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from keybench.model.metric import Metric
from keybench.model.reading import Series
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.analysis.knee import growth, knee
from keybench.results.plots.curves import Curve
from keybench.results.plots.dots import Dot, Panel, dot_plot
from keybench.results.report.figures.curve_figure import Line, curve_figure, single_curves
from keybench.results.report.figures.figure import (
    MOST_LINES,
    GroupFigure,
    ReportFigure,
    Styles,
    Value,
    blocks_note,
    evenly_chosen,
    extremes,
    join,
    medians_note,
    missing,
    named_rows,
    origin_note,
    placeholder,
)
from keybench.results.wording import listed, number, ratio, rows_unit


def insert_times(arm: Arm) -> list[Series]:
    """The insert time along each successful trial."""
    return [
        line
        for trial in arm.trials
        for line in trial.series
        if trial.status == "ok" and line.metric == Metric.INSERT_SECONDS and len(line.x)
    ]


def interval_cost(line: Series, edges: Line) -> Line:
    """Milliseconds per 1,000 rows in each interval between `edges` (n + 1 rows): (n,)."""
    elapsed = np.interp(edges, np.concatenate([[0], line.x]), np.concatenate([[0.0], line.y]))
    seconds_a_row: Line = np.diff(elapsed) / np.diff(edges)
    return seconds_a_row * 1e6


_MOST_PLACES: Final = 40


@dataclass(frozen=True)
class _Quantity:
    """A quantity along the load; `convert` computes it from ms per 1,000 rows: (n,) to (n,)."""

    title: str
    unit: str
    label: str
    convert: Callable[[Line], Line]

    def draw(self, group: Group, styles: Styles, prefix: str) -> ReportFigure:
        """One panel for each arm."""
        series = {arm.name: insert_times(arm) for arm in group.arms}
        arms = [arm for arm in group.arms if series[arm.name]]
        if not arms:
            if group.values(Metric.INSERT_SECONDS):
                return ReportFigure(prefix, self.title, self.unit, "No trial recorded its insert time along the load.")
            return ReportFigure(prefix, self.title, self.unit, missing(group, Metric.INSERT_SECONDS))
        points = min(len(line.x) for lines in series.values() for line in lines)
        edges = np.linspace(0, group.rows, min(_MOST_PLACES, points) + 1)
        divisor, word = rows_unit(group.rows)
        curves = {}
        for arm, row in zip(arms, named_rows(group, arms, styles), strict=True):
            values = self.convert(np.array([interval_cost(line, edges) for line in series[arm.name]]))
            mark = _cache_exceeded(group, arm)
            mark = None if mark is None else mark / divisor
            curves[arm.name] = Curve(row, np.median(values, 0), values.min(0), values.max(0), mark)
        without = [group.label(arm) for arm in group.arms if not series[arm.name]]
        origin = join(
            f"Derived from insert times: {origin_note(group, [Metric.INSERT_SECONDS]).lower()}",
            "The cache mark is estimated." if any(curve.mark for curve in curves.values()) else "",
        )
        several = "Lines are medians; bands span the range of the blocks."
        caption = several if len(group.blocks) > 1 else blocks_note(group)
        return curve_figure(
            group,
            ReportFigure(prefix, self.title, self.unit, caption, origin),
            curves,
            (edges[:-1] + edges[1:]) / 2 / divisor,
            (f"{word} inserted", self.label),
            ("rows inserted up to", [f"{edge:.0f}" for edge in edges[1:]]),
            [("median", lambda arm: curves[arm.name].middle)],
            notes=(
                _cache_note(group, list(curves.values())),
                f"No curve for {listed(without)}." if without else "",
            ),
            mark_label="index exceeds cache",
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
_INTERVALS: Final = 40


def _cost_growth(group: Group, styles: Styles, prefix: str) -> ReportFigure:
    title = "Growth of the insert cost"
    unit = "cost of a row in the last tenth of the load over that in the first tenth, lower is better"
    edges = np.linspace(0, group.rows, _INTERVALS + 1)
    costs = {
        arm.name: np.array([interval_cost(line, edges) for line in insert_times(arm) if len(line.x) >= _INTERVALS])
        for arm in group.arms
    }
    if not any(len(cost) for cost in costs.values()):
        if group.values(Metric.INSERT_SECONDS):
            return ReportFigure(prefix, title, unit, f"No trial recorded its insert time at {_INTERVALS} places.")
        return ReportFigure(prefix, title, unit, missing(group, Metric.INSERT_SECONDS))
    dots, ratios, knees = [], [], []
    rows: list[tuple[Value, ...]] = []
    for arm in group.arms:
        by_block = costs[arm.name]
        if not len(by_block):
            dots.append(Dot(None, text=placeholder(arm)))
            rows.append((arm.layout, arm.column, None, None, None, None))
            continue
        grown = np.array([growth(cost) for cost in by_block])
        place = knee(np.median(by_block, axis=0))
        at = None if place is None else float(edges[place])
        middle, low, high = float(np.median(grown)), float(grown.min()), float(grown.max())
        dots.append(Dot(middle, low, high, ratio(middle)))
        rows.append((arm.layout, arm.column, middle, low, high, at))
        ratios.append((group.label(arm), middle))
        if at is not None:
            knees.append(f"{group.label(arm)} at {number(at)} rows")
    panel = Panel("", dots, "last ÷ first tenth, log scale", reference=1.0, ratio=True)
    return ReportFigure(
        key=prefix,
        title=title,
        unit=unit,
        caption=join(
            blocks_note(group),
            "The line at 1× is a cost that does not grow.",
            f"The cost begins to rise for {listed(knees)}, by two straight lines fitted to the medians."
            if knees
            else "For no layout does the cost begin to rise at a clear place.",
        ),
        origin="Derived from insert times: measured.",
        alt=f"Dot plot of the growth of a row's cost. {extremes(ratios)}",
        svg=dot_plot(named_rows(group, group.arms, styles), [panel], prefix),
        header=("layout", "column", "growth, median", "lowest", "highest", "begins to rise at, rows"),
        rows=tuple(rows),
    )


def _transactions_along(group: Group, styles: Styles, prefix: str) -> ReportFigure | None:
    both = {arm.name: (_line(arm, Metric.TX_P50_MS), _line(arm, Metric.TX_P99_MS)) for arm in group.arms}
    arms = [arm for arm in group.arms if min(map(len, both[arm.name]))]
    if not arms:
        return None  # too few transactions for percentiles of parts of the load
    count = min(len(line) for arm in arms for line in both[arm.name])
    divisor, word = rows_unit(group.rows)
    ends = (np.arange(count) + 1) / count * group.rows
    names = {arm.name for arm in arms}
    without = [group.label(arm) for arm in group.arms if arm.name not in names]
    chosen, _ = evenly_chosen(group, arms, MOST_LINES)
    return curve_figure(
        group,
        ReportFigure(
            prefix,
            "Transaction time as the table grows",
            "ms, lower is better; solid: 99th percentile, dashed: median",
            medians_note(group),
            "Measured.",
        ),
        single_curves(group, styles, {arm.name: both[arm.name][1][:count] for arm in arms}),
        (ends - ends[0] / 2) / divisor,
        (f"{word} inserted", "ms"),
        ("rows inserted up to", [f"{end:.0f}" for end in ends]),
        [("median, ms", lambda arm: both[arm.name][0]), ("p99, ms", lambda arm: both[arm.name][1])],
        control=False,
        notes=(f"No line for {listed(without)}." if without else "",),
        last="The 99th percentile at the last rows:",
        dashed=[both[arm.name][0][:count] for arm in chosen],
    )


def _line(arm: Arm, metric: Metric) -> Line:
    """The metric in successive equal parts of the load, median over blocks; empty if no block has it."""
    good = [trial for trial in arm.trials if trial.status == "ok"]
    lines = [line.y for trial in good for line in trial.series if line.metric == metric]
    parts = min(map(len, lines), default=0)
    return np.median([line[:parts] for line in lines], axis=0) if parts else np.empty(0)


FIGURES = (
    GroupFigure("cost", 30, _COST.draw),
    GroupFigure("speed", 32, _RATE.draw),
    GroupFigure("dearer", 34, _cost_growth),
    GroupFigure("latency-along", 42, _transactions_along),
)
