"""A plain cache behind an index whose full pages give their upper entries away: the pages used last stay.

For SQL Server and Oracle, whose own rules of replacement and whose logs nobody could confirm on a live server. Each row
uses the table's newest page, the branch page above its leaf and the leaf; a split also the new page, its right
neighbour, whose link back changes, and the branch page. Pages above the lowest branch pages count as always present. A
changed page is written when it leaves the cache; what checkpoints write is not known, nor is the log.
"""

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel
from keybench.pagemodels.costs.contract import Load, LoadCost, Pages, Server
from keybench.pagemodels.costs.touches import NONE, Ancestry, ancestry, borders, leaves_touched, part_of, touched
from keybench.pagemodels.half_split.levels import build_branches, build_level
from keybench.pagemodels.half_split.model import SplitModel

Integers = NDArray[np.int64]
Places = NDArray[np.int32]

NOTE = "a plain cache that keeps the pages used last, not the server's own rule: no live server has confirmed it"

_ABSENT, _CLEAN, _DIRTY = range(3)
"""States of a page: not in the cache; in it, as it is on disk; in it, and changed."""
_NEWER, _OLDER = range(2)
"""Fields of a page's links: the page used next after it, and the page used next before it."""
_HELD, _LEAF_SPLITS, _BRANCH_SPLITS = range(3)
"""Fields of `facts`: pages in the cache; splits of leaves and of branch pages so far."""
_CHUNK = 1 << 13
"""Rows whose pages are held at a time."""


class _Cache(NamedTuple):
    """Pages by number: leaves, branch pages, then the table's pages."""

    links: Places
    """(pages + 1, 2): the neighbours of each cached page in a ring by last use; the last element is both its ends."""
    state: NDArray[np.int8]
    """(pages,): whether each page is in the cache, and changed since it was written."""
    facts: Integers
    """(3,): by the names above."""
    room: int
    """Pages that the cache can hold."""
    first_branch: int
    first_table: int
    table_rows: int
    """Rows of a page of the table; 0 if the index is the table."""


