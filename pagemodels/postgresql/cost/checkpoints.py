"""PostgreSQL's checkpoints by log volume, and the places of the log (xlog.c, checkpointer.c, bufmgr.c).

Places count the bytes that records can use (XLogBytePosToRecPtr): every page of the log begins with a header, a
segment's first page with a longer one.

When the log is written to the end of a segment that is far enough from the last redo point, a checkpoint begins
(XLogCheckpointNeeded). The distance leaves room for what is added while it runs (CalculateCheckpointSegments). It
notes the pages that are dirty and writes them in the order of the files, at a pace that follows the growth of the log,
so that it ends after `checkpoint_completion_target` of the distance (BufferSync, IsCheckpointOnSchedule). A page that
somebody else has written in the meantime is left out.

Held still: checkpoints by time (`checkpoint_timeout`), and the time that a checkpoint takes to begin and to end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import inlined, int64, kernel
from keybench.pagemodels.postgresql.cost.clock_sweep import CALM, DIRTY, FLUSHED, INSERTED, NEEDED, SharedBuffers, write
from keybench.pagemodels.postgresql.cost.log_records import CHECKPOINT, IMAGE

SEGMENT_BYTES = 16 << 20
TARGET = 0.9
"""checkpoint_completion_target, the default and what keybench sets."""
_PAGE, _SHORT, _LONG = 8192, 24, 40
USABLE = SEGMENT_BYTES // _PAGE * (_PAGE - _SHORT) - (_LONG - _SHORT)
"""Bytes of a segment that records can use."""
NEVER = 2**62

REDO, TRIGGER, QUEUED, DONE, STARTED, DUE, BEGUN = range(7)


class Checkpoints(NamedTuple):
    """What is known of the checkpoint that runs, or ran last."""

    queue: NDArray[np.int32]
    """(buffers,): those that it has to write."""
    files: NDArray[np.int64]
    """(pages,): the place of each page in the order of the files."""
    state: NDArray[np.int64]
    """(7,): pages changed up to this place of the log are logged as a whole at their next change; the place at which
    the next checkpoint begins; buffers in the queue; how many of them are done; the place at which it began; the place
    at which the next buffer is due; checkpoints so far."""
    segments: int
    """Between two checkpoints."""
    usable: int
    """Bytes of a segment that records can use; fewer if the rows are a sample (`Server.share`)."""
    images: bool
    """full_page_writes."""


def new(
    files: NDArray[np.int64], buffers: int, max_wal_size: int, images: bool, at: int, usable: int = USABLE
) -> Checkpoints:
    """One that has just ended, at that place of the log. `usable`: bytes of a segment that records can use."""
    segments = max(1, int(max_wal_size // SEGMENT_BYTES / (1 + TARGET)))
    state = np.zeros(7, np.int64)
    state[REDO], state[TRIGGER], state[DUE] = at if images else -1, (at // usable + segments) * usable, NEVER
    return Checkpoints(np.empty(buffers, np.int32), files, state, segments, usable, images)


def usable(place: int) -> int:
    """The usable bytes before a place of the log."""
    segments, inside = divmod(place, SEGMENT_BYTES)
    pages, at = divmod(inside, _PAGE)
    before = pages * (_PAGE - _SHORT) - (_LONG - _SHORT if pages else 0)
    return segments * USABLE + before + max(0, at - (_SHORT if pages else _LONG))


def places(usable_bytes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places of the log after so many usable bytes."""
    segments, inside = np.divmod(usable_bytes, USABLE)
    pages = (inside + _LONG - _SHORT) // (_PAGE - _SHORT)
    found: NDArray[np.int64] = segments * SEGMENT_BYTES + inside + _LONG + pages * _SHORT
    return found


@inlined
def append(pool: SharedBuffers, size: int) -> int:
    """Adds a record to the log. Returns the place after it."""
    pool.state[INSERTED] += (size + 7) & ~7
    place: int = pool.state[INSERTED]
    return place


