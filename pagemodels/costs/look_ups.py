"""Pages that look-ups read right after a load, with the cache as the load left it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.pagemodels.costs.contract import LookUps

Pages = NDArray[np.int32] | NDArray[np.int64]
Present = NDArray[np.bool_]

_NEWEST = 0.01
_WINDOW = 0.01


def newest_and_window(n: int) -> tuple[slice, slice]:
    """Which of so many rows, in order of arrival, are the newest, and which are the window of time."""
    return slice(n - max(1, round(n * _NEWEST)), n), slice(n // 2, n // 2 + max(1, round(n * _WINDOW)))


def look_ups(leaf: Pages, leaf_present: Present, table: Pages | None = None, present: Present | None = None) -> LookUps:
    """What a look-up reads, from the leaf of each row in order of arrival, (n,), and whether each leaf is in the cache;
    the same for the pages of the rows, where they are not in the index.

    Each look-up counts for itself: it does not bring its pages into the cache for the next one. A window of time brings
    each of its pages once. Branch pages are left out: those above pages in use are in the cache, others may not be.
    """
    newest, window = newest_and_window(len(leaf))
    kinds = [(leaf, leaf_present)]
    if table is not None and present is not None:
        kinds.append((table, present))
    return LookUps(
        any_row=sum(float((~here[pages]).mean()) for pages, here in kinds),
        newest=sum(float((~here[pages[newest]]).mean()) for pages, here in kinds),
        window=sum(float((~here[np.unique(pages[window])]).sum()) for pages, here in kinds)
        / (window.stop - window.start),
    )
