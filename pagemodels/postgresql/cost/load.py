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
from keybench.pagemodels.memory import prefetch
from keybench.pagemodels.postgresql.cost import cache, log
from keybench.pagemodels.postgresql.cost.cache import SharedBuffers
from keybench.pagemodels.postgresql.cost.limits import Limits, limits_of
from keybench.pagemodels.postgresql.cost.log import Checkpoints, Counts, LogSizes
from keybench.pagemodels.postgresql.cost.pages import (
    LAST,
    SPLITS,
    Backends,
    HeapIndex,
    IndexLevel,
    Integers,
    LoadState,
    Places,
    begin_copy,
    index_before_load,
    page_before,
    split_leaf,
    to_heap,
)
from keybench.pagemodels.postgresql.records import PAGE_BYTES

Writers = NDArray[np.int16]

_AHEAD = 5
"""How many rows before a leaf is used its place in memory is prefetched."""


class Work(NamedTuple):
    """How rows are sent."""

    heap_rows: int
    """Rows that fit a page of the heap."""
    rows_per_tx: int
    batch_rows: int
    """Rows that COPY adds to the heap at a time."""
    restart: int
    """The row before which the server is restarted, or −1."""
    flush_rows: int
    """Rows after which the log is written even without a commit, or 0."""


@kernel
def begin(pool: SharedBuffers) -> None:
    """Makes the index, whose root is an empty leaf, and logs that."""
    cache.bring(pool, 0)
    log.note_change(pool, 0, log.append(pool, log.FIRST_LEAF))


@kernel
def _restart(pool: SharedBuffers, checkpoints: Checkpoints, backends: Backends) -> None:
    """Restarts the server: it ends the checkpoint that runs, makes a last one, and forgets cache and backends."""
    log.finish(checkpoints, pool)
    log.begin(checkpoints, pool)
    log.finish(checkpoints, pool)
    cache.clear(pool)
    backends.heap[:] = NONE
    backends.leaf[:] = NONE


@inlined
def _is_deep(branches: IndexLevel, row: int) -> bool:
    """Whether a branch page is on the way of a row to its leaf: whether an earlier row made the first one."""
    return len(branches.births) > 0 and bool(branches.births[0] < row)


@inlined
def _is_tall(branches: IndexLevel, row: int) -> bool:
    """Whether a page above the branch page is on the way too: whether an earlier row split the first one."""
    return len(branches.by_age) > 0 and bool(branches.births[branches.by_age[0]] < row)


@kernel
def _split(load: LoadState, row: int, goes_to: int, writer: int) -> None:
    """Enters a row that splits its leaf: uses the pages on the way to it, then splits it (`split_leaf`)."""
    pool, index, backends, counts = load.pool, load.tree, load.backends, load.counts
    leaves, branches = index.leaves, index.branches
    leaf = leaves.origins[leaves.by_age[leaves.state[SPLITS]]]
    if backends.leaf[writer] != NONE:
        counts[log.READ + cache.LEAF] += cache.use(pool, backends.leaf[writer])
        backends.leaf[writer] = NONE
    if _is_deep(branches, row):
        if _is_tall(branches, row):
            counts[log.READ + cache.BRANCH] += cache.use(pool, index.root)
        branch = index.first_branch + page_before(branches, index.parents[leaf], row)
        counts[log.READ + cache.BRANCH] += cache.use(pool, branch)
    counts[log.READ + cache.LEAF] += cache.use(pool, leaf)
    split_leaf(load, goes_to, row)


class RowChunk(NamedTuple):
    """Some rows that follow one another: (n,) each."""

    first: int
    """The number of the first row."""
    leaves: Places
    """The leaf into which each row goes."""
    writers: Writers
    """The writer that sends each row."""


