"""Figures of several writers: where each one's keys went into the index, and how far they lag behind its right edge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.model.metric import Metric
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.analysis.subjects import summary_of, writers_of
from keybench.results.plots.canvas import SMALL, text_width
from keybench.results.plots.palette import INK, SOFT, Style, ramp
from keybench.results.plots.panels import Box, Panels, draw_legend, legend_height
from keybench.results.plots.scales import Scale
from keybench.results.report.figures.figure import (
    MOST_CLOUDS,
    GroupFigure,
    ReportFigure,
    Styles,
    Value,
    evenly_chosen,
    join,
    named_rows,
    stored_blob,
)
from keybench.results.report.tables import LAG_METRICS
from keybench.results.store.blobs import POSITIONS, Blob
from keybench.results.wording import plural

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_POINTS: Final = 800
"""Points drawn for each trial."""

_OFFSET: Final = 1.2
_WIDEST: Final = 10.0
"""Pixels between two writers at the same place, so that none hides another, and between the first and the last."""

_EDGES: Final = Scale(-3.0, 103.0, ((100.0, "right edge"), (50.0, "middle"), (0.0, "left edge")))


def _insert_positions(group: Group, styles: Styles, prefix: str) -> ReportFigure | None:
    blobs = {arm.name: blob for arm in group.arms if (blob := stored_blob(arm, POSITIONS)) and len(blob.arrays["row"])}
    if not blobs or max(len(blob.about["writers"]) for blob in blobs.values()) < 2:
        return None
    arms, note = evenly_chosen(group, [arm for arm in group.arms if arm.name in blobs], MOST_CLOUDS)
    writers = next(iter(blobs.values())).about["writers"]
    header, columns = _data(group, arms, blobs, writers)
    return ReportFigure(
        key=prefix,
        title="Insert positions of each writer",
        unit="position in key order by the scenario's time, one colour a writer; only the right edge appends",
        caption=join(
            f"Each point is a row, up to {len(columns[0]):,} a trial. A row that does not go to the right edge can "
            "split a page inside the index. Points of several writers at one place are drawn slightly apart.",
            note,
        ),
        origin=join(
            "Derived from the keys and their order of arrival.",
            *sorted({str(blobs[arm.name].about["note"]) for arm in arms} - {""}),
        ),
        alt=f"Small multiples of points, {plural(len(arms), 'panel')}, one colour for each of {len(writers)} writers.",
        svg=_positions_drawn(group, arms, blobs, writers, styles, prefix),
        header=tuple(header),
        rows=tuple(
            tuple(column[i] if i < len(column) else None for column in columns) for i in range(max(map(len, columns)))
        ),
    )


def _positions_drawn(
    group: Group, arms: Sequence[Arm], blobs: Mapping[str, Blob], writers: Sequence[str], styles: Styles, prefix: str
) -> str:
    colours = ramp(len(writers))
    entries = list(zip(colours, writers, strict=True))
    last = max(float(blob.arrays["second"].max()) for blob in blobs.values())
    divisor, unit = next(((d, w) for d, w in ((3600, "hours"), (60, "minutes")) if last >= 2 * d), (1, "seconds"))
    panels = Panels(
        named_rows(group, arms, styles),
        Scale.linear(0.0, last / divisor or 1.0),
        _EDGES,
        (f"{unit} of the scenario", "position in the index"),
        legend=legend_height(entries),
    )
    draw_legend(panels.canvas, entries)
    apart = min(_OFFSET, _WIDEST / len(writers))
    for arm, box in zip(arms, panels.boxes, strict=True):
        seconds, writer, below = _points(blobs[arm.name])
        for i, colour in enumerate(colours):
            offset = (i - (len(writers) - 1) / 2) * apart
            box.points(seconds[writer == i] / divisor, below[writer == i], colour, 2.0, up=offset)
    return panels.canvas.svg(prefix)


def _points(blob: Blob) -> tuple[Floats, Ints, Floats]:
    """Second, writer's number, and % of the present keys below the row, for up to `_POINTS` rows."""
    arrays = blob.arrays
    near = np.unique(np.linspace(0, len(arrays["row"]) - 1, _POINTS).round().astype(np.int64))
    below = 100 * (1 - arrays["above"][near].astype(np.float64))
    return arrays["second"][near].astype(np.float64), arrays["writer"][near], below


def _data(
    group: Group, arms: Sequence[Arm], blobs: Mapping[str, Blob], writers: Sequence[str]
) -> tuple[list[str], list[list[Value]]]:
    """Header and columns. Second and writer follow planned order, so they are listed once if all arms share them."""
    header: list[str] = []
    columns: list[list[Value]] = []
    for arm in arms:
        seconds, writer, below = _points(blobs[arm.name])
        when = [[round(second, 3) for second in seconds.tolist()], [writers[i] for i in writer.tolist()]]
        if columns[:2] != when:
            columns += when
            header += [f"second of {group.label(arm)}", f"writer of {group.label(arm)}"]
        columns.append([round(value, 2) for value in below.tolist()])
        header.append(f"{group.label(arm)}, keys present below, %")
    return header, columns


_MOST_NAMED: Final = 24
"""With more writers, lines are thinner, and only a panel's furthest writer is named."""
_LINE, _THIN_LINE, _TALLEST = 14.0, 6.0, 240.0
"""Height of a writer's line, of a thin one, and of a panel with thin lines, in pixels."""
_LEAST: Final = 0.7
"""Left end of the axis, in rows."""


