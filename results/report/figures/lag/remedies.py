"""EF Core's sequential GUIDs before and after: its generator against what has been proposed in its place.

The layouts are those of the argument that this project set out to test (the lag of processes that are unevenly busy).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from keybench.model.metric import Metric
from keybench.model.subject import MODEL
from keybench.results.analysis.groups import Arm, Group
from keybench.results.plots import rows as plots
from keybench.results.plots.panels import Row
from keybench.results.plots.rows import Dot, Panel
from keybench.results.report.figures.figure import Figure, RunFigure, Styles, Value, blocks_note, join
from keybench.results.report.figures.summaries import STATISTICS, cells, dot, per_row, statistics
from keybench.results.wording import number, ratio

BEFORE = "efcore-sequential"

AFTER = ("morris", "morris-corrected", "rt-comb-sql", "uuid-v7", "newsequentialid", "hotguid", "hotguid-sql")
"""In the order in which they stand in the figure."""

_TIMES = (Metric.SECOND_HALF_SECONDS, Metric.INSERT_SECONDS)


def _remedies(groups: Sequence[Group], styles: Styles, prefix: str) -> list[Figure]:
    """One figure for each database, server and payload that had several writers and EF Core's keys among others."""
    figures = []
    same = sorted(groups, key=_work)
    for number_, (_, part) in enumerate(groupby(same, _work), start=1):
        own = list(part)
        best = [found for name in (BEFORE, *AFTER) if (found := _best(own, name))]
        several = any(trial.writers > 1 for group in own for trial in group.trials)
        if several and len(best) > 1 and best[0][1].layout == BEFORE:
            figures.append(_figure(best, styles, f"{prefix}-{number_}"))
    return figures


def _work(group: Group) -> tuple[str, str, int, int]:
    return group.database, group.server, group.payload, group.rows


def _best(groups: Sequence[Group], name: str) -> tuple[Group, Arm] | None:
    """The layout's arm in the column that suits it: in which its keys go nearest to the right edge."""
    found = [(group, arm) for group in groups for arm in group.arms if arm.layout == name]
    known = [(where.median, group, arm) for group, arm in found if (where := arm.summary(Metric.POSITION_MEAN))]
    return min(known, key=lambda item: item[0])[1:] if known else None


def _inside(group: Group, arm: Arm) -> Dot:
    """Splits inside the index per 1,000 rows; where the server tells none, the page model's."""
    for metric in (Metric.INTERIOR_SPLITS, Metric.EDGE_AND_INTERIOR_SPLITS):
        if (value := per_row(group, arm, metric, 1000)) is not None:
            return Dot(value, value, value, number(value, 1))
    beside = [
        reading.value * 1000 / group.rows
        for reading in arm.predicted.get(MODEL, {}).get(Metric.INTERIOR_SPLITS, {}).values()
        if reading.value is not None
    ]
    return Dot(beside[0], beside[0], beside[0], number(beside[0], 1), modelled=True) if beside else Dot(None, text="–")


def _figure(best: Sequence[tuple[Group, Arm]], styles: Styles, prefix: str) -> Figure:
    first = best[0][0]
    rows = [Row(arm.layout, arm.column, styles[arm.layout], group.modelled) for group, arm in best]
    inside = [_inside(group, arm) for group, arm in best]
    density = [arm.summary(Metric.LEAF_DENSITY) for _, arm in best]
    time = [next((r for metric in _TIMES if (r := group.ratio(arm, metric))), None) for group, arm in best]
    panels = [
        Panel(
            "Interior splits",
            inside,
            "per 1,000 rows ↓",
            (0.0, max(1.0, *(one.value or 0.0 for one in inside)) * 1.05),
        ),
        Panel(
            "Density",
            [dot(arm, known, lambda value: f"{value:.0f}") for (_, arm), known in zip(best, density, strict=True)],
            "% ↑",
            (0.0, 100.0),
        ),
    ]
    if any(time):
        dots = [dot(arm, known, ratio) for (_, arm), known in zip(best, time, strict=True)]
        panels.append(Panel("Time", dots, "× control ↓", reference=1.0, ratio=True))
    header = ("layout", "column", "interior splits per 1,000 rows")
    parts = [f"density (%), {part}" for part in STATISTICS]
    parts += [f"time over the control's, {part}" for part in statistics(time)]
    data: list[tuple[Value, ...]] = [
        (arm.layout, arm.column, inside[i].value, *cells(density[i]), *cells(time[i]))
        for i, (_, arm) in enumerate(best)
    ]
    size = f", {first.payload} characters" if first.payload != 100 else ""
    return Figure(
        key=prefix,
        title=f"EF Core's keys and what has been proposed instead: {first.database}{size}",
        unit="interior splits, density and time; EF Core first, each layout in the column that suits it best",
        caption=join(
            blocks_note(first),
            "Lines of times are 95 % intervals." if any(known.interval for known in time if known) else "",
            "The column that suits a layout best is the one in which its keys go nearest to the right edge.",
            "Hollow: by the page model, where the server does not tell." if any(one.modelled for one in inside) else "",
            "" if any(time) else "No time: a page model has none." if first.modelled else "No time was measured.",
        ),
        origin="Modelled." if first.modelled else "Density: measured. Splits: measured or derived. Ratios of times.",
        alt=f"Dot plots for {len(best)} layouts. Interior splits per 1,000 rows: "
        + ", ".join(f"{arm.layout} {one.text}" for (_, arm), one in zip(best, inside, strict=True))
        + ".",
        svg=plots.dots(rows, panels, prefix),
        header=(*header, *parts),
        rows=tuple(data),
    )


FIGURES = (RunFigure("remedies", 20, _remedies),)