@inlined
def _repeat(load: LoadState, sent: RowChunk, size: int, row: int, until: int, leaf: int, branch: int, root: int) -> int:
    """Enters at once the rows from `row` on, before `until`, that the writer of the row before sends to its `leaf` too.
    Returns their number. `branch`, `root`: the pages on the way to the leaf, each −1 if it is not on it or if nobody
    looks at it. `size`: bytes of a row's record."""
    pool, leaf_of_row, writers = load.pool, sent.leaves, sent.writers
    writer = writers[row - 1 - sent.first]
    # A page on the way that has left the cache must be read, which is no work for many rows at once.
    if (branch != NONE and pool.buffers[branch] == cache.NOWHERE) or (
        root != NONE and pool.buffers[root] == cache.NOWHERE
    ):
        return int64(0)
    # Up to the row whose record reaches the place of the log at which a checkpoint has something to do.
    in_log = int64((size + 7) & ~7)  # a record's bytes in the log, rounded up to a multiple of 8
    room = log.next_due(load.checkpoints, pool) - pool.state[cache.INSERTED]
    most = min(until - row, (room + in_log - 1) // in_log)
    n = int64(0)
    while n < most and leaf_of_row[row + n - sent.first] == leaf and writers[row + n - sent.first] == writer:
        n += 1
    if n == 0:
        return n
    inserted = pool.state[cache.INSERTED] + in_log * n
    if root != NONE:
        cache.use_again(pool, root, n)
    if branch != NONE:
        cache.use_again(pool, branch, n)
    cache.use_again(pool, leaf, n)
    load.tree.leaves.entries[leaf] += n
    pool.changed[leaf] = pool.state[cache.INSERTED] = inserted
    return n


@inlined
def _branch_above(index: HeapIndex, leaf: int, row: int, splits: int) -> int:
    """The branch page on the way of a row to its leaf, which may change with `splits`, those of branch pages so far."""
    ways = index.ways
    if ways[leaf, 1] != splits:
        ways[leaf, 0], ways[leaf, 1] = page_before(index.branches, index.parents[leaf], row), splits
    return index.first_branch + int64(ways[leaf, 0])


@inlined
def _is_calm(pool: SharedBuffers, leaf: int) -> bool:
    """Whether another use of a leaf, and of the pages on the way to it, changes nothing in the cache."""
    buffer = pool.buffers[leaf]
    return bool(buffer != cache.NOWHERE and pool.calm[buffer] == pool.state[cache.CALM])


@inlined
def _enter_calmly(
    load: LoadState, sent: RowChunk, row: int, until: int, writer: int, leaf: int, size: int
) -> tuple[int, int]:
    """Enters `row` into its leaf, which is calm, and the writer's next rows as long as theirs are: nothing but the log
    grows. Returns (the row behind the last one, the last one's leaf)."""
    pool, (first, leaf_of_row, writers) = load.pool, sent
    inserted, limit = pool.state[cache.INSERTED], log.next_due(load.checkpoints, pool)
    while True:
        inserted += (size + 7) & ~7
        pool.changed[leaf] = inserted
        load.tree.leaves.entries[leaf] += 1
        row += 1
        if row >= until or writers[row - first] != writer or inserted >= limit:
            break
        following = int64(leaf_of_row[row - first])
        if not _is_calm(pool, following):
            break
        leaf = following
    pool.state[cache.INSERTED] = inserted
    return row, leaf


@inlined
def _enter(load: LoadState, leaf: int, before: int, branch: int, root: int, size: int) -> None:
    """Enters a row into its leaf. `before`: the last leaf, if the writer's row before went there. `branch`, `root`: the
    pages on the way to the leaf. Any of the three may be −1. `size`: bytes of the record without a whole page."""
    pool, leaves, sizes, counts = load.pool, load.tree.leaves, load.sizes, load.counts
    last = leaves.state[LAST]
    if before != leaf or leaf != last:  # else the last leaf again, without a look at the pages above
        if before != NONE:
            counts[log.READ + cache.LEAF] += cache.use(pool, before)
        if root != NONE:
            counts[log.READ + cache.BRANCH] += cache.use(pool, root)
        if branch != NONE:
            counts[log.READ + cache.BRANCH] += cache.use(pool, branch)
    buffer = pool.buffers[leaf]
    if buffer == cache.NOWHERE:
        cache.bring(pool, leaf)
        counts[log.READ + cache.LEAF] += 1
    elif (
        cache.use_buffer(pool, buffer) == cache.MOST
        and (root == NONE or cache.has_highest_count(pool, root))
        and (branch == NONE or cache.has_highest_count(pool, branch))
    ):
        pool.calm[buffer] = pool.state[cache.CALM]  # all have the highest count: another use changes nothing
    leaves.entries[leaf] += 1
    if log.needs_image(pool, load.checkpoints, leaf):
        size += log.count_image(counts, log.leaf_image(sizes, leaves.entries[leaf], leaf == last)) - sizes.entry
    log.note_change(pool, leaf, log.append(pool, size))


@inlined
def _enter_rows(load: LoadState, sent: RowChunk, row: int, until: int, writer: int) -> int:
    """Enters a writer's rows, which split no leaf, into the index: `row` and those behind it, before `until` and before
    another writer's row. Returns the row behind the last one; the caller lets checkpoints go on after that one."""
    pool, checkpoints, index = load.pool, load.checkpoints, load.tree
    leaves, branches = index.leaves, index.branches
    first, leaf_of_row, writers = sent
    # What stays the same for all rows, as no page splits; and the last leaf, if the writer's row before went there.
    deep, tall, last = _is_deep(branches, row), _is_tall(branches, row), int64(leaves.state[LAST])
    root = int64(index.root) if tall else int64(NONE)
    size, splits = log.INSERT + load.sizes.entry, branches.state[SPLITS]
    before = int64(load.backends.leaf[writer])
    while True:
        # What a later row needs is fetched meanwhile.
        if row + _AHEAD < until:
            ahead = leaf_of_row[row + _AHEAD - first]
            prefetch(pool.of_pages, ahead)
            prefetch(leaves.entries, ahead)
            if deep:
                prefetch(index.ways, ahead)
        # Either this row and those behind it change nothing in the cache, or it is entered with all that it uses.
        leaf = int64(leaf_of_row[row - first])
        if _is_calm(pool, leaf) and (before == NONE or _is_calm(pool, before)):
            row, leaf = _enter_calmly(load, sent, row, until, writer, leaf, size)
            before = leaf if tall and leaf == last else int64(NONE)
        else:
            branch = _branch_above(index, leaf, row, splits) if deep else int64(NONE)
            _enter(load, leaf, before, branch, root, size)
            before = leaf if tall and leaf == last else int64(NONE)
            row += 1
            if row < until and leaf_of_row[row - first] == leaf:  # the next rows go to the same leaf
                above, top = branch, root
                if before != NONE:  # to the last one, without a look at the pages above
                    above = top = int64(NONE)
                row += _repeat(load, sent, size, row, until, leaf, above, top)
        if row >= until or writers[row - first] != writer:
            break
        if log.is_due(checkpoints, pool):
            log.go_on(checkpoints, pool)
    load.backends.leaf[writer] = before
    return row


@kernel
def insert(load: LoadState, work: Work, sent: RowChunk, ends: Integers, out: NDArray[np.int64]) -> None:
    """Enters the rows of a chunk into heap and index. `ends`: rows before which each part of the load ends. `out`:
    (parts, FIELDS), gets the totals at the end of each part that ends in the chunk."""
    pool, checkpoints, index, backends, counts = load.pool, load.checkpoints, load.tree, load.backends, load.counts
    leaves, (first, leaf_of_row, writers) = index.leaves, sent
    restart, flush_rows = work.restart, work.flush_rows
    part = part_of(ends, first)
    row, end = first, first + len(leaf_of_row)
    while row < end:
        writer = int64(writers[row - first])
        if row == restart:
            _restart(pool, checkpoints, backends)
        # 1. The writer's next rows go to the heap together.
        if backends.in_batch[writer] == 0:
            if backends.in_tx[writer] == 0:
                begin_copy(backends, writer)
            unsent = backends.rows[writer] - backends.done[writer]
            n = min(work.batch_rows, work.rows_per_tx - backends.in_tx[writer], unsent)
            to_heap(load, work.heap_rows, writer, n, work.rows_per_tx > 1)
            backends.in_batch[writer] = n
        # 2. Then into the index: a row that splits its leaf, or all rows up to the next event.
        begin_row, splits = row, leaves.state[SPLITS]
        splits_at = leaves.births[leaves.by_age[splits]] if splits < len(leaves.by_age) else end
        if splits_at == row:
            _split(load, row, int64(leaf_of_row[row - first]), writer)
            row += 1
        else:
            until = min(end, ends[part], splits_at, row + backends.in_batch[writer])
            if restart > row:
                until = min(until, restart)
            if flush_rows:  # the log is written after each row whose number is a multiple
                next_multiple = (row + flush_rows - 1) // flush_rows * flush_rows
                until = min(until, next_multiple + 1)
            row = _enter_rows(load, sent, row, until, writer)
        # 3. What the writer has sent counts; the log is written at a commit, and where `flush_rows` says so.
        backends.done[writer] += row - begin_row
        backends.in_tx[writer] += row - begin_row
        backends.in_batch[writer] -= row - begin_row
        if backends.in_tx[writer] == work.rows_per_tx or backends.done[writer] == backends.rows[writer]:
            backends.in_tx[writer] = 0
            pool.state[cache.FLUSHED] = log.append(pool, log.COMMIT)
        elif flush_rows and (row - 1) % flush_rows == 0:
            pool.state[cache.FLUSHED] = pool.state[cache.INSERTED]
        if log.is_due(checkpoints, pool):
            log.go_on(checkpoints, pool)
        # 4. The totals, where a part ends.
        while part < len(ends) and row == ends[part]:  # parts without rows end there too
            for field in range(len(counts)):  # one by one: numba takes 3 s to compile the assignment of an array
                out[part, field] = counts[field]
            for kind in range(3):
                out[part, log.WRITTEN + kind] = pool.written[kind]
            out[part, log.BYTES] = pool.state[cache.INSERTED]
            out[part, log.CHECKPOINTS] = checkpoints.state[log.BEGUN]
            part += 1


_MAX_WAL_SIZE = 4 << 30
"""On servers that keybench starts (databases/postgresql/settings.py)."""


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
        counts = count_costs(self, load, server, limits_of(server, load.rows_per_tx, self.heap_rows))
        return LoadCost(
            Pages(*counts[log.READ : log.READ + 3]),
            Pages(*counts[log.WRITTEN : log.WRITTEN + 3]),
            Log(counts[log.BYTES], counts[log.IMAGES], counts[log.IMAGE_BYTES], counts[log.CHECKPOINTS]),
        )


def count_costs(model: HeapIndexModel, load: Load, server: Server, limits: Limits) -> Counts:
    """(FIELDS, parts): what a load costs in each part, by the fields of `log`."""
    n, ends = len(load.ranks), np.asarray(load.ends, np.int64)
    writers = np.zeros(n, np.int16) if load.writers is None else load.writers
    tree, level, index_places = index_before_load(load.ranks, model.leaf, model.branch)
    rows = np.array([n]) if load.writers is None else np.bincount(writers)  # of each writer
    pages = tree.first_heap + n // model.heap_rows + 1 + len(rows)  # each writer's last heap page may stay unfilled
    pool = cache.new(limits.buffers, pages, tree.first_branch, tree.first_heap)
    # Checkpoints write in the order of the files; the table's file is older than the index's.
    file_places = np.concatenate([index_places + pages, np.arange(pages - tree.first_heap)])
    begin_bytes = log.usable(server.log_position)
    pool.state[cache.INSERTED] = pool.state[cache.FLUSHED] = begin_bytes
    distance = server.checkpoint_bytes or _MAX_WAL_SIZE
    state = LoadState(
        pool=pool,
        checkpoints=log.new(file_places, limits.buffers, distance, server.durable, begin_bytes, limits.segment),
        tree=tree,
        backends=Backends.new(rows, pages - tree.first_heap, limits.ring),
        sizes=model.log_sizes,
        counts=np.zeros(log.FIELDS, np.int64),
    )
    work = Work(
        heap_rows=model.heap_rows,
        rows_per_tx=load.rows_per_tx,
        batch_rows=min(load.rows_per_tx, model.copy_rows),
        restart=NONE if load.restart is None else load.restart,
        flush_rows=limits.flush_rows,
    )
    totals = np.zeros((len(ends), log.FIELDS), np.int64)
    totals[:, log.BYTES] = begin_bytes  # of parts without rows
    begin(pool)
    for first, leaves in leaves_touched(level):
        insert(state, work, RowChunk(first, leaves, writers[first : first + len(leaves)]), ends, totals)
    totals[:, log.BYTES] = log.places(totals[:, log.BYTES])
    start = np.zeros(log.FIELDS, np.int64)
    start[log.BYTES] = log.places(np.array([begin_bytes]))[0]
    return np.diff(totals, axis=0, prepend=start[None]).T  # of each part alone
