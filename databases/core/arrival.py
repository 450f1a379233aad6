"""In which order the rows of several writers reached the key's index, as far as a server can tell afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from keybench.model.table import Table


@dataclass(frozen=True, eq=False)
class Arrivals:
    """The rows of a table and the order in which their transactions inserted into the key's index.

    A writer sends the rows of one transaction in its own order, which the runner knows; what only the server knows is
    how the transactions of different writers lay between one another.
    """

    keys: NDArray[np.uint8] | NDArray[np.int64]
    """All keys, as `Column.encode` gives them, in any order."""
    transactions: NDArray[np.int64]
    """(n,): the transaction of each of these keys."""
    sequence: NDArray[np.int64]
    """(n,): the transaction of each insertion into the index, the first insertion first."""
    near: str = ""
    """What the sequence is, as a sentence, where it is not that of the insertions themselves."""


class ArrivalRecorder(Protocol):
    """Of one trial."""

    def before(self, table: Table) -> None:
        """Has the server keep what tells the order; the table is empty."""
        ...

    def after(self, table: Table) -> Arrivals:
        """The order, once the writers are done; ServerError where it cannot be read."""
        ...


@runtime_checkable
class RecoversArrivalOrder(Protocol):
    """An Admin of a server that can tell the order."""

    def arrival_recorder(self) -> ArrivalRecorder:
        """A new recorder."""
        ...


@runtime_checkable
class StampsTransactions(Protocol):
    """A Session of an engine with one writer at a time."""

    entered: float
    """Time on the machine's monotonic clock (`time.perf_counter`), read while the last transaction held the lock."""
