"""The page model of an index with the same number of entries for each key: that of a foreign key.

Engines keep no equal entries in a b-tree: what identifies the row (a rowid, a TID, the primary key) belongs to the
entry and decides between equal keys (PostgreSQL from 12 on, InnoDB, SQLite, SQL Server, Oracle). Children arrive with
their parents, so that the entries of a key lie in order of arrival: entry j of the key with rank r has rank
r · times + j.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from keybench.model.keys import Keys
from keybench.pagemodels.contract import PageModel, SizedByValue
from keybench.pagemodels.page_stats import PageStats


def repeated(model: PageModel | SizedByValue, times: int) -> PageModel | SizedByValue:
    """The model that inserts `times` successive entries for each key. Checkpoints are in keys."""
    return SizedRepeated(model, times) if isinstance(model, SizedByValue) else Repeated(model, times)


@dataclass(frozen=True)
class Repeated:
    """Entries of one size; a PageModel."""

    model: PageModel
    times: int

    def insert(self, ranks: NDArray[np.int64], checkpoints: Sequence[int] = ()) -> PageStats:
        """Builds the index from keys in order of arrival, given by rank: int64 (n,)."""
        return _in_keys(self.model.insert(_entries(ranks, self.times), _scaled(checkpoints, self.times)), self.times)


@dataclass(frozen=True)
class SizedRepeated:
    """Entries of the size that the key's value needs; a SizedByValue."""

    model: SizedByValue
    times: int

    def sizes(self, keys: Keys) -> NDArray[np.uint16]:
        """Bytes of an entry of each key: (n,)."""
        return self.model.sizes(keys)

    def insert(
        self, ranks: NDArray[np.int64], checkpoints: Sequence[int] = (), *, sizes: NDArray[np.uint16]
    ) -> PageStats:
        """As `Repeated.insert`; `sizes` are in order of arrival, like the ranks."""
        entries, places = _entries(ranks, self.times), _scaled(checkpoints, self.times)
        return _in_keys(self.model.insert(entries, places, sizes=np.repeat(sizes, self.times)), self.times)


def _entries(ranks: NDArray[np.int64], times: int) -> NDArray[np.int64]:
    return (ranks[:, None] * times + np.arange(times)).ravel()


def _scaled(checkpoints: Sequence[int], times: int) -> list[int]:
    return [place * times for place in checkpoints]


def _in_keys(stats: PageStats, times: int) -> PageStats:
    """The figures with checkpoints in keys again."""
    return replace(stats, checkpoints=tuple(replace(at, rows=at.rows // times) for at in stats.checkpoints))
