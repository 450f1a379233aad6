"""A table's life in a page model: rows of one layout, perhaps a rebuild, then rows of another one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keybench.advice.load import Growth, keys_of
from keybench.errors import UsageError
from keybench.model.byteorder import sort_words
from keybench.model.keys import Keys
from keybench.model.table import Table
from keybench.pagemodels.contract import IndexState, PageModel, SizedByValue, empty_index
from keybench.pagemodels.page_stats import PageStats
from keybench.pagemodels.ranking import ranked

_OCTAVE = 8
"""Parts in which the second half of a table's rows arrives; after each, its density is noted."""


@dataclass(frozen=True, eq=False)
class Life:
    """What happened to an index, from the rows that are there to the last of those that come."""

    grown: PageStats
    """With the rows that are there, before any rebuild."""
    before: PageStats
    """Before the first row to come."""
    after: PageStats
    """At the end."""
    splits: int
    """Edge and interior splits of the rows to come."""
    appends: int
    built: int
    """Leaf and branch pages that a build or rebuild wrote; 0 if there was none."""
    mean_density: float
    """Of the rows that are there, over the time in which they doubled; NaN if they were not inserted one by one."""

    @property
    def built_first(self) -> bool:
        """Whether the index was built before the rows to come."""
        return self.before is not self.grown


def mixed_keys(old: str, new: str, there: int, come: int, rows_per_second: float, seed: int) -> Keys:
    """Keys of one writer: those of the rows that are there, of the old layout, then those of the rows to come."""
    growth = Growth(there + come, rows_per_second)
    keys, _ = keys_of(old, growth, seed)
    return keys if old == new else Keys.concat([keys[:there], keys_of(new, growth, seed)[0][there:]])


@dataclass(frozen=True, eq=False)
class Index:
    """An index of `there` rows and those to come, whose keys are known."""

    empty: Callable[[], IndexState]
    ranks: NDArray[np.int64]
    there: int
    fill: int
    """The fill factor in % of builds."""

    @classmethod
    def of(cls, table: Table, model: PageModel | SizedByValue, keys: Keys, there: int, fill: int) -> Index:
        """For keys in order of arrival. UsageError if the engine's model knows no past."""
        ranks = ranked(sort_words(keys, table.column.order))
        empty = empty_index(model, ranks, keys)
        if empty is None:
            raise UsageError("the page model of this engine knows no index with a past: there are no figures for it.")
        return cls(empty, ranks, there, fill)

    def grown(self, *, rebuilt: bool = False) -> IndexLife:
        """The rows that are there came one by one; then perhaps a rebuild."""
        state, old = self.empty(), self.ranks[: self.there]
        ends = np.unique(np.geomspace(max(1, self.there / 2), self.there, _OCTAVE + 1).astype(np.int64)).tolist()
        seen, first = [], 0
        for end in ends:
            state.insert(old[first:end])
            seen.append(state.stats().density)
            first = end
        grown = before = state.stats()
        if rebuilt:
            state.rebuild(self.fill)
            before = state.stats()
        return IndexLife(self, state, float(np.mean(seen[1:] or seen)), grown, before)

    def built(self) -> IndexLife:
        """The index was built of the rows that are there."""
        state = self.empty()
        state.build(np.sort(self.ranks[: self.there]), self.fill)
        return IndexLife(self, state, float("nan"), state.stats(), state.stats())


@dataclass(frozen=True, eq=False)
class IndexLife:
    """An index with the rows that are there."""

    index: Index
    state: IndexState
    mean_density: float
    grown: PageStats
    before: PageStats

    def goes_on(self, *, rebuilt: bool = False) -> Sequence[Life]:
        """The rows to come arrive: [life] or, with a rebuild after them, [life, life with it]."""
        before = self.before
        self.state.insert(self.index.ranks[self.index.there :])
        after = self.state.stats()
        splits = after.edge_splits + after.interior_splits - before.edge_splits - before.interior_splits
        appends = after.appends - before.appends
        pages = before.leaf_pages + before.branch_pages if before is not self.grown else 0
        lives = [Life(self.grown, before, after, splits, appends, pages, self.mean_density)]
        if rebuilt:
            self.state.rebuild(self.index.fill)
            end = self.state.stats()
            built = end.leaf_pages + end.branch_pages
            lives.append(Life(self.grown, before, end, splits, appends, built, self.mean_density))
        return lives
