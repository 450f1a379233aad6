"""What probes share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table

NO_HEAP = "the table is its key's b-tree: there is no heap beside it."
NO_ORDER = "fewer than two rows have no order."
"""Why there is no correlation of a table's order with its key's."""


class FinalState:
    """A probe of what is there after the inserts: it has nothing to note before them."""

    def before(self, table: Table) -> None:
        """Nothing to note: the final state counts."""


def measured(metrics: Sequence[Metric], values: Iterable[float]) -> list[Reading]:
    """A reading for each metric, in order."""
    return [Reading(metric, float(value), "measured") for metric, value in zip(metrics, values, strict=True)]
