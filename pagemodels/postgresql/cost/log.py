"""PostgreSQL's log: the sizes of its records, its places, and checkpoints by its volume.

A record has a header, one for each page that it names, and its own data (XLogRecordAssemble in xloginsert.c). A page
that is changed for the first time since a checkpoint's redo point is in the record as a whole, without the hole between
line pointers and entries; then the record leaves out what it would else say of that page. A page that the record makes
anew is never there as a whole. Structures: xlogrecord.h, nbtxlog.h, heapam_xlog.h; the code that fills them is
nbtinsert.c and heapam.c. They are the same in PostgreSQL 13 to 18.

Places count the bytes that records can use (XLogBytePosToRecPtr): every page of the log begins with a header, a
segment's first page with a longer one.

When the log is written to the end of a segment that is far enough from the last redo point, a checkpoint begins
(XLogCheckpointNeeded). The distance leaves room for what is added while it runs (CalculateCheckpointSegments). It
notes the pages that are dirty and writes them in the order of the files, at a pace that follows the growth of the log,
so that it ends after `checkpoint_completion_target` of the distance (BufferSync, IsCheckpointOnSchedule). A page that
somebody else has written in the meantime is left out.

Held still: checkpoints by time (`checkpoint_timeout`), and the time that a checkpoint takes to begin and to end.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import allocating, inlined, int64, kernel
from keybench.model.column import Column
from keybench.pagemodels.memory import sort
from keybench.pagemodels.postgresql.cost.cache import CALM, DIRTY, FLUSHED, INSERTED, NEEDED, SharedBuffers, write
from keybench.pagemodels.postgresql.records import (
    HEAP_OVERHEAD,
    LINE_POINTER,
    PAGE_BYTES,
    PAGE_OVERHEAD,
    entry_bytes,
    heap_row_bytes,
    row_data_bytes,
)

HEADER = 24
"""Of a record (XLogRecord)."""
FIRST_PAGE = 20
"""Header of the first page that a record names: with the relation."""
NEXT_PAGE = 8
"""Header of another page of the same relation."""
IMAGE = 5
"""What a page's header has in addition if the page is there as a whole."""
_DATA, _LONG_DATA, _LONG_FROM = 2, 5, 256
"""Header of a record's own data; the same of long data; bytes from which on data is long."""
INSERT = HEADER + FIRST_PAGE + _DATA + 2
"""An entry into a leaf (xl_btree_insert), without the entry."""
SPLIT = HEADER + FIRST_PAGE + NEXT_PAGE + _DATA + 10
"""A split (xl_btree_split) without entries; another page each for the right neighbour and for the child."""
FIRST_LEAF = HEADER + FIRST_PAGE + NEXT_PAGE + _DATA + 8 + 28
"""The root as an empty leaf, with the metapage (xl_btree_newroot, xl_btree_metadata)."""
NEW_ROOT = FIRST_LEAF + NEXT_PAGE
"""A root above a page that split, without its two entries."""
COMMIT = HEADER + _DATA + 8
"""The end of a transaction, with its time (xl_xact_commit)."""
CHECKPOINT = 32 + 120 + 56
"""What a checkpoint adds: CHECKPOINT_REDO, CHECKPOINT_ONLINE, RUNNING_XACTS, aligned."""
FIRST_ENTRY = 8
"""The first entry of a branch page has no key."""


class LogSizes(NamedTuple):
    """Bytes of an entry and a row of one table, in the index, in the heap and in the log."""

    entry: int
    """An index entry without its line pointer."""
    row: int
    """A row in the heap with its line pointer."""
    logged_row: int
    """A row in a record, aligned to 2."""
    last_row: int
    """The last row of a record, which is not aligned."""


def log_sizes(column: Column, payload: int, *, dated: bool) -> LogSizes:
    """The sizes of a table's rows and of the entries of its key's index. `dated`: whether rows have a moment of
    creation."""
    # A row has 7 bytes in front (xl_multi_insert_tuple), and of its own header of 24 bytes only the last one is logged.
    row = 7 + 1 + row_data_bytes(column, payload, dated=dated)
    return LogSizes(
        entry=entry_bytes(column),
        row=heap_row_bytes(column, payload, dated=dated),
        logged_row=row + row % 2,
        last_row=row,
    )


