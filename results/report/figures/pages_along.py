"""Figures of pages along the load or the phases: density, splits, pages read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from keybench.model.metric import Metric
from keybench.model.sizes import spelled
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.analysis.subjects import after_phase, insertions, phases_of, splits_per_thousand
from keybench.results.plots.scales import Scale
from keybench.results.report.figures.curve_figure import Line, curve_figure, single_curves
from keybench.results.report.figures.figure import (
    GroupFigure,
    ReportFigure,
    Styles,
    gaps,
    join,
    origin_note,
    stored_blob,
)
from keybench.results.store.blobs import COST, GROWTH, Blob
from keybench.results.wording import listed, number, rows_unit


def _density_growth(group: Group, styles: Styles, prefix: str) -> ReportFigure | None:
    if any(phases_of(arm) for arm in group.arms):
        return None  # the figure of the phases shows it
    title, unit = "Density as the table grows, from the page model", "% of the leaf pages' room, higher is better"
    blobs = {arm.name: blob for arm in group.arms if (blob := stored_blob(arm, GROWTH)) and len(blob.arrays["rows"])}
    if not blobs:
        why = gaps(group, [Metric.LEAF_DENSITY]) or "No trial stored the model's prediction along the load."
        return ReportFigure(prefix, title, unit, why)
    places = next(iter(blobs.values())).arrays["rows"].astype(np.float64)
    divisor, word = rows_unit(group.rows)
    lines = {name: np.interp(places, blob.arrays["rows"], blob.arrays["density"]) for name, blob in blobs.items()}
    caption = (
        "With random keys the density swings around 69\u00a0%, because all pages fill and split at about the same time."
    )
    return curve_figure(
        group,
        ReportFigure(prefix, title, unit, caption, join("Modelled.", *_notes(blobs))),
        single_curves(group, styles, lines),
        places / divisor,
        (f"{word} inserted", "density, %"),
        ("rows inserted", [f"{place:.0f}" for place in places]),
        [("density, %", lambda arm: lines[arm.name])],
        y=Scale.linear(0.0, 100.0, 2),
    )


def _notes(blobs: Mapping[str, Blob]) -> list[str]:
    """Doubts about the order of arrival that the model was given."""
    return sorted({str(blob.about["note"]) for blob in blobs.values()} - {""})


@dataclass(frozen=True)
class _Drawn:
    """What one of the figures draws, a value for each phase."""

    title: str
    unit: str
    label: str
    """Of the axis."""
    place: str
    """What the places along the axis are."""
    caption: str
    metric: Metric
    highest: float | None = None


_DENSITY = _Drawn(
    "Density along the phases",
    "% of the leaf pages' room, higher is better",
    "density, %",
    "phase",
    "After each phase. A line falls where pages split or rows are deleted, and rises where pages fill or the index is "
    "rebuilt.",
    Metric.LEAF_DENSITY,
    highest=100.0,
)
_SPLITS = _Drawn(
    "Splits along the phases",
    "splits per 1,000 rows, lower is better",
    "splits per 1,000 rows",
    "insertion",
    "In each phase that inserts, whatever lies between them. Splits that move rows; appends are left out. Where the "
    "server counts none, they are the page model's.",
    Metric.INTERIOR_SPLITS,
)


def _densities(group: Group, styles: Styles, prefix: str) -> ReportFigure | None:
    arms = [arm for arm in group.arms if phases_of(arm)]
    if not arms:
        return None
    names = max((phases_of(arm) for arm in arms), key=len)
    return _along(_DENSITY, group, styles, prefix, names, {arm.name: _density(arm, names) for arm in arms})


def _splits(group: Group, styles: Styles, prefix: str) -> ReportFigure | None:
    names: list[str] = max((insertions(arm) for arm in group.arms), key=len, default=[])
    known = {arm.name: [splits_per_thousand(arm, name) for name in names] for arm in group.arms}
    lines = {name: np.array(splits, np.float64) for name, splits in known.items() if splits and None not in splits}
    return _along(_SPLITS, group, styles, prefix, names, lines) if len(names) > 1 and lines else None


def _along(
    drawn: _Drawn, group: Group, styles: Styles, prefix: str, names: list[str], lines: Mapping[str, Line]
) -> ReportFigure:
    highest = drawn.highest or 1.08 * max(float(line.max()) for line in lines.values()) or 1.0
    return curve_figure(
        group,
        ReportFigure(prefix, drawn.title, drawn.unit, drawn.caption, origin_note(group, [drawn.metric])),
        single_curves(group, styles, lines),
        np.arange(1.0, len(names) + 1),
        (drawn.place, drawn.label),
        ("phase", names),
        [(drawn.label, lambda arm: lines[arm.name])],
        last=f"At the last {drawn.place}:",
        y=Scale.linear(0.0, highest, 2 if drawn.highest else 3),
    )


def _density(arm: Arm, names: list[str]) -> Line:
    known = [after_phase(arm, Metric.LEAF_DENSITY, name) for name in names]
    return np.array([one.median if one else np.nan for one in known])


_READS: Final = Metric.PAGES_READ.value
_KNEE: Final = 0.05
"""Reads a row from which on a cache is too small."""


def _beyond_memory(group: Group, styles: Styles, prefix: str) -> ReportFigure | None:
    costs = {arm.name: blob for arm in group.arms if (blob := stored_blob(arm, COST)) and len(blob.arrays["rows"])}
    if not any(int(blob.arrays[_READS][-1]) for blob in costs.values()):
        return None  # all pages stay in memory
    arms = [arm for arm in group.arms if arm.name in costs]
    places = costs[arms[0].name].arrays["rows"].astype(np.float64)
    divisor, word = rows_unit(group.rows)
    means = {name: np.interp(places, *_mean(blob)) for name, blob in costs.items()}
    measured = {arm.name: _measured(arm, group.rows) for arm in arms}
    curves = single_curves(group, styles, means)
    knees = [f"{group.label(arm)} at {number(at)} rows" for arm in arms if (at := _knee(costs[arm.name]))]
    seen = any(value is not None for value in measured.values())
    return curve_figure(
        group,
        ReportFigure(
            prefix,
            "Pages read a row as the table outgrows memory",
            "pages that were not in the server's cache, mean of all rows so far, lower is better",
            f"The server's cache has {spelled(int(costs[arms[0].name].about['cache_bytes']))}. A page that is not in "
            "it has to be read before a row can go there.",
            join("The line: modelled. The dot: measured." if seen else "Modelled.", *_notes(costs)),
        ),
        {name: replace(curve, point=measured[name]) for name, curve in curves.items()},
        places / divisor,
        (f"{word} inserted", "pages read a row"),
        ("rows inserted", [f"{place:.0f}" for place in places]),
        [("pages read a row so far", lambda arm: means[arm.name])],
        control=False,
        notes=(
            "The line is the page model's, the dot what the server counted over the whole load." if seen else "",
            f"A row costs a twentieth of a page read or more: {listed(knees)}." if knees else "",
        ),
    )


def _mean(blob: Blob) -> tuple[Line, Line]:
    """(rows, pages read a row so far)."""
    rows = blob.arrays["rows"].astype(np.float64)
    return rows, blob.arrays[_READS] / rows


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


FIGURES = (
    GroupFigure("growth", 58, _density_growth),
    GroupFigure("phases", 22, _densities),
    GroupFigure("phase-splits", 23, _splits),
    GroupFigure("beyond-memory", 72, _beyond_memory),
)
