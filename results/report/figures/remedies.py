"""EF Core's sequential GUIDs beside the layouts that have been proposed in their place.

The layouts are those of the argument that this project set out to test: the lag of unevenly busy processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from keybench.model.metric import Metric
from keybench.model.subject import MODEL
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.analysis.ratios import Summary
from keybench.results.plots.charts import Dot, Panel, dot_plot
from keybench.results.plots.panels import PlotRow
from keybench.results.report.figures.figure import (
    STATISTICS,
    ReportFigure,
    RunFigure,
    Styles,
    Value,
    blocks_note,
    cells,
    dot,
    join,
    per_row,
    statistics,
)
from keybench.results.wording import number, ratio

BEFORE = "efcore-sequential"

AFTER = ("morris", "morris-corrected", "rt-comb-sql", "uuid-v7", "newsequentialid", "hotguid", "hotguid-sql")
"""In the order of the figure."""

_TIMES = (Metric.SECOND_HALF_SECONDS, Metric.INSERT_SECONDS)

Pair = tuple[Group, Arm]
"""An arm with its group."""


def _remedies(groups: Sequence[Group], styles: Styles, prefix: str) -> list[ReportFigure]:
    """One figure for each database, server, payload and size with several writers and EF Core's keys among others."""
    figures = []
    for place, (_, part) in enumerate(groupby(sorted(groups, key=_work), _work), start=1):
        same_work = list(part)
        best = [pair for name in (BEFORE, *AFTER) if (pair := _best(same_work, name))]
        several = any(trial.writers > 1 for group in same_work for trial in group.trials)
        if several and len(best) > 1 and best[0][1].layout == BEFORE:
            figures.append(_figure(best, styles, f"{prefix}-{place}"))
    return figures


def _work(group: Group) -> tuple[str, str, int, int]:
    return group.database, group.server, group.payload, group.rows


def _best(groups: Sequence[Group], name: str) -> Pair | None:
    """The layout's arm in the column that suits it: the one in which its keys go nearest to the right edge."""
    pairs = [(group, arm) for group in groups for arm in group.arms if arm.layout == name]
    known = [(where.median, group, arm) for group, arm in pairs if (where := arm.summary(Metric.POSITION_MEAN))]
    return min(known, key=lambda item: item[0])[1:] if known else None


def _interior_splits(group: Group, arm: Arm) -> Dot:
    """Interior splits per 1,000 rows; the page model's if the server does not count them."""
    for metric in (Metric.INTERIOR_SPLITS, Metric.EDGE_AND_INTERIOR_SPLITS):
        if (value := per_row(group, arm, metric, 1000)) is not None:
            return Dot(value, value, value, number(value, 1))
    predicted = list(arm.values(Metric.INTERIOR_SPLITS, MODEL).values())
    if not predicted:
        return Dot(None, text="–")
    value = predicted[0] * 1000 / group.rows
    return Dot(value, value, value, number(value, 1), hollow=True)


def _figure(best: Sequence[Pair], styles: Styles, prefix: str) -> ReportFigure:
    first = best[0][0]
    splits = [_interior_splits(group, arm) for group, arm in best]
    density = [arm.summary(Metric.LEAF_DENSITY) for _, arm in best]
    time = [next((r for metric in _TIMES if (r := group.ratio(arm, metric))), None) for group, arm in best]
    parts = [f"density (%), {part}" for part in STATISTICS]
    parts += [f"time over the control's, {part}" for part in statistics(time)]
    data: list[tuple[Value, ...]] = [
        (arm.layout, arm.column, splits[i].value, *cells(density[i]), *cells(time[i]))
        for i, (_, arm) in enumerate(best)
    ]
    size = f", {first.run.characters(first.payload)}" if first.payload != 100 else ""
    return ReportFigure(
        key=prefix,
        title=f"EF Core's sequential GUIDs and proposed alternatives: {first.database}{size}",
        unit="interior splits, density and time; EF Core first, each layout in the column that suits it best",
        caption=join(
            blocks_note(first),
            "Lines of times are 95\u00a0% intervals." if any(known.interval for known in time if known) else "",
            "The column that suits a layout best is the one in which its keys go nearest to the right edge.",
            "Hollow: from the page model, because the server does not count these splits."
            if any(one.hollow for one in splits)
            else "",
            _no_time(first, time),
        ),
        origin="Modelled." if first.modelled else "Density: measured. Splits: measured or derived. Ratios of times.",
        alt=f"Dot plots for {len(best)} layouts. Interior splits per 1,000 rows: "
        + ", ".join(f"{arm.layout} {one.text}" for (_, arm), one in zip(best, splits, strict=True))
        + ".",
        svg=_drawn(best, splits, density, time, styles, prefix),
        header=("layout", "column", "interior splits per 1,000 rows", *parts),
        rows=tuple(data),
    )


def _no_time(group: Group, time: Sequence[Summary | None]) -> str:
    if any(time):
        return ""
    return "A page model has no times." if group.modelled else "No time was measured."


def _drawn(
    best: Sequence[Pair],
    splits: Sequence[Dot],
    density: Sequence[Summary | None],
    time: Sequence[Summary | None],
    styles: Styles,
    prefix: str,
) -> str:
    rows = [PlotRow(arm.layout, arm.column, styles[arm.layout], group.modelled) for group, arm in best]
    most = max(1.0, *(one.value or 0.0 for one in splits)) * 1.05
    dense = [dot(arm, known, lambda value: f"{value:.0f}") for (_, arm), known in zip(best, density, strict=True)]
    panels = [
        Panel("Interior splits", splits, "per 1,000 rows ↓", (0.0, most)),
        Panel("Density", dense, "% ↑", (0.0, 100.0)),
    ]
    if any(time):
        dots = [dot(arm, known, ratio) for (_, arm), known in zip(best, time, strict=True)]
        panels.append(Panel("Time", dots, "× control ↓", reference=1.0, ratio=True))
    return dot_plot(rows, panels, prefix)


FIGURES = (RunFigure("remedies", 20, _remedies),)
