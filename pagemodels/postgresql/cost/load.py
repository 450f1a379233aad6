"""What a load by COPY, or by INSERT of one row a transaction, costs PostgreSQL: pages read and written, and log, of an
index on a heap.

COPY adds up to 1,000 rows or 64 kB of text at a time to the heap (heap_multi_insert), then enters them into the index
one after another (copyfrom.c). An entry's way to its leaf leads through the branch pages, except to the last leaf if
the writer's row before went there too (nbtinsert.c, _bt_search_insert).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import inlined, int64, kernel
from keybench.pagemodels.costs.contract import Load, LoadCost, Log, Pages, Server
from keybench.pagemodels.costs.touches import NONE, leaves_touched, part_of
from keybench.pagemodels.half_split.model import SplitModel
from keybench.pagemodels.memory import prefetch, uncounted
from keybench.pagemodels.postgresql.cost import cache, log
from keybench.pagemodels.postgresql.cost.cache import SharedBuffers
from keybench.pagemodels.postgresql.cost.log import Checkpoints, Counts, LogSizes
from keybench.pagemodels.postgresql.cost.pages import (
    LAST,
    MADE,
    Backends,
    IndexLevel,
    Integers,
    LoadState,
    Places,
    begin_copy,
    index,
    split_leaf,
    to_heap,
    traced,
)
from keybench.pagemodels.postgresql.records import PAGE_BYTES

Writers = NDArray[np.int16]

_AHEAD = 5
"""So many rows before a leaf is used, its place in memory is prefetched."""

HEAP_ROWS, TX_ROWS, BATCH_ROWS, RESTART, FLUSH_ROWS = range(5)
"""Fields of the work: rows of a heap page, of a transaction, of what COPY adds to the heap at a time; the row before
which the server is restarted, or −1; rows after which the log is written even without a commit, or 0."""


@kernel
def begin(pool: SharedBuffers) -> None:
    """The root as an empty leaf."""
    cache.bring(pool, 0)
    log.note(pool, 0, log.append(pool, log.FIRST_LEAF))


@kernel
def _restart(pool: SharedBuffers, checkpoints: Checkpoints, backends: Backends) -> None:
    """Empties the cache after a last checkpoint."""
    log.finish(checkpoints, pool)
    log.begin(checkpoints, pool)
    log.finish(checkpoints, pool)
    cache.clear(pool)
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
def _split(load: LoadState, row: int, goes_to: int, writer: int) -> None:
    """A row that splits its leaf."""
    pool, index, backends, counts = load.pool, load.tree, load.backends, load.counts
    leaves, branches = index.leaves, index.branches
    leaf = leaves.origins[leaves.made[leaves.state[MADE]]]
    if backends.leaf[writer] != NONE:
        counts[log.READ + cache.LEAF] += cache.use(pool, backends.leaf[writer])
        backends.leaf[writer] = NONE
    if _is_deep(branches, row):
        if _is_tall(branches, row):
            counts[log.READ + cache.BRANCH] += cache.use(pool, index.root)
        counts[log.READ + cache.BRANCH] += cache.use(
            pool, index.first_branch + traced(branches, index.parents[leaf], row)
        )
    counts[log.READ + cache.LEAF] += cache.use(pool, leaf)
    split_leaf(load, goes_to, row)


class RowChunk(NamedTuple):
    """Some rows that follow one another."""

    first: int
    at: Places
    """(n,): the leaf into which each goes."""
    writers: Writers
    """(n,): who sends each."""


@inlined
def _repeat(load: LoadState, sent: RowChunk, size: int, row: int, until: int, leaf: int, branch: int, root: int) -> int:
    """Enters rows from `row` on that go where the row before went. Returns their number. `branch`, `root`: the pages on
    their way to the leaf, or −1."""
    pool, at, writers = load.pool, sent.at, sent.writers
    writer = writers[row - 1 - sent.first]
    if (branch != NONE and pool.buffers[branch] == cache.NOWHERE) or (
        root != NONE and pool.buffers[root] == cache.NOWHERE
    ):
        return int64(0)
    step, n = int64((size + 7) & ~7), int64(0)
    most = min(until - row, (log.due(load.checkpoints, pool) - pool.state[cache.INSERTED] + step - 1) // step)
    while n < most and at[row + n - sent.first] == leaf and writers[row + n - sent.first] == writer:
        n += 1
    if n == 0:
        return n
    inserted = pool.state[cache.INSERTED] + step * n
    if root != NONE:
        cache.use_again(pool, root, n)
    if branch != NONE:
        cache.use_again(pool, branch, n)
    cache.use_again(pool, leaf, n)
    load.tree.leaves.entries[leaf] += n
    pool.changed[leaf] = pool.state[cache.INSERTED] = inserted
    return n


@inlined
def _fill(load: LoadState, sent: RowChunk, row: int, until: int, writer: int) -> int:
    """Enters rows of a writer that split no leaf: `row` and those behind it, up to `until` or to another writer's row.
    Returns the row behind the last one, after which checkpoints have yet to go on."""
    pool, checkpoints, index, backends, counts = load.pool, load.checkpoints, load.tree, load.backends, load.counts
    leaves, branches, sizes = index.leaves, index.branches, load.sizes
    first, at, writers = sent
    deep, tall, last = _is_deep(branches, row), _is_tall(branches, row), int64(leaves.state[LAST])
    before, size, state, made = int64(backends.leaf[writer]), log.INSERT + sizes.entry, pool.state, branches.state[MADE]
    while True:
        if row + _AHEAD < until:
            ahead = at[row + _AHEAD - first]
            prefetch(pool.of_pages, ahead)
            prefetch(leaves.entries, ahead)
            if deep:
                prefetch(index.ways, ahead)
        leaf = int64(at[row - first])
        buffer, calm = pool.buffers[leaf], state[cache.CALM]
        if (
            buffer != cache.NOWHERE
            and pool.calm[buffer] == calm
            and (before == NONE or (pool.buffers[before] != cache.NOWHERE and pool.calm[pool.buffers[before]] == calm))
        ):  # as long as that is so, nothing but the log grows
            inserted, limit = state[cache.INSERTED], log.due(checkpoints, pool)
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
                if buffer == cache.NOWHERE or pool.calm[buffer] != calm:
                    break
            state[cache.INSERTED] = inserted
            before = before if tall and before == last else int64(NONE)
        else:
            branch = int64(NONE)
            if deep:
                if index.ways[leaf, 1] != made:
                    index.ways[leaf, 0], index.ways[leaf, 1] = traced(branches, index.parents[leaf], row), made
                branch = index.first_branch + int64(index.ways[leaf, 0])
            if before != leaf or leaf != last:
                if before != NONE:
                    counts[log.READ + cache.LEAF] += cache.use(pool, before)
                if tall:
                    counts[log.READ + cache.BRANCH] += cache.use(pool, index.root)
                if deep:
                    counts[log.READ + cache.BRANCH] += cache.use(pool, branch)
            buffer = pool.buffers[leaf]
            if buffer == cache.NOWHERE:
                cache.bring_here(pool, leaf)
                counts[log.READ + cache.LEAF] += 1
            elif (
                cache.use_buffer(pool, buffer) == cache.MOST
                and (not tall or cache.at_most(pool, index.root))
                and (not deep or cache.at_most(pool, branch))
            ):
                pool.calm[buffer] = state[cache.CALM]
            leaves.entries[leaf] += 1
            own = size
            if log.whole(pool, checkpoints, leaf):
                own += log.image_of(counts, log.leaf_image(sizes, leaves.entries[leaf], leaf == last)) - sizes.entry
            log.note(pool, leaf, log.append(pool, own))
            before = leaf if tall and leaf == last else int64(NONE)
            row += 1
            if row < until and at[row - first] == leaf:
                direct = before != NONE  # no branch page is on the way
                above, root = NONE if direct else branch, NONE if direct or not tall else index.root
                row += _repeat(load, sent, size, row, until, leaf, above, root)
        if row >= until or writers[row - first] != writer:
            break
        if log.is_due(checkpoints, pool):
            log.go_on(checkpoints, pool)
    backends.leaf[writer] = before
    return row


@kernel
def insert(load: LoadState, work: Integers, sent: RowChunk, ends: Integers, out: NDArray[np.int64]) -> None:
    """Some more rows. `out`: (parts, FIELDS) gets what was counted up to the end of each part."""
    load = uncounted(load)
    pool, checkpoints, index, backends, counts = load.pool, load.checkpoints, load.tree, load.backends, load.counts
    leaves, (first, at, writers) = index.leaves, sent
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
            to_heap(load, work[HEAP_ROWS], writer, n, by_copy)
            backends.in_batch[writer] = n
        begun, made = row, leaves.state[MADE]
        splits_at = leaves.births[leaves.made[made]] if made < len(leaves.made) else end
        if splits_at == row:
            _split(load, row, int64(at[row - first]), writer)
            row += 1
        else:
            until = min(end, ends[part], splits_at, row + backends.in_batch[writer])
            if restart > row:
                until = min(until, restart)
            if flush_rows:
                until = min(until, (row + flush_rows - 1) // flush_rows * flush_rows + 1)
            row = _fill(load, sent, row, until, writer)
        backends.done[writer] += row - begun
        backends.in_tx[writer] += row - begun
        backends.in_batch[writer] -= row - begun
        if backends.in_tx[writer] == work[TX_ROWS] or backends.done[writer] == backends.rows[writer]:
            backends.in_tx[writer] = 0
            pool.state[cache.FLUSHED] = log.append(pool, log.COMMIT)
        elif flush_rows and (row - 1) % flush_rows == 0:
            pool.state[cache.FLUSHED] = pool.state[cache.INSERTED]
        if log.is_due(checkpoints, pool):
            log.go_on(checkpoints, pool)
        while part < len(ends) and row == ends[part]:
            for field in range(len(counts)):  # numba takes 3 s to compile the assignment of an array to a row
                out[part, field] = counts[field]
            for kind in range(3):
                out[part, log.WRITTEN + kind] = pool.written[kind]
            out[part, log.BYTES] = pool.state[cache.INSERTED]
            out[part, log.CHECKPOINTS] = checkpoints.state[log.BEGUN]
            part += 1


_MAX_WAL_SIZE = 4 << 30
"""On servers that keybench starts (databases/postgresql/settings.py)."""
_RING = 16 << 20
"""BAS_BULKWRITE, at most an eighth of the buffers (freelist.c, GetAccessStrategy)."""


@dataclass(frozen=True, kw_only=True)
class HeapIndexModel(SplitModel):
    """The key's index beside a heap; a `PredictsCost`."""

    heap_rows: int
    """Rows that fit a page of the heap."""
    log_sizes: LogSizes
    """Of what the log says of the table's rows and entries."""
    copy_rows: int
    """Rows that COPY adds to the heap at a time."""

    @property
    def page_bytes(self) -> int:
        """Bytes of a buffer."""
        return PAGE_BYTES

    def load_cost(self, load: Load, server: Server) -> LoadCost:
        """Pages read into shared buffers, pages written from them, and log."""
        counts = counted(self, load, server, limits(server, load.rows_per_tx, self.heap_rows))
        return LoadCost(
            Pages(*counts[log.READ : log.READ + 3]),
            Pages(*counts[log.WRITTEN : log.WRITTEN + 3]),
            Log(counts[log.BYTES], counts[log.IMAGES], counts[log.IMAGE_BYTES], counts[log.CHECKPOINTS]),
        )


