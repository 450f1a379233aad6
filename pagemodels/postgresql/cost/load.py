"""Page reads of a load into PostgreSQL: one writer, COPY, an index on a heap.

COPY adds up to 1,000 rows at a time to the heap (heap_multi_insert), then enters them into the index one after another.
Their pages are a bulk load's ring, whose buffers have a count of 1 at most (freelist.c, BAS_BULKWRITE). An entry's way
to its leaf leads through the branch pages, except to the last leaf, which the writer remembers (nbtinsert.c,
_bt_search_insert). A split also uses the right neighbour, whose link changes, and the branch page above.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel
from keybench.pagemodels.costs.contract import Load, LoadCost, Server
from keybench.pagemodels.costs.contract import Pages as PageCounts
from keybench.pagemodels.costs.touches import NONE, Ancestry, Pages, ancestry, leaves_touched, touched
from keybench.pagemodels.half_split.leaf_range import LeafRange
from keybench.pagemodels.half_split.stateful import StatefulSplitModel
from keybench.pagemodels.half_split.tree import build_branches, build_level
from keybench.pagemodels.memory import uncounted
from keybench.pagemodels.postgresql.cost.clock_sweep import MOST, Pool, bring, new, use
from keybench.pagemodels.postgresql.records import PAGE_BYTES

Integers = NDArray[np.int64]

LEAF, BRANCH, HEAP = range(3)
_COPY_ROWS = 1000
"""MAX_BUFFERED_TUPLES (copyfrom.c)."""
_RING = 1

_NEXT_LEAF, _NEXT_BRANCH, _LAST, _ROWS = range(4)


class _Plan(NamedTuple):
    """Where pages have their numbers, and how rows come."""

    leaves: Ancestry
    branches: Ancestry
    first_branch: int
    root: int
    """The page above all branch pages; −1 if there is none."""
    first_heap: int
    heap_rows: int
    """Rows of a heap page."""
    batch: int
    """Rows that COPY adds to the heap before it enters them into the index."""
    state: Integers
    """The next leaf and branch page to be made, by their places in `made`; the last leaf; rows done."""


@dataclass(frozen=True, kw_only=True)
class HeapIndexModel(StatefulSplitModel):
    """The key's index beside a heap; a `PredictsCost`."""

    heap_rows: int
    """Rows that fit a page of the heap."""

    @property
    def page_bytes(self) -> int:
        """Bytes of a buffer."""
        return PAGE_BYTES

    def load_cost(self, load: Load, server: Server) -> LoadCost:
        """Pages read into shared buffers."""
        return LoadCost(_page_reads(self, load, server.pages(PAGE_BYTES)))


def _page_reads(model: HeapIndexModel, load: Load, buffers: int) -> PageCounts:
    ranks, ends, batch = load.ranks, load.ends, min(load.rows_per_tx, _COPY_ROWS)
    heap_rows, n = model.heap_rows, len(ranks)
    leaves_at_most = LeafRange.usual(n, model.leaf)
    if leaves_at_most + LeafRange.usual(leaves_at_most, model.branch) + n // heap_rows + 2 <= buffers:
        none = np.zeros(len(ends), np.int64)
        return PageCounts(none, none, none)  # all pages stay, whatever the keys
    level = build_level(ranks, model.leaf)
    above = build_branches(level, model.branch)
    leaves = ancestry(level)
    branches = ancestry(above[0]) if above else Ancestry(*(np.empty(0, own.dtype) for own in leaves))
    first_heap = len(level) + len(branches.births) + 1
    root = first_heap - 1 if len(above) > 1 else NONE
    pool = new(buffers, first_heap + n // heap_rows + 1)
    plan = _Plan(leaves, branches, len(level), root, first_heap, heap_rows, batch, np.zeros(4, np.int64))
    bring(pool, 0)
    reads = np.zeros((len(ends), 3), np.int64)
    parents = np.searchsorted(np.cumsum(above[0].rows), np.arange(len(level)), side="right") if above else None
    for rows, at in leaves_touched(level, ranks):
        over = np.zeros(len(at), np.int32)
        if parents is not None:
            touched(branches, parents[at].astype(np.int32), rows, over)
        _load(pool, plan, at, over, np.searchsorted(ends, rows, side="right"), reads)
    return PageCounts(*reads.T)


@kernel
def _load(pool: Pool, plan: _Plan, at: Pages, over: Pages, parts: Integers, reads: Integers) -> None:
    """Some more rows: the leaf of each, the branch page over it, and the part of the load."""
    pool = uncounted(pool)
    leaves, branches, state = plan.leaves, plan.branches, plan.state
    for i in range(len(at)):
        row, part = state[_ROWS], parts[i]
        state[_ROWS] += 1
        if row % plan.batch == 0:
            end = min(row + plan.batch, (len(pool.buffers) - plan.first_heap) * plan.heap_rows)
            page = row // plan.heap_rows
            if row % plan.heap_rows:
                reads[part, HEAP] += use(pool, plan.first_heap + page, _RING)
                page += 1
            while page * plan.heap_rows < end:
                bring(pool, plan.first_heap + page)
                page += 1
        made = state[_NEXT_LEAF]
        splits = made < len(leaves.made) and leaves.births[leaves.made[made]] == row
        leaf = leaves.origins[leaves.made[made]] if splits else at[i]
        branch, tall = plan.first_branch + over[i], len(branches.births) > 0 and branches.births[0] < row
        if tall and (leaf != state[_LAST] or splits):
            if plan.root >= 0 and branches.births[branches.made[0]] < row:
                reads[part, BRANCH] += use(pool, plan.root, MOST)
            reads[part, BRANCH] += use(pool, branch, MOST)
        reads[part, LEAF] += use(pool, leaf, MOST)
        if not splits:
            continue
        page = leaves.made[made]
        bring(pool, page)
        state[_NEXT_LEAF] += 1
        if leaves.neighbours[page] == NONE:
            state[_LAST] = page
        else:
            reads[part, LEAF] += use(pool, leaves.neighbours[page], MOST)
        if tall:
            reads[part, BRANCH] += use(pool, branch, MOST)
        elif len(branches.births):
            bring(pool, plan.first_branch)
        above = state[_NEXT_BRANCH]
        if above < len(branches.made) and branches.births[branches.made[above]] == row:
            bring(pool, plan.first_branch + branches.made[above])
            state[_NEXT_BRANCH] += 1
            if above == 0 and plan.root >= 0:
                bring(pool, plan.root)