@kernel
def _sort(queue: NDArray[np.int32], files: NDArray[np.int64], pages: NDArray[np.int32]) -> None:
    """Sorts buffers by the places of their pages: a heapsort, because numba takes 5 s to compile numpy's."""
    n = len(queue)
    for step in range(n + n // 2):
        if step < n // 2:
            at, end = n // 2 - 1 - step, n
        else:
            at, end = 0, n - 1 - (step - n // 2)
            queue[0], queue[end] = queue[end], queue[0]
        own = queue[at]
        key = files[pages[own]]
        child = 2 * at + 1
        while child < end:
            if child + 1 < end and files[pages[queue[child + 1]]] > files[pages[queue[child]]]:
                child += 1
            if files[pages[queue[child]]] <= key:
                break
            queue[at] = queue[child]
            at, child = child, 2 * child + 1
        queue[at] = own


@kernel
def begin(checkpoints: Checkpoints, pool: SharedBuffers) -> None:
    """Begins a checkpoint."""
    state, n = checkpoints.state, 0
    at = pool.state[INSERTED]
    for buffer in range(len(pool.dirty)):
        if pool.dirty[buffer]:
            pool.dirty[buffer] = DIRTY + NEEDED
            checkpoints.queue[n] = buffer
            n += 1
    _sort(checkpoints.queue[:n], checkpoints.files, pool.pages)
    if checkpoints.images:
        state[REDO] = at
    state[TRIGGER] = (at // checkpoints.usable + checkpoints.segments) * checkpoints.usable
    state[QUEUED], state[DONE], state[STARTED], state[DUE] = n, 0, at, at if n else NEVER
    state[BEGUN] += 1
    pool.state[CALM] += 1
    append(pool, CHECKPOINT)


@kernel
def _write_next(checkpoints: Checkpoints, pool: SharedBuffers) -> None:
    """Writes the next page of the queue unless somebody else has done so."""
    buffer = checkpoints.queue[checkpoints.state[DONE]]
    if pool.dirty[buffer] & NEEDED:
        write(pool, buffer)
        pool.state[CALM] += 1
    checkpoints.state[DONE] += 1


@kernel
def finish(checkpoints: Checkpoints, pool: SharedBuffers) -> None:
    """Writes what a checkpoint has yet to write."""
    while checkpoints.state[DONE] < checkpoints.state[QUEUED]:
        _write_next(checkpoints, pool)
    checkpoints.state[DUE] = NEVER


@kernel
def go_on(checkpoints: Checkpoints, pool: SharedBuffers) -> None:
    """Writes what is due at this place of the log; begins a checkpoint if it is time."""
    state = checkpoints.state
    while state[DUE] <= pool.state[INSERTED]:
        _write_next(checkpoints, pool)
        if state[DONE] == state[QUEUED]:
            state[DUE] = NEVER
        else:
            pace = state[DONE] / state[QUEUED] * TARGET * checkpoints.segments
            state[DUE] = state[STARTED] + int64(pace * checkpoints.usable) + 1
    if pool.state[FLUSHED] >= state[TRIGGER] and state[DUE] == NEVER:
        begin(checkpoints, pool)


@inlined
def is_due(checkpoints: Checkpoints, pool: SharedBuffers) -> bool:
    """Whether `go_on` has anything to do."""
    state = checkpoints.state
    return bool(state[DUE] <= pool.state[INSERTED] or (state[TRIGGER] <= pool.state[FLUSHED] and state[DUE] == NEVER))


@inlined
def due(checkpoints: Checkpoints, pool: SharedBuffers) -> int:
    """The place of the log from which on `is_due`, if the log is not written up to a later place in between."""
    state = checkpoints.state
    return int64(0) if state[TRIGGER] <= pool.state[FLUSHED] and state[DUE] == NEVER else int64(state[DUE])


Counts = NDArray[np.int64]

READ, WRITTEN, IMAGES, IMAGE_BYTES, BYTES, CHECKPOINTS = 0, 3, 6, 7, 8, 9
"""Fields of what is counted; pages read and written take three each, by kind."""
FIELDS = 10


@inlined
def note(pool: SharedBuffers, page: int, place: int) -> None:
    """Notes that a page changed."""
    pool.changed[page] = place
    pool.dirty[pool.buffers[page]] |= DIRTY


@inlined
def whole(pool: SharedBuffers, checkpoints: Checkpoints, page: int) -> bool:
    """Whether the log takes the page as a whole."""
    return bool(pool.changed[page] <= checkpoints.state[REDO])


@inlined
def image_of(counts: Counts, size: int) -> int:
    """Counts a page as a whole. Returns what it adds to its record."""
    counts[IMAGES] += 1
    counts[IMAGE_BYTES] += size
    return IMAGE + size
