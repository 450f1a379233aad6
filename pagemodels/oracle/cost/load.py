"""What a load costs Oracle: blocks read, of an index and the heap beneath it, or of an index-organised table.

Redo is not known: no published source that we found gives the lengths of all vectors of an index entry and of its undo.
So blocks written are not known either: checkpoints follow the redo. Undo blocks are new, and not read. Cleaning out a
block costs no read of its own: it is done when the block is used next.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keybench.pagemodels.costs.contract import Load, LoadCost, Pages, Server
from keybench.pagemodels.costs.page_touches import looked_up, refuse_restart, touches
from keybench.pagemodels.half_split.stateful import StatefulSplitModel
from keybench.pagemodels.oracle.cost.touch_counts import NOWHERE, new, use

PAGE_SIZE = 8192


@dataclass(frozen=True, kw_only=True)
class CostModel(StatefulSplitModel):
    """An index of Oracle with the buffer cache behind it; a `PredictsCost`."""

    heap_rows: int
    """Rows that fit a block of the heap beneath the index; 0 for an index-organised table."""
    rows_apart: int
    """Rows that arrive in 3 seconds, in which a block's touches count once."""
    page_bytes: int = PAGE_SIZE

    def load_cost(self, load: Load, server: Server) -> LoadCost:
        """Blocks read into the buffer cache."""
        refuse_restart(load)
        buffers, ends = server.pages(PAGE_SIZE), np.asarray(load.ends, np.int64)
        level, index, stream = touches(load.ranks, self.leaf, self.branch, self.heap_rows, ends)
        apart = max(1, int(self.rows_apart * server.share))
        cache = new(buffers, index.pages, index.first_branch, index.first_table, apart)
        costs = np.zeros((len(ends), 3), np.int64)
        for some in stream:
            use(cache, some.rows, some.ends, some.touches, ends, costs)
        after = looked_up(level, index, load.ranks, cache.buffers != NOWHERE) if load.look_ups else None
        return LoadCost(Pages(*costs.T), look_ups=after)
