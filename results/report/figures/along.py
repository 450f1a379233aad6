"""Figures along the load or the phases of an index's life: cost of a row, density, splits, pages read."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from keybench.model.metric import Metric
from keybench.model.reading import Series
from keybench.model.sizes import spelled
from keybench.model.subject import Subject, SubjectKind
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group, phases_of
from keybench.results.plots.charts import Curve, curve_panels
from keybench.results.plots.panels import Scale
from keybench.results.report.figures import figure
from keybench.results.store.blobs import COST
from keybench.results.wording import listed, plural, rows_unit

_MOST_PLACES: Final = 40
"""Stages of the load at which a cost is drawn."""
_MOST_LINES: Final = 24
"""Panels in a picture of lines."""

Line = NDArray[np.float64]
"""The values of a curve, (n,)."""


def _single_curves(group: Group, styles: figure.Styles, lines: Mapping[str, Line]) -> dict[str, Curve]:
    """A curve without a range for each arm's line; both by the arm's name."""
    arms = [arm for arm in group.arms if arm.name in lines]
    rows = figure.named_rows(group, arms, styles)
    triples = [(arm.name, row, lines[arm.name]) for arm, row in zip(arms, rows, strict=True)]
    return {name: Curve(row, middle=line, low=line, high=line) for name, row, line in triples}


def _draw(
    group: Group,
    curves: Mapping[str, Curve],
    key: str,
    *,
    x: Line,
    labels: tuple[str, str],
    places: tuple[str, Sequence[str]],
    caption: Sequence[str],
    origin: str,
    data: str = "",
    last: str = "At the last rows:",
    control: bool = True,
    **axes: Any,
) -> figure.Drawing:
    """A panel of curves for each arm; the first text of `caption` stands before the note on the control.

    `curves` are by the arm's name, over `x`; `labels` are those of x and y. With `control`, the control's curve is
    drawn dashed in all panels. The table has a column of `places` (its name, its cells), then the middle of each arm's
    curve, named `data` (by default as y). `last` introduces the values at the last place. `axes`: for `curve_panels`.
    """
    arms = [arm for arm in group.arms if arm.name in curves]
    chosen, note = figure.evenly_chosen(group, arms, _MOST_LINES)
    reference = curves.get(group.control.name) if control and group.control else None
    ends = [(group.label(arm), float(curves[arm.name].middle[-1])) for arm in arms]
    first, *notes = caption
    return figure.Drawing(
        caption=figure.join(first, "" if reference is None else "Dashed: the control.", *notes, note),
        origin=origin,
        alt=figure.join(f"Small multiples, {plural(len(chosen), 'panel')}. {last}", figure.extremes(ends)),
        svg=curve_panels(
            x,
            [curves[arm.name] for arm in chosen],
            labels,
            key,
            reference=None if reference is None else (reference, "control"),
            **axes,
        ),
        header=(places[0], *(f"{group.label(arm)}, {data or labels[1]}" for arm in arms)),
        rows=tuple((place, *(float(curves[arm.name].middle[i]) for arm in arms)) for i, place in enumerate(places[1])),
    )


@figure.group_figure("cost", 30, "Insert cost as the table grows", "ms per 1,000 rows, lower is better")
def _insert_cost(group: Group, styles: figure.Styles, key: str) -> figure.Drawing | str:
    """What a row costs at each stage of the load, as median and range over blocks, for each layout."""
    series = {  # of each good trial: seconds by rows
        arm.name: [
            line for trial in arm.good for line in trial.series if line.metric == Metric.INSERT_SECONDS and len(line.x)
        ]
        for arm in group.arms
    }
    arms = [arm for arm in group.arms if series[arm.name]]
    if not arms:
        if group.values(Metric.INSERT_SECONDS):
            return "No trial recorded its insert time along the load."
        return figure.missing(group, Metric.INSERT_SECONDS)
    fewest_points = min(len(line.x) for lines in series.values() for line in lines)
    edges = np.linspace(0, group.rows, min(_MOST_PLACES, fewest_points) + 1)
    divisor, word = rows_unit(group.rows)
    curves = {}
    for arm, row in zip(arms, figure.named_rows(group, arms, styles), strict=True):
        values = np.array([_interval_cost(line, edges) for line in series[arm.name]])  # (trials, intervals)
        curves[arm.name] = Curve(row, np.median(values, axis=0), low=values.min(axis=0), high=values.max(axis=0))
    without = [group.label(arm) for arm in group.arms if not series[arm.name]]
    of_blocks = "Lines are medians; bands span the range of the blocks."
    return _draw(
        group,
        curves,
        key,
        x=(edges[:-1] + edges[1:]) / 2 / divisor,
        labels=(f"{word} inserted", "ms per 1,000 rows"),
        places=("rows inserted up to", [f"{edge:.0f}" for edge in edges[1:]]),
        data="median",
        caption=(
            of_blocks if len(group.blocks) > 1 else figure.blocks_note(group),
            f"No curve for {listed(without)}." if without else "",
        ),
        origin=f"Derived from insert times: {figure.origin_note(group, [Metric.INSERT_SECONDS]).lower()}",
    )


def _interval_cost(line: Series, edges: Line) -> Line:
    """Milliseconds per 1,000 rows in each interval between `edges` (n + 1 rows): (n,)."""
    elapsed = np.interp(edges, np.concatenate([[0], line.x]), np.concatenate([[0.0], line.y]))
    seconds_a_row: Line = np.diff(elapsed) / np.diff(edges)
    return seconds_a_row * 1e6  # seconds a row to milliseconds per 1,000 rows


@figure.group_figure("phases", 22, "Density along the phases", "% of the leaf pages' room, higher is better")
def _phase_densities(group: Group, styles: figure.Styles, key: str) -> figure.Drawing | None:
    """The density after each phase of the index's life (insert, delete, rebuild …); None without phases."""
    names = max((phases_of(arm) for arm in group.arms), key=len)  # arms without a good trial have none
    if not names:
        return None
    lines = {}
    for arm in (arm for arm in group.arms if phases_of(arm)):
        summaries = [arm.summary(Metric.LEAF_DENSITY, Subject(SubjectKind.PHASE, name)) for name in names]
        lines[arm.name] = np.array([density.median if density else np.nan for density in summaries])
    return _draw(
        group,
        _single_curves(group, styles, lines),
        key,
        x=np.arange(1.0, len(names) + 1),
        labels=("phase", "density, %"),
        places=("phase", names),
        caption=(
            "After each phase. A line falls where pages split or rows are deleted, and rises where pages fill or the "
            "index is rebuilt.",
        ),
        origin=figure.origin_note(group, [Metric.LEAF_DENSITY]),
        last="At the last phase:",
        y=Scale.linear(0.0, 100.0, 2),
    )


