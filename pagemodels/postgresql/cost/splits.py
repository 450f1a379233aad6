"""Splits of leaves and branch pages, what they read and log: _bt_split, _bt_insert_parent, _bt_newroot (nbtinsert.c).

All levels above the lowest branch pages count as one page, which is always in the cache.
"""

from __future__ import annotations

from keybench.compiled import inlined, kernel
from keybench.pagemodels.costs.touches import NONE
from keybench.pagemodels.postgresql.cost.checkpoints import READ, Checkpoints, Counts, append, image_of, note, whole
from keybench.pagemodels.postgresql.cost.clock_sweep import BRANCH, CALM, LEAF, SharedBuffers, bring, use
from keybench.pagemodels.postgresql.cost.log_records import (
    FIRST_ENTRY,
    INSERT,
    NEW_ROOT,
    NEXT_PAGE,
    SPLIT,
    LogSizes,
    branch_image,
    leaf_image,
)
from keybench.pagemodels.postgresql.cost.trees import LAST, MADE, HeapIndex, IndexLevel


@inlined
def traced(tree: IndexLevel, page: int, row: int) -> int:
    """Where a page's entries were before that row: the page itself, or the one from which it came."""
    while tree.births[page] >= row and tree.origins[page] != NONE:
        page = tree.origins[page]
    return page


@kernel
def _split(tree: IndexLevel, page: int) -> int:
    """Makes the next page of a level. Returns how many entries it has."""
    origin = tree.origins[page]
    entries: int = tree.entries[origin] + 1 - tree.kept[page]
    tree.entries[origin], tree.entries[page] = tree.kept[page], entries
    tree.state[MADE] += 1
    if tree.neighbours[page] == NONE:
        tree.state[LAST] = page
    return entries


@kernel
def _to_parent(
    pool: SharedBuffers,
    checkpoints: Checkpoints,
    index: HeapIndex,
    sizes: LogSizes,
    leaf: int,
    row: int,
    counts: Counts,
) -> None:
    """The link to a leaf that `row` made, in the branch page above."""
    branches, first = index.branches, index.first_branch
    if branches.births[0] == row:
        bring(pool, first)
        branches.entries[0] = 2
        note(pool, first, append(pool, NEW_ROOT + FIRST_ENTRY + sizes.entry))
        return
    own = traced(branches, index.parents[leaf], row)
    counts[READ + BRANCH] += use(pool, first + own)
    made = branches.state[MADE]
    if made == len(branches.made) or branches.births[branches.made[made]] != row:
        branches.entries[own] += 1
        size = INSERT + NEXT_PAGE + sizes.entry
        if whole(pool, checkpoints, first + own):
            image = branch_image(sizes, branches.entries[own], own == branches.state[LAST])
            size += image_of(counts, image) - sizes.entry
        note(pool, first + own, append(pool, size))
        return
    page = branches.made[made]
    neighbour = branches.neighbours[page]
    entries = _split(branches, page)
    goes_left = traced(branches, index.parents[leaf], row + 1) == own
    bring(pool, first + page)
    size = SPLIT + NEXT_PAGE + FIRST_ENTRY + sizes.entry * (entries - 1 + (neighbour != NONE))
    if whole(pool, checkpoints, first + own):
        size += image_of(counts, branch_image(sizes, branches.entries[own], False))
    else:
        size += sizes.entry * (2 if goes_left else 1)
    if neighbour != NONE:
        counts[READ + BRANCH] += use(pool, first + neighbour)
        size += NEXT_PAGE
        if whole(pool, checkpoints, first + neighbour):
            size += image_of(
                counts, branch_image(sizes, branches.entries[neighbour], neighbour == branches.state[LAST])
            )
    place = append(pool, size)
    note(pool, first + own, place)
    note(pool, first + page, place)
    if neighbour != NONE:
        note(pool, first + neighbour, place)
    root = index.root
    if made == 0:
        bring(pool, root)
        note(pool, root, append(pool, NEW_ROOT + FIRST_ENTRY + sizes.entry))
        return
    counts[READ + BRANCH] += use(pool, root)
    size = INSERT + NEXT_PAGE + sizes.entry
    if whole(pool, checkpoints, root):
        size += image_of(counts, branch_image(sizes, made + 2, True)) - sizes.entry
    note(pool, root, append(pool, size))


@kernel
def split_leaf(
    pool: SharedBuffers,
    checkpoints: Checkpoints,
    index: HeapIndex,
    sizes: LogSizes,
    goes_to: int,
    row: int,
    counts: Counts,
) -> None:
    """A row's entry splits its leaf, which was used already."""
    leaves = index.leaves
    pool.state[CALM] += 1
    page = leaves.made[leaves.state[MADE]]
    own, neighbour = leaves.origins[page], leaves.neighbours[page]
    entries = _split(leaves, page)
    bring(pool, page)
    size = SPLIT + sizes.entry * (entries + (neighbour != NONE))
    if whole(pool, checkpoints, own):
        size += image_of(counts, leaf_image(sizes, leaves.entries[own], False))
    else:
        size += sizes.entry * (2 if goes_to == own else 1)
    if neighbour != NONE:
        counts[READ + LEAF] += use(pool, neighbour)
        size += NEXT_PAGE
        if whole(pool, checkpoints, neighbour):
            size += image_of(counts, leaf_image(sizes, leaves.entries[neighbour], neighbour == leaves.state[LAST]))
    place = append(pool, size)
    note(pool, own, place)
    note(pool, page, place)
    if neighbour != NONE:
        note(pool, neighbour, place)
    _to_parent(pool, checkpoints, index, sizes, page, row, counts)
