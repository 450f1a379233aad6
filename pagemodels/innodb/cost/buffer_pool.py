"""The buffer pool of MariaDB 10.11: its list of pages with a midpoint, and the page cleaner that frees and writes them.

A use moves a page to the list's head if it is old and was first used a second ago, or if it is young and a sixth of the
pool was freed since it was there last (buf_page_peek_if_too_old).

When the free list is shorter than half of innodb_lru_scan_depth and the list longer than 256, the cleaner walks the
list from its end: it frees what is clean and writes what is changed, until the free list has innodb_lru_scan_depth
pages (buf0flu.cc, need_LRU_eviction, buf_flush_LRU_list_batch). A pool of 24 MB and less never has so many free pages,
so that each walk goes through the whole list, and only pages changed since the last one stay.
"""

from __future__ import annotations

import numpy as np

from keybench.compiled import inlined, int64, kernel
from keybench.pagemodels.innodb.cost.page_list import (
    BATCH,
    BATCH_TIME,
    BEFORE,
    CHANGED,
    CLEANED,
    CLOCK,
    DEPTH,
    DONE,
    FIRST_BRANCH,
    FIRST_LEAF,
    FREE,
    FREED,
    HEAD,
    LEAST,
    LENGTH,
    MIDDLE,
    MIDPOINT,
    MIDPOINT_OF,
    NEXT_FREE,
    NOW,
    NOWHERE,
    OLD,
    OLDER,
    PAGE,
    READ_TIME,
    SHORT,
    TAIL,
    USED,
    WRITES,
    WRITTEN,
    YOUNG,
    BufferPool,
    insert,
    remove,
)

SCAN_DEPTH = 1536
"""innodb_lru_scan_depth."""
MOST_WRITES = 2000
"""innodb_io_capacity_max: pages that one walk writes."""
_BATCH = 128
"""Pages that go through the doublewrite buffer together."""
_READ_TIME, _BATCH_TIME = 60_000, 5_000_000
"""ns that a read and a batch of durable writes take on the machine where this was compared."""
SHORTEST = 256
"""BUF_LRU_MIN_LEN."""
NEVER = 1 << 62
"""A time."""
_OLD_TIME = 1_000_000_000
"""innodb_old_blocks_time, in ns."""

_EXTENT = 8 << 20
_BLOCK = 160
"""innodb_buffer_pool_extent_size; about sizeof(buf_block_t)."""

_CATALOGUE = 171
"""Pages that a new server has read before anybody asks it anything, and which nobody uses again."""


