"""What the probes of all engines share, and the samples of writers' waits."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Generic, TypeVar

import numpy as np

from keybench.databases.contract.roles import Admin, Probe
from keybench.errors import ServerError
from keybench.model.column import EncodedKeys
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import Subject
from keybench.model.table import Table

Server = TypeVar("Server")
"""What a probe asks: an engine's own connection."""

PAGE_STRUCTURE: Final = (
    Metric.LEAF_PAGES,
    Metric.BRANCH_PAGES,
    Metric.LEAF_DENSITY,
    Metric.LEAF_FRAGMENTATION,
    Metric.LEAF_NONADJACENT,
)
SIZES: Final = (Metric.INDEX_BYTES, Metric.TABLE_BYTES)
"""Metrics of the key's index, and of the table with all its indexes."""

NO_HEAP = "the table is its key's b-tree: there is no heap beside it."
NO_ORDER = "fewer than two rows have no order."
"""Reasons why the order of a table has no correlation with the order of its key."""
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
        for metric, first, last in zip(self.supplies, self._before, self.counters(table), strict=True):
            if isinstance(first, str) or isinstance(last, str):
                yield Reading(metric, None, "absent", last if isinstance(last, str) else str(first))
            else:
                yield Reading(metric, float(last - first), "measured", self.note(table))


class WaitSamples:
    """Counts, over all samples, how many connections waited for what."""

    def __init__(self) -> None:
        self.count = 0
        """Samples so far."""
        self._seen: Counter[str] = Counter()

    def add(self, waits: Iterable[tuple[Any, ...]]) -> None:
        """One sample: (what connections wait for, how many of them)."""
        self._seen.update({str(name): int(number) for name, number in waits})
        self.count += 1

    def shares(self) -> list[Reading]:
        """Readings of each kind of wait: its share, in %, of all connections in all samples. One reading, absent with
        the reason, if no sample shows a connection."""
        total = self._seen.total()
        if not total:
            return Reading.absent([Metric.WAITING], NOBODY)
        return [
            Reading(Metric.WAITING, 100 * number / total, "measured", f"{self.count} samples", Subject.wait(name))
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


class HeapOrderProbe(ServerProbe[Admin]):
    """Reads the keys in row order, and measures how well that order matches key order. For tables with a heap."""

    supplies: Sequence[Metric] = (Metric.HEAP_CORRELATION,)

    def after(self, table: Table) -> Iterable[Reading]:
        """The correlation over all rows."""
        try:
            keys = self._server.arrived_keys(table)
        except ServerError as error:
            return Reading.absent(self.supplies, f"the places of rows cannot be read ({error}).")
        if keys is None:
            return Reading.absent(self.supplies, NO_HEAP)
        if len(keys) < 2:
            return Reading.absent(self.supplies, NO_ORDER)
        return measured(self.supplies, [correlation(keys)])


def correlation(keys: EncodedKeys) -> float:
    """Correlation, from −1 to 1, of the keys' positions with their ranks; there are at least two keys, all distinct.
    Keys are int64 (n,), or uint8 (n, width), which are ranked by their bytes."""
    if keys.ndim == 1:
        order = np.argsort(keys, kind="stable")
    else:
        words = -(-keys.shape[1] // 8)  # of eight bytes, rounded up
        padded = np.zeros((len(keys), words * 8), np.uint8)
        padded[:, : keys.shape[1]] = keys
        order = np.lexsort(padded.view(">u8").astype(np.uint64).T[::-1])  # lexsort compares its last row first
    n = len(order)
    # `order` has the position of each rank. Both are the numbers 0 … n-1: their variance is (n² - 1) / 12.
    mean = (n - 1) / 2
    return float((order - mean) @ (np.arange(n) - mean) * 12 / (n * (float(n) * n - 1)))
