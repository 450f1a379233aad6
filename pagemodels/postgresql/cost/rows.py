"""One row after another through shared buffers, checkpoints and the log."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel
from keybench.pagemodels.costs.touches import NONE
from keybench.pagemodels.memory import uncounted
from keybench.pagemodels.postgresql.cost.changes import BYTES, CHECKPOINTS, READ, WRITTEN, Counts, image_of, note, whole
from keybench.pagemodels.postgresql.cost.checkpoints import BEGUN, Checkpoints, append, finish, go_on, is_due
from keybench.pagemodels.postgresql.cost.checkpoints import begin as begin_checkpoint
from keybench.pagemodels.postgresql.cost.clock_sweep import (
    BRANCH,
    FLUSHED,
    HAND,
    INSERTED,
    LEAF,
    NOWHERE,
    TAKEN,
    Pool,
    bring,
    use,
)
from keybench.pagemodels.postgresql.cost.heap import Backends, begin_copy, to_heap
from keybench.pagemodels.postgresql.cost.log_records import COMMIT, FIRST_LEAF, INSERT, Sizes, leaf_image
from keybench.pagemodels.postgresql.cost.splits import split_leaf, traced
from keybench.pagemodels.postgresql.cost.trees import LAST, MADE, Index, Integers, Places

HEAP_ROWS, TX_ROWS, BATCH_ROWS, RESTART, FLUSH_ROWS = range(5)
"""Fields of the work: rows of a heap page, of a transaction, of what COPY adds to the heap at a time; the row before
which the server is restarted, or −1; rows after which the log is written even without a commit, or 0."""


@kernel
def begin(pool: Pool) -> None:
    """The root as an empty leaf."""
    bring(pool, 0)
    note(pool, 0, append(pool, FIRST_LEAF))


@kernel
def _restart(pool: Pool, checkpoints: Checkpoints, backends: Backends) -> None:
    """Empties the cache after a last checkpoint."""
    finish(checkpoints, pool)
    begin_checkpoint(checkpoints, pool)
    finish(checkpoints, pool)
    pool.buffers[:] = NOWHERE
    pool.pages[:] = NOWHERE
    pool.counts[:] = 0
    pool.dirty[:] = 0
    pool.state[HAND] = pool.state[TAKEN] = 0
    backends.heap[:] = NONE
    backends.leaf[:] = NONE


@kernel
def insert(
    pool: Pool,
    checkpoints: Checkpoints,
    index: Index,
    backends: Backends,
    sizes: Sizes,
    work: Integers,
    first: int,
    at: Places,
    writers: NDArray[np.int16],
    ends: Integers,
    counts: Counts,
    out: NDArray[np.int64],
) -> None:
    """Some more rows, the first of them row `first`: the leaf into which each goes, and its writer.

    `out`: (parts, FIELDS) gets what was counted up to the end of each part.
    """
    pool = uncounted(pool)
    leaves, branches = index.leaves, index.branches
    by_copy = work[TX_ROWS] > 1
    part = np.searchsorted(ends, first, side="right")
    for i in range(len(at)):
        row, writer = first + i, writers[i]
        if row == work[RESTART]:
            _restart(pool, checkpoints, backends)
        sent = backends.done[writer]
        place = sent % work[TX_ROWS]
        if place % work[BATCH_ROWS] == 0:
            if place == 0:
                begin_copy(backends, writer)
            n = min(work[BATCH_ROWS], work[TX_ROWS] - place, backends.rows[writer] - sent)
            to_heap(pool, checkpoints, index.first_heap, backends, sizes, work[HEAP_ROWS], writer, n, by_copy, counts)
        made = leaves.state[MADE]
        splits = made < len(leaves.made) and leaves.births[leaves.made[made]] == row
        leaf = leaves.origins[leaves.made[made]] if splits else at[i]
        last = leaf == leaves.state[LAST]
        tall = len(branches.made) > 0 and branches.births[branches.made[0]] < row
        fast = False
        if backends.leaf[writer] != NONE:
            fast = backends.leaf[writer] == leaf and last and not splits
            if not fast:
                counts[READ + LEAF] += use(pool, backends.leaf[writer])
                backends.leaf[writer] = NONE
        if not fast and len(branches.births) and branches.births[0] < row:
            if tall:
                counts[READ + BRANCH] += use(pool, index.root)
            branch = traced(branches, index.parents[leaf], row)
            counts[READ + BRANCH] += use(pool, index.first_branch + branch)
        counts[READ + LEAF] += use(pool, leaf)
        if splits:
            split_leaf(pool, checkpoints, index, sizes, at[i], row, counts)
        else:
            leaves.entries[leaf] += 1
            size = INSERT + sizes.entry
            if whole(pool, checkpoints, leaf):
                size += image_of(counts, leaf_image(sizes, leaves.entries[leaf], last)) - sizes.entry
            note(pool, leaf, append(pool, size))
            if last and tall:
                backends.leaf[writer] = leaf
        backends.done[writer] = sent + 1
        if place + 1 == work[TX_ROWS] or sent + 1 == backends.rows[writer]:
            pool.state[FLUSHED] = append(pool, COMMIT)
        elif work[FLUSH_ROWS] and row % work[FLUSH_ROWS] == 0:
            pool.state[FLUSHED] = pool.state[INSERTED]
        if is_due(checkpoints, pool):
            go_on(checkpoints, pool)
        while part < len(ends) and row + 1 == ends[part]:
            out[part, :] = counts
            out[part, WRITTEN : WRITTEN + 3] = pool.written
            out[part, BYTES] = pool.state[INSERTED]
            out[part, CHECKPOINTS] = checkpoints.state[BEGUN]
            part += 1
