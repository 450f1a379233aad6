"""Pages that a load into MariaDB reads and writes: one writer, a clustered index.

A row leads through the branch pages to its leaf, and adds a record to its transaction's undo log. A row that does not
fit latches both neighbours of its leaf too (btr_cur_t::pessimistic_search_leaf), and a new page is entered in the
file's first pages. Transactions take one of 128 rollback segments after the other; once a second, purge reads what was
committed since, and visits the headers of all segments (trx0purge.cc, purge_sys_t::iterator::free_history).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import inlined, int64, kernel
from keybench.pagemodels.costs.touches import NONE, part_of
from keybench.pagemodels.innodb import branch_memory as branch
from keybench.pagemodels.innodb.branch_memory import PAGES, BranchTree
from keybench.pagemodels.innodb.cost import cache
from keybench.pagemodels.innodb.cost.cache import BufferPool
from keybench.pagemodels.innodb.leaf_memory import DOWN, FULL, NEIGHBOUR, ROW, WHAT
from keybench.pagemodels.innodb.leaf_memory import OTHER as NEW
from keybench.pagemodels.innodb.node_pointers import follow
from keybench.pagemodels.innodb.tablespace import Tablespace
from keybench.pagemodels.memory import uncounted

Integers = NDArray[np.int64]

_TABLE, _SYSTEM = 0, 3
"""The first of three pages at the beginning of the table's file, and of the system's."""
_MAP, _BITMAP, _SEGMENTS = range(3)
"""These pages: descriptors of extents, bitmap of the change buffer, segments."""
_HEADERS, SEGMENTS = 6, 128
"""The headers of the rollback segments, and how many there are (TRX_SYS_N_RSEGS)."""
UNDO = _HEADERS + SEGMENTS
"""The first undo page."""

_ABOVE_ALL = 1 << 62
"""A key above all others."""

SECOND = 1_000_000_000
_SWEEPS = 2
"""How often purge visits all segments each time: once after its work, once when it finds no more."""

_WINDOW = 64
"""Splits after which the branch pages are brought up to date: a row may use a branch page that much too early."""
_LEVELS = 64
"""More levels than any index has."""

ROWS, COMMITTED, PURGED, PURGE_AT, UNDO_PAGES, UNUSED, _EVENTS, _FOLLOWED, _BRANCHES = range(9)
"""Fields of `state`. ROWS: rows done. COMMITTED, PURGED: transactions committed, and purged. PURGE_AT: the time of the
next purge. UNDO_PAGES: undo pages in the file. UNUSED: those of them that are free. _EVENTS: events of leaves that are
done. _FOLLOWED: events that the branch pages know. _BRANCHES: branch pages so far."""
FIELDS = 9


class Plan(NamedTuple):
    """The rows of a load, the undo pages of its transactions, and the neighbours of the leaves."""

    ranks: Integers
    """Of the keys, in order of arrival: (n,)."""
    rows_per_tx: int
    undo_pages: int
    """Of a transaction; 0 for a sample of rows: then nothing but the index is known."""
    row_time: int
    """ns that a row takes, without reads."""
    undo: NDArray[np.int32]
    """(transactions, undo pages): the pages of each transaction's undo log."""
    unused: NDArray[np.int32]
    """Undo pages that purge has freed, the last one first in use again; as many as there can be undo pages."""
    left: NDArray[np.int32]
    """(leaves,): the left neighbour of each leaf; −1 none."""
    right: NDArray[np.int32]
    """(leaves,): the right neighbour of each leaf; −1 none."""
    state: Integers
    """By the names above."""


@kernel
def _new_in_file(pool: BufferPool, plan: Plan, file: int) -> int:
    """Uses the first pages of a file, in which a new page is entered. Returns pages read."""
    if plan.undo_pages == 0:
        return 0
    return (
        cache.use(pool, file + _MAP, True)
        + cache.use(pool, file + _SEGMENTS, True)
        + cache.use(pool, file + _BITMAP, False)
    )


@kernel
def _new_undo_page(plan: Plan, transaction: int, number: int) -> int:
    """Gives a transaction its undo page of this number: one that is free, or a new one. Returns that page."""
    state = plan.state
    if state[UNUSED]:
        state[UNUSED] -= 1
        page = int(plan.unused[state[UNUSED]])
    else:
        page = UNDO + state[UNDO_PAGES]
        state[UNDO_PAGES] += 1
    plan.undo[transaction, number] = page
    return page


