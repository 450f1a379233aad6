"""Checkpoints by log volume, and the places of the log."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.pagemodels.postgresql.cost import checkpoints, clock_sweep
from keybench.pagemodels.postgresql.cost.checkpoints import BEGUN, DUE, NEVER, REDO, SEGMENT_BYTES, TRIGGER, USABLE
from keybench.pagemodels.postgresql.cost.clock_sweep import DIRTY, FLUSHED, HEAP, INSERTED, NEEDED
from keybench.pagemodels.postgresql.cost.log_records import CHECKPOINT

MB = 1 << 20
BUFFERS = 10


def walked(usable: int) -> int:
    """The place after so many usable bytes, page by page."""
    place = 0
    while True:
        header = 40 if place % SEGMENT_BYTES == 0 else 24
        if usable < 8192 - header:
            return place + header + usable
        usable -= 8192 - header
        place += 8192


@given(st.one_of(st.integers(0, 5 * 8192), st.integers(USABLE - 3 * 8192, USABLE + 3 * 8192)))
def test_places_skip_the_headers_of_the_log_s_pages(usable: int) -> None:
    (place,) = checkpoints.places(np.array([usable]))
    assert place == walked(usable)
    assert checkpoints.usable(place) == usable


def test_a_page_of_the_log_ends_where_the_next_one_s_header_does() -> None:
    assert checkpoints.usable(8192) == checkpoints.usable(8192 + 24) == 8192 - 40
    assert checkpoints.usable(SEGMENT_BYTES) == checkpoints.usable(SEGMENT_BYTES + 40) == USABLE


@pytest.mark.parametrize(("max_wal_size", "segments"), [(32 * MB, 1), (64 * MB, 2), (128 * MB, 4), (4096 * MB, 134)])
def test_the_distance_leaves_room_for_the_log_of_a_running_checkpoint(max_wal_size: int, segments: int) -> None:
    files = np.arange(20)
    assert checkpoints.new(files, BUFFERS, max_wal_size, True, 0).segments == segments


def running(dirty: int) -> tuple[checkpoints.Checkpoints, clock_sweep.Pool]:
    """A checkpoint that begins a little after a segment's end, with so many dirty pages of the heap."""
    pool = clock_sweep.new(BUFFERS, 20, 0, 0)
    own = checkpoints.new(np.arange(20)[::-1].copy(), BUFFERS, 128 * MB, True, 0)
    for page in range(dirty):
        clock_sweep.bring(pool, page)
        pool.dirty[page] = DIRTY
    pool.state[INSERTED] = pool.state[FLUSHED] = 4 * USABLE + 1000
    checkpoints.go_on(own, pool)
    return own, pool


def test_a_checkpoint_begins_when_the_log_is_written_to_the_end_of_a_segment() -> None:
    pool = clock_sweep.new(BUFFERS, 20, 0, 0)
    own = checkpoints.new(np.arange(20), BUFFERS, 128 * MB, True, 100)
    assert own.state[TRIGGER] == 4 * USABLE, "the segment that the last one began in counts as whole"
    pool.state[INSERTED] = 4 * USABLE + 1000
    checkpoints.go_on(own, pool)
    assert own.state[BEGUN] == 0, "the log is not written yet"
    pool.state[FLUSHED] = pool.state[INSERTED]
    checkpoints.go_on(own, pool)
    assert (own.state[BEGUN], own.state[REDO], own.state[TRIGGER]) == (1, 4 * USABLE + 1000, 8 * USABLE)
    assert pool.state[INSERTED] == 4 * USABLE + 1000 + CHECKPOINT
    assert own.state[DUE] == NEVER, "no page is dirty"


def test_pages_are_written_in_the_order_of_the_files_as_the_log_grows() -> None:
    own, pool = running(dirty=8)
    assert pool.written[HEAP] == 0
    written = []
    for tenth in range(41):
        pool.state[INSERTED] = 4 * USABLE + 1000 + tenth * USABLE // 10
        checkpoints.go_on(own, pool)
        written.append([page for page in range(8) if not pool.dirty[page]])
    assert written[1] == [7], "the last in the pool, the first in the file; the next after an eighth of 3.6 segments"
    assert written[5] == [6, 7]
    assert written[20] == [3, 4, 5, 6, 7]
    assert written[32] == list(range(8)), "before 0.9 of the distance"


def test_pages_that_somebody_else_wrote_are_left_out_and_those_changed_since_wait() -> None:
    own, pool = running(dirty=3)
    clock_sweep.write(pool, 1)
    pool.dirty[1] |= DIRTY
    clock_sweep.bring(pool, 9)
    pool.dirty[pool.buffers[9]] = DIRTY
    checkpoints.finish(own, pool)
    assert pool.written[HEAP] == 3
    assert [page for page in range(20) if pool.buffers[page] >= 0 and pool.dirty[pool.buffers[page]]] == [1, 9]
    assert not (pool.dirty & NEEDED).any()


def test_without_full_page_writes_no_page_is_logged_as_a_whole() -> None:
    pool = clock_sweep.new(BUFFERS, 20, 0, 0)
    own = checkpoints.new(np.arange(20), BUFFERS, 128 * MB, False, 0)
    pool.state[INSERTED] = pool.state[FLUSHED] = 4 * USABLE + 1000
    checkpoints.go_on(own, pool)
    assert (own.state[BEGUN], own.state[REDO]) == (1, -1)
