"""Where a trial's keys went into the index, and how far its writers lag behind one another.

Everything follows from the keys and their order of arrival, planned or recovered. No server is asked.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError
from keybench.generators.core.clock import TICKS_PER_SECOND
from keybench.model.metric import DEEP_LEAVES, LAG_METRICS, Metric
from keybench.model.reading import Reading
from keybench.model.subject import KEY, Subject
from keybench.results.store import blobs
from keybench.runners.measuring.arrival_order import Arrived
from keybench.runners.measuring.measured import Measurements

LagValues = dict[Metric, float]
"""Values of `LAG_METRICS`; without those in leaves if the rows of a leaf are not known."""


@dataclass(frozen=True, eq=False)
class Positions:
    """Arrays (n,) with a value for each row in order of arrival."""

    writer: NDArray[np.int64]
    """Index of the writer that sent it."""
    moment: NDArray[np.int64]
    """When it arrives in the scenario by a true clock: ticks since the trial's first moment."""
    above: NDArray[np.int64]
    """Keys present above it."""
    lag: NDArray[np.int64]
    """Ticks of virtual time since the right edge of the index passed its place; 0 if its key is the highest."""

    @cached_property
    def quantiles(self) -> NDArray[np.float64]:
        """Share of the keys present that are above it."""
        return self.above / np.maximum(np.arange(len(self.above)), 1)  # 1: the first key meets none, and 0 are above


def positions(arrived: Arrived) -> Positions:
    """The positions at which the keys of a load are inserted. Raises UsageError if two keys are equal."""
    # Imported here because it loads numba, which commands that measure nothing do not need.
    from keybench.runners.measuring.insertion_points import keys_above

    table, places = arrived.table, arrived.order.places
    writer, moment = np.empty(len(places), np.int64), np.empty(len(places), np.int64)
    # writer and moment of each row, in planned order
    for i, source in enumerate(table.sources):
        rows = source.planned - 1  # planned numbers begin with 1
        writer[rows] = i
        moment[rows] = source.writer.arrivals
    # all in order of arrival
    ranks, moments = arrived.ranks(), moment[places]
    # `passed`: of each key, the first row at or above it. The highest key so far ascends: a binary search finds it
    passed = np.searchsorted(np.maximum.accumulate(ranks), ranks, side="left")
    return Positions(writer[places], moments, above=keys_above(ranks), lag=np.maximum(moments - moments[passed], 0))


def readings(arrived: Arrived, rows_per_leaf: float | None) -> Measurements:
    """The metrics of all inserts and, if there are several writers, of each writer's (all derived); and a sample of the
    positions for pictures. `rows_per_leaf`: of the finished index, None if neither server nor model gives it."""
    sources, note = arrived.table.sources, arrived.order.note
    try:
        inserts = positions(arrived)
    except UsageError as error:
        return Measurements(absent(f"No position: {error}"))
    values = _position_readings(inserts, np.ones(len(inserts.writer), np.bool_), rows_per_leaf, KEY, note)  # of all
    lags = []
    for i, source in enumerate(sources):
        of_writer = inserts.writer == i
        if not of_writer.any():
            continue
        if len(sources) > 1:
            subject = Subject.writer(source.writer.id)
            values += _position_readings(inserts, of_writer, rows_per_leaf, subject, note)
        lags.append((source.writer.id, _lag_of_inserts(inserts, of_writer, rows_per_leaf)))
    values += _lag_readings(lags, note)
    seconds = inserts.moment / TICKS_PER_SECOND
    ids = [source.writer.id for source in sources]
    return Measurements(values, blobs=[blobs.positions(ids, inserts.writer, seconds, inserts.quantiles, note)])


def absent(reason: str) -> list[Reading]:
    """All metrics of positions and lag without a value, with the reason."""
    return list(Reading.absent([Metric.POSITION_MEAN, Metric.DEEP_INSERTS, *LAG_METRICS], reason))


def _position_readings(
    inserts: Positions, chosen: NDArray[np.bool_], rows_per_leaf: float | None, subject: Subject, note: str
) -> list[Reading]:
    """The metrics of position of the chosen inserts: all of them, or those of one writer. The share of deep inserts is
    absent without `rows_per_leaf`."""
    values = {Metric.POSITION_MEAN: 100 * inserts.quantiles[chosen].mean()}
    if rows_per_leaf:
        values[Metric.DEEP_INSERTS] = 100 * (inserts.above[chosen] > DEEP_LEAVES * rows_per_leaf).mean()
    listed = [Reading(metric, float(value), "derived", note, subject) for metric, value in values.items()]
    if not rows_per_leaf and subject == KEY:
        listed += Reading.absent([Metric.DEEP_INSERTS], "Neither server nor model tells the leaf pages.")
    return listed


def _lag_of_inserts(inserts: Positions, chosen: NDArray[np.bool_], rows_per_leaf: float | None) -> LagValues:
    """The lag of the chosen inserts, of which there is at least one; in leaves only if `rows_per_leaf` is known."""
    late = chosen & (inserts.above > 0)
    rows, seconds = (  # the median and the 95th percentile of each
        np.percentile(values[late], (50, 95)) if late.any() else np.zeros(2)
        for values in (inserts.above, inserts.lag / TICKS_PER_SECOND)
    )
    values = [100 * (late.sum() / chosen.sum()), *rows, *seconds]  # in the order of LAG_METRICS
    if rows_per_leaf:
        values += list(rows / rows_per_leaf)
    # the lag in leaves is last in LAG_METRICS, so it may be missing
    return {metric: float(value) for metric, value in zip(LAG_METRICS, values, strict=False)}


def _lag_readings(of_writers: Sequence[tuple[str, LagValues]], note: str) -> list[Reading]:
    """The readings of all writers together and, if there are several, of each: `of_writers` has ids and values. Each
    number for all is the highest of any writer, and its reason names that writer. A mean or a median over all inserts
    would hide one writer that lags among many that do not."""
    listed = []
    for metric in LAG_METRICS:
        lags = [(values[metric], writer) for writer, values in of_writers if metric in values]
        if not lags:
            listed += Reading.absent([metric], "Neither server nor model tells the leaf pages.")
            continue
        highest, writer = max(lags, key=lambda lag: lag[0])
        whose = f"The highest of {len(lags)} writers: {writer}." if len(lags) > 1 and highest else ""
        listed.append(Reading(metric, highest, "derived", " ".join(filter(None, (whose, note))), KEY))
    if len(of_writers) > 1:
        for writer, values in of_writers:
            subject = Subject.writer(writer)
            listed += [Reading(metric, value, "derived", note, subject) for metric, value in values.items()]
    return listed
