"""Density of the leaf pages as the table grows, from the page model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.model.metric import Metric
from keybench.model.sizes import spelled
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.analysis.subjects import after_phase, insertions, phases_of, splits_per_thousand
from keybench.results.plots.curves import Curve, curve_panels
from keybench.results.plots.scales import Scale
from keybench.results.report.figures.figure import (
    MOST_LINES,
    GroupFigure,
    ReportFigure,
    Styles,
    Value,
    evenly_chosen,
    extremes,
    gaps,
    join,
    named_rows,
    origin_note,
    stored_blob,
)
from keybench.results.store.blobs import COST, GROWTH, Blob
from keybench.results.wording import listed, number, plural, rows_unit


def _density_growth(group: Group, styles: Styles, prefix: str) -> ReportFigure | None:
    if any(phases_of(arm) for arm in group.arms):
        return None  # the figure of the phases shows it
    title, unit = "Density as the table grows, from the page model", "% of the leaf pages' room, higher is better"
    blobs = {arm.name: blob for arm in group.arms if (blob := stored_blob(arm, GROWTH)) and len(blob.arrays["rows"])}
    if not blobs:
        why = gaps(group, [Metric.LEAF_DENSITY]) or "No trial stored the model's prediction along the load."
        return ReportFigure(prefix, title, unit, why)
    arms = [arm for arm in group.arms if arm.name in blobs]
    places = next(iter(blobs.values())).arrays["rows"].astype(np.float64)
    divisor, word = rows_unit(group.rows)
    lines = {
        arm.name: np.interp(places, blobs[arm.name].arrays["rows"], blobs[arm.name].arrays["density"]) for arm in arms
    }
    chosen, note = evenly_chosen(group, arms, MOST_LINES)
    rows = named_rows(group, chosen, styles)
    drawn = [Curve.single(row, lines[arm.name]) for arm, row in zip(chosen, rows, strict=True)]
    control = next((curve for arm, curve in zip(chosen, drawn, strict=True) if arm is group.control), None)
    return ReportFigure(
        key=prefix,
        title=title,
        unit=unit,
        caption=join(
            "With random keys the density swings around 69\u00a0%, because all pages fill and split at about the same "
            "time.",
            "" if control is None else "Dashed: the control.",
            note,
        ),
        origin=join("Modelled.", *sorted({str(blobs[arm.name].about["note"]) for arm in arms} - {""})),
        alt=join(
            f"Small multiples, {plural(len(chosen), 'panel')}. At the last rows:",
            extremes([(group.label(arm), float(lines[arm.name][-1])) for arm in arms]),
        ),
        svg=curve_panels(
            places / divisor,
            drawn,
            (f"{word} inserted", "density, %"),
            prefix,
            reference=None if control is None else (control, "control"),
            y=Scale.linear(0.0, 100.0, 2),
        ),
        header=("rows inserted", *(f"{group.label(arm)}, density, %" for arm in arms)),
        rows=tuple((f"{place:.0f}", *(float(lines[arm.name][i]) for arm in arms)) for i, place in enumerate(places)),
    )


Line = NDArray[np.float64]


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
    lines = {name: np.array(own, np.float64) for name, own in known.items() if own and None not in own}
    return _along(_SPLITS, group, styles, prefix, names, lines) if len(names) > 1 and lines else None


def _along(
    drawn: _Drawn, group: Group, styles: Styles, prefix: str, names: list[str], lines: Mapping[str, Line]
) -> ReportFigure:
    arms = [arm for arm in group.arms if arm.name in lines]
    chosen, note = evenly_chosen(group, arms, MOST_LINES)
    curves = [
        Curve.single(row, lines[arm.name]) for arm, row in zip(chosen, named_rows(group, chosen, styles), strict=True)
    ]
    control = next((curve for arm, curve in zip(chosen, curves, strict=True) if arm is group.control), None)
    return ReportFigure(
        key=prefix,
        title=drawn.title,
        unit=drawn.unit,
        caption=join(drawn.caption, "" if control is None else "Dashed: the control.", note),
        origin=origin_note(group, [drawn.metric]),
        alt=join(
            f"Small multiples, {plural(len(chosen), 'panel')}. At the last {drawn.place}:",
            extremes([(group.label(arm), float(lines[arm.name][-1])) for arm in arms]),
        ),
        svg=curve_panels(
            np.arange(1.0, len(names) + 1),
            curves,
            (drawn.place, drawn.label),
            prefix,
            reference=None if control is None else (control, "control"),
            y=Scale.linear(0.0, drawn.highest, 2) if drawn.highest else _from_zero(lines),
        ),
        header=("phase", *(f"{group.label(arm)}, {drawn.label}" for arm in arms)),
        rows=tuple((name, *(float(lines[arm.name][i]) for arm in arms)) for i, name in enumerate(names)),
    )


def _from_zero(lines: Mapping[str, Line]) -> Scale:
    return Scale.linear(0.0, 1.08 * max(float(line.max()) for line in lines.values()) or 1.0, 3)


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
    chosen, note = evenly_chosen(group, arms, MOST_LINES)
    places = costs[chosen[0].name].arrays["rows"].astype(np.float64)
    divisor, word = rows_unit(group.rows)
    means = {arm.name: np.interp(places, *_mean(costs[arm.name])) for arm in arms}
    measured = {arm.name: _measured(arm, group.rows) for arm in arms}
    drawn = [
        replace(Curve.single(row, means[arm.name]), point=measured[arm.name])
        for arm, row in zip(chosen, named_rows(group, chosen, styles), strict=True)
    ]
    knees = [f"{group.label(arm)} at {number(at)} rows" for arm in arms if (at := _knee(costs[arm.name]))]
    seen = any(value is not None for value in measured.values())
    rows: list[tuple[Value, ...]] = [
        (f"{place:.0f}", *(float(means[arm.name][i]) for arm in arms)) for i, place in enumerate(places)
    ]
    return ReportFigure(
        key=prefix,
        title="Pages read a row as the table outgrows memory",
        unit="pages that were not in the server's cache, mean of all rows so far, lower is better",
        caption=join(
            f"The server's cache has {spelled(int(costs[chosen[0].name].about['cache_bytes']))}. A page that is not in "
            "it has to be read before a row can go there.",
            "The line is the page model's, the dot what the server counted over the whole load." if seen else "",
            f"A row costs a twentieth of a page read or more: {listed(knees)}." if knees else "",
            note,
        ),
        origin=join(
            "The line: modelled." if seen else "Modelled.",
            "The dot: measured." if seen else "",
            *sorted({str(costs[arm.name].about["note"]) for arm in arms} - {""}),
        ),
        alt=join(
            f"Small multiples, {plural(len(chosen), 'panel')}. At the last rows:",
            extremes([(group.label(arm), float(means[arm.name][-1])) for arm in arms]),
        ),
        svg=curve_panels(places / divisor, drawn, (f"{word} inserted", "pages read a row"), prefix),
        header=("rows inserted", *(f"{group.label(arm)}, pages read a row so far" for arm in arms)),
        rows=tuple(rows),
    )


def _mean(blob: Blob) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(rows, pages read a row so far)."""
    rows = blob.arrays["rows"].astype(np.float64)
    return rows, blob.arrays[_READS] / rows


def _measured(arm: Arm, rows: int) -> float | None:
    """Pages read a row over the whole load, by the server's counter; None if no server counted."""
    found = arm.summary(Metric.PAGES_READ)
    return found.median / rows if found and arm.origins(Metric.PAGES_READ) == {"measured"} else None


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
