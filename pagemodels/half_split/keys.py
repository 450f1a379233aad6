"""Which keys an index has: one byte for each key that ever comes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel

ABSENT, PRESENT, DELETED = range(3)
"""Of a deleted key the entry is still in a leaf."""

States = NDArray[np.uint8]


@kernel
def change(states: States, ranks: NDArray[np.int64], before: int, after: int) -> int:
    """Changes these keys from one state to another, all or none, and returns their number.

    Returns the place of the first rank that is no key, that comes twice or whose key is in another state.
    """
    for i in range(len(ranks)):
        rank = ranks[i]
        if rank < 0 or rank >= len(states) or states[rank] != before:
            for j in range(i):
                states[ranks[j]] = before
            return i
        states[rank] = after
    return len(ranks)


@kernel
def forget(states: States) -> int:
    """Makes deleted keys absent. Returns how many are present."""
    present = 0
    for rank in range(len(states)):
        states[rank] = PRESENT * (states[rank] == PRESENT)
        present += states[rank]
    return present
