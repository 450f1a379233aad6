"""SQL Server's buffer pool, in the two ways in which its rule is published (docs/internals/mssql.md).

`counters`: each use adds 1 to a buffer's counter. A worker that needs a buffer goes on through the pool, divides the
counters by 4 and takes the first buffer whose counter has become 0 ("Freeing and writing buffer pages", SQL Server
2000). `lru-2`: it looks at the next 64 buffers and takes the one whose last use but one is longest ago ("LRU-K" with
K = 2, as books about later versions say; when a page was used only once, that is before all others).

A dirty page is written before its buffer is taken, and all dirty pages are written by a checkpoint.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import inlined, int64, kernel
from keybench.pagemodels.costs.page_touches import CHANGED, FLAGS, FRESH
from keybench.pagemodels.memory import uncounted

Integers = NDArray[np.int64]

NOWHERE = -1
NEVER = -1
COUNTERS, LRU_2 = range(2)
_SECTION = 64
_DIVISOR = 4
LEAF, BRANCH, TABLE = range(3)
WRITTEN, CHECKPOINTS = 3, 6
COLUMNS = 7
"""Columns of `costs`: pages of each kind that are read; those that are written, from `WRITTEN` on; checkpoints."""
_HAND, _TAKEN, _NOW, _NEXT = range(4)


class Pool(NamedTuple):
    """So many buffers, and where each page is."""

    buffers: NDArray[np.int32]
    """(pages,): the buffer of each page; −1 if it is in none."""
    pages: NDArray[np.int32]
    """(buffers,): the page in each buffer."""
    last: Integers
    """(buffers,): the counter; or when it was used last."""
    before: Integers
    """(buffers,): when it was used before that; −1 for never."""
    dirty: NDArray[np.bool_]
    """(buffers,)"""
    state: Integers
    """(4,): the hand's place; buffers that were ever taken; rows so far; log at which the next checkpoint is due."""
    rule: int
    first_branch: int
    first_table: int


def new(buffers: int, pages: int, rule: int, first_branch: int, first_table: int, checkpoint_bytes: int) -> Pool:
    """An empty pool for pages 0 … `pages` − 1. `checkpoint_bytes`: of log between checkpoints, 0 for none at all."""
    return Pool(
        np.full(pages, NOWHERE, np.int32),
        np.full(buffers, NOWHERE, np.int32),
        np.zeros(buffers, np.int64),
        np.full(buffers, NEVER, np.int64),
        np.zeros(buffers, np.bool_),
        np.array([0, 0, 0, checkpoint_bytes or np.iinfo(np.int64).max]),
        rule,
        first_branch,
        first_table,
    )


@inlined
def _kind(pool: Pool, page: int) -> int:
    return int(LEAF if page < pool.first_branch else BRANCH if page < pool.first_table else TABLE)


@kernel
def _free(pool: Pool) -> int:
    """A buffer whose page can go."""
    last, before, state = pool.last, pool.before, pool.state
    hand, n = state[_HAND], len(pool.pages)
    if pool.rule == COUNTERS:
        while True:
            last[hand] //= _DIVISOR
            chosen = hand
            hand = hand + 1 if hand + 1 < n else 0
            if last[chosen] == 0:
                break
    else:
        chosen = hand
        for _ in range(_SECTION):
            if before[hand] < before[chosen] or (before[hand] == before[chosen] and last[hand] < last[chosen]):
                chosen = hand
            hand = hand + 1 if hand + 1 < n else 0
    state[_HAND] = hand
    return int(chosen)


@kernel
def _bring(pool: Pool, page: int, cost: Integers) -> int:
    """Puts a page into a buffer. Returns the buffer."""
    if pool.state[_TAKEN] < len(pool.pages):
        buffer = pool.state[_TAKEN]
        pool.state[_TAKEN] += 1
    else:
        buffer = _free(pool)
        old = pool.pages[buffer]
        if pool.dirty[buffer]:
            cost[WRITTEN + _kind(pool, old)] += 1
        pool.buffers[old] = NOWHERE
    pool.pages[buffer], pool.buffers[page] = page, buffer
    pool.last[buffer], pool.before[buffer], pool.dirty[buffer] = 0, NEVER, False
    return int(buffer)


@kernel
def _checkpoint(pool: Pool, cost: Integers) -> None:
    for buffer in range(pool.state[_TAKEN]):
        if pool.dirty[buffer]:
            cost[WRITTEN + _kind(pool, pool.pages[buffer])] += 1
            pool.dirty[buffer] = False
    cost[CHECKPOINTS] += 1


@kernel
def use(
    pool: Pool, ends: Integers, touches: Integers, parts: Integers, log: Integers, distance: int, costs: Integers
) -> None:
    """Some more rows: what they touch (`page_touches.Touches`), the part of the load of each, and the log after it."""
    pool = uncounted(pool)
    at = 0
    for row in range(len(ends)):
        cost = costs[parts[row]]
        pool.state[_NOW] += 1
        while at < ends[row]:
            page, flags = touches[at] >> FLAGS, touches[at]
            at += 1
            buffer = int64(pool.buffers[page])
            if buffer == NOWHERE:
                buffer = _bring(pool, page, cost)
                if not flags & FRESH:
                    cost[_kind(pool, page)] += 1
            if pool.rule == COUNTERS:
                pool.last[buffer] += 1
            elif pool.last[buffer] < pool.state[_NOW]:  # once a row
                if pool.last[buffer] > 0:
                    pool.before[buffer] = pool.last[buffer]
                pool.last[buffer] = pool.state[_NOW]
            if flags & CHANGED:
                pool.dirty[buffer] = True
        if log[row] >= pool.state[_NEXT]:
            _checkpoint(pool, cost)
            pool.state[_NEXT] += distance
