"""PostgreSQL's shared buffers: the clock sweep of freelist.c and bufmgr.c.

A buffer that is used gets a higher usage count, up to 5; one that a bulk load uses never more than 1. A page that is
not there takes a buffer that was never used, else the first one with the count 0 that the hand comes upon. The hand
takes 1 from the count of each buffer that it passes (StrategyGetBuffer, PinBuffer). A page that changed is written
before its buffer is taken, and the log up to the page's last change before that (GetVictimBuffer, FlushBuffer).

A bulk load keeps the buffers that it took in a ring, and takes them again in turn unless somebody else has used them
since (GetBufferFromRing). So it writes its own pages and leaves the others alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import inlined, kernel

NOWHERE = -1
MOST = 5
"""BM_MAX_USAGE_COUNT (buf_internals.h)."""
ONCE = 1
"""The highest count that a bulk load gives."""
CLEAN, DIRTY, NEEDED = 0, 1, 2
"""Whether a page changed since it was written; `NEEDED` is added if the checkpoint has yet to write it."""
HAND, TAKEN, INSERTED, FLUSHED = range(4)
LEAF, BRANCH, HEAP = range(3)


class Pool(NamedTuple):
    """So many buffers, and where each page is."""

    buffers: NDArray[np.int32]
    """(pages,): the buffer of each page; −1 if it is in none."""
    pages: NDArray[np.int32]
    """(buffers,): the page in each buffer."""
    counts: NDArray[np.int8]
    """(buffers,): usage counts."""
    dirty: NDArray[np.int8]
    """(buffers,): CLEAN, DIRTY or DIRTY + NEEDED."""
    changed: NDArray[np.int64]
    """(pages,): the place in the log after each page's last change; 0 for a page without any."""
    firsts: NDArray[np.int64]
    """(2,): the first branch page, and the first page of the heap. Leaves are before them."""
    written: NDArray[np.int64]
    """(3,): pages written so far, by kind."""
    state: NDArray[np.int64]
    """(4,): the hand's place; buffers that were ever taken; the place in the log where the next record goes; the place
    up to which the log is written."""


def new(buffers: int, pages: int, first_branch: int, first_heap: int) -> Pool:
    """An empty pool for pages 0 … `pages` − 1."""
    return Pool(
        np.full(pages, NOWHERE, np.int32),
        np.full(buffers, NOWHERE, np.int32),
        np.zeros(buffers, np.int8),
        np.zeros(buffers, np.int8),
        np.zeros(pages, np.int64),
        np.array([first_branch, first_heap], np.int64),
        np.zeros(3, np.int64),
        np.zeros(4, np.int64),
    )


@inlined
def write(pool: Pool, buffer: int) -> None:
    """Writes the page in a buffer, and the log before it."""
    page = pool.pages[buffer]
    kind = LEAF if page < pool.firsts[0] else BRANCH if page < pool.firsts[1] else HEAP
    pool.written[kind] += 1
    pool.dirty[buffer] = CLEAN
    if pool.changed[page] > pool.state[FLUSHED]:
        pool.state[FLUSHED] = pool.state[INSERTED]


@inlined
def _victim(pool: Pool) -> int:
    """A buffer for another page."""
    counts, state = pool.counts, pool.state
    if state[TAKEN] < len(counts):
        buffer: int = state[TAKEN]
        state[TAKEN] += 1
        return buffer
    buffer = state[HAND]
    while counts[buffer]:
        counts[buffer] -= 1
        buffer = buffer + 1 if buffer + 1 < len(counts) else 0
    state[HAND] = buffer + 1 if buffer + 1 < len(counts) else 0
    return buffer


@inlined
def _put(pool: Pool, page: int, buffer: int) -> None:
    """Replaces the page in a buffer."""
    if pool.dirty[buffer]:
        write(pool, buffer)
    if pool.pages[buffer] != NOWHERE:
        pool.buffers[pool.pages[buffer]] = NOWHERE
    pool.pages[buffer], pool.counts[buffer], pool.buffers[page] = page, 1, buffer


@kernel
def bring(pool: Pool, page: int) -> None:
    """Puts a page that is in no buffer into one: it is read, or it is new."""
    _put(pool, page, _victim(pool))


@kernel
def bring_in_turn(pool: Pool, page: int, ring: NDArray[np.int32]) -> None:
    """The same for a bulk load. `ring`: (1 + buffers,), the place of the buffer taken last, then the buffers or −1."""
    size = len(ring) - 1
    at = ring[0] % size + 1
    buffer, ring[0] = ring[at], at
    if buffer == NOWHERE or pool.counts[buffer] > 1:
        buffer = _victim(pool)
        ring[at] = buffer
    _put(pool, page, buffer)


@inlined
def use(pool: Pool, page: int) -> int:
    """Uses a page. Returns 1 if it had to be read."""
    buffer = pool.buffers[page]
    if buffer == NOWHERE:
        bring(pool, page)
        return 1
    if pool.counts[buffer] < MOST:
        pool.counts[buffer] += 1
    return 0


@inlined
def use_again(pool: Pool, page: int, times: int) -> None:
    """Uses a page that is in a buffer so many times more."""
    buffer = pool.buffers[page]
    pool.counts[buffer] = min(MOST, pool.counts[buffer] + times)


@kernel
def use_in_turn(pool: Pool, page: int, ring: NDArray[np.int32]) -> int:
    """Uses a page for a bulk load. Returns 1 if it had to be read."""
    buffer = pool.buffers[page]
    if buffer == NOWHERE:
        bring_in_turn(pool, page, ring)
        return 1
    pool.counts[buffer] = max(pool.counts[buffer], ONCE)
    return 0