@dataclass(frozen=True, kw_only=True)
class PlainCacheModel(SplitModel):
    """An index with a plain cache behind it; a `PredictsCost`."""

    table_rows: int
    """Rows that fit a page of the table beneath the index; 0 if the index is the table."""
    page_bytes: int = 8192

    def load_cost(self, load: Load, server: Server) -> LoadCost:
        """Pages read into the cache, and changed pages that left it."""
        n, ends = len(load.ranks), np.asarray(load.ends, np.int64)
        level = build_level(load.ranks, self.leaf, noted=True)
        above = build_branches(level, self.branch)
        leaves, branches = ancestry(level), ancestry(above[0] if above else None)
        first_table = len(level) + len(branches.births)
        pages = first_table + (-(-n // self.table_rows) if self.table_rows else 0)
        cache = _Cache(
            links=np.full((pages + 1, 2), pages, np.int32),
            state=np.zeros(pages, np.int8),
            facts=np.zeros(3, np.int64),
            room=server.pages(self.page_bytes),
            first_branch=len(level),
            first_table=first_table,
            table_rows=self.table_rows,
        )
        counts, parents = np.zeros((len(ends), 2, 3), np.int64), np.zeros(_CHUNK, np.int32)
        restart = NONE if load.restart is None else load.restart
        branch_borders = borders(above[0]) if above else None
        for first, leaf_of_row in leaves_touched(level, _CHUNK):
            if branch_borders is not None:
                touched(branches, branch_borders, leaf_of_row, first, parents)
            _use_rows(cache, leaves, branches, first, leaf_of_row, parents, ends, restart, counts)
        return LoadCost(Pages(*counts[:, 0].T), Pages(*counts[:, 1].T), note=NOTE)


def with_plain_cache(model: SplitModel, table_rows: int) -> PlainCacheModel:
    """The same page model, with a cache of pages of 8 KiB behind it; `table_rows` as of `PlainCacheModel`."""
    return PlainCacheModel(**{field.name: getattr(model, field.name) for field in fields(model)}, table_rows=table_rows)


@kernel
def _take_out(cache: _Cache, page: int) -> None:
    """Takes a page out of the ring."""
    newer, older = cache.links[page, _NEWER], cache.links[page, _OLDER]
    cache.links[newer, _OLDER], cache.links[older, _NEWER] = older, newer


@kernel
def _drop_oldest(cache: _Cache, counts: Integers) -> None:
    """Takes the page that was not used for longest out of the cache, and writes it if it changed."""
    page = cache.links[len(cache.state), _NEWER]
    _take_out(cache, page)
    kind = (page >= cache.first_branch) + (page >= cache.first_table)
    counts[1, kind] += cache.state[page] == _DIRTY
    cache.state[page] = _ABSENT
    cache.facts[_HELD] -= 1


@kernel
def _use(cache: _Cache, page: int, changes: bool, is_new: bool, counts: Integers) -> None:
    """Uses a page, which is read if it is neither in the cache nor new. `counts`: (2, 3), pages read and pages written,
    by kind; added to."""
    links, state, ring_end = cache.links, cache.state, len(cache.state)
    if state[page] == _ABSENT:
        if cache.facts[_HELD] == cache.room:
            _drop_oldest(cache, counts)
        cache.facts[_HELD] += 1
        state[page] = _CLEAN
        counts[0, (page >= cache.first_branch) + (page >= cache.first_table)] += not is_new
    else:
        _take_out(cache, page)
    newest = links[ring_end, _OLDER]
    links[page, _NEWER], links[page, _OLDER] = ring_end, newest
    links[ring_end, _OLDER] = links[newest, _NEWER] = page
    if changes:
        state[page] = _DIRTY


@kernel
def _use_rows(
    cache: _Cache, leaves: Ancestry, branches: Ancestry, first: int, leaf_of_row: Places, parents: Places,
    ends: Integers, restart: int, counts: Integers,
) -> None:  # fmt: skip
    """Uses the pages of some more rows, from row `first` on. `leaf_of_row`: the leaf of each row, after the split that
    it may cause. `parents`: the branch page above that leaf before the row. `ends`: the rows before which each part of
    the load ends. `restart`: the row before which the cache is emptied. `counts`: (parts, 2, 3), added to."""
    facts, part = cache.facts, part_of(ends, first)
    for i in range(len(leaf_of_row)):
        row = first + i
        while part < len(ends) and ends[part] <= row:
            part += 1
        if row == restart:
            while facts[_HELD] > 0:
                _drop_oldest(cache, counts[part])
        if cache.table_rows > 0:
            _use(cache, cache.first_table + row // cache.table_rows, True, row % cache.table_rows == 0, counts[part])
        leaf_splits, branch_splits = facts[_LEAF_SPLITS], facts[_BRANCH_SPLITS]
        splits = leaf_splits < len(leaves.by_age) and leaves.births[leaves.by_age[leaf_splits]] == row
        if len(branches.births) > 0 and leaves.births[leaves.by_age[0]] <= row:  # the first split makes a branch page
            is_new = leaves.births[leaves.by_age[0]] == row
            grows = branch_splits < len(branches.by_age) and branches.births[branches.by_age[branch_splits]] == row
            branch = branches.origins[branches.by_age[branch_splits]] if grows else parents[i]
            _use(cache, cache.first_branch + branch, splits, is_new, counts[part])
            if grows:
                _use(cache, cache.first_branch + branches.by_age[branch_splits], True, True, counts[part])
                facts[_BRANCH_SPLITS] += 1
        if not splits:
            _use(cache, leaf_of_row[i], True, row == 0, counts[part])
            continue
        page = leaves.by_age[leaf_splits]
        facts[_LEAF_SPLITS] += 1
        _use(cache, leaves.origins[page], True, False, counts[part])
        _use(cache, page, True, True, counts[part])
        if leaves.neighbours[page] != NONE:
            _use(cache, leaves.neighbours[page], True, False, counts[part])
