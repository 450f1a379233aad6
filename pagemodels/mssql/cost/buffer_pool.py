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
from keybench.pagemodels.costs.touches import part_of
from keybench.pagemodels.memory import uncounted

Integers = NDArray[np.int64]
Places = NDArray[np.int32]

NOWHERE = -1
NEVER = -1
COUNTERS, LRU_2 = range(2)
_SECTION = 64
_DIVISOR_BITS = 2
LEAF, BRANCH, TABLE = range(3)
WRITTEN, CHECKPOINTS, LOG = 3, 6, 7
COLUMNS = 8
"""Columns of `costs`: pages of each kind that are read; those that are written, from `WRITTEN` on; checkpoints; log."""
_HAND, _TAKEN, _NOW, _NEXT = range(4)
_ROW, _WRITTEN, _SPLIT = range(3)


class Records(NamedTuple):
    """What rows write to the log."""

    splits: Integers
    """(splits, 2): the rows that split a page, ascending, and bytes for that."""
    row: int
    """Bytes of a row."""
    transaction: int
    """Bytes of a transaction beside its rows."""
    rows_per_tx: int
    state: Integers
    """(3,): rows so far, bytes so far, and splits so far."""

    @staticmethod
    def new(splits: Integers, row: int, transaction: int, rows_per_tx: int) -> Records:
        """Before the first row."""
        return Records(splits, row, transaction, rows_per_tx, np.zeros(3, np.int64))


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


@inlined
def _free(pool: Pool) -> int:
    """A buffer whose page can go."""
    last, before, state = pool.last, pool.before, pool.state
    hand, n = state[_HAND], len(pool.pages)
    if pool.rule == COUNTERS:
        while True:
            chosen, count = hand, last[hand] >> _DIVISOR_BITS
            last[hand] = count
            hand = hand + 1 if hand + 1 < n else 0
            if count == 0:
                break
    else:
        chosen = hand
        for _ in range(_SECTION):
            if before[hand] < before[chosen] or (before[hand] == before[chosen] and last[hand] < last[chosen]):
                chosen = hand
            hand = hand + 1 if hand + 1 < n else 0
    state[_HAND] = hand
    return int(chosen)


@inlined
def _bring(pool: Pool, page: int, costs: Integers, part: int) -> int:
    """Puts a page into a buffer. Returns the buffer."""
    if pool.state[_TAKEN] < len(pool.pages):
        buffer = pool.state[_TAKEN]
        pool.state[_TAKEN] += 1
    else:
        buffer = _free(pool)
        old = pool.pages[buffer]
        if pool.dirty[buffer]:
            costs[part, WRITTEN + _kind(pool, old)] += 1
        pool.buffers[old] = NOWHERE
    pool.pages[buffer], pool.buffers[page] = page, buffer
    pool.last[buffer], pool.before[buffer], pool.dirty[buffer] = 0, NEVER, False
    return int(buffer)


@kernel
def _checkpoint(pool: Pool, costs: Integers, part: int) -> None:
    for buffer in range(pool.state[_TAKEN]):
        if pool.dirty[buffer]:
            costs[part, WRITTEN + _kind(pool, pool.pages[buffer])] += 1
            pool.dirty[buffer] = False
    costs[part, CHECKPOINTS] += 1


@inlined
def _use_once(pool: Pool, begin: int, end: int, touches: Places, costs: Integers, part: int) -> None:
    """The next row, which touches these pages."""
    pool.state[_NOW] += 1
    for at in range(begin, end):
        page, flags = touches[at] >> FLAGS, touches[at]
        buffer = int64(pool.buffers[page])
        if buffer == NOWHERE:
            buffer = _bring(pool, page, costs, part)
            if not flags & FRESH:
                costs[part, _kind(pool, page)] += 1
        if pool.rule == COUNTERS:
            pool.last[buffer] += 1
        elif pool.last[buffer] < pool.state[_NOW]:  # once a row
            if pool.last[buffer] > 0:
                pool.before[buffer] = pool.last[buffer]
            pool.last[buffer] = pool.state[_NOW]
        if flags & CHANGED:
            pool.dirty[buffer] = True


@inlined
def _use_again(pool: Pool, begin: int, end: int, touches: Places, rows: int) -> None:
    """So many more rows, which touch the same pages as the last one; all of them are in buffers."""
    pool.state[_NOW] += rows
    for at in range(begin, end):
        buffer = pool.buffers[touches[at] >> FLAGS]
        if pool.rule == COUNTERS:
            pool.last[buffer] += rows
        else:
            pool.before[buffer], pool.last[buffer] = pool.state[_NOW] - 1, pool.state[_NOW]
        if touches[at] & CHANGED:
            pool.dirty[buffer] = True


@inlined
def _all_there(pool: Pool, begin: int, end: int, touches: Places) -> bool:
    there = True
    for at in range(begin, end):
        there &= pool.buffers[touches[at] >> FLAGS] != NOWHERE
    return there


@kernel
def use(
    pool: Pool,
    rows: Places,
    ends: Places,
    touches: Places,
    parts: Integers,
    log: Records,
    distance: int,
    costs: Integers,
) -> None:
    """Some more rows: what they touch (`page_touches.Touches`). `parts`: rows after which each part of the load ends;
    `distance`: of checkpoints in the log, 0 for none. What each part costs is added to `costs`, (parts, COLUMNS)."""
    pool, log = uncounted(pool), uncounted(log)
    begin, row, written, split = int64(0), log.state[_ROW], log.state[_WRITTEN], log.state[_SPLIT]
    part = part_of(parts, row)
    transaction = -(-row // log.rows_per_tx) * log.rows_per_tx  # the first row of the next one
    for run in range(len(rows)):
        end, left, again = int64(ends[run]), int64(rows[run]), False
        while left > 0:
            together = left if again and _all_there(pool, begin, end, touches) else int64(1)
            if distance and written + together * (log.row + log.transaction) >= pool.state[_NEXT]:
                together = int64(1)
            if together > 1:
                _use_again(pool, begin, end, touches, together)
            else:
                _use_once(pool, begin, end, touches, costs, part)
            size = together * log.row
            if split < len(log.splits) and log.splits[split, 0] == row:
                size += log.splits[split, 1]
                split += 1
            row += together
            left -= together
            while transaction < row:
                size += log.transaction
                transaction += log.rows_per_tx
            written += size
            costs[part, LOG] += size
            again = True
            if written >= pool.state[_NEXT]:
                _checkpoint(pool, costs, part)
                pool.state[_NEXT] += distance
        while part < len(parts) and parts[part] <= row:
            part += 1
        begin = end
    log.state[_ROW], log.state[_WRITTEN], log.state[_SPLIT] = row, written, split
