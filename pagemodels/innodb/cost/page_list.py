"""The list of pages of MariaDB's buffer pool (LRU), with a midpoint: buf0lru.cc.

A page that is read enters the list behind the midpoint, a new one at its head (buf_LRU_add_block). The list has no old
part while it is short.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel

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
"""Fields of `state`: the list's ends; the first old frame (−1: none); old frames; frames in the list; free frames, and
one of them; frames freed so far; frames freed until a young page is moved; a length at which a walk stops."""
DEPTH, SHORT, WRITES = range(10, 13)
"""innodb_lru_scan_depth, BUF_LRU_MIN_LEN, and pages that one walk writes: of the share of a pool that is simulated."""
NOW, CLEANED, READ_TIME, BATCH, BATCH_TIME = range(13, 18)
"""The time in ns; when the last walk's writes are done; ns that a read takes; pages of a batch of writes,
and ns that it takes."""
FIRST_BRANCH, FIRST_LEAF, WRITTEN = range(18, 21)
"""The numbers of the first branch page and the first leaf; pages written so far of each kind."""

PAGE, BEFORE, AFTER, CHANGED, OLD, CLOCK, USED, DONE = range(8)
"""Fields of a frame: its page; its neighbours in the list, of which `BEFORE` is nearer to the head (or the next free
frame); the time of its first change that is not written yet, + 1 (0: none); whether it is old; FREED when it was last
at the head; when it was first used (0: not yet); when its last write is done."""


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
