"""What the probes of all engines share, and the samples of writers' waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import Subject

NO_HEAP = "the table is its key's b-tree: there is no heap beside it."
NO_ORDER = "fewer than two rows have no order."
"""Reasons why the order of a table has no correlation with the order of its key."""
NOBODY = "No sample shows a writer: the load was too short, or this user may not see what other connections do."


def measured(metrics: Sequence[Metric], values: Iterable[float]) -> list[Reading]:
    """A reading for each metric, in order."""
    return [Reading(metric, float(value), "measured") for metric, value in zip(metrics, values, strict=True)]


class WaitSamples:
    """How many connections were seen at what."""

    def __init__(self) -> None:
        self.count = 0
        """Samples so far."""
        self._seen: Counter[str] = Counter()

    def add(self, found: Iterable[tuple[object, object]]) -> None:
        """One sample: (what connections wait for, how many of them)."""
        self._seen.update({str(name): int(str(number)) for name, number in found})
        self.count += 1

    def shares(self) -> list[Reading]:
        """The share of each kind of wait; absent with the reason if no sample shows a connection."""
        total = self._seen.total()
        if not total:
            return Reading.absent([Metric.WAITING], NOBODY)
        return [
            Reading(Metric.WAITING, 100 * number / total, "measured", f"{self.count} samples", Subject.wait(name))
            for name, number in self._seen.most_common()
        ]
