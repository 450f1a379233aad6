"""PostgreSQL's shared buffers: the clock sweep of freelist.c and bufmgr.c.

A buffer that is used gets a higher usage count, up to 5; one that a bulk load's ring uses never more than 1. A page
that is not there takes a buffer that was never used, else the first one with the count 0 that the hand comes upon. The
hand takes 1 from the count of each buffer that it passes (StrategyGetBuffer, PinBuffer).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel

NOWHERE = -1
MOST = 5
"""BM_MAX_USAGE_COUNT (buf_internals.h)."""
HAND, TAKEN = range(2)


class Pool(NamedTuple):
    """So many buffers, and where each page is."""

    buffers: NDArray[np.int32]
    """(pages,): the buffer of each page; −1 if it is in none."""
    pages: NDArray[np.int32]
    """(buffers,): the page in each buffer."""
    counts: NDArray[np.int8]
    """(buffers,): usage counts."""
    state: NDArray[np.int64]
    """(2,): the hand's place; buffers that were ever taken."""


def new(buffers: int, pages: int) -> Pool:
    """An empty pool for pages 0 … `pages` − 1."""
    return Pool(
        np.full(pages, NOWHERE, np.int32),
        np.full(buffers, NOWHERE, np.int32),
        np.zeros(buffers, np.int8),
        np.zeros(2, np.int64),
    )


@kernel
def bring(pool: Pool, page: int) -> None:
    """Puts a page that is in no buffer into one: it is read, or it is new."""
    pages, counts, state = pool.pages, pool.counts, pool.state
    if state[TAKEN] < len(pages):
        buffer = state[TAKEN]
        state[TAKEN] += 1
    else:
        buffer = state[HAND]
        while counts[buffer]:
            counts[buffer] -= 1
            buffer = buffer + 1 if buffer + 1 < len(pages) else 0
        state[HAND] = buffer + 1 if buffer + 1 < len(pages) else 0
        pool.buffers[pages[buffer]] = NOWHERE
    pages[buffer], counts[buffer], pool.buffers[page] = page, 1, buffer


@kernel
def use(pool: Pool, page: int, most: int) -> int:
    """Uses a page. Returns 1 if it had to be read."""
    buffer = pool.buffers[page]
    if buffer == NOWHERE:
        bring(pool, page)
        return 1
    if pool.counts[buffer] < most:
        pool.counts[buffer] += 1
    return 0