def _writer_lag(group: Group, styles: Styles, prefix: str) -> ReportFigure | None:
    writers = writers_of(group)
    known = [arm for arm in group.arms if any(summary_of(arm, Metric.LAGGING_INSERTS, one) for one in writers)]
    if len(writers) < 2 or not known:
        return None
    arms, note = evenly_chosen(group, known, MOST_CLOUDS)
    shown = [metric for metric in LAG_METRICS if any(summary_of(arm, metric, one) for arm in known for one in writers)]
    header = [f"{metric.definition.title.lower()}, {metric.definition.unit}" for metric in shown]
    return ReportFigure(
        key=prefix,
        title="Lag of each writer",
        unit="rows behind the right edge, lower is better; at the right the share of the writer's inserts that lag",
        caption=join(
            "An insert lags if a key above it is present. The marker is the median of a writer's inserts that lag; the "
            "line ends at their 95th percentile. Writers that race lag by a few rows, mostly in the last leaf page. "
            "The numbers have seconds and leaf pages too.",
            "" if len(writers) <= _MOST_NAMED else "Only the furthest writer is named; the numbers have them all.",
            note,
        ),
        origin="Derived from the keys and their order of arrival.",
        alt=f"A line for each of {len(writers)} writers, {plural(len(arms), 'panel')}. "
        + _furthest(group, known, writers),
        svg=_lags_drawn(group, arms, writers, styles, prefix),
        header=("layout", "column", "writer", *header),
        rows=tuple(
            (arm.layout, arm.column, one, *(_median(arm, metric, one) for metric in shown))
            for arm in known
            for one in writers
        ),
    )


def _median(arm: Arm, metric: Metric, writer: str) -> float | None:
    summary = summary_of(arm, metric, writer)
    return None if summary is None else summary.median


def _furthest(group: Group, arms: Sequence[Arm], writers: Sequence[str]) -> str:
    rows, arm, writer = max(
        ((_median(arm, Metric.LAG_ROWS_P50, writer) or 0.0, arm, writer) for arm in arms for writer in writers),
        key=lambda one: one[0],
    )
    if not rows:
        return "No insert lags."
    share = _median(arm, Metric.LAGGING_INSERTS, writer) or 0.0
    return f"Furthest: {writer} with {group.label(arm)}, {_percent(share)} of its inserts, median {rows:,.0f} rows."


def _lags_drawn(group: Group, arms: Sequence[Arm], writers: Sequence[str], styles: Styles, prefix: str) -> str:
    lags = [_median(arm, Metric.LAG_ROWS_P95, writer) or 0.0 for arm in arms for writer in writers]
    named = len(writers) <= _MOST_NAMED
    line = _LINE if named else min(_THIN_LINE, _TALLEST / len(writers))
    panels = Panels(
        named_rows(group, arms, styles),
        _scale(max(100.0, *lags)),
        Scale(0.0, len(writers), tuple((len(writers) - i - 0.5, name) for i, name in enumerate(writers) if named)),
        ("rows behind the right edge", "writer"),
        height=line * len(writers),
        most_columns=2,
    )
    for arm, box in zip(arms, panels.boxes, strict=True):
        furthest = max(writers, key=lambda one: _median(arm, Metric.LAG_ROWS_P50, one) or 0.0)
        for i, (writer, colour) in enumerate(zip(writers, ramp(len(writers)), strict=True)):
            middle = box.places(box.x.low, len(writers) - i - 0.5)[..., 1].item()
            _draw_line(box, arm, writer, middle, Style(colour, "o"))
            share = _median(arm, Metric.LAGGING_INSERTS, writer)
            if named and share is not None:
                colour = INK if share else SOFT
                box.canvas.text(
                    box.left + box.width - 2, middle, _percent(share), ha="right", fontsize=SMALL, color=colour
                )
            elif share and writer == furthest:
                _draw_name(box, arm, writer, middle, f"{writer}, {_percent(share)}")
    return panels.canvas.svg(prefix)


def _scale(longest: float) -> Scale:
    """Up to the longest lag; the right quarter of the panel is for the shares."""
    scale = Scale.logarithmic(_LEAST, _LEAST * (longest / _LEAST) ** (4 / 3))
    return replace(scale, ticks=tuple((value, text) for value, text in scale.ticks if value <= longest))


def _draw_line(box: Box, arm: Arm, writer: str, middle: float, style: Style) -> None:
    median, high = (_median(arm, metric, writer) for metric in (Metric.LAG_ROWS_P50, Metric.LAG_ROWS_P95))
    if median and high:
        box.canvas.interval(box.across(median), box.across(high), middle, style.colour)
        box.canvas.marker(box.across(median), middle, style, min(6.5, 0.7 * box.height / box.y.high))


def _draw_name(box: Box, arm: Arm, writer: str, middle: float, text: str) -> None:
    """To the left of the line, where there is room, else to its right."""
    median, high = (_median(arm, metric, writer) or 1.0 for metric in (Metric.LAG_ROWS_P50, Metric.LAG_ROWS_P95))
    if box.across(median) - box.left > text_width(text, SMALL) + 8:
        box.canvas.text(box.across(median) - 6, middle, text, ha="right", fontsize=SMALL)
    else:
        box.canvas.text(box.across(high) + 6, middle, text, fontsize=SMALL)


def _percent(share: float) -> str:
    """In per cent without decimals; a few in a thousand are not none."""
    return "< 1\u00a0%" if 0 < share < 1 else f"{share:.0f}\u00a0%"


FIGURES = (
    GroupFigure("skew", 15, _insert_positions),
    GroupFigure("writer-lag", 16, _writer_lag),
)
