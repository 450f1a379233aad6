"""What a trial has measured, in one table or in several among which rows are divided by shard key.

Each shard's index is measured and predicted by itself, under a subject of its own (`Subject.shard`). The values of
the trial are those of all shards together.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

import numpy as np

from keybench.databases.contract.roles import Admin, Probe
from keybench.model.metric import Metric
from keybench.model.reading import Reading, Series
from keybench.model.subject import KEY, Subject
from keybench.model.table import Table
from keybench.results.store.blobs import Blob


@dataclass(frozen=True)
class Measurements:
    """Readings, series along the load, and blobs for pictures."""

    readings: Sequence[Reading]
    series: Sequence[Series] = ()
    blobs: Sequence[Blob] = ()
    traceback: str = ""
    """The traceback of an unexpected exception that did not end the trial."""


T = TypeVar("T")

_OWN_ORDER: Final = "Each shard's table has an order of its own."
NO_POSITION_IN_SHARDS: Final = "No position: each shard's index is one of its own."


def for_pictures(of_tables: Sequence[T]) -> Sequence[T]:
    """What pictures show of a trial's tables: the only one, or nothing if there are several."""
    return of_tables if len(of_tables) == 1 else ()


class Probes:
    """The probes of each table. Probes of the whole server are read once, however many tables there are."""

    def __init__(self, admin: Admin, tables: Sequence[Table]) -> None:
        self._tables = tables
        # with one table, probes of the server are probes of the table like all others
        of_tables = [list(admin.probes()) for _ in tables]
        single = len(tables) == 1
        self._of_server: list[Probe] = [] if single else [one for one in of_tables[0] if one.server_wide]
        self._of_tables = [[p for p in probes if single or not p.server_wide] for probes in of_tables]

    def before(self) -> None:
        """Reads all counters before the load."""
        for probe in self._of_server:
            probe.before(self._tables[0])
        for table, probes in zip(self._tables, self._of_tables, strict=True):
            for probe in probes:
                probe.before(table)

    def after(self) -> tuple[list[Reading], list[list[Reading]]]:
        """(readings of the whole server, readings of each table)"""
        of_server = [reading for probe in self._of_server for reading in probe.after(self._tables[0])]
        of_tables = []
        for table, probes in zip(self._tables, self._of_tables, strict=True):
            of_key = [reading for probe in probes for reading in probe.after(table)]
            of_tables.append(of_key + of_other_indexes(table, probes))
        return of_server, of_tables


def of_all_shards(parts: Sequence[Sequence[Reading]]) -> list[Reading]:
    """The trial's readings, combined from all shards, and the key's readings of each shard under its own subject."""
    if len(parts) == 1:
        return list(parts[0])
    names = dict.fromkeys((reading.subject, reading.metric) for part in parts for reading in part)
    readings = [_combined(subject, metric, parts) for subject, metric in names]
    for number, part in enumerate(parts, start=1):
        shard = Subject.shard(number)
        readings += [replace(reading, subject=shard) for reading in part if reading.subject == KEY]
    return readings


def _combined(subject: Subject, metric: Metric, parts: Sequence[Sequence[Reading]]) -> Reading:
    """One reading for all shards: the sum, or for shares the mean weighted by leaf pages. Absent if a shard does not
    have it, and for metrics that mean nothing for several indexes."""
    read = [_reading(subject, metric, part) for part in parts]
    if metric.definition.shards == "none":
        return Reading(metric, None, "absent", _OWN_ORDER, subject)
    missing = [reading.reason for reading in read if reading is not None and reading.value is None]
    if missing or None in read:
        return Reading(metric, None, "absent", (missing or ["Not of every shard."])[0], subject)
    values = [reading.value or 0.0 for reading in read if reading is not None]
    first = read[0] or Reading.absent([metric], "")[0]
    if metric.definition.shards == "sum":
        return replace(first, value=sum(values))
    leaves = [_reading(subject, Metric.LEAF_PAGES, part) for part in parts]
    weights = [leaf.value or 0.0 for leaf in leaves if leaf is not None]
    return replace(first, value=float(np.average(values, weights=weights)))


def _reading(subject: Subject, metric: Metric, part: Iterable[Reading]) -> Reading | None:
    return next((reading for reading in part if (reading.subject, reading.metric) == (subject, metric)), None)


def of_other_indexes(table: Table, probes: Sequence[Probe]) -> list[Reading]:
    """Pages and size of each index of the table other than the key's, under its own subject."""
    return [
        replace(reading, subject=subject)
        for subject, other in table.other_indexes.items()
        for probe in probes
        if any(metric.definition.of_index for metric in probe.supplies)
        for reading in probe.after(other)
        if reading.metric.definition.of_index
    ]
