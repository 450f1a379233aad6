"""InnoDB's sorted build, which ALTER TABLE … FORCE and OPTIMIZE TABLE do (btr0bulk.cc; btr0load.cc in MySQL).

Rules: docs/internals/innodb.md §7. Each level fills one page after another. A page that is full adds its node pointer
to the level above when the next one has its number; the last ones do so in the end. Then the records of the topmost
page are copied to the root, and that page is given back.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel
from keybench.pagemodels.innodb.branch_memory import (
    BASE,
    FORGOTTEN,
    HEIGHT,
    LAST,
    MINIMUM,
    NUMBER,
    RECORDS,
    ROOT,
    SEGMENT,
    SHRINKS,
    BranchTree,
    link,
    put,
)
from keybench.pagemodels.innodb.branch_splits import new_page
from keybench.pagemodels.innodb.leaf_memory import directory
from keybench.pagemodels.innodb.records import FILL_FACTORS, require_fill_factor
from keybench.pagemodels.innodb.segments import allocate, release
from keybench.pagemodels.innodb.tablespace import MYSQL, Tablespace, reserve_one

_LEVELS = 64
_FEWEST = 2
"""Records that a page has at least, whatever the fill factor (isSpaceAvailable)."""


def records_of_full_page(size: int, page_bytes: int, room: int, fill: int) -> int:
    """Records of so many bytes on a page that is full at a fill factor in %. UsageError for one that InnoDB lacks.

    A clustered index keeps a sixteenth of its pages free at 100 %, also of its branch pages.
    """
    require_fill_factor(fill)
    reserved = page_bytes // 16 if fill == max(FILL_FACTORS) else page_bytes * (100 - fill) // 100
    records = _FEWEST
    while room - (records + 1) * size - int(directory(records + 1)) >= reserved:
        records += 1
    return records


@kernel
def _begin(tree: BranchTree, space: Tablespace, level: int) -> int:
    """The number of a new page."""
    if space.facts[MYSQL]:
        reserve_one(space, False)
    return int(allocate(space, tree.facts[SEGMENT] + (level == 0), 0, 1))


@kernel
def _add(
    tree: BranchTree, space: Tablespace, filling: NDArray[Any], keep: int, level: int, key: int, child: int
) -> None:
    """Adds a node pointer to a level, and those of pages that this finishes to the levels above."""
    state = tree.state
    while True:
        page = filling[level]
        if page < 0:
            filling[level] = new_page(tree, level, _begin(tree, space, level))
            put(tree, filling[level], 0, MINIMUM, child)
            return
        if state[page, RECORDS] < keep:
            put(tree, page, state[page, RECORDS], key, child)
            return
        filling[level] = new_page(tree, level, _begin(tree, space, level))
        link(tree, filling[level], page, -1)
        put(tree, filling[level], 0, key, child)
        level, key, child = level + 1, tree.keys[state[page, BASE]], page


@kernel
def build(tree: BranchTree, space: Tablespace, lowers: NDArray[np.int64], keep: int) -> None:
    """Builds the branch pages over leaves with these lowest ranks, (leaves,), and numbers all pages.

    The file and the root, which is leaf 0, are there already; `keep`: node pointers on a full page.
    """
    facts, state, numbers = tree.facts, tree.state, tree.leaves
    root, filling, level = numbers[0], np.full(_LEVELS, -1), 0
    for i in range(len(lowers)):
        numbers[i] = _begin(tree, space, 0)
        if i > 0:
            _add(tree, space, filling, keep, 1, lowers[i - 1] + 1, i - 1)
    if len(lowers) == 1:
        release(space, facts[SEGMENT] + 1, numbers[0])
        numbers[0] = root
        return
    _add(tree, space, filling, keep, 1, lowers[-1] + 1, len(lowers) - 1)
    level = 1
    while filling[level + 1] >= 0:
        _add(tree, space, filling, keep, level + 1, tree.keys[state[filling[level], BASE]], filling[level])
        level += 1
    release(space, facts[SEGMENT], state[filling[level], NUMBER])
    state[filling[level], NUMBER] = root
    facts[ROOT], facts[HEIGHT] = filling[level], level
    if facts[SHRINKS]:  # MariaDB does not note which record came last
        state[:, LAST] = FORGOTTEN
