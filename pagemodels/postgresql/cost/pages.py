"""The pages of an index and its heap while a load goes on: how rows go to the heap, and what splits read and log.

Each writer has its own page of the heap that is not full yet (RelationGetBufferForTuple in hio.c, heap_multi_insert and
heap_insert in heapam.c). A split also changes the right neighbour, whose link leads back, and the branch page above
(_bt_split, _bt_insert_parent, _bt_newroot in nbtinsert.c). All levels above the lowest branch pages count as one page,
which is always in the cache.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import inlined, kernel
from keybench.pagemodels.costs.touches import NONE, Ancestry, ancestry
from keybench.pagemodels.half_split.kernel import Rule
from keybench.pagemodels.half_split.levels import TreeLevel, build_branches, build_level
from keybench.pagemodels.postgresql.cost import cache, log
from keybench.pagemodels.postgresql.cost.cache import SharedBuffers
from keybench.pagemodels.postgresql.cost.log import Checkpoints, Counts, LogSizes

Integers = NDArray[np.int64]
Places = NDArray[np.int32]


class IndexLevel(NamedTuple):
    """A level of the index: its pages in key order, and how many entries each has now."""

    births: Integers
    origins: Places
    neighbours: Places
    made: Places
    """As in `Ancestry`."""
    kept: Integers
    """(pages,): entries that stayed on the page that split to make this one."""
    entries: Places
    """(pages,): now."""
    state: Integers
    """(2,): how many of `made` are there; the last page in key order."""


MADE, LAST = range(2)


class HeapIndex(NamedTuple):
    """Both levels, and where all pages have their numbers: leaves, branch pages, the pages above them as one, heap."""

    leaves: IndexLevel
    branches: IndexLevel
    parents: Places
    """(leaves,): the branch page that has each leaf in the end; empty if there is none."""
    ways: Places
    """(leaves, 2): the branch page on the way to each leaf when it was last used, and how many branch pages there were
    then."""
    first_branch: int
    root: int
    """The page above all branch pages; −1 if there is none."""
    first_heap: int


def _tree(pages: Ancestry, level: TreeLevel | None, rule: Rule) -> IndexLevel:
    kept = np.empty(0, np.int64)
    if level is not None:
        kept = np.array([0, rule.keep_append, rule.keep_edge, rule.keep_interior], np.int64)[level.kinds + 1]
    return IndexLevel(*pages, kept, np.zeros(len(pages.births), np.int32), np.zeros(2, np.int64))


def index(ranks: Integers, leaf: Rule, branch: Rule) -> tuple[HeapIndex, TreeLevel, Integers]:
    """(the index before its first row, its leaves in the end, the place of each page in its file by page number)."""
    level = build_level(ranks, leaf, noted=True)
    above = build_branches(level, branch)
    leaves = ancestry(level)
    branches = ancestry(above[0]) if above else Ancestry(*(np.empty(0, own.dtype) for own in leaves))
    first_heap = len(level) + len(branches.births) + 1
    parents = np.empty(0, np.int32)
    if above:
        parents = np.searchsorted(np.cumsum(above[0].rows), np.arange(len(level)), side="right").astype(np.int32)
    built = HeapIndex(
        _tree(leaves, level, leaf),
        _tree(branches, above[0] if above else None, branch),
        parents,
        np.full((len(parents), 2), NONE, np.int32),
        len(level),
        first_heap - 1 if len(above) > 1 else NONE,
        first_heap,
    )
    return built, level, _files(leaves, branches, first_heap)


def _files(leaves: Ancestry, branches: Ancestry, pages: int) -> Integers:
    """The place of each page in the index's file, by its number. Of pages that a row makes, the leaf comes first."""
    births = np.concatenate([leaves.births, branches.births])
    heights = np.repeat([0, 1], [len(leaves.births), len(branches.births)])
    files = np.full(pages, pages, np.int64)
    files[np.lexsort((heights, births))] = np.arange(len(births))
    return files


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
        rings = np.full((len(rows), 1 + ring), cache.NOWHERE, np.int32)
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
    while slot < len(ring) and ring[slot] != cache.NOWHERE:
        ring[slot] = cache.NOWHERE
        slot += 1
    ring[0] = 0


class LoadState(NamedTuple):
    """All that a load changes."""

    pool: SharedBuffers
    checkpoints: Checkpoints
    tree: HeapIndex
    backends: Backends
    sizes: LogSizes
    counts: Counts
    """(FIELDS,): what was counted so far."""


