"""The buffer pool of MariaDB 10.11: its list of pages with a midpoint, and the page cleaner that frees and writes them.

A page that is read enters the list (LRU) behind the midpoint, a new one at its head (buf_LRU_add_block). The list has
no old part while it is short. A use moves a page to the list's head if it is old and was first used a second ago, or if
it is young and a sixth of the pool was freed since it was there last (buf_page_peek_if_too_old).

When the free list is shorter than half of innodb_lru_scan_depth and the list longer than 256, the cleaner walks the
list from its end: it frees what is clean and writes what is changed, until the free list has innodb_lru_scan_depth
pages (buf0flu.cc, need_LRU_eviction, buf_flush_LRU_list_batch). A pool of 24 MB and less never has so many free pages,
so that each walk goes through the whole list, and only pages changed since the last one stay.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import inlined, int64, kernel

NOWHERE = -1

OTHER, BRANCH, LEAF = range(3)
"""Kinds of pages, in the order of their numbers here."""

MIDPOINT, MIDPOINT_OF = 378, 1024
"""LRU_old_ratio for innodb_old_blocks_pct = 37, of BUF_LRU_OLD_RATIO_DIV."""
_LONG = 512
"""BUF_LRU_OLD_MIN_LEN: a shorter list has no old part."""
_TOLERANCE, _YOUNG_AT_LEAST = 20, 5
"""BUF_LRU_OLD_TOLERANCE, BUF_LRU_NON_OLD_MIN_LEN."""

HEAD, TAIL, MIDDLE, OLDER, LENGTH, FREE, NEXT_FREE, FREED, YOUNG, LEAST = range(10)
"""Fields of `state`. HEAD, TAIL: the list's ends. MIDDLE: the first old frame (−1: none). OLDER: old frames. LENGTH:
frames in the list. FREE: free frames. NEXT_FREE: one of them. FREED: frames freed so far. YOUNG: frames freed until a
young page is moved. LEAST: a length of the list at which a walk stops."""
DEPTH, SHORT, WRITES = range(10, 13)
"""innodb_lru_scan_depth, BUF_LRU_MIN_LEN, and pages that one walk writes: of the share of a pool that is simulated."""
NOW, CLEANED, READ_TIME, BATCH, BATCH_TIME = range(13, 18)
"""Times in ns. NOW: the time. CLEANED: when the last walk's writes are done. READ_TIME: what a read takes. BATCH: pages
of a batch of writes. BATCH_TIME: what a batch takes."""
FIRST_BRANCH, FIRST_LEAF, WRITTEN = range(18, 21)
"""The numbers of the first branch page and the first leaf; from WRITTEN on, pages written so far of each kind."""

PAGE, BEFORE, AFTER, CHANGED, OLD, CLOCK, USED, DONE = range(8)
"""Fields of a frame. PAGE: its page. BEFORE, AFTER: its neighbours in the list; BEFORE is nearer to the head, or the
next free frame. CHANGED: the time of its first change that is not written yet, + 1 (0: none). OLD: whether it is in the
old part. CLOCK: FREED when it was last at the head. USED: when it was first used (0: not yet). DONE: when its last
write is done."""


class BufferPool(NamedTuple):
    """So many frames, and where each page is."""

    places: NDArray[np.int32]
    """(pages,): the frame of each page; −1 if it is in none."""
    frames: NDArray[np.int64]
    """(frames, 8), by the names above."""
    state: NDArray[np.int64]
    """By the names above."""


@kernel
def _adjust(pool: BufferPool) -> None:
    """Moves the midpoint so that the old part keeps its share (buf_LRU_old_adjust_len)."""
    frames, state = pool.frames, pool.state
    length = state[LENGTH]
    wanted = min(length * MIDPOINT // MIDPOINT_OF, length - _TOLERANCE - _YOUNG_AT_LEAST)
    while state[OLDER] + _TOLERANCE < wanted:
        state[MIDDLE] = frames[state[MIDDLE], BEFORE]
        frames[state[MIDDLE], OLD] = 1
        state[OLDER] += 1
    while state[OLDER] > wanted + _TOLERANCE:
        frames[state[MIDDLE], OLD] = 0
        state[MIDDLE] = frames[state[MIDDLE], AFTER]
        state[OLDER] -= 1


@kernel
def insert(pool: BufferPool, frame: int, before: int) -> None:
    """Puts a frame behind another one, or −1: at the head."""
    frames, state = pool.frames, pool.state
    after = frames[before, AFTER] if before >= 0 else state[HEAD]
    frames[frame, BEFORE], frames[frame, AFTER] = before, after
    if before >= 0:
        frames[before, AFTER] = frame
    else:
        state[HEAD] = frame
        frames[frame, CLOCK] = state[FREED]
    if after >= 0:
        frames[after, BEFORE] = frame
    else:
        state[TAIL] = frame
    frames[frame, OLD] = before >= 0
    state[OLDER] += before >= 0
    state[LENGTH] += 1
    if state[LENGTH] > _LONG:
        _adjust(pool)
    elif state[LENGTH] == _LONG:
        frames[:, OLD] = 1
        state[MIDDLE], state[OLDER] = state[HEAD], _LONG
        _adjust(pool)


@kernel
def remove(pool: BufferPool, frame: int) -> None:
    """Takes a frame out of the list (buf_LRU_remove_block)."""
    frames, state = pool.frames, pool.state
    before, after = frames[frame, BEFORE], frames[frame, AFTER]
    if before >= 0:
        frames[before, AFTER] = after
    else:
        state[HEAD] = after
    if after >= 0:
        frames[after, BEFORE] = before
    else:
        state[TAIL] = before
    state[LENGTH] -= 1
    if state[MIDDLE] < 0:
        return
    if frame == state[MIDDLE]:
        state[MIDDLE] = before
        frames[before, OLD] = 1
        state[OLDER] += 1
    if state[LENGTH] < _LONG:
        frames[:, OLD] = 0
        state[MIDDLE], state[OLDER] = NOWHERE, 0
        return
    state[OLDER] -= frames[frame, OLD]
    _adjust(pool)


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
"""A time that no load reaches."""
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
        places=np.full(others + branches + leaves, NOWHERE, np.int32),
        frames=np.zeros((frames, DONE + 1), np.int64),
        state=np.zeros(WRITTEN + 3, np.int64),
    )
    state = pool.state
    # A quarter of the young part: buf_page_peek_if_too_old.
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
    """Empties the pool, but for the catalogue of a new server. `share`: of a server's pool that this one stands for."""
    frames, state = len(pool.frames), pool.state
    pool.frames[:] = 0
    pool.frames[:, BEFORE] = np.arange(-1, frames - 1)  # the list of free frames: each names the one before it
    state[[HEAD, TAIL, MIDDLE]] = NOWHERE
    state[[OLDER, LENGTH, FREED]] = 0
    state[[FREE, NEXT_FREE]] = frames, frames - 1
    for _ in range(min(int(_CATALOGUE * share), frames // 2)):
        frame = _take(pool)
        pool.frames[frame, PAGE] = NOWHERE  # the catalogue's pages are never used again, so they have no number
        insert(pool, frame, NOWHERE)


@kernel
def _free(pool: BufferPool, frame: int) -> None:
    """Takes a frame out of the list and makes it free."""
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
    """Takes a frame from the free ones, for which the page cleaner may have to walk (buf_LRU_get_free_block)."""
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
def _to_head(pool: BufferPool, frame: int) -> None:
    """Moves a frame to the list's head."""
    remove(pool, frame)
    insert(pool, frame, NOWHERE)


@kernel
def create(pool: BufferPool, page: int) -> None:
    """Puts a new page into a frame; into its old one if it was there before it was dropped (buf_page_create)."""
    frames, frame = pool.frames, np.int64(pool.places[page])
    if frame >= 0:
        if frames[frame, CHANGED] == 0:
            frames[frame, CHANGED] = pool.state[NOW] + 1
        _to_head(pool, int(frame))
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
    """Reads a page into a frame behind the midpoint, and perhaps changes it. Returns 1."""
    state, frames = pool.state, pool.frames
    state[NOW] += state[READ_TIME]
    frame = _take(pool)
    frames[frame, PAGE], frames[frame, USED] = page, state[NOW]
    if changes:
        frames[frame, CHANGED] = state[NOW] + 1
    pool.places[page] = frame
    insert(pool, frame, state[MIDDLE])
    return 1


@inlined
def touch(pool: BufferPool, page: int, changes: bool) -> int:
    """As `use`, compiled into the loop that calls it."""
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
    """The time until which another use of a page changes nothing in the pool, if nothing else happens there; 0 if even
    the next use may. `changes`: whether the use changes the page."""
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
