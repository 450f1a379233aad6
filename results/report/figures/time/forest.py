"""Insert time of every layout on every database over the control's, on one axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from keybench.model.metric import Metric
from keybench.model.names import CONTROL
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.analysis.summary import Summary
from keybench.results.plots.forest import Ratio, Section, forest_plot
from keybench.results.plots.labels import label_lines
from keybench.results.report.figures.captions import extremes, join, ratios_note
from keybench.results.report.figures.figure import Figure, RunFigure, Styles, Value
from keybench.results.report.figures.selection import evenly_chosen
from keybench.results.report.figures.summaries import cells, statistics
from keybench.results.wording import plural, ratio

_MOST_ROWS: Final = 72
"""Rows of the picture, shared by the databases."""


def _forest(groups: Sequence[Group], styles: Styles, prefix: str) -> list[Figure]:
    timed = [(group, known) for group in groups if (known := _ratios(group))]
    if len(timed) < 2:
        return []
    most = max(3, _MOST_ROWS // len(timed))
    sections = [_section(group, known, most, styles) for group, known in timed]
    named = [(f"{arm.layout} on {group.database}", known.median) for group, part in timed for arm, known in part]
    every = [summary for _, part in timed for _, summary in part]
    data: list[tuple[Value, ...]] = [
        (group.database, group.server, group.payload, arm.layout, arm.column, *cells(summary))
        for group, part in timed
        for arm, summary in part
    ]
    return [
        Figure(
            key=prefix,
            title="Insert time on every database",
            unit=f"ratio to {CONTROL} on the same database in the same block, lower is better",
            caption=join(
                ratios_note(groups[0], every),
                "The line at 1× is the control. Ratios compare layouts on one database, not databases.",
                f"{most} layouts of each database are drawn, evenly spaced from the fastest to the slowest."
                if any(len(known) > most for _, known in timed)
                else "",
            ),
            origin="Ratios of times: measured.",
            alt=f"Forest plot of {plural(len(timed), 'database')}. {extremes(named)}",
            svg=forest_plot(sections, "× control, log scale", prefix),
            header=(
                "database",
                "server",
                "payload",
                "layout",
                "column",
                *(f"ratio, {part}" for part in statistics(every)),
            ),
            rows=tuple(data),
        )
    ]


def _ratios(group: Group) -> list[tuple[Arm, Summary]]:
    """The fastest first."""
    known = [(arm, summary) for arm in group.treatments if (summary := group.ratio(arm, Metric.INSERT_SECONDS))]
    return sorted(known, key=lambda item: item[1].median)


def _section(group: Group, known: Sequence[tuple[Arm, Summary]], most: int, styles: Styles) -> Section:
    chosen = {arm.name for arm in evenly_chosen(group, [arm for arm, _ in known], most)[0]}
    ratios = [
        Ratio(
            name=label_lines(arm.layout, 30)[0],
            value=summary.median,
            low=summary.low,
            high=summary.high,
            text=ratio(summary.median),
            style=styles[arm.layout],
            hollow=group.modelled,
        )
        for arm, summary in known
        if arm.name in chosen
    ]
    return Section(" · ".join(word for word in (group.database, group.server, group.column) if word), ratios)


FIGURES = (RunFigure("forest", 10, _forest),)
