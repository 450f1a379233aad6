"""How many inserts lag behind the right edge of the index, and how far: for each writer, and for all together.

An insert lags if a key above it is present. Only the inserts that lag count for the distance: a writer that appends
for an hour and then lags for an hour would otherwise have a median of zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.generators.core.clock import TICKS_PER_SECOND
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import KEY, Subject

_IN_LEAVES: Final = (Metric.LAG_LEAVES_P50, Metric.LAG_LEAVES_P95)
METRICS: Final = (
    Metric.LAGGING_INSERTS,
    Metric.LAG_ROWS_P50,
    Metric.LAG_ROWS_P95,
    Metric.LAG_SECONDS_P50,
    Metric.LAG_SECONDS_P95,
    *_IN_LEAVES,
)
_PERCENTILES: Final = (50, 95)

Values = dict[Metric, float]


def of_inserts(above: NDArray[np.int64], ticks: NDArray[np.int64], rows_per_leaf: float | None) -> Values:
    """The lag of inserts: `above` has the keys present above each, `ticks` the time since the right edge of the index
    passed its place, both (n,), n > 0. Without `rows_per_leaf` there are no leaves."""
    late = above > 0
    rows, seconds = _both(above[late]), _both(ticks[late] / TICKS_PER_SECOND)
    values = [100 * float(late.mean()), *rows, *seconds]
    if rows_per_leaf:
        values += [one / rows_per_leaf for one in rows]
    return dict(zip(METRICS, values, strict=False))


def readings(of_writers: Sequence[tuple[str, Values]], note: str) -> list[Reading]:
    """The readings of all writers together and, if there are several, of each: `of_writers` has ids and values.

    Each number for all is the highest of any writer, and its reason names that writer. A mean or a median over all
    inserts would hide one writer that lags among many that do not.
    """
    listed = []
    for metric in METRICS:
        known = [(values[metric], writer) for writer, values in of_writers if metric in values]
        if not known:
            listed += Reading.absent([metric], "Neither server nor model tells the leaf pages.")
            continue
        highest, writer = max(known, key=lambda one: one[0])
        whose = f"The highest of {len(known)} writers: {writer}." if len(known) > 1 and highest else ""
        listed.append(Reading(metric, highest, "derived", " ".join(filter(None, (whose, note))), KEY))
    if len(of_writers) > 1:
        for writer, values in of_writers:
            own = Subject.writer(writer)
            listed += [Reading(metric, value, "derived", note, own) for metric, value in values.items()]
    return listed


def _both(values: NDArray[np.int64] | NDArray[np.float64]) -> tuple[float, float]:
    """Median and 95th percentile; zeros for no values."""
    if not len(values):
        return 0.0, 0.0
    median, high = np.percentile(values, _PERCENTILES)
    return float(median), float(high)
