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
from keybench.pagemodels.half_split.levels import TreeLevel, build_branches, build_level, numbers_by_birth
from keybench.pagemodels.postgresql.cost import cache, log
from keybench.pagemodels.postgresql.cost.cache import SharedBuffers
from keybench.pagemodels.postgresql.cost.log import Checkpoints, Counts, LogSizes

Integers = NDArray[np.int64]
Places = NDArray[np.int32]


class IndexLevel(NamedTuple):
    """A level of the index: its pages in key order, and how many entries each has now."""

    births: Integers
    """(pages,): this and the next three are those of `Ancestry`."""
    origins: Places
    neighbours: Places
    by_age: Places
    kept: Integers
    """(pages,): entries that stayed on the page that split to make this one."""
    entries: Places
    """(pages,): entries that each page has now."""
    state: Integers
    """(2,): by the names below."""


SPLITS, LAST = range(2)
"""Fields of a level's state: splits so far, each of which made the next page of `by_age`; the last page by key."""


class HeapIndex(NamedTuple):
    """Both levels. Pages are numbered in this order: leaves, branch pages, the pages above them as one, the heap's."""

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


def _level_before_load(pages: Ancestry, level: TreeLevel | None, rule: Rule) -> IndexLevel:
    """A level before its first row. `level`: the same level after the last row; None if it never has a page. `pages`:
    how its pages came about. `rule`: how they split."""
    kept = np.empty(0, np.int64)
    if level is not None:  # kinds are numbered from −1, the first page, which no split made
        kept = np.array([0, rule.keep_append, rule.keep_edge, rule.keep_interior], np.int64)[level.kinds + 1]
    entries = np.zeros(len(pages.births), np.int32)
    return IndexLevel(*pages, kept=kept, entries=entries, state=np.zeros(2, np.int64))


def index_before_load(ranks: Integers, leaf: Rule, branch: Rule) -> tuple[HeapIndex, TreeLevel, Integers]:
    """(the index before its first row, its leaves after the last row, the place of each page in the index's file by
    page number). `ranks`: of the keys, in order of arrival. `leaf`, `branch`: how their pages split."""
    leaf_level = build_level(ranks, leaf, noted=True)
    above = build_branches(leaf_level, branch)
    branch_level = above[0] if above else None
    leaves, branches = ancestry(leaf_level), ancestry(branch_level)
    first_heap = len(leaf_level) + len(branches.births) + 1
    parents = np.empty(0, np.int32)
    if branch_level is not None:
        uppers = np.cumsum(branch_level.rows)
        parents = np.searchsorted(uppers, np.arange(len(leaf_level)), side="right").astype(np.int32)
    before_load = HeapIndex(
        leaves=_level_before_load(leaves, leaf_level, leaf),
        branches=_level_before_load(branches, branch_level, branch),
        parents=parents,
        ways=np.full((len(parents), 2), NONE, np.int32),
        first_branch=len(leaf_level),
        root=first_heap - 1 if len(above) > 1 else NONE,
        first_heap=first_heap,
    )
    # The pages above the lowest branch pages, which count as one, lie behind all others.
    places = np.append(np.concatenate(numbers_by_birth([leaves.births, branches.births])), first_heap)
    return before_load, leaf_level, places


