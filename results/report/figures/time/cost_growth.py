"""Insert cost at the end of the load over that at its beginning, and where it begins to rise."""

from __future__ import annotations

from typing import Final

import numpy as np

from keybench.model.metric import Metric
from keybench.results.analysis.groups import Group
from keybench.results.analysis.knee import growth, knee
from keybench.results.plots.dots import Dot, Panel, dot_plot
from keybench.results.report.figures.captions import blocks_note, extremes, join, missing, placeholder
from keybench.results.report.figures.figure import Figure, GroupFigure, Styles, Value
from keybench.results.report.figures.insert_times import insert_times, interval_cost
from keybench.results.report.figures.selection import named_rows
from keybench.results.wording import listed, number, ratio

_INTERVALS: Final = 40


def _cost_growth(group: Group, styles: Styles, prefix: str) -> Figure:
    title = "Growth of the insert cost"
    unit = "cost of a row in the last tenth of the load over that in the first tenth, lower is better"
    edges = np.linspace(0, group.rows, _INTERVALS + 1)
    costs = {
        arm.name: np.array([interval_cost(line, edges) for line in insert_times(arm) if len(line.x) >= _INTERVALS])
        for arm in group.arms
    }
    if not any(len(own) for own in costs.values()):
        if group.values(Metric.INSERT_SECONDS):
            return Figure(prefix, title, unit, f"No trial recorded its insert time at {_INTERVALS} places.")
        return Figure(prefix, title, unit, missing(group, Metric.INSERT_SECONDS))
    dots, ratios, knees = [], [], []
    rows: list[tuple[Value, ...]] = []
    for arm in group.arms:
        own = costs[arm.name]
        if not len(own):
            dots.append(Dot(None, text=placeholder(arm)))
            rows.append((arm.layout, arm.column, None, None, None, None))
            continue
        grown = np.array([growth(cost) for cost in own])
        place = knee(np.median(own, axis=0))
        at = None if place is None else float(edges[place])
        middle, low, high = float(np.median(grown)), float(grown.min()), float(grown.max())
        dots.append(Dot(middle, low, high, ratio(middle)))
        rows.append((arm.layout, arm.column, middle, low, high, at))
        ratios.append((group.label(arm), middle))
        if at is not None:
            knees.append(f"{group.label(arm)} at {number(at)} rows")
    panel = Panel("", dots, "last ÷ first tenth, log scale", reference=1.0, ratio=True)
    return Figure(
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


FIGURES = (GroupFigure("dearer", 34, _cost_growth),)