@kernel
def _begin_undo_page(pool: BufferPool, plan: Plan, transaction: int, number: int) -> int:
    """Begins a transaction's undo page of this number. Returns pages read."""
    reads = cache.use(pool, _HEADERS + transaction % SEGMENTS, number == 0)
    if plan.undo_pages == 1 and transaction >= SEGMENTS:  # the segment's own is used again (TRX_UNDO_CACHED)
        plan.undo[transaction, 0] = plan.undo[transaction - SEGMENTS, 0]
        return reads + cache.use(pool, int(plan.undo[transaction, 0]), True)
    reads += _new_in_file(pool, plan, _SYSTEM)
    cache.create(pool, _new_undo_page(plan, transaction, number))
    return reads


@kernel
def _commit(pool: BufferPool, plan: Plan, transaction: int) -> int:
    """Adds a transaction to the history: to a list that links it with the segment's last one (flst_add_first). Returns
    pages read."""
    reads = cache.use(pool, _HEADERS + transaction % SEGMENTS, True)
    if transaction - SEGMENTS >= plan.state[PURGED]:
        reads += cache.use(pool, int(plan.undo[transaction - SEGMENTS, 0]), True)
    return reads + cache.use(pool, int(plan.undo[transaction, 0]), True)


@kernel
def _purge(pool: BufferPool, plan: Plan) -> int:
    """Reads the undo logs of transactions that were committed, and frees them. That goes on beside the load, so it
    takes no time. Returns pages read."""
    now, reads, state = pool.state[cache.NOW], 0, plan.state
    for transaction in range(state[PURGED], state[COMMITTED]):
        header = _HEADERS + transaction % SEGMENTS
        reads += cache.use(pool, header, False)
        for number in range(plan.undo_pages):
            reads += cache.use(pool, int(plan.undo[transaction, number]), False)
    for sweep in range(_SWEEPS):
        for segment in range(SEGMENTS):
            reads += cache.use(pool, _HEADERS + segment, False)
        if sweep:
            continue
        for transaction in range(state[PURGED], state[COMMITTED]):
            reads += cache.use(pool, _HEADERS + transaction % SEGMENTS, True)
            reads += cache.use(pool, int(plan.undo[transaction, 0]), True)
            reads += cache.use(pool, _SYSTEM + _MAP, True)
            reads += cache.use(pool, _SYSTEM + _SEGMENTS, True)
            for number in range(plan.undo_pages if plan.undo_pages > 1 else 0):
                page = int(plan.undo[transaction, number])
                cache.drop(pool, page)
                plan.unused[state[UNUSED]] = page
                state[UNUSED] += 1
    state[PURGED] = state[COMMITTED]
    pool.state[cache.NOW] = now
    state[PURGE_AT] = now + SECOND
    return reads


@kernel
def _make_room(pool: BufferPool, plan: Plan, event: Integers, reads: Integers) -> None:
    """Does what an event of a full leaf asks of the pool: uses that leaf and its neighbours, and makes the new leaf.
    `reads`: (3,), pages read by kind; added to."""
    left, right, full, new, what = plan.left, plan.right, event[FULL], event[NEW], event[WHAT]
    neighbours = left[full], right[full]
    reads[cache.LEAF] += cache.use(pool, pool.state[cache.FIRST_LEAF] + full, what != NEIGHBOUR)
    if neighbours[0] >= 0:
        reads[cache.LEAF] += cache.use(pool, pool.state[cache.FIRST_LEAF] + neighbours[0], what == DOWN)
    if neighbours[1] >= 0:
        reads[cache.LEAF] += cache.use(pool, pool.state[cache.FIRST_LEAF] + neighbours[1], what != DOWN)
    if what == NEIGHBOUR:
        return
    reads[cache.OTHER] += _new_in_file(pool, plan, _TABLE)
    cache.create(pool, pool.state[cache.FIRST_LEAF] + new)
    before, after = (neighbours[0], full) if what == DOWN else (full, neighbours[1])
    left[new], right[new] = before, after
    if before >= 0:
        right[before] = new
    if after >= 0:
        left[after] = new


