"""Pages that look-ups by key read right after a load into MariaDB."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keybench.pagemodels.costs.contract import LookUps
from keybench.pagemodels.costs.look_ups import newest_and_window
from keybench.pagemodels.innodb.leaf_memory import LOWER, PAGE, UPPER, Leaves
from keybench.pagemodels.innodb.leaf_splits import chain


def look_ups(leaves: Leaves, ranks: NDArray[np.int64], present: NDArray[np.bool_]) -> LookUps:
    """What a look-up of each row reads, from whether each leaf is in the pool; all rows have come.

    A consistent read visits a neighbour of the row's leaf where the row is at its border (row_search_mvcc): of a leaf's
    first row the left one, since the search goes by PAGE_CUR_L in branch pages; of its last row the right one, since
    with ROW_SEL_EXACT the server fetches the next row ahead, and only then sees that the key is another.
    """
    slots = leaves.slots[chain(leaves)]
    first, end = slots[:, LOWER].astype(np.int64), slots[:, UPPER].astype(np.int64)
    absent = ~present[slots[:, PAGE]]
    at = np.repeat(np.arange(len(slots), dtype=np.int32), end - first)  # of each rank
    reads = absent[at].astype(np.int8)
    reads[first[1:]] += absent[:-1]
    reads[end[:-1] - 1] += absent[1:]
    newest, window = newest_and_window(len(ranks))
    wanted = np.zeros(len(slots), np.bool_)
    of_window = ranks[window]
    for rank in (of_window, np.maximum(of_window - 1, 0), np.minimum(of_window + 1, len(ranks) - 1)):
        wanted[at[rank]] = True
    return LookUps(
        any_row=float(reads.mean()),
        newest=float(reads[ranks[newest]].mean()),
        window=float((absent & wanted).sum()) / len(of_window),
    )
