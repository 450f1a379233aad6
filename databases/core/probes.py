"""What the probes of all engines share, and the samples of writers' waits."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Generic

from keybench.databases.contract.roles import Probe
from keybench.databases.core.dbapi import Server
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import Subject
from keybench.model.table import Table

PAGE_STRUCTURE: Final = (
    Metric.LEAF_PAGES,
    Metric.BRANCH_PAGES,
    Metric.LEAF_DENSITY,
    Metric.LEAF_FRAGMENTATION,
    Metric.LEAF_NONADJACENT,
)
SIZES: Final = (Metric.INDEX_BYTES, Metric.TABLE_BYTES)
"""Metrics of the key's index, and of the table with all its indexes."""

NOBODY = "No sample shows a writer: the load was too short, or this user may not see what other connections do."


class UnreadableError(Exception):
    """Something cannot be read on this server; the message says why and what would allow it."""


def measured(metrics: Sequence[Metric], values: Iterable[float]) -> list[Reading]:
    """A measured reading for each metric, from the value at the same index."""
    return [Reading(metric, float(value), "measured") for metric, value in zip(metrics, values, strict=True)]


class ServerProbe(Probe, Generic[Server]):
    """A probe that asks over the connection of the administration."""

    def __init__(self, server: Server) -> None:
        self._server = server


class CounterProbe(ServerProbe[Server]):
    """Counters of the server that only grow: their differences over the inserts."""

    _before: Sequence[int | str] = ()

    @abstractmethod
    def counters(self, table: Table) -> Sequence[int | str]:
        """The counter of each metric of `supplies` at this moment, or the reason why it cannot be read."""

    def note(self, table: Table) -> str:  # noqa: ARG002
        """What a reader must know of the readings; empty if nothing."""
        return ""

    def before(self, table: Table) -> None:
        """Notes the counters."""
        self._before = self.counters(table)

    def after(self, table: Table) -> Iterable[Reading]:
        """The differences, or why there are none."""
        for metric, before, now in zip(self.supplies, self._before, self.counters(table), strict=True):
            if isinstance(before, str) or isinstance(now, str):
                yield Reading(metric, None, "absent", now if isinstance(now, str) else str(before))  # the reason
            else:
                yield Reading(metric, float(now - before), "measured", self.note(table))


class WaitSamples(ABC, Generic[Server]):
    """How many of the writers' connections waited for what, over all samples, by a connection of its own."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._seen: Counter[str] = Counter()
        self._samples = 0
        try:
            self.begin()
        except BaseException:
            server.close()
            raise

    @abstractmethod
    def begin(self) -> None:
        """Notes the connections that are there before the writers'."""

    @abstractmethod
    def waits(self) -> Iterable[tuple[Any, ...]]:
        """(what the writers' connections wait for at this moment, how many of them)."""

    def sample(self) -> None:
        """Takes one sample."""
        self._seen.update({str(name): int(number) for name, number in self.waits()})
        self._samples += 1

    def close(self) -> None:
        """Closes the connection."""
        self._server.close()

    def readings(self) -> list[Reading]:
        """Readings of each kind of wait: its share, in %, of all connections in all samples. One reading, absent with
        the reason, if no sample shows a connection."""
        total = self._seen.total()
        if not total:
            return Reading.absent([Metric.WAITING], NOBODY)
        return [
            Reading(Metric.WAITING, 100 * number / total, "measured", f"{self._samples} samples", Subject.wait(name))
            for name, number in self._seen.most_common()
        ]


class SizesProbe(Probe):
    """Bytes of the key's index, and of the table with all of its indexes."""

    supplies: Sequence[Metric] = SIZES

    def __init__(self, sizes: Callable[[Table], tuple[float, float]]) -> None:
        """`sizes` returns (bytes of the key's index, bytes of the table with all indexes)."""
        self._sizes = sizes

    def after(self, table: Table) -> Iterable[Reading]:
        """The two sizes."""
        return measured(self.supplies, self._sizes(table))