@inlined
def rows_record(sizes: LogSizes, rows: int, makes_page: bool, whole: bool) -> int:
    """Bytes of the record of `rows` rows that go to one page of the heap (xl_heap_multi_insert). `makes_page`: whether
    the page is new. `whole`: whether it is there as a whole; the image itself is not counted here."""
    data = 4 + (0 if makes_page else 2 * rows)  # the rows' places on the page, if it is not new
    rows_or_image = IMAGE if whole else (rows - 1) * sizes.logged_row + sizes.last_row
    return HEADER + FIRST_PAGE + (_DATA if data < _LONG_FROM else _LONG_DATA) + data + rows_or_image


@inlined
def row_record(sizes: LogSizes, whole: bool) -> int:
    """Bytes of the record of a row that is inserted alone (xl_heap_insert). `whole`: as for `rows_record`. The row's
    header, xl_heap_header, is 2 bytes shorter than COPY's."""
    return HEADER + FIRST_PAGE + _DATA + 3 + (IMAGE if whole else sizes.last_row - 2)


@inlined
def heap_image(sizes: LogSizes, rows: int) -> int:
    """Bytes of a page of the heap, with `rows` rows, as a whole."""
    return HEAP_OVERHEAD + rows * sizes.row


@inlined
def leaf_image(sizes: LogSizes, entries: int, last: bool) -> int:
    """Bytes of a leaf, with `entries` entries, as a whole; all leaves but the last have a high key."""
    return PAGE_OVERHEAD + (entries if last else entries + 1) * (sizes.entry + LINE_POINTER)


@inlined
def branch_image(sizes: LogSizes, children: int, last: bool) -> int:
    """Bytes of a branch page, with `children` entries, as a whole; the first has no key."""
    size = leaf_image(sizes, children, last) - (sizes.entry - FIRST_ENTRY)
    return size if size < PAGE_BYTES else PAGE_BYTES


SEGMENT_BYTES = 16 << 20
"""Of the log's files, by default."""
TARGET = 0.9
"""checkpoint_completion_target, the default and what keybench sets."""
_PAGE, _SHORT, _LONG = 8192, 24, 40
"""Bytes of a page of the log, of its header, and of that of a segment's first page."""
USABLE = SEGMENT_BYTES // _PAGE * (_PAGE - _SHORT) - (_LONG - _SHORT)
"""Bytes of a segment that records can use."""
NEVER = 2**62
"""A place that the log does not reach."""

REDO, TRIGGER, QUEUED, DONE, STARTED, DUE, BEGUN = range(7)
"""Fields of the state of checkpoints. REDO: pages changed up to this place of the log are logged as a whole at their
next change. TRIGGER: the place at which the next checkpoint begins. QUEUED, DONE: buffers in the queue, and how many of
them are done. STARTED: the place at which the checkpoint began. DUE: the place at which its next buffer is due. BEGUN:
checkpoints so far."""


class Checkpoints(NamedTuple):
    """What is known of the checkpoint that runs, or ran last."""

    queue: NDArray[np.int32]
    """(buffers,): the buffers that it has to write."""
    files: NDArray[np.int64]
    """(pages,): the place of each page in the order of the files."""
    state: NDArray[np.int64]
    """(7,): by the names above."""
    segments: int
    """Segments of the log between two checkpoints."""
    usable: int
    """Bytes of a segment that records can use; fewer if the rows are a sample (`Server.share`)."""
    images: bool
    """full_page_writes."""


