"""Reading a table's keys in an order: what proves that a column sorts as it says, and that rows arrived as sent."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from keybench.databases.engine import Table


@runtime_checkable
class ReadsInOrder(Protocol):
    """An admin that reads a table's keys in the server's order, which is what a column's `order` promises."""

    def ordered_keys(self, table: Table) -> NDArray[np.uint8] | NDArray[np.int64]:
        """All keys as `Column.encode` gives them, sorted by the server."""
        ...

    def arrived_keys(self, table: Table) -> NDArray[np.uint8] | NDArray[np.int64] | None:
        """The same in the order in which one writer's rows arrived; None where the table does not keep it."""
        ...
