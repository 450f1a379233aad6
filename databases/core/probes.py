"""What the probes of all engines share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table

NO_HEAP = "the table is its key's b-tree: there is no heap beside it."
NO_ORDER = "fewer than two rows have no order."
"""Reasons why the order of a table has no correlation with the order of its key."""


class FinalState:
    """A probe that reads only the state after the inserts."""

    def before(self, table: Table) -> None:
        """Nothing to note."""


def measured(metrics: Sequence[Metric], values: Iterable[float]) -> list[Reading]:
    """A reading for each metric, in order."""
    return [Reading(metric, float(value), "measured") for metric, value in zip(metrics, values, strict=True)]
