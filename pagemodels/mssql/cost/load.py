"""What a load costs SQL Server: an index, and the heap or the ascending clustered index beneath it.

The log's sizes follow from what P. Randal measured of single insertions with sys.dm_tran_database_transactions ("How
expensive are page splits in terms of transaction log?"): rows of 21, 111 and 1,011 bytes gave 240, 328 and 1,228 bytes
with the beginning of their transaction, whose record has 124 bytes. So an insertion's record has 93 bytes more than the
row and is rounded up to a multiple of 4. A split in the middle added 5,596 and 5,496 bytes where some 36 and 4 rows
were moved: 4 bytes for each row that is moved, its bytes, and 1,436 for all that is changed once. These two figures
gave the constants; they confirm nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keybench.pagemodels.costs.contract import Load, LoadCost, Log, Pages, Server
from keybench.pagemodels.costs.page_touches import looked_up, refuse_restart, touches
from keybench.pagemodels.half_split.kernel import APPEND
from keybench.pagemodels.half_split.stateful import StatefulSplitModel
from keybench.pagemodels.mssql.cost.buffer_pool import (
    CHECKPOINTS,
    COLUMNS,
    COUNTERS,
    LOG,
    LRU_2,
    NOWHERE,
    WRITTEN,
    Records,
    new,
    use,
)

Integers = NDArray[np.int64]

PAGE_SIZE = 8192
REPLACEMENTS = {"counters": COUNTERS, "lru-2": LRU_2}
_BEGIN, _COMMIT = 124, 52
"""LOP_BEGIN_XACT and LOP_COMMIT_XACT, as published listings of fn_dblog show them."""
_INSERT = 93
_SPLIT, _MOVED = 1436, 4


def insert_bytes(row: int) -> int:
    """Log of a row of so many bytes that finds room (LOP_INSERT_ROWS)."""
    return -(-(row + _INSERT) // 4) * 4


def split_bytes(row: int, moved: int) -> int:
    """Log of a split that moves so many rows, without the row that makes it."""
    return _SPLIT + moved * (row + _MOVED)


@dataclass(frozen=True, kw_only=True)
class CostModel(StatefulSplitModel):
    """An index of SQL Server with the buffer pool and the log behind it; a `PredictsCost`."""

    row: int
    """Bytes of a row of a leaf."""
    beneath: tuple[int, int] = (0, 0)
    """Rows that fit a page of the table beneath a nonclustered index, and bytes of one; (0, 0) for a clustered one."""
    replacement: str = "counters"
    """Which of the published rules the buffer pool follows: a key of `REPLACEMENTS`."""
    page_bytes: int = PAGE_SIZE

    def load_cost(self, load: Load, server: Server) -> LoadCost:
        """Pages read and log; pages written only if the log between two checkpoints is given.

        Without it checkpoints depend on time (target recovery time, 60 s), which a model does not know.
        """
        refuse_restart(load)
        buffers, ends = server.pages(PAGE_SIZE), np.asarray(load.ends, np.int64)
        level, index, stream = touches(load.ranks, self.leaf, self.branch, self.beneath[0], ends)
        distance = int((server.checkpoint_bytes or 0) * server.share)
        pool = new(
            buffers, index.pages, REPLACEMENTS[self.replacement], index.first_branch, index.first_table, distance
        )
        costs = np.zeros((len(ends), COLUMNS), np.int64)
        of_rows = insert_bytes(self.row) + (insert_bytes(self.beneath[1]) if self.beneath[0] else 0)
        log = Records.new(_splits(self, level.births, level.kinds), of_rows, _BEGIN + _COMMIT, load.rows_per_tx)
        for some in stream:
            use(pool, some.rows, some.ends, some.touches, ends, log, distance, costs)
        columns = costs.T
        return LoadCost(
            Pages(*columns[:3]),
            Pages(*columns[WRITTEN : WRITTEN + 3]) if distance else None,
            Log(columns[LOG], None, None, columns[CHECKPOINTS]),
            looked_up(level, index, load.ranks, pool.buffers != NOWHERE) if load.look_ups else None,
        )


def _splits(model: CostModel, births: Integers, kinds: NDArray[np.int8]) -> Integers:
    """(splits, 2): the row that makes each new leaf, ascending, and the log of that split."""
    made = births >= 0
    moved = np.where(kinds[made] == APPEND, 0, model.leaf.room + 1 - model.leaf.keep_interior)
    order = np.argsort(births[made], kind="stable")
    return np.stack([births[made][order], (_SPLIT + moved * (model.row + _MOVED))[order]], axis=1)
