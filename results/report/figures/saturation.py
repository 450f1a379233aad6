"""Rows a second, the slowest transactions and rollbacks against the number of writers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import numpy as np

from keybench.model.metric import Metric
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.analysis.ratios import Summary, summarise
from keybench.results.plots.charts import Curve, curve_panels
from keybench.results.plots.panels import PlotRow, Scale
from keybench.results.report.figures.figure import STATISTICS, ReportFigure, Styles, Value, cells, extremes, join
from keybench.results.wording import plural


@dataclass(frozen=True)
class _Quantity:
    name: str
    title: str
    unit: str
    label: str
    of: Callable[[Arm, int], Summary | None]
    """The quantity of an arm, given the number of its timed rows."""


def _timed_rows(group: Group) -> int:
    """The number of rows whose insertion is timed: without those that filled the table before."""
    return round(group.rows * (1 - float(group.run.part("scenario", "load").get("filled", 0.0))))


_QUANTITIES: Final = (
    _Quantity(
        name="rate",
        title="Rows a second by number of writers",
        unit="rows a second of all writers together, higher is better",
        label="rows a second",
        of=lambda arm, rows: summarise([rows / seconds for seconds in arm.values(Metric.INSERT_SECONDS).values()]),
    ),
    _Quantity(
        name="p99",
        title="Transaction time by number of writers",
        unit="ms, 99th percentile of all writers' transactions with their retries, lower is better",
        label="p99, ms",
        of=lambda arm, _: arm.summary(Metric.TX_P99_MS),
    ),
    _Quantity(
        name="aborts",
        title="Aborts by number of writers",
        unit="rollbacks in favour of other transactions, per 1,000 transactions, lower is better",
        label="aborts per 1,000",
        of=lambda arm, _: aborts if (aborts := arm.summary(Metric.ABORTS)) and aborts.high else None,
    ),
)


def saturation(groups: Sequence[Group], styles: Styles, prefix: str) -> list[ReportFigure]:
    """A figure of each quantity for each database, server and payload that has three numbers of writers or more.
    `groups` are those of one run; `prefix` makes the figures' ids unique on the page."""
    figures: list[ReportFigure | None] = []
    measured = [group for group in groups if not (group.modelled or group.only_keys)]
    shown = sorted(measured, key=lambda group: (*_work(group), group.writers))
    for place, (_, part) in enumerate(groupby(shown, _work), start=1):
        same_work = list(part)
        if len({group.writers for group in same_work}) > 2:
            figures += [_figure(same_work, one, styles, f"{prefix}-{place}-{one.name}") for one in _QUANTITIES]
    return [figure for figure in figures if figure]


def _work(group: Group) -> tuple[str, str, int, int, str]:
    """What groups of one figure share: all but their number of writers."""
    return group.database, group.server, group.payload, group.rows, group.column


def _figure(groups: Sequence[Group], quantity: _Quantity, styles: Styles, prefix: str) -> ReportFigure | None:
    """The quantity of each layout against the number of writers; None if no layout has it for every number. `groups`
    differ in their number of writers alone, and are sorted by it."""
    # the quantity of each layout and column, in the order of the groups
    first = groups[0]
    writers = [group.writers for group in groups]
    names = list(dict.fromkeys((arm.layout, arm.column) for group in groups for arm in group.arms))
    summaries = {name: [_summary(group, quantity, name) for group in groups] for name in names}
    complete = [name for name in names if all(summaries[name])]
    if not complete:
        return None
    control = next((name for name in complete if first.control and name[0] == first.control.layout), None)
    several_columns = len({column for layout, column in complete if (layout, column) != control}) > 1
    curves = {}
    for layout, column in complete:
        middle, low, high = np.array([cells(summary) for summary in summaries[layout, column]], np.float64).T
        row = PlotRow(layout, column if several_columns else "", styles[layout])
        curves[layout, column] = Curve(row, middle=middle, low=low, high=high)
    payload = f", {first.run.characters(first.payload)}" if first.payload != 100 else ""
    rows: list[tuple[Value, ...]] = [
        (layout, column, f"{number}", *cells(summary))
        for layout, column in names
        for number, summary in zip(writers, summaries[layout, column], strict=True)
    ]
    blocks = max(len(group.blocks) for group in groups)
    last = [(layout, curve.middle[-1]) for (layout, _), curve in curves.items()]
    return ReportFigure(
        key=prefix,
        title=f"{quantity.title}: {first.database}{payload}",
        unit=quantity.unit,
        caption=join(
            f"Lines are medians of {plural(blocks, 'block')}; bands span the range of the blocks."
            if blocks > 1
            else "One block.",
            "Dashed: the control." if control else "",
            "Writers run on the machine of the server and take processors from it.",
        ),
        origin="Measured.",
        alt=f"Small multiples, {plural(len(curves), 'panel')}. With {plural(writers[-1], 'writer')}: {extremes(last)}",
        svg=curve_panels(
            np.array(writers, np.float64),
            list(curves.values()),
            ("writers", quantity.label),
            prefix,
            reference=(curves[control], "control") if control else None,
            x_scale=_scale(writers),
        ),
        header=("layout", "column", "writers", *(f"{quantity.label}, {part}" for part in STATISTICS)),
        rows=tuple(rows),
    )


def _summary(group: Group, quantity: _Quantity, name: tuple[str, str]) -> Summary | None:
    """The quantity of the arm with this layout and column; None if the group has no such arm, or it has no value."""
    arm = next((arm for arm in group.arms if (arm.layout, arm.column) == name), None)
    return quantity.of(arm, _timed_rows(group)) if arm else None


def _scale(writers: Sequence[int]) -> Scale:
    """A logarithmic scale of the numbers of writers, with ticks at each, or at every second if they are many."""
    ticks = tuple((float(number), f"{number}") for number in writers[:: 2 if len(writers) > 4 else 1])
    return Scale(float(writers[0]), float(writers[-1]), ticks, log=True)
