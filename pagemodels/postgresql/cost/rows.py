"""One row after another through shared buffers, checkpoints and the log."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import inlined, int64, kernel
from keybench.pagemodels.costs.touches import NONE
from keybench.pagemodels.memory import uncounted
from keybench.pagemodels.postgresql.cost.changes import BYTES, CHECKPOINTS, READ, WRITTEN, Counts, image_of, note, whole
from keybench.pagemodels.postgresql.cost.checkpoints import (
    BEGUN,
    Checkpoints,
    append,
    append_many,
    finish,
    go_on,
    is_due,
    rows_until_due,
)
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
    use_again,
)
from keybench.pagemodels.postgresql.cost.heap import Backends, begin_copy, to_heap
from keybench.pagemodels.postgresql.cost.log_records import COMMIT, FIRST_LEAF, INSERT, Sizes, leaf_image
from keybench.pagemodels.postgresql.cost.splits import split_leaf, traced
from keybench.pagemodels.postgresql.cost.trees import LAST, MADE, Index, Integers, Places, Tree

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


@inlined
def _repeat(
    pool: Pool,
    checkpoints: Checkpoints,
    leaves: Tree,
    backends: Backends,
    sizes: Sizes,
    work: Integers,
    row: int,
    first: int,
    at: Places,
    writers: NDArray[np.int16],
    end: int,
    branch: int,
    root: int,
) -> int:
    """Enters rows from `row` on, but none from `end` on, that go where the row before went and do nothing but add
    another record to the log. Returns their number. `branch`, `root`: the pages on their way to the leaf, or −1."""
    leaf, writer = at[row - first], writers[row - first]
    sent, made = backends.done[writer], leaves.state[MADE]
    place = sent % work[TX_ROWS]
    if place == 0 or place % work[BATCH_ROWS] == 0 or pool.buffers[leaf] == NOWHERE or whole(pool, checkpoints, leaf):
        return int64(0)
    if (branch != NONE and pool.buffers[branch] == NOWHERE) or (root != NONE and pool.buffers[root] == NOWHERE):
        return int64(0)
    until = min(end, first + len(at), row + work[BATCH_ROWS] - place % work[BATCH_ROWS])
    until = min(until, row + min(work[TX_ROWS] - place, backends.rows[writer] - sent) - 1)
    if made < len(leaves.made):
        until = min(until, leaves.births[leaves.made[made]])
    if work[RESTART] >= row:
        until = min(until, work[RESTART])
    if work[FLUSH_ROWS]:
        until = min(until, (row + work[FLUSH_ROWS] - 1) // work[FLUSH_ROWS] * work[FLUSH_ROWS])
    size = INSERT + sizes.entry
    until = min(until, row + rows_until_due(checkpoints, pool, size))
    n = row
    while n < until and at[n - first] == leaf and writers[n - first] == writer:
        n += 1
    n -= row
    if n <= 0:
        return int64(0)
    if root != NONE:
        use_again(pool, root, n)
    if branch != NONE:
        use_again(pool, branch, n)
    use_again(pool, leaf, n)
    leaves.entries[leaf] += n
    note(pool, leaf, append_many(pool, size, n))
    backends.done[writer] = sent + n
    return n


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
    pool, checkpoints, backends = uncounted(pool), uncounted(checkpoints), uncounted(backends)
    leaves, branches = uncounted(index.leaves), uncounted(index.branches)
    by_copy = work[TX_ROWS] > 1
    part = np.searchsorted(ends, first, side="right")
    row, end = first, first + len(at)
    while row < end:
        i, writer = row - first, writers[row - first]
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
        fast, branch = False, int64(NONE)
        if backends.leaf[writer] != NONE:
            fast = backends.leaf[writer] == leaf and last and not splits
            if not fast:
                counts[READ + LEAF] += use(pool, backends.leaf[writer])
                backends.leaf[writer] = NONE
        if not fast and len(branches.births) and branches.births[0] < row:
            if tall:
                counts[READ + BRANCH] += use(pool, index.root)
            branch = int64(traced(branches, index.parents[leaf], row))
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
        row += 1
        if not splits and row + 1 < end and at[i + 1] == leaf and at[i + 2] == leaf and writers[i + 1] == writer:
            row += _repeat(
                pool, checkpoints, leaves, backends, sizes, work, row, first, at, writers, ends[part],
                NONE if fast or (last and tall) else index.first_branch + branch if branch != NONE else NONE,
                NONE if fast or (last and tall) or not tall else index.root,
            )  # fmt: skip
        while part < len(ends) and row == ends[part]:
            out[part, :] = counts
            out[part, WRITTEN : WRITTEN + 3] = pool.written
            out[part, BYTES] = pool.state[INSERTED]
            out[part, CHECKPOINTS] = checkpoints.state[BEGUN]
            part += 1
