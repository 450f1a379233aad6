"""The processes of writers, and how their rows go to the heap: RelationGetBufferForTuple (hio.c), heap_multi_insert
and heap_insert (heapam.c)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from keybench.compiled import kernel
from keybench.pagemodels.costs.touches import NONE
from keybench.pagemodels.postgresql.cost.checkpoints import READ, Checkpoints, Counts, append, image_of, note, whole
from keybench.pagemodels.postgresql.cost.clock_sweep import (
    HEAP,
    NOWHERE,
    SharedBuffers,
    bring,
    bring_in_turn,
    use,
    use_in_turn,
)
from keybench.pagemodels.postgresql.cost.log_records import IMAGE, LogSizes, heap_image, row_record, rows_record
from keybench.pagemodels.postgresql.cost.trees import Integers, Places


class Backends(NamedTuple):
    """What each writer's process remembers: (writers,) each."""

    rows: Integers
    """All that it will send."""
    done: Integers
    in_tx: Integers
    """Rows of its transaction so far."""
    in_batch: Integers
    """Rows that are in the heap, but not in the index yet."""
    heap: Integers
    """The page of the heap where it goes on; −1 if none."""
    leaf: Integers
    """The last leaf, if its row before went there; else −1."""
    rings: Places
    """(writers, 1 + buffers): of its bulk load."""
    fill: Places
    """(heap pages,): rows on each page of the heap."""
    state: Integers
    """(1,): pages of the heap."""

    @staticmethod
    def new(rows: Integers, pages: int, ring: int) -> Backends:
        """Before the first row. `rows`: (writers,)."""
        nowhere = np.full(len(rows), NONE, np.int64)
        rings = np.full((len(rows), 1 + ring), NOWHERE, np.int32)
        rings[:, 0] = 0
        return Backends(
            rows,
            np.zeros(len(rows), np.int64),
            np.zeros(len(rows), np.int64),
            np.zeros(len(rows), np.int64),
            nowhere,
            nowhere.copy(),
            rings,
            np.zeros(pages, np.int32),
            np.zeros(1, np.int64),
        )


@kernel
def begin_copy(backends: Backends, writer: int) -> None:
    """Begins a COPY, whose ring is empty."""
    ring = backends.rings[writer]
    slot = 1
    while slot < len(ring) and ring[slot] != NOWHERE:
        ring[slot] = NOWHERE
        slot += 1
    ring[0] = 0


@kernel
def to_heap(
    pool: SharedBuffers,
    checkpoints: Checkpoints,
    first: int,
    backends: Backends,
    sizes: LogSizes,
    heap_rows: int,
    writer: int,
    n: int,
    by_copy: bool,
    counts: Counts,
) -> None:
    """A writer's next n rows, by COPY; or one row by INSERT, which uses pages as an index does."""
    ring, state = backends.rings[writer], backends.state
    page = backends.heap[writer]
    if page == NONE and state[0]:
        page = state[0] - 1  # a writer begins on the last page (hio.c, RelationGetBufferForTuple)
    if page != NONE:
        counts[READ + HEAP] += use_in_turn(pool, first + page, ring) if by_copy else use(pool, first + page)
    while n:
        makes = page == NONE or backends.fill[page] == heap_rows
        if makes:
            page = state[0]
            state[0] += 1
            if by_copy:
                bring_in_turn(pool, first + page, ring)
            else:
                bring(pool, first + page)
        here = min(n, heap_rows - backends.fill[page])
        backends.fill[page] += here
        as_whole = not makes and whole(pool, checkpoints, first + page)
        size = rows_record(sizes, here, makes, as_whole) if by_copy else row_record(sizes, as_whole)
        if as_whole:
            size += image_of(counts, heap_image(sizes, backends.fill[page])) - IMAGE
        note(pool, first + page, append(pool, size))
        n -= here
    backends.heap[writer] = page
