"""Pages read a row as the table outgrows the server's cache: by the page model, and what the server counted."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.model.metric import Metric
from keybench.model.sizes import spelled
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.plots.curves import Curve, curve_panels
from keybench.results.report.figures.captions import extremes, join
from keybench.results.report.figures.figure import Figure, GroupFigure, Styles, Value
from keybench.results.report.figures.selection import MOST_LINES, evenly_chosen, named_rows, stored_blob
from keybench.results.store.blobs import COST, Blob
from keybench.results.wording import listed, number, plural, rows_unit

_READS: Final = Metric.PAGES_READ.value
_KNEE: Final = 0.05
"""Reads a row from which on a cache is too small."""


def _beyond_memory(group: Group, styles: Styles, prefix: str) -> Figure | None:
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
    return Figure(
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


FIGURES = (GroupFigure("beyond-memory", 72, _beyond_memory),)
