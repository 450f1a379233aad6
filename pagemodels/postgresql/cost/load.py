"""What a load by COPY, or by INSERT of one row a transaction, costs PostgreSQL: pages read and written, and log, of an
index on a heap.

COPY adds up to 1,000 rows or 64 kB of text at a time to the heap (heap_multi_insert), then enters them into the index
one after another (copyfrom.c). An entry's way to its leaf leads through the branch pages, except to the last leaf if
the writer's row before went there too (nbtinsert.c, _bt_search_insert). A split also changes the right neighbour,
whose link leads back, and the branch page above. Each writer has its own page of the heap that is not full yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from keybench.pagemodels.costs.contract import Counts, Load, LoadCost, Log, Pages, Server
from keybench.pagemodels.costs.touches import NONE, leaves_touched
from keybench.pagemodels.half_split.model import SplitModel
from keybench.pagemodels.postgresql.cost import checkpoints, clock_sweep
from keybench.pagemodels.postgresql.cost.checkpoints import (
    BYTES,
    CHECKPOINTS,
    FIELDS,
    IMAGE_BYTES,
    IMAGES,
    READ,
    WRITTEN,
)
from keybench.pagemodels.postgresql.cost.heap import Backends
from keybench.pagemodels.postgresql.cost.log_records import LogSizes
from keybench.pagemodels.postgresql.cost.rows import begin, insert
from keybench.pagemodels.postgresql.cost.trees import index
from keybench.pagemodels.postgresql.records import PAGE_BYTES

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
        log = Log(counts[BYTES], counts[IMAGES], counts[IMAGE_BYTES], counts[CHECKPOINTS])
        return LoadCost(Pages(*counts[READ : READ + 3]), Pages(*counts[WRITTEN : WRITTEN + 3]), log)


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
    """Of a server. UsageError for a cache of fewer than 100 pages.

    Transactions of a sample hold as many rows as those of the whole table. So the log is also written in between, and
    the ring is that of the whole unless a COPY uses all of it.
    """
    buffers, share = server.pages(PAGE_BYTES), server.share
    ring = max(1, min(server.cache_bytes // PAGE_BYTES // 8, _RING // PAGE_BYTES))
    if rows_per_tx // heap_rows >= ring:
        ring = max(1, int(ring * share))
    return Limits(buffers, ring, int(checkpoints.USABLE * share), 0 if share == 1 else max(1, int(rows_per_tx * share)))


def counted(model: HeapIndexModel, load: Load, server: Server, limits: Limits) -> Counts:
    """(FIELDS, parts): what was counted in each part."""
    n, ends = len(load.ranks), np.asarray(load.ends, np.int64)
    writers = np.zeros(n, np.int16) if load.writers is None else load.writers
    own, level, files = index(load.ranks, model.leaf, model.branch)
    rows = np.array([n]) if load.writers is None else np.bincount(writers)
    pages = own.first_heap + n // model.heap_rows + 1 + len(rows)
    pool = clock_sweep.new(limits.buffers, pages, own.first_branch, own.first_heap)
    heap_first = np.concatenate([files + pages, np.arange(pages - own.first_heap)])  # the table's file is older
    at = checkpoints.usable(server.log_position)
    pool.state[clock_sweep.INSERTED] = pool.state[clock_sweep.FLUSHED] = at
    distance = server.checkpoint_bytes or _MAX_WAL_SIZE
    kept = checkpoints.new(heap_first, limits.buffers, distance, server.durable, at, limits.segment)
    backends = Backends.new(rows, pages - own.first_heap, limits.ring)
    batch = min(load.rows_per_tx, model.copy_rows)
    restart = NONE if load.restart is None else load.restart
    work = np.array([model.heap_rows, load.rows_per_tx, batch, restart, limits.flush_rows], np.int64)
    counts, out = np.zeros(FIELDS, np.int64), np.zeros((len(ends), FIELDS), np.int64)
    out[:, BYTES] = at  # of parts without rows
    begin(pool)
    for first, leaves in leaves_touched(level):
        sent_by = writers[first : first + len(leaves)]
        insert(pool, kept, own, backends, model.log_sizes, work, first, leaves, sent_by, ends, counts, out)
    out[:, BYTES] = checkpoints.places(out[:, BYTES])
    start = np.zeros(FIELDS, np.int64)
    start[BYTES] = checkpoints.places(np.array([at]))[0]
    return np.diff(out, axis=0, prepend=start[None]).T
