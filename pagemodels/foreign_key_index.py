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
from keybench.pagemodels.ranking import Integers, Sizes

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
    parents: Integers | None = None
    """(keys · times,): for each entry, in order of arrival, the index of its key in the keys' order of arrival; None if
    the entries of each key arrive together."""
    lengths: Integers | None = None
    """(keys,): characters of the payload that each key's rows have, if they vary."""

    def interleaved(self, parents: Integers) -> Self:
        """The model where entries arrive in this order: `parents` as the field of that name (`RepeatsKeys`)."""
        return replace(self, parents=parents)

    def with_payloads(self, lengths: Integers) -> Self:
        """The model for payloads of these lengths in characters, (keys,), one for each key (`TakesPayloads`)."""
        return replace(self, lengths=lengths)

    def _with_entry_payloads(self, model: M) -> M:
        """The model of single entries, told the length of each entry's payload if payloads vary."""
        if self.lengths is None or not isinstance(model, TakesPayloads):
            return model
        return cast("M", model.with_payloads(_for_entries(self.lengths, self.times, self.parents)))


@dataclass(frozen=True, kw_only=True)
class Repeated(_Repeated):
    """Entries of one size; a PageModel."""

    model: PageModel

    def insert(self, ranks: Integers, checkpoints: Sequence[int] = ()) -> PageStats:
        """Builds the index from keys in order of arrival, given by rank: int64 (n,). `checkpoints`: numbers of keys."""
        entry_ranks = _entry_ranks(ranks, self.times, self.parents)
        entry_checkpoints = [keys * self.times for keys in checkpoints]
        return _in_keys(self._with_entry_payloads(self.model).insert(entry_ranks, entry_checkpoints), self.times)


@dataclass(frozen=True, kw_only=True)
class SizedRepeated(_Repeated):
    """Entries of the size that the key's value needs; a SizedByValue."""

    model: SizedByValue

    def sizes(self, keys: Keys) -> Sizes:
        """Bytes of an entry of each key: (n,)."""
        return self.model.sizes(keys)

    def insert(self, ranks: Integers, checkpoints: Sequence[int] = (), *, sizes: Sizes) -> PageStats:
        """Builds the index from keys in order of arrival, given by rank: int64 (n,). `checkpoints`: numbers of keys.
        `sizes`: (n,), bytes of an entry of each key."""
        entry_ranks = _entry_ranks(ranks, self.times, self.parents)
        entry_checkpoints = [keys * self.times for keys in checkpoints]
        entry_sizes = _for_entries(sizes, self.times, self.parents)
        model = self._with_entry_payloads(self.model)
        return _in_keys(model.insert(entry_ranks, entry_checkpoints, sizes=entry_sizes), self.times)


def _entry_ranks(ranks: Integers, times: int, parents: Integers | None) -> Integers:
    """(keys · times,): the ranks of entries among all entries, in order of arrival, from the ranks of their keys.
    `times`, `parents`: the fields of `_Repeated`."""
    if parents is None:
        return (ranks[:, None] * times + np.arange(times)).ravel()
    order = np.argsort(parents, kind="stable")  # by key, and the entries of a key in order of arrival
    entries = np.empty(len(parents), np.int64)
    entries[order] = (ranks[:, None] * times + np.arange(times)).ravel()
    return entries


def _for_entries(values: NDArray[N], times: int, parents: Integers | None) -> NDArray[N]:
    """(keys · times,): for each entry, in order of arrival, the value that its key has in `values`, (keys,)."""
    return np.repeat(values, times) if parents is None else values[parents]


def _in_keys(stats: PageStats, times: int) -> PageStats:
    """The same figures, with checkpoints in keys instead of entries."""
    return replace(stats, checkpoints=tuple(replace(at, rows=at.rows // times) for at in stats.checkpoints))