@kernel
def _make_branches(pool: BufferPool, plan: Plan, first: int, pages: int) -> int:
    """Makes the branch pages from number `first` up to `pages`. Returns pages read."""
    reads = 0
    for page in range(first, pages):
        reads += _new_in_file(pool, plan, _TABLE)
        cache.create(pool, pool.state[cache.FIRST_BRANCH] + page)
    return reads


@inlined
def _rest(pool: BufferPool, plan: Plan, way: Integers, height: int, leaf: int, undo: int) -> int:
    """How many more rows like the last one do nothing but let time pass. `way`: the branch pages on the way to their
    leaf, `height` of them. `undo`: the transaction's undo page."""
    until = min(cache.cleaner_at_rest(pool), cache.at_rest(pool, pool.state[cache.FIRST_LEAF] + leaf, True))
    for level in range(height):
        until = min(until, cache.at_rest(pool, pool.state[cache.FIRST_BRANCH] + way[level], False))
    if plan.undo_pages > 0:
        until = min(until, plan.state[PURGE_AT], cache.at_rest(pool, undo, True))
    return int((until - pool.state[cache.NOW] - 1) // plan.row_time)


@inlined
def _find_way(tree: BranchTree, key: int, way: Integers) -> tuple[int, int, int]:
    """Writes the branch pages on the way to a key, from the root. Returns their number, and from which key on up to
    which other one the way is the same."""
    page, low, high, n = tree.facts[branch.ROOT], int64(-1), int64(_ABOVE_ALL), 0
    while page >= 0:
        way[n] = page
        n += 1
        if tree.state[page, branch.LEVEL] == 1:
            break
        begin, at = tree.state[page, branch.BASE], branch.last_not_above(tree, page, key)
        if at > 0:
            low = tree.keys[begin + at]
        if at + 1 < tree.state[page, branch.RECORDS]:
            high = tree.keys[begin + at + 1]
        page = int64(tree.children[begin + at])
    return n, low, high


@inlined
def _enter_row(
    pool: BufferPool, plan: Plan, events: Integers, event: int, row: int, leaf: int, branch_page: int, reads: Integers
) -> int:
    """Enters a row into its leaf; −1 if that was full: then the row's events, from number `event` on, tell what
    happened. Returns the number of the next event. `branch_page`: the page above the leaf; −1 if there is none.
    `reads`: (3,), pages read by kind; added to."""
    if leaf >= 0:
        reads[cache.LEAF] += cache.touch(pool, pool.state[cache.FIRST_LEAF] + leaf, True)
        return event
    while event < len(events) and events[event, ROW] == row:
        _make_room(pool, plan, events[event], reads)
        event += 1
    if branch_page >= 0:
        reads[cache.BRANCH] += cache.use(pool, pool.state[cache.FIRST_BRANCH] + branch_page, True)
    return event


@inlined
def _needs_next(plan: Plan, pages: int) -> int:
    """Which row of a transaction, from 0, begins another undo page when the transaction has so many."""
    return int(pages * plan.rows_per_tx // plan.undo_pages if plan.undo_pages > 0 else plan.rows_per_tx)


@inlined
def _alike(plan: Plan, at: NDArray[np.int32], begin: int, row: int, most: int, low: int, high: int) -> int:
    """How many rows from `row` up to `most` go to the leaf of the row before, by the same way: their keys are from
    `low` to below `high`. `at`, `begin`: as of `advance`."""
    end, leaf = row, at[row - 1 - begin]
    while end < most and at[end - begin] == leaf and low <= plan.ranks[end] + 1 < high:
        end += 1
    return end - row


@kernel
def advance(
    pool: BufferPool,
    plan: Plan,
    tree: BranchTree,
    events: Integers,
    event: int,
    at: NDArray[np.int32],
    begin: int,
    stop: int,
    parts: Integers,
    reads: Integers,
    written: Integers,
) -> None:
    """Sends the rows until `stop` through the pool. `events`: of leaves that were full; `event` is the next one.

    `at`: the leaves of the rows from `begin` on. `parts`: rows after which each part of the load ends; `reads` and
    `written`: int64 (parts, 3), by kind of page. Of rows that follow one another into one leaf, those that do nothing
    but let time pass are done at once.
    """
    pool, plan, tree = uncounted(pool), uncounted(plan), uncounted(tree)
    state, row, n = plan.state, plan.state[ROWS], len(plan.ranks)
    part, logs = part_of(parts, row), plan.undo_pages > 0
    transaction, place = row // plan.rows_per_tx, row % plan.rows_per_tx  # `place`: of the row in its transaction
    undo_pages = -(-place * plan.undo_pages // plan.rows_per_tx)  # those that the transaction has begun
    until, undo = _needs_next(plan, undo_pages), int64(0)  # `undo`: the last of them
    if logs and place:
        undo = int64(plan.undo[transaction, undo_pages - 1])
    # The branch pages on the way to keys from `low` to below `high`.
    way, height, low, high = np.empty(_LEVELS, np.int64), 0, int64(0), int64(0)
    while row < stop:
        # The row uses the branch pages on its way, and its leaf.
        key, leaf = plan.ranks[row] + 1, at[row - begin]
        if not low <= key < high:
            height, low, high = _find_way(tree, key, way)
        for level in range(height):
            reads[part, cache.BRANCH] += cache.touch(pool, pool.state[cache.FIRST_BRANCH] + way[level], False)
        branch_page = way[height - 1] if height else NONE
        event = _enter_row(pool, plan, events, event, row, leaf, branch_page, reads[part])
        pool.state[cache.NOW] += plan.row_time
        cache.clean(pool)
        row += 1
        place += 1

        # It adds an undo record, and may end its transaction. Purge begins when a second has passed.
        if logs:
            if place - 1 == until:
                reads[part, cache.OTHER] += _begin_undo_page(pool, plan, transaction, undo_pages)
                undo = int64(plan.undo[transaction, undo_pages])
                undo_pages += 1
                until = _needs_next(plan, undo_pages)
            else:
                reads[part, cache.OTHER] += cache.touch(pool, undo, True)
            if place == plan.rows_per_tx or row == n:
                reads[part, cache.OTHER] += _commit(pool, plan, transaction)
                state[COMMITTED] += 1
                transaction += 1
                place = undo_pages = until = 0
            if pool.state[cache.NOW] >= state[PURGE_AT]:
                reads[part, cache.OTHER] += _purge(pool, plan)
        elif place == plan.rows_per_tx:
            place = 0

        # A part of the load may end with it.
        while part < len(parts) and row == parts[part]:
            written[part] = pool.state[cache.WRITTEN :]
            part += 1

        # If the next two rows go to the same leaf, it is worth the effort to look for rows that are done at once.
        if leaf >= 0 and place > 0 and row + 1 < stop and at[row - begin] == leaf and at[row + 1 - begin] == leaf:
            most = min(stop, parts[part] - 1, n - 1, row + min(until, plan.rows_per_tx - 1) - place)
            alike = _alike(plan, at, begin, row, most, low, high)
            alike = max(0, min(alike, _rest(pool, plan, way, height, leaf, undo)))
            pool.state[cache.NOW] += alike * plan.row_time
            row += alike
            place += alike
    state[ROWS] = stop


@kernel
def replay(
    pool: BufferPool,
    plan: Plan,
    tree: BranchTree,
    space: Tablespace,
    events: Integers,
    at: NDArray[np.int32],
    end: int,
    parts: Integers,
    reads: Integers,
    written: Integers,
) -> bool:
    """Sends the rows until `end`, whose leaves `at` has, through the pool (`advance`). Returns whether all are done; if
    not, tree and space must grow. The branch pages are brought up to date before each `_WINDOW` events: a row may use
    one that much too early."""
    state, begin = plan.state, end - len(at)
    while state[ROWS] < end:
        last = min(state[_EVENTS] + _WINDOW, len(events))
        stop = end if last == len(events) else int(events[last, ROW])
        state[_FOLLOWED] = follow(tree, space, events, state[_FOLLOWED], stop)
        if state[_FOLLOWED] < last:
            return False
        part, first = part_of(parts, state[ROWS]), state[_EVENTS]
        reads[part, cache.OTHER] += _make_branches(pool, plan, state[_BRANCHES], tree.facts[PAGES])
        state[_BRANCHES], state[_EVENTS] = tree.facts[PAGES], last
        advance(pool, plan, tree, events, first, at, begin, stop, parts, reads, written)
    return True
