"""How far each writer's inserts lag behind the right edge of the index, and how many of them do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from keybench.model.metric import Metric
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.analysis.writers import summary_of, writers_of
from keybench.results.plots.labels import SMALL, text_width
from keybench.results.plots.palette import INK, SOFT, Style, ramp
from keybench.results.plots.panels import Box, Panels
from keybench.results.plots.scales import Scale
from keybench.results.report.figures.captions import join
from keybench.results.report.figures.figure import Figure, GroupFigure, Styles
from keybench.results.report.figures.selection import MOST_CLOUDS, evenly_chosen, named_rows
from keybench.results.report.tables.writer_table import METRICS
from keybench.results.wording import plural

_MOST_NAMED: Final = 24
"""With more writers, lines are thinner, and only a panel's furthest writer is named."""
_LINE, _THIN_LINE, _TALLEST = 14.0, 6.0, 240.0
"""Height of a writer's line, of a thin one, and of a panel with thin lines, in pixels."""
_LEAST: Final = 0.7
"""Left end of the axis, in rows."""


def _writer_lag(group: Group, styles: Styles, prefix: str) -> Figure | None:
    writers = writers_of(group)
    known = [arm for arm in group.arms if any(summary_of(arm, Metric.LAGGING_INSERTS, one) for one in writers)]
    if len(writers) < 2 or not known:
        return None
    arms, note = evenly_chosen(group, known, MOST_CLOUDS)
    shown = [metric for metric in METRICS if any(summary_of(arm, metric, one) for arm in known for one in writers)]
    header = [f"{metric.definition.title.lower()}, {metric.definition.unit}" for metric in shown]
    return Figure(
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
        svg=_drawn(group, arms, writers, styles, prefix),
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


def _drawn(group: Group, arms: Sequence[Arm], writers: Sequence[str], styles: Styles, prefix: str) -> str:
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


FIGURES = (GroupFigure("writer-lag", 16, _writer_lag),)