class Limits(NamedTuple):
    """What depends on the size of the server."""

    buffers: int
    ring: int
    """Buffers of a COPY's ring, at most."""
    segment: int
    """Bytes of a segment of the log that records can use."""
    flush_rows: int
    """Rows after which the log is written even without a commit; 0 for never."""


def limits(server: Server, rows_per_tx: int, heap_rows: int) -> Limits:
    """Of a server. UsageError for a cache of fewer than 100 pages. Transactions of a sample hold as many rows as those
    of the whole table. So the log is also written in between, and the ring is that of the whole unless a COPY uses all
    of it."""
    buffers, share = server.pages(PAGE_BYTES), server.share
    ring = max(1, min(server.cache_bytes // PAGE_BYTES // 8, _RING // PAGE_BYTES))
    if rows_per_tx // heap_rows >= ring:
        ring = max(1, int(ring * share))
    return Limits(buffers, ring, int(log.USABLE * share), 0 if share == 1 else max(1, int(rows_per_tx * share)))


def counted(model: HeapIndexModel, load: Load, server: Server, limits: Limits) -> Counts:
    """(FIELDS, parts): what was counted in each part."""
    n, ends = len(load.ranks), np.asarray(load.ends, np.int64)
    writers = np.zeros(n, np.int16) if load.writers is None else load.writers
    own, level, files = index(load.ranks, model.leaf, model.branch)
    rows = np.array([n]) if load.writers is None else np.bincount(writers)
    pages = own.first_heap + n // model.heap_rows + 1 + len(rows)
    pool = cache.new(limits.buffers, pages, own.first_branch, own.first_heap)
    heap_first = np.concatenate([files + pages, np.arange(pages - own.first_heap)])  # the table's file is older
    at = log.usable(server.log_position)
    pool.state[cache.INSERTED] = pool.state[cache.FLUSHED] = at
    distance = server.checkpoint_bytes or _MAX_WAL_SIZE
    kept = log.new(heap_first, limits.buffers, distance, server.durable, at, limits.segment)
    backends = Backends.new(rows, pages - own.first_heap, limits.ring)
    batch = min(load.rows_per_tx, model.copy_rows)
    restart = NONE if load.restart is None else load.restart
    work = np.array([model.heap_rows, load.rows_per_tx, batch, restart, limits.flush_rows], np.int64)
    state = LoadState(pool, kept, own, backends, model.log_sizes, np.zeros(log.FIELDS, np.int64))
    out = np.zeros((len(ends), log.FIELDS), np.int64)
    out[:, log.BYTES] = at  # of parts without rows
    begin(pool)
    for first, leaves in leaves_touched(level):
        sent = RowChunk(first, leaves, writers[first : first + len(leaves)])
        insert(state, work, sent, ends, out)
    out[:, log.BYTES] = log.places(out[:, log.BYTES])
    start = np.zeros(log.FIELDS, np.int64)
    start[log.BYTES] = log.places(np.array([at]))[0]
    return np.diff(out, axis=0, prepend=start[None]).T