class Backends(NamedTuple):
    """What each writer's server process (backend) remembers, (writers,) each; and the rows on the heap's pages."""

    rows: Integers
    """All rows that the writer will send."""
    done: Integers
    """Rows that it has sent."""
    in_tx: Integers
    """Rows of its transaction so far."""
    in_batch: Integers
    """Rows that are in the heap, but not in the index yet."""
    heap: Integers
    """The page of the heap to which its next row goes; −1 if none."""
    leaf: Integers
    """The last leaf of the index, if the writer's row before went there; else −1."""
    rings: Places
    """(writers, 1 + buffers): the ring of buffers of each COPY (`cache.bring_in_turn`)."""
    fill: Places
    """(heap pages,): rows on each page of the heap."""
    state: Integers
    """(1,): pages of the heap."""

    @staticmethod
    def new(rows: Integers, pages: int, ring: int) -> Backends:
        """The state before the first row. `rows`: (writers,), those that each will send. `pages`: of the heap, at most.
        `ring`: buffers of a COPY's ring."""
        done, in_tx, in_batch = np.zeros((3, len(rows)), np.int64)
        heap, leaf = np.full((2, len(rows)), NONE, np.int64)
        rings = np.full((len(rows), 1 + ring), cache.NOWHERE, np.int32)
        rings[:, 0] = 0
        return Backends(
            rows=rows,
            done=done,
            in_tx=in_tx,
            in_batch=in_batch,
            heap=heap,
            leaf=leaf,
            rings=rings,
            fill=np.zeros(pages, np.int32),
            state=np.zeros(1, np.int64),
        )


@kernel
def begin_copy(backends: Backends, writer: int) -> None:
    """Begins a COPY of a writer: its ring has no buffers yet."""
    ring = backends.rings[writer]
    slot = 1
    while slot < len(ring) and ring[slot] != cache.NOWHERE:  # a ring fills from the front
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
    """Adds a writer's next n rows to the heap, by COPY; or one row by INSERT, which uses pages as an index does.
    `heap_rows`: rows that fit a page of the heap."""
    pool, checkpoints, backends, sizes, counts = load.pool, load.checkpoints, load.backends, load.sizes, load.counts
    ring, state, first = backends.rings[writer], backends.state, load.tree.first_heap
    page = backends.heap[writer]
    if page == NONE and state[0]:
        page = state[0] - 1  # a writer begins on the last page (hio.c, RelationGetBufferForTuple)
    if page != NONE:
        counts[log.READ + cache.HEAP] += (
            cache.use_in_turn(pool, first + page, ring) if by_copy else cache.use(pool, first + page)
        )
    while n:  # page by page
        is_new = page == NONE or backends.fill[page] == heap_rows
        if is_new:
            page = state[0]
            state[0] += 1
            if by_copy:
                cache.bring_in_turn(pool, first + page, ring)
            else:
                cache.bring(pool, first + page)
        rows_here = min(n, heap_rows - backends.fill[page])
        backends.fill[page] += rows_here
        as_whole = not is_new and log.needs_image(pool, checkpoints, first + page)
        size = log.rows_record(sizes, rows_here, is_new, as_whole) if by_copy else log.row_record(sizes, as_whole)
        if as_whole:  # the record's size has log.IMAGE already
            size += log.count_image(counts, log.heap_image(sizes, backends.fill[page])) - log.IMAGE
        log.note_change(pool, first + page, log.append(pool, size))
        n -= rows_here
    backends.heap[writer] = page


@inlined
def page_before(tree: IndexLevel, page: int, row: int) -> int:
    """The page that had the range of `page` before `row`: the page itself, or the nearest one of those from which it
    was split off that was there already."""
    while tree.births[page] >= row and tree.origins[page] != NONE:
        page = tree.origins[page]
    return page


@inlined
def _image(sizes: LogSizes, level: IndexLevel, page: int, first: int) -> int:
    """Bytes of a level's page as a whole. `first`: the number of the level's first page, which is 0 for leaves."""
    is_last, entries = page == level.state[LAST], level.entries[page]
    return log.leaf_image(sizes, entries, is_last) if first == 0 else log.branch_image(sizes, entries, is_last)


