"""Summaries over blocks as pictures and their tables take them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from keybench.model.metric import Metric
from keybench.results.analysis.groups import Arm, Group, Summary
from keybench.results.plots.rows import Dot
from keybench.results.report.figures.figure import Value, word

STATISTICS = ("median", "lowest", "highest")
"""What `cells` gives."""


def dot(arm: Arm, summary: Summary | None, write: Callable[[float], str]) -> Dot:
    """A dot with its range or interval; without value the word that stands in its place."""
    if summary is None:
        return Dot(None, text=word(arm))
    return Dot(summary.median, summary.low, summary.high, write(summary.median))


def statistics(ratios: Sequence[Summary | None]) -> tuple[str, str, str]:
    """What `cells` gives of ratios, which from six blocks on have intervals."""
    return ("median", "95 % from", "95 % to") if any(found.interval for found in ratios if found) else STATISTICS


def cells(summary: Summary | None) -> tuple[Value, Value, Value]:
    """The `STATISTICS` of a summary."""
    return (summary.median, summary.low, summary.high) if summary else (None, None, None)


def per_row(group: Group, arm: Arm, metric: Metric, rows: int = 1) -> float | None:
    """The metric's median for so many rows."""
    summary = arm.summary(metric)
    return None if summary is None else summary.median * rows / group.rows


def total(values: Sequence[float | None]) -> float | None:
    """The sum of those that are known; None where none is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None
