"""Checkpoints by log volume, and the places of the log."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keybench.pagemodels.postgresql.cost import log
from keybench.pagemodels.postgresql.cost.log import SEGMENT_BYTES, USABLE

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
    (place,) = log.places(np.array([usable]))
    assert place == walked(usable)
    assert log.usable(place) == usable


@pytest.mark.parametrize(("max_wal_size", "segments"), [(32 * MB, 1), (64 * MB, 2), (128 * MB, 4), (4096 * MB, 134)])
def test_the_distance_leaves_room_for_the_log_of_a_running_checkpoint(max_wal_size: int, segments: int) -> None:
    files = np.arange(20)
    assert log.new(files, BUFFERS, max_wal_size, True, 0).segments == segments
