"""The pages of an index on a server, from which a page model can go on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Level:
    """The pages of one level in key order: (pages,) each."""

    numbers: Integers
    """Their numbers in the file."""
    entries: Integers
    """Of a leaf its rows, of a branch page its children."""


@dataclass(frozen=True, eq=False)
class ServerPages:
    """All pages of an index that has no entries of deleted rows."""

    levels: tuple[Level, ...]
    """Leaves first, the root last."""
    free: Integers
    """The numbers of free pages, in the order in which the server's list has them."""
    next_page: int
    """The number of the page that comes next at the end of the file."""
    borders: NDArray[np.uint8] | Integers | None = None
    """The keys at the lower borders of all leaves but the first, as `Column.encode` gives them; None if a leaf has no
    border of its own, or nobody knows it: then its first row counts as one, as it is unless that row was deleted."""

    def border_ranks(self, keys: NDArray[np.uint8] | Integers) -> Integers | None:
        """The ranks of the borders among keys in the server's order, encoded as the borders are."""
        if self.borders is None:
            return None
        return np.searchsorted(_comparable(keys), _comparable(self.borders)).astype(np.int64)

    def require(self, rows: int) -> None:
        """UsageError unless the leaves have this number of rows, and each page of a level its place in the next."""
        leaves = self.levels[0]
        if (found := int(leaves.entries.sum())) != rows:
            raise UsageError(
                f"the leaves of the index have {found:,} rows, not {rows:,}: let the server clean up what was deleted, "
                "and read it again."
            )
        below = [len(level.numbers) for level in self.levels]
        if [int(level.entries.sum()) for level in self.levels[1:]] != below[:-1] or below[-1] != 1:
            raise UsageError("the pages of the index form no tree: read it again while nobody changes it.")


def _comparable(keys: NDArray[np.uint8] | Integers) -> NDArray[np.bytes_] | Integers:
    if keys.ndim == 1:
        return keys.astype(np.int64)
    return np.ascontiguousarray(keys).view(f"S{keys.shape[1]}").ravel()
