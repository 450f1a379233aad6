"""The page model of an index with the same number of entries for each key: that of a foreign key.

Engines keep no equal entries in a b-tree: what identifies the row (a rowid, a TID, the primary key) belongs to the
entry and decides between equal keys (PostgreSQL from 12 on, InnoDB, SQLite, SQL Server, Oracle). Children arrive with
their parents, so that the entries of a key lie in order of arrival: entry j of the key with rank r has rank
r · times + j. With several writers, entries of other keys can arrive between those of one key (`interleaved`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from keybench.model.keys import Keys
from keybench.pagemodels.contract import PageModel, SizedByValue, TakesPayloads
from keybench.pagemodels.page_stats import PageStats

N = TypeVar("N", bound=np.generic)
M = TypeVar("M", PageModel, SizedByValue)


def repeated(model: PageModel | SizedByValue, times: int) -> PageModel | SizedByValue:
    """The model that inserts `times` successive entries for each key. Checkpoints are in keys."""
    return SizedRepeated(times, model=model) if isinstance(model, SizedByValue) else Repeated(times, model=model)


@dataclass(frozen=True)
class _Repeated:
    """What both models of repeated keys have: the number and the order of each key's entries."""

    times: int
    """Entries of each key."""
    parents: NDArray[np.int64] | None = None
    """(keys · times,): for each entry, in order of arrival, the place of its key; None if a key's arrive together."""
    lengths: NDArray[np.int64] | None = None
    """(keys,): characters of the payload that each key's rows have, if they vary."""

    def interleaved(self, parents: NDArray[np.int64]) -> Self:
        """The model for this order of entries (`RepeatsKeys`)."""
        return replace(self, parents=parents)

    def with_payloads(self, lengths: NDArray[np.int64]) -> Self:
        """The model for payloads of those lengths (`TakesPayloads`), one for each key."""
        return replace(self, lengths=lengths)

    def _of_lengths(self, model: M) -> M:
        """The model of single entries, with the payload of each entry if payloads vary."""
        if self.lengths is None or not isinstance(model, TakesPayloads):
            return model
        return cast("M", model.with_payloads(_of_entries(self.lengths, self.times, self.parents)))


@dataclass(frozen=True, kw_only=True)
class Repeated(_Repeated):
    """Entries of one size; a PageModel."""

    model: PageModel

    def insert(self, ranks: NDArray[np.int64], checkpoints: Sequence[int] = ()) -> PageStats:
        """Builds the index from keys in order of arrival, given by rank: int64 (n,)."""
        entries, places = _entries(ranks, self.times, self.parents), [place * self.times for place in checkpoints]
        return _in_keys(self._of_lengths(self.model).insert(entries, places), self.times)


@dataclass(frozen=True, kw_only=True)
class SizedRepeated(_Repeated):
    """Entries of the size that the key's value needs; a SizedByValue."""

    model: SizedByValue

    def sizes(self, keys: Keys) -> NDArray[np.uint16]:
        """Bytes of an entry of each key: (n,)."""
        return self.model.sizes(keys)

    def insert(
        self, ranks: NDArray[np.int64], checkpoints: Sequence[int] = (), *, sizes: NDArray[np.uint16]
    ) -> PageStats:
        """As `Repeated.insert`; `sizes` are in order of arrival, like the ranks."""
        entries, places = _entries(ranks, self.times, self.parents), [place * self.times for place in checkpoints]
        of_entries = _of_entries(sizes, self.times, self.parents)
        return _in_keys(self._of_lengths(self.model).insert(entries, places, sizes=of_entries), self.times)


def _entries(ranks: NDArray[np.int64], times: int, parents: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """The ranks of entries in order of arrival, from the ranks of keys. `parents`: as of `_Repeated`."""
    if parents is None:
        return (ranks[:, None] * times + np.arange(times)).ravel()
    order = np.argsort(parents, kind="stable")  # by key, and the entries of a key in order of arrival
    entries = np.empty(len(parents), np.int64)
    entries[order] = (ranks[:, None] * times + np.arange(times)).ravel()
    return entries


def _of_entries(values: NDArray[N], times: int, parents: NDArray[np.int64] | None) -> NDArray[N]:
    """The values of keys for each entry, in order of arrival."""
    return np.repeat(values, times) if parents is None else values[parents]


def _in_keys(stats: PageStats, times: int) -> PageStats:
    """The same figures, with checkpoints in keys instead of entries."""
    return replace(stats, checkpoints=tuple(replace(at, rows=at.rows // times) for at in stats.checkpoints))
