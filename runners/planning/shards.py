"""A trial's rows in several tables: each writer's go to that of its shard, as an application routes by region.

Each shard's index is measured and predicted by itself, and has a subject of its own (`Subject.shard`);
the trial's values are those of all shards together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from keybench.databases.capabilities import ServerWide
from keybench.databases.contract import Admin, Probe
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import KEY, Subject
from keybench.model.table import Table
from keybench.runners.planning.sources import KeySource
from keybench.runners.trials import others
from keybench.runners.writers.load import Loaded

_OWN_ORDER = "Each shard's table has an order of its own."
NO_POSITION = "No position: each shard's index is one of its own."


@dataclass(frozen=True, eq=False)
class Shard:
    """One table of the trial, and its writers."""

    table: Table
    writers: tuple[int, ...]
    """Their places among all writers."""
    sources: tuple[KeySource, ...]

    def of(self, loaded: Loaded) -> Loaded:
        """What is known of these writers' transactions alone; times are those of all."""
        return replace(loaded, entered=tuple(loaded.entered[i] for i in self.writers if loaded.entered))


def deal(table: Table, sources: Sequence[KeySource], count: int) -> tuple[Shard, ...]:
    """The shards, each with the writers whose shard key leaves its number over when divided by `count`."""
    if count == 1:
        return (Shard(table, tuple(range(len(sources))), tuple(sources)),)
    found = []
    for number in range(count):
        own = tuple(i for i, source in enumerate(sources) if source.writer.shard % count == number)
        found.append(Shard(replace(table, name=f"{table.name}_{number + 1}"), own, tuple(sources[i] for i in own)))
    return tuple(found)


def tables(shards: Sequence[Shard]) -> list[Table]:
    """The table of each writer, in the order of all writers."""
    of = {i: shard.table for shard in shards for i in shard.writers}
    return [of[i] for i in sorted(of)]


class Probes:
    """The probes of each shard's table; what counts for the whole server is read once."""

    def __init__(self, admin: Admin, shards: Sequence[Shard]) -> None:
        self._shards = shards
        everything = [list(admin.probes()) for _ in shards]
        alone = len(shards) == 1
        self._wide: list[Probe] = [] if alone else [probe for probe in everything[0] if isinstance(probe, ServerWide)]
        self._own = [[p for p in probes if alone or not isinstance(p, ServerWide)] for probes in everything]

    def before(self) -> None:
        """Notes all counters."""
        for probe in self._wide:
            probe.before(self._shards[0].table)
        for shard, probes in zip(self._shards, self._own, strict=True):
            for probe in probes:
                probe.before(shard.table)

    def after(self) -> tuple[list[Reading], list[list[Reading]]]:
        """(readings of the whole server, readings of each shard)"""
        wide = [reading for probe in self._wide for reading in probe.after(self._shards[0].table)]
        own = []
        for shard, probes in zip(self._shards, self._own, strict=True):
            read = [reading for probe in probes for reading in probe.after(shard.table)]
            own.append(read + others.readings(shard.table, probes))
        return wide, own


def together(parts: Sequence[Sequence[Reading]]) -> list[Reading]:
    """The readings of all shards as those of the trial, and each shard's key under a subject of its own."""
    if len(parts) == 1:
        return list(parts[0])
    names = dict.fromkeys((reading.subject, reading.metric) for part in parts for reading in part)
    found = [_added(of, metric, parts) for of, metric in names]
    for number, part in enumerate(parts, start=1):
        found += [replace(reading, subject=Subject.shard(number)) for reading in part if reading.subject == KEY]
    return found


def _added(of: Subject, metric: Metric, parts: Sequence[Sequence[Reading]]) -> Reading:
    read = [_one(of, metric, part) for part in parts]
    if metric.definition.shards == "none":
        return Reading(metric, None, "absent", _OWN_ORDER, of)
    missing = [reading.reason for reading in read if reading is not None and reading.value is None]
    if missing or None in read:
        return Reading(metric, None, "absent", (missing or ["Not of every shard."])[0], of)
    values = [reading.value or 0.0 for reading in read if reading is not None]
    first = read[0] or Reading.absent([metric], "")[0]
    if metric.definition.shards == "sum":
        return replace(first, value=sum(values))
    leaves = [_one(of, Metric.LEAF_PAGES, part) for part in parts]
    weights = [leaf.value or 0.0 for leaf in leaves if leaf is not None]
    return replace(first, value=float(np.average(values, weights=weights)))


def _one(of: Subject, metric: Metric, part: Iterable[Reading]) -> Reading | None:
    return next((reading for reading in part if (reading.subject, reading.metric) == (of, metric)), None)
