"""Figures along the load or the phases of an index's life: cost of a row, density, splits, pages read."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from keybench.model.metric import Metric
from keybench.model.reading import Series
from keybench.model.sizes import spelled
from keybench.model.subject import Subject, SubjectKind
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group, insertions, phases_of, splits_per_thousand
from keybench.results.plots.charts import Curve
from keybench.results.plots.panels import Scale
from keybench.results.report.figures.figure import (
    Drawing,
    Line,
    Styles,
    blocks_note,
    draw_curves,
    gaps,
    group_figure,
    join,
    missing,
    named_rows,
    origin_note,
    single_curves,
    stored_blob,
)
from keybench.results.store.blobs import COST, GROWTH, Blob
from keybench.results.wording import listed, number, rows_unit

_MOST_PLACES: Final = 40


@group_figure("cost", 30, "Insert cost as the table grows", "ms per 1,000 rows, lower is better")
def _insert_cost(group: Group, styles: Styles, key: str) -> Drawing | str:
    series = {arm.name: _insert_times(arm) for arm in group.arms}
    arms = [arm for arm in group.arms if series[arm.name]]
    if not arms:
        if group.values(Metric.INSERT_SECONDS):
            return "No trial recorded its insert time along the load."
        return missing(group, Metric.INSERT_SECONDS)
    points = min(len(line.x) for lines in series.values() for line in lines)
    edges = np.linspace(0, group.rows, min(_MOST_PLACES, points) + 1)
    divisor, word = rows_unit(group.rows)
    curves = {}
    for arm, row in zip(arms, named_rows(group, arms, styles), strict=True):
        values = np.array([_interval_cost(line, edges) for line in series[arm.name]])
        mark = _cache_exceeded(group, arm)
        mark = None if mark is None else mark / divisor
        curves[arm.name] = Curve(row, np.median(values, 0), values.min(0), values.max(0), mark)
    marked = any(curve.mark for curve in curves.values())
    without = [group.label(arm) for arm in group.arms if not series[arm.name]]
    several = "Lines are medians; bands span the range of the blocks."
    return draw_curves(
        group,
        curves,
        (edges[:-1] + edges[1:]) / 2 / divisor,
        (f"{word} inserted", "ms per 1,000 rows"),
        ("rows inserted up to", [f"{edge:.0f}" for edge in edges[1:]]),
        "median",
        key,
        caption=(
            several if len(group.blocks) > 1 else blocks_note(group),
            _cache_note(group, marked=marked),
            f"No curve for {listed(without)}." if without else "",
        ),
        origin=join(
            f"Derived from insert times: {origin_note(group, [Metric.INSERT_SECONDS]).lower()}",
            "The cache mark is estimated." if marked else "",
        ),
        mark_label="index exceeds cache",
    )


def _insert_times(arm: Arm) -> list[Series]:
    """The insert time along each successful trial."""
    return [line for trial in arm.good for line in trial.series if line.metric == Metric.INSERT_SECONDS and len(line.x)]


def _interval_cost(line: Series, edges: Line) -> Line:
    """Milliseconds per 1,000 rows in each interval between `edges` (n + 1 rows): (n,)."""
    elapsed = np.interp(edges, np.concatenate([[0], line.x]), np.concatenate([[0.0], line.y]))
    seconds_a_row: Line = np.diff(elapsed) / np.diff(edges)
    return seconds_a_row * 1e6


def _cache_exceeded(group: Group, arm: Arm) -> float | None:
    """Rows at which the key's index outgrows the server's cache if it grows evenly; None if it never does."""
    index = arm.summary(Metric.INDEX_BYTES)
    cache = group.environment.cache_bytes if group.environment else 0
    if index is None or cache <= 0 or index.median <= cache:
        return None
    return group.rows * cache / index.median


def _cache_note(group: Group, *, marked: bool) -> str:
    if marked:
        return "Dotted: here the key's index outgrows the server's cache, estimated as if the index grew evenly."
    if group.environment and group.environment.cache_bytes > 0 and group.values(Metric.INDEX_BYTES):
        return "No index outgrew the server's cache."
    return ""


@group_figure(
    "growth", 58, "Density as the table grows, from the page model", "% of the leaf pages' room, higher is better"
)
def _density_growth(group: Group, styles: Styles, key: str) -> Drawing | str | None:
    if any(phases_of(arm) for arm in group.arms):
        return None  # the figure of the phases shows it
    blobs = {arm.name: blob for arm in group.arms if (blob := stored_blob(arm, GROWTH)) and len(blob.arrays["rows"])}
    if not blobs:
        return gaps(group, [Metric.LEAF_DENSITY]) or "No trial stored the model's prediction along the load."
    places = next(iter(blobs.values())).arrays["rows"].astype(np.float64)
    divisor, word = rows_unit(group.rows)
    lines = {name: np.interp(places, blob.arrays["rows"], blob.arrays["density"]) for name, blob in blobs.items()}
    return draw_curves(
        group,
        single_curves(group, styles, lines),
        places / divisor,
        (f"{word} inserted", "density, %"),
        ("rows inserted", [f"{place:.0f}" for place in places]),
        "density, %",
        key,
        caption=(
            "With random keys the density swings around 69\u00a0%, because all pages fill and split at about the same "
            "time.",
        ),
        origin=join("Modelled.", *_notes(blobs)),
        y=Scale.linear(0.0, 100.0, 2),
    )


def _notes(blobs: Mapping[str, Blob]) -> list[str]:
    """Doubts about the order of arrival that the model was given."""
    return sorted({str(blob.about["note"]) for blob in blobs.values()} - {""})


@group_figure("phases", 22, "Density along the phases", "% of the leaf pages' room, higher is better")
def _phase_densities(group: Group, styles: Styles, key: str) -> Drawing | None:
    names = max((phases_of(arm) for arm in group.arms), key=len)
    if not names:
        return None
    lines = {}
    for arm in (arm for arm in group.arms if phases_of(arm)):
        known = [arm.summary(Metric.LEAF_DENSITY, Subject(SubjectKind.PHASE, name)) for name in names]
        lines[arm.name] = np.array([one.median if one else np.nan for one in known])
    return draw_curves(
        group,
        single_curves(group, styles, lines),
        np.arange(1.0, len(names) + 1),
        ("phase", "density, %"),
        ("phase", names),
        "density, %",
        key,
        caption=(
            "After each phase. A line falls where pages split or rows are deleted, and rises where pages fill or the "
            "index is rebuilt.",
        ),
        origin=origin_note(group, [Metric.LEAF_DENSITY]),
        last="At the last phase:",
        y=Scale.linear(0.0, 100.0, 2),
    )


@group_figure("phase-splits", 23, "Splits along the phases", "splits per 1,000 rows, lower is better")
def _phase_splits(group: Group, styles: Styles, key: str) -> Drawing | None:
    names: list[str] = max((insertions(arm) for arm in group.arms), key=len, default=[])
    known = {arm.name: [splits_per_thousand(arm, name) for name in names] for arm in group.arms}
    lines = {name: np.array(splits, np.float64) for name, splits in known.items() if splits and None not in splits}
    if len(names) < 2 or not lines:
        return None
    highest = 1.08 * max(float(line.max()) for line in lines.values()) or 1.0
    return draw_curves(
        group,
        single_curves(group, styles, lines),
        np.arange(1.0, len(names) + 1),
        ("insertion", "splits per 1,000 rows"),
        ("phase", names),
        "splits per 1,000 rows",
        key,
        caption=(
            "In each phase that inserts, whatever lies between them. Splits that move rows; appends are left out. "
            "Where the server counts none, they are the page model's.",
        ),
        origin=origin_note(group, [Metric.INTERIOR_SPLITS]),
        last="At the last insertion:",
        y=Scale.linear(0.0, highest, 3),
    )


_READS: Final = Metric.PAGES_READ.value
_KNEE: Final = 0.05
"""Reads a row from which on a cache is too small."""


@group_figure(
    "beyond-memory",
    72,
    "Pages read a row as the table outgrows memory",
    "pages that were not in the server's cache, mean of all rows so far, lower is better",
)
def _beyond_memory(group: Group, styles: Styles, key: str) -> Drawing | None:
    costs = {arm.name: blob for arm in group.arms if (blob := stored_blob(arm, COST)) and len(blob.arrays["rows"])}
    if not any(int(blob.arrays[_READS][-1]) for blob in costs.values()):
        return None  # all pages stay in memory
    arms = [arm for arm in group.arms if arm.name in costs]
    places = costs[arms[0].name].arrays["rows"].astype(np.float64)
    divisor, word = rows_unit(group.rows)
    means = {
        name: np.interp(places, blob.arrays["rows"], blob.arrays[_READS] / blob.arrays["rows"])
        for name, blob in costs.items()
    }
    measured = {arm.name: _measured(arm, group.rows) for arm in arms}
    knees = [f"{group.label(arm)} at {number(at)} rows" for arm in arms if (at := _knee(costs[arm.name]))]
    seen = any(value is not None for value in measured.values())
    curves = single_curves(group, styles, means)
    return draw_curves(
        group,
        {name: replace(curve, point=measured[name]) for name, curve in curves.items()},
        places / divisor,
        (f"{word} inserted", "pages read a row"),
        ("rows inserted", [f"{place:.0f}" for place in places]),
        "pages read a row so far",
        key,
        caption=(
            f"The server's cache has {spelled(int(costs[arms[0].name].about['cache_bytes']))}. A page that is not in "
            "it has to be read before a row can go there.",
            "The line is the page model's, the dot what the server counted over the whole load." if seen else "",
            f"A row costs a twentieth of a page read or more: {listed(knees)}." if knees else "",
        ),
        origin=join("The line: modelled. The dot: measured." if seen else "Modelled.", *_notes(costs)),
        control=False,
    )


def _measured(arm: Arm, rows: int) -> float | None:
    """Pages read a row over the whole load, by the server's counter; None if no server counted."""
    counted = arm.summary(Metric.PAGES_READ)
    return counted.median / rows if counted and arm.origins(Metric.PAGES_READ) == {"measured"} else None


def _knee(blob: Blob) -> float | None:
    """The rows from which on a row costs a twentieth of a page read or more; None if none does at the end."""
    rows = np.concatenate([[0], blob.arrays["rows"]])
    below = np.flatnonzero(np.diff(blob.arrays[_READS], prepend=0) / np.diff(rows) < _KNEE)
    last = int(below[-1]) if len(below) else -1
    return None if last == len(rows) - 2 else float(rows[last + 1])