def new(
    files: NDArray[np.int64], buffers: int, max_wal_size: int, images: bool, at: int, usable: int = USABLE
) -> Checkpoints:
    """The state where a checkpoint has just ended, at place `at` of the log. `files`: the place of each page in the
    order of the files. `images`: whether pages are logged as a whole. `usable`: bytes of a segment that records use."""
    segments = max(1, int(max_wal_size // SEGMENT_BYTES / (1 + TARGET)))
    state = np.zeros(7, np.int64)
    state[REDO] = at if images else -1  # −1: no page has changed so early
    state[TRIGGER] = (at // usable + segments) * usable
    state[DUE] = NEVER
    return Checkpoints(np.empty(buffers, np.int32), files, state, segments, usable, images)


def usable(place: int) -> int:
    """How many bytes before a place of the log records can use: all but the headers of its pages."""
    segments, inside = divmod(place, SEGMENT_BYTES)
    pages, at = divmod(inside, _PAGE)
    before = pages * (_PAGE - _SHORT) - (_LONG - _SHORT if pages else 0)
    return segments * USABLE + before + max(0, at - (_SHORT if pages else _LONG))


def places(usable_bytes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places of the log before which records can use these numbers of bytes: the inverse of `usable`."""
    segments, inside = np.divmod(usable_bytes, USABLE)
    pages = (inside + _LONG - _SHORT) // (_PAGE - _SHORT)
    of_log: NDArray[np.int64] = segments * SEGMENT_BYTES + inside + _LONG + pages * _SHORT
    return of_log


@inlined
def append(pool: SharedBuffers, size: int) -> int:
    """Adds a record of `size` bytes to the log. Returns the place after it."""
    pool.state[INSERTED] += (size + 7) & ~7  # rounded up to a multiple of 8
    place: int = pool.state[INSERTED]
    return place


@allocating
def _sort(queue: NDArray[np.int32], files: NDArray[np.int64], pages: NDArray[np.int32]) -> None:
    """Sorts the buffers in `queue` by the places in the files (`Checkpoints.files`) of the `pages` that they hold."""
    by_place = np.empty(len(queue), np.int64)
    for i in range(len(queue)):  # the place above, the buffer in the lower 32 bits
        by_place[i] = files[pages[queue[i]]] << 32 | int64(queue[i])
    sort(by_place, len(queue))
    for i in range(len(queue)):
        queue[i] = by_place[i] & 0xFFFFFFFF


@kernel
def begin(checkpoints: Checkpoints, pool: SharedBuffers) -> None:
    """Begins a checkpoint: the buffers that are dirty now are queued in the order of their pages, to be written."""
    state, n = checkpoints.state, 0
    at = pool.state[INSERTED]
    for buffer in range(len(pool.dirty)):
        if pool.dirty[buffer]:
            pool.dirty[buffer] = DIRTY + NEEDED
            checkpoints.queue[n] = buffer
            n += 1
    _sort(checkpoints.queue[:n], checkpoints.files, pool.pages)
    if checkpoints.images:
        state[REDO] = at  # from here on, a page's first change logs the whole page
    # The next one begins with the segment that lies so many segments further on.
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
    """Writes the pages that a checkpoint has to have written at this place of the log; begins one if it is time."""
    state = checkpoints.state
    while state[DUE] <= pool.state[INSERTED]:
        _write_next(checkpoints, pool)
        if state[DONE] == state[QUEUED]:
            state[DUE] = NEVER
        else:
            # The share of the queue that is done, of TARGET of the distance: there the next page is due.
            segments = state[DONE] / state[QUEUED] * TARGET * checkpoints.segments
            state[DUE] = state[STARTED] + int64(segments * checkpoints.usable) + 1
    if pool.state[FLUSHED] >= state[TRIGGER] and state[DUE] == NEVER:
        begin(checkpoints, pool)


@inlined
def is_due(checkpoints: Checkpoints, pool: SharedBuffers) -> bool:
    """Whether `go_on` has anything to do."""
    state = checkpoints.state
    return bool(state[DUE] <= pool.state[INSERTED] or (state[TRIGGER] <= pool.state[FLUSHED] and state[DUE] == NEVER))


@inlined
def next_due(checkpoints: Checkpoints, pool: SharedBuffers) -> int:
    """The place of the log from which on `go_on` has something to do, unless the log is written further in between."""
    state = checkpoints.state
    return int64(0) if state[TRIGGER] <= pool.state[FLUSHED] and state[DUE] == NEVER else int64(state[DUE])


Counts = NDArray[np.int64]

READ, WRITTEN, IMAGES, IMAGE_BYTES, BYTES, CHECKPOINTS = 0, 3, 6, 7, 8, 9
"""Fields of what is counted; pages read and pages written take three each, for leaves, branch pages and the heap."""
FIELDS = 10


@inlined
def note_change(pool: SharedBuffers, page: int, place: int) -> None:
    """Notes that a page changed, by a record that ends at `place` of the log."""
    pool.changed[page] = place
    pool.dirty[pool.buffers[page]] |= DIRTY


@inlined
def needs_image(pool: SharedBuffers, checkpoints: Checkpoints, page: int) -> bool:
    """Whether the page's next change logs it as a whole: whether it has not changed since the redo point."""
    return bool(pool.changed[page] <= checkpoints.state[REDO])


@inlined
def count_image(counts: Counts, size: int) -> int:
    """Counts a page that is logged as a whole, in `size` bytes. Returns the bytes that it adds to its record."""
    counts[IMAGES] += 1
    counts[IMAGE_BYTES] += size
    return IMAGE + size