@kernel
def _split(load: LoadState, level: IndexLevel, first: int, goes_left: bool) -> None:
    """Makes the next page of a level by a split, and logs that. The page that splits was used already. `first`: the
    number of the level's first page, which is 0 for leaves. `goes_left`: whether the new entry stays on the old page.
    """
    pool, checkpoints, sizes, counts = load.pool, load.checkpoints, load.sizes, load.counts
    # 1. The new page takes entries from the one that splits. What each keeps is known beforehand.
    page = level.by_age[level.state[SPLITS]]
    origin, neighbour = level.origins[page], level.neighbours[page]
    level.entries[page] = level.entries[origin] + 1 - level.kept[page]
    level.entries[origin] = level.kept[page]
    level.state[SPLITS] += 1
    if neighbour == NONE:
        level.state[LAST] = page
    # 2. The record's size: the new page's entries and high key, the old page, the right neighbour.
    cache.bring(pool, first + page)
    size = log.SPLIT + sizes.entry * (level.entries[page] + (neighbour != NONE))
    if first > 0:  # the record names the child, and the first entry of a branch page is short
        size += log.NEXT_PAGE + log.FIRST_ENTRY - sizes.entry
    if log.needs_image(pool, checkpoints, first + origin):
        size += log.count_image(counts, _image(sizes, level, origin, first))
    else:
        size += sizes.entry * (2 if goes_left else 1)  # its new high key, and the new entry if that is there
    if neighbour != NONE:
        counts[log.READ + (cache.LEAF if first == 0 else cache.BRANCH)] += cache.use(pool, first + neighbour)
        size += log.NEXT_PAGE
        if log.needs_image(pool, checkpoints, first + neighbour):
            size += log.count_image(counts, _image(sizes, level, neighbour, first))
    place = log.append(pool, size)
    log.note_change(pool, first + origin, place)
    log.note_change(pool, first + page, place)
    if neighbour != NONE:
        log.note_change(pool, first + neighbour, place)


@kernel
def _to_parent(load: LoadState, leaf: int, row: int) -> None:
    """Enters the link to a leaf that `row` made into the branch page above it, which may split."""
    pool, checkpoints, index, sizes, counts = load.pool, load.checkpoints, load.tree, load.sizes, load.counts
    branches, first = index.branches, index.first_branch
    if branches.births[0] == row:  # the first branch page
        cache.bring(pool, first)
        branches.entries[0] = 2
        log.note_change(pool, first, log.append(pool, log.NEW_ROOT + log.FIRST_ENTRY + sizes.entry))
        return
    parent = page_before(branches, index.parents[leaf], row)
    counts[log.READ + cache.BRANCH] += cache.use(pool, first + parent)
    splits = branches.state[SPLITS]
    # Unless the row made the level's next page, the link fits.
    if splits == len(branches.by_age) or branches.births[branches.by_age[splits]] != row:
        branches.entries[parent] += 1
        size = log.INSERT + log.NEXT_PAGE + sizes.entry
        if log.needs_image(pool, checkpoints, first + parent):
            size += log.count_image(counts, _image(sizes, branches, parent, first)) - sizes.entry
        log.note_change(pool, first + parent, log.append(pool, size))
        return
    _split(load, branches, first, page_before(branches, index.parents[leaf], row + 1) == parent)
    # The branch page has split: the link to its new half goes to the page above.
    root = index.root
    if splits == 0:  # the first split makes that page
        cache.bring(pool, root)
        log.note_change(pool, root, log.append(pool, log.NEW_ROOT + log.FIRST_ENTRY + sizes.entry))
        return
    counts[log.READ + cache.BRANCH] += cache.use(pool, root)
    size = log.INSERT + log.NEXT_PAGE + sizes.entry
    if log.needs_image(pool, checkpoints, root):
        size += log.count_image(counts, log.branch_image(sizes, splits + 2, True)) - sizes.entry
    log.note_change(pool, root, log.append(pool, size))


@kernel
def split_leaf(load: LoadState, goes_to: int, row: int) -> None:
    """Splits the leaf of a row, which was used already, and enters the link to the new leaf above. `goes_to`: the leaf
    to which the row belongs afterwards."""
    leaves = load.tree.leaves
    load.pool.state[cache.CALM] += 1
    page = leaves.by_age[leaves.state[SPLITS]]
    _split(load, leaves, 0, goes_to == leaves.origins[page])
    _to_parent(load, page, row)
