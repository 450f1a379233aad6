"""In which order the leaf pages of an index lie in its file, as far as a server lets that be read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from keybench.model.table import Table


@dataclass(frozen=True, eq=False)
class PageOrder:
    """The leaf level of an index in key order; both (leaves,)."""

    numbers: NDArray[np.int64]
    """The page number of each leaf."""
    rows: NDArray[np.int64]
    """The entries on it that are of rows."""


@runtime_checkable
class ReadsPageOrder(Protocol):
    """An Admin of a server that lets the leaves be read in key order."""

    def page_order(self, table: Table) -> PageOrder | None:
        """Of the key's index, as it lies there now; None where this server does not let it be read."""
        ...