@kernel
def to_heap(load: LoadState, heap_rows: int, writer: int, n: int, by_copy: bool) -> None:
    """A writer's next n rows, by COPY; or one row by INSERT, which uses pages as an index does."""
    pool, checkpoints, backends, sizes, counts = load.pool, load.checkpoints, load.backends, load.sizes, load.counts
    ring, state, first = backends.rings[writer], backends.state, load.tree.first_heap
    page = backends.heap[writer]
    if page == NONE and state[0]:
        page = state[0] - 1  # a writer begins on the last page (hio.c, RelationGetBufferForTuple)
    if page != NONE:
        counts[log.READ + cache.HEAP] += (
            cache.use_in_turn(pool, first + page, ring) if by_copy else cache.use(pool, first + page)
        )
    while n:
        makes = page == NONE or backends.fill[page] == heap_rows
        if makes:
            page = state[0]
            state[0] += 1
            if by_copy:
                cache.bring_in_turn(pool, first + page, ring)
            else:
                cache.bring(pool, first + page)
        here = min(n, heap_rows - backends.fill[page])
        backends.fill[page] += here
        as_whole = not makes and log.whole(pool, checkpoints, first + page)
        size = log.rows_record(sizes, here, makes, as_whole) if by_copy else log.row_record(sizes, as_whole)
        if as_whole:
            size += log.image_of(counts, log.heap_image(sizes, backends.fill[page])) - log.IMAGE
        log.note(pool, first + page, log.append(pool, size))
        n -= here
    backends.heap[writer] = page


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
def _to_parent(load: LoadState, leaf: int, row: int) -> None:
    """The link to a leaf that `row` made, in the branch page above."""
    pool, checkpoints, index, sizes, counts = load.pool, load.checkpoints, load.tree, load.sizes, load.counts
    branches, first = index.branches, index.first_branch
    if branches.births[0] == row:
        cache.bring(pool, first)
        branches.entries[0] = 2
        log.note(pool, first, log.append(pool, log.NEW_ROOT + log.FIRST_ENTRY + sizes.entry))
        return
    own = traced(branches, index.parents[leaf], row)
    counts[log.READ + cache.BRANCH] += cache.use(pool, first + own)
    made = branches.state[MADE]
    if made == len(branches.made) or branches.births[branches.made[made]] != row:
        branches.entries[own] += 1
        size = log.INSERT + log.NEXT_PAGE + sizes.entry
        if log.whole(pool, checkpoints, first + own):
            image = log.branch_image(sizes, branches.entries[own], own == branches.state[LAST])
            size += log.image_of(counts, image) - sizes.entry
        log.note(pool, first + own, log.append(pool, size))
        return
    page = branches.made[made]
    neighbour = branches.neighbours[page]
    entries = _split(branches, page)
    goes_left = traced(branches, index.parents[leaf], row + 1) == own
    cache.bring(pool, first + page)
    size = log.SPLIT + log.NEXT_PAGE + log.FIRST_ENTRY + sizes.entry * (entries - 1 + (neighbour != NONE))
    if log.whole(pool, checkpoints, first + own):
        size += log.image_of(counts, log.branch_image(sizes, branches.entries[own], False))
    else:
        size += sizes.entry * (2 if goes_left else 1)
    if neighbour != NONE:
        counts[log.READ + cache.BRANCH] += cache.use(pool, first + neighbour)
        size += log.NEXT_PAGE
        if log.whole(pool, checkpoints, first + neighbour):
            size += log.image_of(
                counts, log.branch_image(sizes, branches.entries[neighbour], neighbour == branches.state[LAST])
            )
    place = log.append(pool, size)
    log.note(pool, first + own, place)
    log.note(pool, first + page, place)
    if neighbour != NONE:
        log.note(pool, first + neighbour, place)
    root = index.root
    if made == 0:
        cache.bring(pool, root)
        log.note(pool, root, log.append(pool, log.NEW_ROOT + log.FIRST_ENTRY + sizes.entry))
        return
    counts[log.READ + cache.BRANCH] += cache.use(pool, root)
    size = log.INSERT + log.NEXT_PAGE + sizes.entry
    if log.whole(pool, checkpoints, root):
        size += log.image_of(counts, log.branch_image(sizes, made + 2, True)) - sizes.entry
    log.note(pool, root, log.append(pool, size))


@kernel
def split_leaf(load: LoadState, goes_to: int, row: int) -> None:
    """A row's entry splits its leaf, which was used already."""
    pool, checkpoints, sizes, counts = load.pool, load.checkpoints, load.sizes, load.counts
    leaves = load.tree.leaves
    pool.state[cache.CALM] += 1
    page = leaves.made[leaves.state[MADE]]
    own, neighbour = leaves.origins[page], leaves.neighbours[page]
    entries = _split(leaves, page)
    cache.bring(pool, page)
    size = log.SPLIT + sizes.entry * (entries + (neighbour != NONE))
    if log.whole(pool, checkpoints, own):
        size += log.image_of(counts, log.leaf_image(sizes, leaves.entries[own], False))
    else:
        size += sizes.entry * (2 if goes_to == own else 1)
    if neighbour != NONE:
        counts[log.READ + cache.LEAF] += cache.use(pool, neighbour)
        size += log.NEXT_PAGE
        if log.whole(pool, checkpoints, neighbour):
            size += log.image_of(
                counts, log.leaf_image(sizes, leaves.entries[neighbour], neighbour == leaves.state[LAST])
            )
    place = log.append(pool, size)
    log.note(pool, own, place)
    log.note(pool, page, place)
    if neighbour != NONE:
        log.note(pool, neighbour, place)
    _to_parent(load, page, row)
