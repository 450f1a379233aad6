"""One row after another through shared buffers, checkpoints and the log."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import inlined, int64, kernel
from keybench.pagemodels.costs.touches import NONE, part_of
from keybench.pagemodels.memory import prefetch, uncounted
from keybench.pagemodels.postgresql.cost.checkpoints import (
    BEGUN,
    BYTES,
    CHECKPOINTS,
    READ,
    WRITTEN,
    Checkpoints,
    Counts,
    append,
    due,
    finish,
    go_on,
    image_of,
    is_due,
    note,
    whole,
)
from keybench.pagemodels.postgresql.cost.checkpoints import begin as begin_checkpoint
from keybench.pagemodels.postgresql.cost.clock_sweep import (
    BRANCH,
    CALM,
    FLUSHED,
    INSERTED,
    LEAF,
    MOST,
    NOWHERE,
    SharedBuffers,
    at_most,
    bring,
    bring_here,
    clear,
    use,
    use_again,
    use_buffer,
)
from keybench.pagemodels.postgresql.cost.heap import Backends, begin_copy, to_heap
from keybench.pagemodels.postgresql.cost.log_records import COMMIT, FIRST_LEAF, INSERT, LogSizes, leaf_image
from keybench.pagemodels.postgresql.cost.splits import split_leaf, traced
from keybench.pagemodels.postgresql.cost.trees import LAST, MADE, HeapIndex, IndexLevel, Integers, Places

Writers = NDArray[np.int16]

_AHEAD = 5
"""So many rows before a leaf is used, its place in memory is prefetched."""

HEAP_ROWS, TX_ROWS, BATCH_ROWS, RESTART, FLUSH_ROWS = range(5)
"""Fields of the work: rows of a heap page, of a transaction, of what COPY adds to the heap at a time; the row before
which the server is restarted, or −1; rows after which the log is written even without a commit, or 0."""


@kernel
def begin(pool: SharedBuffers) -> None:
    """The root as an empty leaf."""
    bring(pool, 0)
    note(pool, 0, append(pool, FIRST_LEAF))


@kernel
def _restart(pool: SharedBuffers, checkpoints: Checkpoints, backends: Backends) -> None:
    """Empties the cache after a last checkpoint."""
    finish(checkpoints, pool)
    begin_checkpoint(checkpoints, pool)
    finish(checkpoints, pool)
    clear(pool)
    backends.heap[:] = NONE
    backends.leaf[:] = NONE


@inlined
def _is_deep(branches: IndexLevel, row: int) -> bool:
    """Whether a branch page is on the way to a leaf."""
    return len(branches.births) > 0 and bool(branches.births[0] < row)


@inlined
def _is_tall(branches: IndexLevel, row: int) -> bool:
    """Whether another page above it is too."""
    return len(branches.made) > 0 and bool(branches.births[branches.made[0]] < row)


@kernel
def _split(
    pool: SharedBuffers,
    checkpoints: Checkpoints,
    index: HeapIndex,
    backends: Backends,
    sizes: LogSizes,
    row: int,
    goes_to: int,
    writer: int,
    counts: Counts,
) -> None:
    """A row that splits its leaf."""
    leaves, branches = index.leaves, index.branches
    leaf = leaves.origins[leaves.made[leaves.state[MADE]]]
    if backends.leaf[writer] != NONE:
        counts[READ + LEAF] += use(pool, backends.leaf[writer])
        backends.leaf[writer] = NONE
    if _is_deep(branches, row):
        if _is_tall(branches, row):
            counts[READ + BRANCH] += use(pool, index.root)
        counts[READ + BRANCH] += use(pool, index.first_branch + traced(branches, index.parents[leaf], row))
    counts[READ + LEAF] += use(pool, leaf)
    split_leaf(pool, checkpoints, index, sizes, goes_to, row, counts)


@inlined
def _repeat(
    pool: SharedBuffers,
    checkpoints: Checkpoints,
    leaves: IndexLevel,
    size: int,
    first: int,
    row: int,
    until: int,
    at: Places,
    writers: Writers,
    writer: int,
    leaf: int,
    branch: int,
    root: int,
) -> int:
    """Enters rows from `row` on that go where the row before went. Returns their number. `branch`, `root`: the pages on
    their way to the leaf, or −1."""
    if (branch != NONE and pool.buffers[branch] == NOWHERE) or (root != NONE and pool.buffers[root] == NOWHERE):
        return int64(0)
    step, n = int64((size + 7) & ~7), int64(0)
    most = min(until - row, (due(checkpoints, pool) - pool.state[INSERTED] + step - 1) // step)
    while n < most and at[row + n - first] == leaf and writers[row + n - first] == writer:
        n += 1
    if n == 0:
        return n
    inserted = pool.state[INSERTED] + step * n
    if root != NONE:
        use_again(pool, root, n)
    if branch != NONE:
        use_again(pool, branch, n)
    use_again(pool, leaf, n)
    leaves.entries[leaf] += n
    pool.changed[leaf] = pool.state[INSERTED] = inserted
    return n


@inlined
def _fill(
    pool: SharedBuffers,
    checkpoints: Checkpoints,
    index: HeapIndex,
    leaves: IndexLevel,
    branches: IndexLevel,
    backends: Backends,
    sizes: LogSizes,
    first: int,
    row: int,
    until: int,
    at: Places,
    writers: Writers,
    writer: int,
    counts: Counts,
) -> int:
    """Enters rows of a writer that split no leaf: `row` and those behind it, up to `until` or to another writer's row.
    Returns the row behind the last one, after which checkpoints have yet to go on."""
    deep, tall, last = _is_deep(branches, row), _is_tall(branches, row), int64(leaves.state[LAST])
    before, size, state, made = int64(backends.leaf[writer]), INSERT + sizes.entry, pool.state, branches.state[MADE]
    while True:
        if row + _AHEAD < until:
            ahead = at[row + _AHEAD - first]
            prefetch(pool.of_pages, ahead)
            prefetch(leaves.entries, ahead)
            if deep:
                prefetch(index.ways, ahead)
        leaf = int64(at[row - first])
        buffer, calm = pool.buffers[leaf], state[CALM]
        if (
            buffer != NOWHERE
            and pool.calm[buffer] == calm
            and (before == NONE or (pool.buffers[before] != NOWHERE and pool.calm[pool.buffers[before]] == calm))
        ):  # as long as that is so, nothing but the log grows
            inserted, limit = state[INSERTED], due(checkpoints, pool)
            while True:
                inserted += (size + 7) & ~7
                pool.changed[leaf] = inserted
                leaves.entries[leaf] += 1
                before = leaf
                row += 1
                if row >= until or writers[row - first] != writer or inserted >= limit:
                    break
                leaf = int64(at[row - first])
                buffer = pool.buffers[leaf]
                if buffer == NOWHERE or pool.calm[buffer] != calm:
                    break
            state[INSERTED] = inserted
            before = before if tall and before == last else int64(NONE)
        else:
            branch = int64(NONE)
            if deep:
                if index.ways[leaf, 1] != made:
                    index.ways[leaf, 0], index.ways[leaf, 1] = traced(branches, index.parents[leaf], row), made
                branch = index.first_branch + int64(index.ways[leaf, 0])
            if before != leaf or leaf != last:
                if before != NONE:
                    counts[READ + LEAF] += use(pool, before)
                if tall:
                    counts[READ + BRANCH] += use(pool, index.root)
                if deep:
                    counts[READ + BRANCH] += use(pool, branch)
            buffer = pool.buffers[leaf]
            if buffer == NOWHERE:
                bring_here(pool, leaf)
                counts[READ + LEAF] += 1
            elif (
                use_buffer(pool, buffer) == MOST
                and (not tall or at_most(pool, index.root))
                and (not deep or at_most(pool, branch))
            ):
                pool.calm[buffer] = state[CALM]
            leaves.entries[leaf] += 1
            own = size
            if whole(pool, checkpoints, leaf):
                own += image_of(counts, leaf_image(sizes, leaves.entries[leaf], leaf == last)) - sizes.entry
            note(pool, leaf, append(pool, own))
            before = leaf if tall and leaf == last else int64(NONE)
            row += 1
            if row < until and at[row - first] == leaf:
                row += _repeat(
                    pool, checkpoints, leaves, size, first, row, until, at, writers, writer, leaf,
                    NONE if before != NONE else branch,
                    NONE if before != NONE or not tall else index.root,
                )  # fmt: skip
        if row >= until or writers[row - first] != writer:
            break
        if is_due(checkpoints, pool):
            go_on(checkpoints, pool)
    backends.leaf[writer] = before
    return row


@kernel
def insert(
    pool: SharedBuffers,
    checkpoints: Checkpoints,
    index: HeapIndex,
    backends: Backends,
    sizes: LogSizes,
    work: Integers,
    first: int,
    at: Places,
    writers: Writers,
    ends: Integers,
    counts: Counts,
    out: NDArray[np.int64],
) -> None:
    """Some more rows, the first of them row `first`: the leaf into which each goes, and its writer.

    `out`: (parts, FIELDS) gets what was counted up to the end of each part.
    """
    pool, checkpoints, backends = uncounted(pool), uncounted(checkpoints), uncounted(backends)
    leaves, branches = uncounted(index.leaves), uncounted(index.branches)
    by_copy, restart, flush_rows = work[TX_ROWS] > 1, work[RESTART], work[FLUSH_ROWS]
    part = part_of(ends, first)
    row, end = first, first + len(at)
    while row < end:
        writer = int64(writers[row - first])
        if row == restart:
            _restart(pool, checkpoints, backends)
        if backends.in_batch[writer] == 0:
            if backends.in_tx[writer] == 0:
                begin_copy(backends, writer)
            n = min(
                work[BATCH_ROWS], work[TX_ROWS] - backends.in_tx[writer], backends.rows[writer] - backends.done[writer]
            )
            to_heap(pool, checkpoints, index.first_heap, backends, sizes, work[HEAP_ROWS], writer, n, by_copy, counts)
            backends.in_batch[writer] = n
        begun, made = row, leaves.state[MADE]
        splits_at = leaves.births[leaves.made[made]] if made < len(leaves.made) else end
        if splits_at == row:
            _split(pool, checkpoints, index, backends, sizes, row, int64(at[row - first]), writer, counts)
            row += 1
        else:
            until = min(end, ends[part], splits_at, row + backends.in_batch[writer])
            if restart > row:
                until = min(until, restart)
            if flush_rows:
                until = min(until, (row + flush_rows - 1) // flush_rows * flush_rows + 1)
            row = _fill(
                pool, checkpoints, index, leaves, branches, backends, sizes, first, row, until, at, writers, writer,
                counts,
            )  # fmt: skip
        backends.done[writer] += row - begun
        backends.in_tx[writer] += row - begun
        backends.in_batch[writer] -= row - begun
        if backends.in_tx[writer] == work[TX_ROWS] or backends.done[writer] == backends.rows[writer]:
            backends.in_tx[writer] = 0
            pool.state[FLUSHED] = append(pool, COMMIT)
        elif flush_rows and (row - 1) % flush_rows == 0:
            pool.state[FLUSHED] = pool.state[INSERTED]
        if is_due(checkpoints, pool):
            go_on(checkpoints, pool)
        while part < len(ends) and row == ends[part]:
            for field in range(len(counts)):  # numba takes 3 s to compile the assignment of an array to a row
                out[part, field] = counts[field]
            for kind in range(3):
                out[part, WRITTEN + kind] = pool.written[kind]
            out[part, BYTES] = pool.state[INSERTED]
            out[part, CHECKPOINTS] = checkpoints.state[BEGUN]
            part += 1
