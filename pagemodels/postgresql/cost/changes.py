"""What is counted, and how a change of a page goes into the log."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import inlined
from keybench.pagemodels.postgresql.cost.checkpoints import REDO, Checkpoints
from keybench.pagemodels.postgresql.cost.clock_sweep import DIRTY, SharedBuffers
from keybench.pagemodels.postgresql.cost.log_records import IMAGE

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
