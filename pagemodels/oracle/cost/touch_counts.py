"""Oracle's buffer cache by touch counts (docs/internals/oracle.md): a list with a hot and a cold half.

A block that is read comes in at the middle, at the hot end of the cold half, with a touch count of 1. A touch adds 1,
but only once in 3 seconds (`_db_aging_touch_time`), and moves nothing. A buffer is sought from the cold end: one with a
count of 2 or more (`_db_aging_hot_criteria`) goes to the hot end with the count 0 (`_db_aging_stay_count`); the first
other one is taken. A buffer that this pushes out of the hot half, which is 50 % (`_db_percent_hot_default`), gets the
count 1 (`_db_aging_cool_count`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import inlined, int64, kernel
from keybench.pagemodels.costs.page_touches import FLAGS, FRESH
from keybench.pagemodels.costs.touches import part_of
from keybench.pagemodels.memory import uncounted

Integers = NDArray[np.int64]
Places = NDArray[np.int32]

NOWHERE = -1
_HOT_COUNT, _STAY_COUNT, _COOL_COUNT = 2, 0, 1
LEAF, BRANCH, TABLE = range(3)
_MIDDLE, _TAKEN, _HOT, _ROW = range(4)


class Cache(NamedTuple):
    """So many buffers in a ring: behind the head, which is no buffer, comes the hot end, before it the cold end."""

    buffers: Places
    """(pages,): the buffer of each block; −1 if it is in none."""
    pages: Places
    """(buffers,): the block in each buffer."""
    hotter: Places
    """(buffers + 1,): the buffer on the hot side; the last element is the head."""
    colder: Places
    """(buffers + 1,): the buffer on the cold side."""
    counts: Integers
    """(buffers,): touch counts."""
    touched: Integers
    """(buffers,): the row of the last touch that counted."""
    hot: NDArray[np.bool_]
    """(buffers,): whether it is in the hot half."""
    state: Integers
    """(4,): the first buffer of the cold half, or the head if there is none; buffers that were ever taken; those in the
    hot half; rows so far."""
    first_branch: int
    first_table: int
    rows_apart: int
    """Rows that arrive while a block's touches count once."""


def new(buffers: int, pages: int, first_branch: int, first_table: int, rows_apart: int) -> Cache:
    """An empty cache for blocks 0 … `pages` − 1."""
    ring = np.full(buffers + 1, buffers, np.int32)
    return Cache(
        np.full(pages, NOWHERE, np.int32),
        np.full(buffers, NOWHERE, np.int32),
        ring,
        ring.copy(),
        np.zeros(buffers, np.int64),
        np.zeros(buffers, np.int64),
        np.zeros(buffers, np.bool_),
        np.array([buffers, 0, 0, 0]),
        first_branch,
        first_table,
        rows_apart,
    )


@inlined
def _put_in(cache: Cache, buffer: int, behind: int) -> None:
    """Puts a buffer into the ring on the cold side of another one."""
    colder = cache.colder[behind]
    cache.hotter[buffer], cache.colder[buffer] = behind, colder
    cache.hotter[colder] = cache.colder[behind] = buffer


@inlined
def _take_out(cache: Cache, buffer: int) -> None:
    state = cache.state
    if state[_MIDDLE] == buffer:
        state[_MIDDLE] = cache.colder[buffer]
    hotter, colder = cache.hotter[buffer], cache.colder[buffer]
    cache.colder[hotter], cache.hotter[colder] = colder, hotter


@inlined
def _free(cache: Cache) -> int:
    """A buffer whose block can go, taken out of the ring."""
    state, head = cache.state, len(cache.pages)
    while True:
        buffer = int64(cache.hotter[head])  # the cold end
        _take_out(cache, buffer)
        if cache.counts[buffer] < _HOT_COUNT:
            if cache.hot[buffer]:
                state[_HOT] -= 1
            return buffer
        _put_in(cache, buffer, head)
        cache.counts[buffer] = _STAY_COUNT
        if not cache.hot[buffer]:
            cache.hot[buffer] = True
            state[_HOT] += 1
        if state[_HOT] > head // 2:
            cooled = cache.hotter[state[_MIDDLE]]
            cache.hot[cooled] = False
            cache.counts[cooled] = _COOL_COUNT
            state[_MIDDLE] = cooled
            state[_HOT] -= 1


@inlined
def _bring(cache: Cache, page: int) -> int:
    """Puts a block into a buffer. Returns the buffer."""
    state = cache.state
    if state[_TAKEN] < len(cache.pages):
        buffer = state[_TAKEN]
        state[_TAKEN] += 1
    else:
        buffer = _free(cache)
        cache.buffers[cache.pages[buffer]] = NOWHERE
    _put_in(cache, buffer, cache.hotter[state[_MIDDLE]])
    state[_MIDDLE] = buffer
    cache.pages[buffer], cache.buffers[page] = page, buffer
    cache.counts[buffer], cache.touched[buffer], cache.hot[buffer] = 1, state[_ROW], False
    return int(buffer)


@kernel
def use(cache: Cache, rows: Places, ends: Places, touches: Places, parts: Integers, costs: Integers) -> None:
    """Some more rows: what they touch (`page_touches.Touches`). `parts`: rows after which each part of the load ends;
    reads are added to `costs`, (parts, 3) by kind."""
    cache = uncounted(cache)
    state, begin = cache.state, 0
    part = part_of(parts, state[_ROW])
    for run in range(len(rows)):
        left = rows[run]
        while left > 0:
            # Rows that touch what the last one touched, if all of it is there, do at once what they do one by one.
            together = left if left < rows[run] else 1
            for at in range(begin, ends[run] if together > 1 else begin):
                if cache.buffers[touches[at] >> FLAGS] == NOWHERE:
                    together = 1
            state[_ROW] += together
            left -= together
            for at in range(begin, ends[run]):
                page = touches[at] >> FLAGS
                buffer = int64(cache.buffers[page])
                if buffer == NOWHERE:
                    _bring(cache, page)
                    if not touches[at] & FRESH:
                        kind = LEAF if page < cache.first_branch else BRANCH if page < cache.first_table else TABLE
                        costs[part, kind] += 1
                elif state[_ROW] - cache.touched[buffer] >= cache.rows_apart:
                    counted = (state[_ROW] - cache.touched[buffer]) // cache.rows_apart if together > 1 else int64(1)
                    cache.counts[buffer] += counted
                    cache.touched[buffer] += (
                        counted * cache.rows_apart if together > 1 else state[_ROW] - cache.touched[buffer]
                    )
        while part < len(parts) and parts[part] <= state[_ROW]:
            part += 1
        begin = ends[run]