_READS: Final = Metric.PAGES_READ.value


@figure.group_figure(
    "beyond-memory",
    72,
    "Pages read a row as the table outgrows memory",
    "pages that were not in the server's cache, mean of all rows so far, lower is better",
)
def _beyond_memory(group: Group, styles: figure.Styles, key: str) -> figure.Drawing | None:
    """Pages read a row as the index outgrows the cache, by the page model; None if nothing had to be read."""
    costs = {
        arm.name: blob for arm in group.arms if (blob := figure.stored_blob(arm, COST)) and len(blob.arrays["rows"])
    }
    if not any(int(blob.arrays[_READS][-1]) for blob in costs.values()):
        return None  # all pages stay in memory
    arms = [arm for arm in group.arms if arm.name in costs]
    places = costs[arms[0].name].arrays["rows"].astype(np.float64)
    divisor, word = rows_unit(group.rows)
    means = {
        name: np.interp(places, blob.arrays["rows"], blob.arrays[_READS] / blob.arrays["rows"])
        for name, blob in costs.items()
    }
    measured = {arm.name: _counted_reads(arm, group.rows) for arm in arms}
    has_dots, doubts = any(value is not None for value in measured.values()), figure.doubts(costs.values())
    curves = _single_curves(group, styles, means)
    return _draw(
        group,
        {name: replace(curve, point=measured[name]) for name, curve in curves.items()},
        key,
        x=places / divisor,
        labels=(f"{word} inserted", "pages read a row"),
        places=("rows inserted", [f"{place:.0f}" for place in places]),
        data="pages read a row so far",
        caption=(
            f"The server's cache has {spelled(int(costs[arms[0].name].about['cache_bytes']))}. A page that is not in "
            "it has to be read before a row can go there.",
            "The line is the page model's, the dot what the server counted over the whole load." if has_dots else "",
        ),
        origin=figure.join("The line: modelled. The dot: measured." if has_dots else "Modelled.", *doubts),
        control=False,
    )


def _counted_reads(arm: Arm, rows: int) -> float | None:
    """Pages read a row over the whole load, by the server's counter; None if no server counted."""
    counted = arm.summary(Metric.PAGES_READ)
    return counted.median / rows if counted and arm.origins(Metric.PAGES_READ) == {"measured"} else None
