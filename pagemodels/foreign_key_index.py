"""The page model of an index with the same number of entries for each key: that of a foreign key.

Engines keep no equal entries in a b-tree: what identifies the row (a rowid, a TID, the primary key) belongs to the
entry and decides between equal keys (PostgreSQL from 12 on, InnoDB, SQLite, SQL Server, Oracle). Children arrive with
their parents, so that the entries of a key lie in order of arrival: entry j of the key with rank r has rank
r · times + j. With several writers, entries of other keys can arrive between those of one key (`interleaved`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from keybench.model.keys import Keys
from keybench.pagemodels.contract import PageModel, SizedByValue, TakesPayloads
from keybench.pagemodels.page_stats import PageStats
from keybench.pagemodels.ranking import Integers, Sizes

N = TypeVar("N", bound=np.generic)


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

    def _insert(self, model: Any, ranks: Integers, checkpoints: Sequence[int], **sizes: Sizes) -> PageStats:
        """Builds the index from all entries by the model of single ones. The figures' checkpoints are in keys."""
        if self.lengths is not None and isinstance(model, TakesPayloads):
            model = model.with_payloads(self._for_entries(self.lengths))
        rows = [keys * self.times for keys in checkpoints]
        stats: PageStats = model.insert(self._entry_ranks(ranks), rows, **sizes)
        in_keys = tuple(replace(point, rows=point.rows // self.times) for point in stats.checkpoints)
        return replace(stats, checkpoints=in_keys)

    def _entry_ranks(self, ranks: Integers) -> Integers:
        """(keys · times,): ranks of entries among all entries, in order of arrival, from the ranks of their keys."""
        key_by_key = (ranks[:, None] * self.times + np.arange(self.times)).ravel()
        if self.parents is None:
            return key_by_key
        entries = np.empty(len(self.parents), np.int64)
        # The stable sort lists the entries key by key, and those of one key in order of arrival.
        entries[np.argsort(self.parents, kind="stable")] = key_by_key
        return entries

    def _for_entries(self, values: NDArray[N]) -> NDArray[N]:
        """(keys · times,): for each entry, in order of arrival, the value that its key has in `values`, (keys,)."""
        return np.repeat(values, self.times) if self.parents is None else values[self.parents]


@dataclass(frozen=True, kw_only=True)
class Repeated(_Repeated):
    """Entries of one size; a PageModel."""

    model: PageModel

    def insert(self, ranks: Integers, checkpoints: Sequence[int] = ()) -> PageStats:
        """Builds the index from keys in order of arrival, given by rank: int64 (n,). `checkpoints`: numbers of keys."""
        return self._insert(self.model, ranks, checkpoints)


@dataclass(frozen=True, kw_only=True)
class SizedRepeated(_Repeated):
    """Entries of the size that the key's value needs; a SizedByValue."""

    model: SizedByValue

    def sizes(self, keys: Keys) -> Sizes:
        """Bytes of an entry of each key: (n,)."""
        return self.model.sizes(keys)

    def insert(self, ranks: Integers, checkpoints: Sequence[int] = (), *, sizes: Sizes) -> PageStats:
        """As `Repeated.insert`. `sizes`: (n,), bytes of an entry of each key."""
        return self._insert(self.model, ranks, checkpoints, sizes=self._for_entries(sizes))
