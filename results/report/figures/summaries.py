"""Summaries over blocks, as pictures and their tables need them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from keybench.model.metric import Metric
from keybench.results.analysis.arms import Arm
from keybench.results.analysis.groups import Group
from keybench.results.analysis.summary import Summary
from keybench.results.plots.dots import Dot
from keybench.results.report.figures.captions import placeholder
from keybench.results.report.figures.figure import Value

STATISTICS: Final = ("median", "lowest", "highest")
"""Names of what `cells` returns."""


def dot(arm: Arm, summary: Summary | None, write: Callable[[float], str]) -> Dot:
    """A dot with its range or interval; without a value, a word in its place."""
    if summary is None:
        return Dot(None, text=placeholder(arm))
    return Dot(summary.median, summary.low, summary.high, write(summary.median))


def statistics(ratios: Sequence[Summary | None]) -> tuple[str, str, str]:
    """Names of what `cells` returns for ratios, which have intervals if there are six blocks or more."""
    return ("median", "95 % from", "95 % to") if any(ratio.interval for ratio in ratios if ratio) else STATISTICS


def cells(summary: Summary | None) -> tuple[Value, Value, Value]:
    """The `STATISTICS` of a summary."""
    return (summary.median, summary.low, summary.high) if summary else (None, None, None)


def per_row(group: Group, arm: Arm, metric: Metric, rows: int = 1) -> float | None:
    """The metric's median for each `rows` rows."""
    summary = arm.summary(metric)
    return None if summary is None else summary.median * rows / group.rows


def total(values: Sequence[float | None]) -> float | None:
    """The sum of the known values; None if there are none."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None