def frames_of(cache_bytes: int, page_bytes: int) -> int:
    """Pages that a pool of so many bytes holds (buf_pool_t::get_n_blocks)."""
    control = _EXTENT // page_bytes - _EXTENT // (page_bytes + _BLOCK)
    rest = cache_bytes % _EXTENT // page_bytes
    return int(cache_bytes // _EXTENT * (_EXTENT // page_bytes - control) + max(0, rest - control))


def new(frames: int, others: int, branches: int, leaves: int, share: float = 1) -> BufferPool:
    """A pool that holds a new server's catalogue, for so many pages of each kind; perhaps a share of a larger one."""
    pool = BufferPool(
        np.full(others + branches + leaves, NOWHERE, np.int32),
        np.zeros((frames, DONE + 1), np.int64),
        np.zeros(WRITTEN + 3, np.int64),
    )
    state = pool.state
    state[YOUNG] = frames * (MIDPOINT_OF - MIDPOINT) // (4 * MIDPOINT_OF)
    # A walk frees at least a page and may write one: of the smallest share, too, nobody waits for ever.
    state[[DEPTH, SHORT, WRITES]] = (
        max(1, int(SCAN_DEPTH * share)),
        int(SHORTEST * share),
        max(1, int(MOST_WRITES * share)),
    )
    state[LEAST] = min(frames // 20 - 1, state[SHORT])
    batch = max(1, int(_BATCH * share))
    state[[READ_TIME, BATCH, BATCH_TIME]] = int(_READ_TIME / share), batch, int(_BATCH_TIME * batch / (_BATCH * share))
    state[[FIRST_BRANCH, FIRST_LEAF]] = others, others + branches
    _start(pool, share)
    return pool


def restart(pool: BufferPool, share: float) -> None:
    """The server stops, which writes all changed pages, and starts again."""
    changed = pool.frames[pool.frames[:, CHANGED] > 0, PAGE]
    kinds = np.searchsorted(pool.state[[FIRST_BRANCH, FIRST_LEAF]], changed, side="right")
    pool.state[WRITTEN:] += np.bincount(kinds, minlength=3)
    pool.places[:] = NOWHERE
    _start(pool, share)


def _start(pool: BufferPool, share: float) -> None:
    """Only a new server's catalogue is in the pool."""
    frames, state = len(pool.frames), pool.state
    pool.frames[:] = 0
    pool.frames[:, BEFORE] = np.arange(-1, frames - 1)
    state[[HEAD, TAIL, MIDDLE]] = NOWHERE
    state[[OLDER, LENGTH, FREED]] = 0
    state[[FREE, NEXT_FREE]] = frames, frames - 1
    for _ in range(min(int(_CATALOGUE * share), frames // 2)):
        frame = _take(pool)
        pool.frames[frame, PAGE] = NOWHERE
        insert(pool, frame, NOWHERE)


@kernel
def _free(pool: BufferPool, frame: int) -> None:
    remove(pool, frame)
    frames, state = pool.frames, pool.state
    if frames[frame, PAGE] >= 0:
        pool.places[frames[frame, PAGE]] = NOWHERE
    frames[frame, BEFORE], state[NEXT_FREE] = state[NEXT_FREE], frame
    state[FREE] += 1
    state[FREED] += 1


@kernel
def evict_from_tail(pool: BufferPool) -> None:
    """One walk of the page cleaner, from the list's tail to its head (buf_flush_LRU): it frees clean pages and writes
    changed ones, until enough frames are free. What it writes can be freed by the next walk, when the write is done."""
    frames, state = pool.frames, pool.state
    writes, frame = 0, state[TAIL]
    while frame >= 0 and state[LENGTH] > state[LEAST] and state[FREE] < state[DEPTH]:
        before = frames[frame, BEFORE]  # read first: a freed frame's BEFORE becomes its link in the list of free frames
        if not frames[frame, CHANGED]:
            _free(pool, frame)
        elif writes == state[WRITES]:
            break
        else:
            page = frames[frame, PAGE]
            # Pages are numbered by kind (others, branch pages, leaves), so two comparisons give the kind.
            state[WRITTEN + (page >= state[FIRST_BRANCH]) + (page >= state[FIRST_LEAF])] += 1
            frames[frame, CHANGED] = 0
            frames[frame, DONE] = state[NOW] + (writes // state[BATCH] + 1) * state[BATCH_TIME]
            writes += 1
        frame = before
    if writes == state[WRITES]:  # most of them are done by now
        frame = state[TAIL]
        while not frames[frame, CHANGED] and state[LENGTH] > state[LEAST] and state[FREE] < state[DEPTH]:
            before = frames[frame, BEFORE]
            _free(pool, frame)
            frame = before
    state[CLEANED] = state[NOW] + (writes + state[BATCH] - 1) // state[BATCH] * state[BATCH_TIME]


@inlined
def is_short(pool: BufferPool) -> bool:
    """Whether the page cleaner has to find free pages."""
    state = pool.state
    return bool(state[FREE] < state[DEPTH] // 2 and state[LENGTH] > state[SHORT])


@inlined
def clean(pool: BufferPool) -> None:
    """Lets the page cleaner walk if there is need and its last writes are done."""
    if pool.state[NOW] >= pool.state[CLEANED] and is_short(pool):
        evict_from_tail(pool)


@kernel
def _take(pool: BufferPool) -> int:
    """A free frame (buf_LRU_get_free_block)."""
    frames, state = pool.frames, pool.state
    while state[FREE] == 0:
        state[NOW] = max(state[NOW], state[CLEANED])
        evict_from_tail(pool)
    frame = state[NEXT_FREE]
    state[NEXT_FREE] = frames[frame, BEFORE]
    state[FREE] -= 1
    clean(pool)
    frames[frame, CHANGED] = frames[frame, USED] = frames[frame, DONE] = 0
    return int(frame)


@kernel
def create(pool: BufferPool, page: int) -> None:
    """Puts a new page into a frame; into its old one if it was there before it was dropped (buf_page_create)."""
    frames, frame = pool.frames, np.int64(pool.places[page])
    if frame >= 0:
        if frames[frame, CHANGED] == 0:
            frames[frame, CHANGED] = pool.state[NOW] + 1
        remove(pool, int(frame))
        insert(pool, int(frame), NOWHERE)
        return
    frame = np.int64(_take(pool))
    now = pool.state[NOW]
    frames[frame, PAGE], frames[frame, CHANGED], frames[frame, USED] = page, now + 1, now
    pool.places[page] = frame
    insert(pool, int(frame), NOWHERE)


@kernel
def drop(pool: BufferPool, page: int) -> None:
    """A page is freed in its file: it need not be written (buf_pool_t::release_freed_page)."""
    if pool.places[page] >= 0:
        pool.frames[pool.places[page], CHANGED] = 0


@kernel
def _read(pool: BufferPool, page: int, changes: bool) -> int:
    state, frames = pool.state, pool.frames
    state[NOW] += state[READ_TIME]
    frame = _take(pool)
    frames[frame, PAGE], frames[frame, USED] = page, state[NOW]
    if changes:
        frames[frame, CHANGED] = state[NOW] + 1
    pool.places[page] = frame
    insert(pool, frame, state[MIDDLE])
    return 1


@kernel
def _to_head(pool: BufferPool, frame: int) -> None:
    remove(pool, frame)
    insert(pool, frame, NOWHERE)


@inlined
def touch(pool: BufferPool, page: int, changes: bool) -> int:
    """As `use`, in the middle of a loop."""
    state, frames, frame = pool.state, pool.frames, int64(pool.places[page])
    if frame < 0:
        return _read(pool, page, changes)
    if changes:
        if frames[frame, CHANGED] == 0:
            frames[frame, CHANGED] = state[NOW] + 1
        state[NOW] = max(state[NOW], frames[frame, DONE])
    if state[FREED]:
        if frames[frame, OLD]:
            move = state[NOW] - frames[frame, USED] >= _OLD_TIME
        else:
            move = state[FREED] >= frames[frame, CLOCK] + state[YOUNG]
        if move:
            _to_head(pool, frame)
    return 0


@kernel
def use(pool: BufferPool, page: int, changes: bool) -> int:
    """Uses a page and perhaps changes it, when its last write is done. Returns 1 if it had to be read."""
    return touch(pool, page, changes)


@inlined
def at_rest(pool: BufferPool, page: int, changes: bool) -> int:
    """The time from which on such a use of a page may do anything that its last one has not done, if nothing else
    happens: 0 if it may now."""
    state, frames, frame = pool.state, pool.frames, int64(pool.places[page])
    if frame < 0 or (changes and (frames[frame, CHANGED] == 0 or frames[frame, DONE] > state[NOW])):
        return int64(0)
    if state[FREED] == 0:
        return int64(NEVER)
    if frames[frame, OLD]:
        return int(frames[frame, USED] + _OLD_TIME)
    return int64(0 if state[FREED] >= frames[frame, CLOCK] + state[YOUNG] else NEVER)


@inlined
def cleaner_at_rest(pool: BufferPool) -> int:
    """The time until which `clean` does nothing, if nothing else happens."""
    state = pool.state
    return int(state[CLEANED] if is_short(pool) else NEVER)
