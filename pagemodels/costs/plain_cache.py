"""A plain cache behind an index whose full pages give their upper entries away.

For SQL Server and Oracle, whose own rules of replacement and whose logs nobody could confirm on a live server.
PostgreSQL has usage counts and a log in addition (`postgresql/cost.py`).

Each row uses the table's newest page, the branch page above its leaf and the leaf; a split also the new page, its right
neighbour, whose link back changes, and the branch page. Pages above the lowest branch pages count as always present. A
changed page is written when it leaves the cache; what checkpoints write is not known, nor is the log.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import inlined, kernel
from keybench.pagemodels.costs import lru
from keybench.pagemodels.costs.contract import Load, LoadCost, Server
from keybench.pagemodels.costs.lru import BRANCH, CHANGED, LEAF, LOOKED_AT, NEW, TABLE, LruCache, Touches
from keybench.pagemodels.costs.touches import NONE, Ancestry, ancestry, borders, find_pages, leaves_touched
from keybench.pagemodels.half_split.levels import build_branches, build_level
from keybench.pagemodels.half_split.model import SplitModel
from keybench.pagemodels.ranking import Integers

Places = NDArray[np.int32]

NOTE = "a plain cache that keeps the pages used last, not the server's own rule: no live server has confirmed it"

_LEAF_SPLITS, _BRANCH_SPLITS, _TOUCHES = range(3)
"""Fields of `_Index.facts`: splits of leaves and of branch pages so far; touches that are listed."""
_CHUNK = 1 << 13  # rows whose pages are held at a time
_MOST_TOUCHES = 6  # touches of a row at most: a page of the table, two branch pages and three leaves


class _Index(NamedTuple):
    """An index beside a table, when all rows are there. Pages are numbered from 0: leaves, branch pages, the table."""

    leaves: Ancestry
    branches: Ancestry
    first_branch: int
    first_table: int
    table_rows: int
    """Rows of a page of the table; 0 if the index is the table."""
    touches: Touches
    """Room for the touches of a chunk of rows."""
    facts: Integers
    """(3,): by the names above."""


@dataclass(frozen=True, kw_only=True)
class PlainCacheModel(SplitModel):
    """An index with a plain cache behind it; a `PredictsCost`."""

    table_rows: int
    """Rows that fit a page of the table beneath the index; 0 if the index is the table."""
    page_bytes: int = 8192

    def load_cost(self, load: Load, server: Server) -> LoadCost:
        """For each part of the load: pages read into the cache, and changed pages that left it."""
        cache = LruCache.empty(load, server.pages(self.page_bytes))
        for touches in self.touches(load):
            cache.use(touches)
        return LoadCost(cache.counted(lru.READ), cache.counted(lru.LEFT), note=NOTE)

    def touches(self, load: Load) -> Iterator[Touches]:
        """The pages that rows touch, in order, for some thousands of rows at a time; valid until the next ones."""
        level = build_level(load.ranks, self.leaf, notes_pages=True)
        above = build_branches(level, self.branch)
        branches = ancestry(above[0] if above else None)
        index = _Index(
            leaves=ancestry(level),
            branches=branches,
            first_branch=len(level),
            first_table=len(level) + len(branches.births),
            table_rows=self.table_rows,
            touches=np.empty((_CHUNK * _MOST_TOUCHES, lru.COLUMNS), np.int32),
            facts=np.zeros(3, np.int64),
        )
        parents = np.zeros(_CHUNK, np.int32)
        branch_borders = borders(above[0]) if above else None
        for first, leaf_of_row in leaves_touched(level, _CHUNK):
            if branch_borders is not None:
                find_pages(branches, branch_borders, leaf_of_row, first, parents)
            _list_touches(index, first, leaf_of_row, parents)
            yield index.touches[: index.facts[_TOUCHES]]


def with_plain_cache(model: SplitModel, table_rows: int) -> PlainCacheModel:
    """The same page model with a cache of pages of 8 KiB. `table_rows`: rows on a page of the table; 0 without one."""
    return PlainCacheModel(**{field.name: getattr(model, field.name) for field in fields(model)}, table_rows=table_rows)


@inlined
def _touch(index: _Index, row: int, page: int, kind: int, use: int) -> None:
    """Lists a page that a row touches (`lru.ROW` and the names behind it)."""
    touch = index.touches[index.facts[_TOUCHES]]
    touch[lru.ROW], touch[lru.PAGE], touch[lru.KIND], touch[lru.USE] = row, page, kind, use
    index.facts[_TOUCHES] += 1


@kernel
def _list_touches(index: _Index, first: int, leaf_of_row: Places, parents: Places) -> None:
    """Lists in `index.touches` the pages that each row touches, from row `first` on. `leaf_of_row`: the leaf into which
    each row goes, after the split that it may cause. `parents`: the branch page above that leaf before the row."""
    facts, leaves, branches = index.facts, index.leaves, index.branches
    facts[_TOUCHES] = 0
    for i in range(len(leaf_of_row)):
        row = first + i
        # The table's newest page.
        if index.table_rows > 0:
            use = NEW if row % index.table_rows == 0 else CHANGED
            _touch(index, row, index.first_table + row // index.table_rows, TABLE, use)
        # Pages are made in the order of `by_age`: a row splits a leaf if it made the next page there.
        new_leaf, new_branch = facts[_LEAF_SPLITS], facts[_BRANCH_SPLITS]  # places in `by_age` of the next new pages
        splits = new_leaf < len(leaves.by_age) and leaves.births[leaves.by_age[new_leaf]] == row
        # The branch page above the leaf, unless the only leaf is the root.
        if len(branches.births) > 0 and leaves.births[leaves.by_age[0]] <= row:
            branch_splits = new_branch < len(branches.by_age) and branches.births[branches.by_age[new_branch]] == row
            branch = branches.origins[branches.by_age[new_branch]] if branch_splits else parents[i]
            use = CHANGED if splits else LOOKED_AT
            if leaves.births[leaves.by_age[0]] == row:  # the first split makes the first branch page
                use = NEW
            _touch(index, row, index.first_branch + branch, BRANCH, use)
            if branch_splits:
                _touch(index, row, index.first_branch + branches.by_age[new_branch], BRANCH, NEW)
                facts[_BRANCH_SPLITS] += 1
        # The leaf; of a split also the new page and its right neighbour.
        if not splits:
            _touch(index, row, leaf_of_row[i], LEAF, NEW if row == 0 else CHANGED)
            continue
        page = leaves.by_age[new_leaf]
        facts[_LEAF_SPLITS] += 1
        _touch(index, row, leaves.origins[page], LEAF, CHANGED)
        _touch(index, row, page, LEAF, NEW)
        if leaves.neighbours[page] != NONE:
            _touch(index, row, leaves.neighbours[page], LEAF, CHANGED)
