"""The contract of page models that know which pages have to be read into the server's cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class PageReads:
    """Pages read in each part of a load: int64 (parts,) each."""

    leaf: NDArray[np.int64]
    branch: NDArray[np.int64]
    table: NDArray[np.int64]
    """Of the rows, where they are not in the index."""

    @property
    def index(self) -> NDArray[np.int64]:
        """Leaf and branch pages."""
        return self.leaf + self.branch

    @property
    def total(self) -> int:
        """All pages of the whole load."""
        return int(self.index.sum() + self.table.sum())


@runtime_checkable
class CountsPageReads(Protocol):
    """A page model with the server's cache behind it."""

    def page_reads(
        self, ranks: NDArray[np.int64], cache_bytes: int, ends: Sequence[int], rows_per_tx: int
    ) -> PageReads:
        """Pages read while keys of these ranks arrive in an empty table, int64 (n,), a permutation of 0 … n − 1.

        `cache_bytes`: of the server's own cache. `ends`: the number of rows after which each part of the load ends.
        UsageError for a cache of fewer than 100 pages.
        """
        ...
