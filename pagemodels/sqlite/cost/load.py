"""What rows do to the page cache: their records (`tree.py`) are read again, page by page, as btree.c uses pages.

Each row is a statement of its own: it opens its cursors, and at its end releases the pages on their paths, each from
the root to the leaf (btreeReleaseAllCursorPages). In between all of them are pinned. A row that fits changes its leaf.
A balancing changes the siblings, the page above them, and page 1 where it takes or gives back a page: page 1 says how
many pages the file has. The trunk of the list of free pages is left out: loads hardly give pages back.

There is a fast path for rows that just fit their leaf, and for which nothing is spilled. Pages are not pinned there: a
row would take those on its path out of their lists and put them back in front, the root first. Without anything in
between, each can be put in front at once.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import inlined, int64, kernel
from keybench.pagemodels.memory import prefetch, uncounted
from keybench.pagemodels.sqlite import tree as trees
from keybench.pagemodels.sqlite.cost import cache
from keybench.pagemodels.sqlite.cost.cache import Pager
from keybench.pagemodels.sqlite.tree import Ints

Integers = NDArray[np.int64]

_AHEAD = 6
"""So many rows ahead, the record of a leaf is prefetched into the processor's cache. Behind the last row, the trace has
room for as many long paths."""


@inlined
def _is_here(pager: Pager, number: int) -> bool:
    """Whether a page is in the cache."""
    return bool(pager.pages[number + cache.PLACES, cache.STATE])


@inlined
def _touch(pager: Pager, number: int) -> None:
    """Uses a page that is in the cache and not pinned: it goes to the front of its list."""
    place = number + cache.PLACES
    cache.take_out(pager.pages, place)
    cache.put_in(pager.pages, cache.DIRTY if pager.pages[place, cache.STATE] & cache.CHANGED else cache.CLEAN, place)


@inlined
def _use_leaf(pager: Pager, number: int) -> None:
    """Uses and changes a page that is in the cache and not pinned."""
    place = number + cache.PLACES
    if not pager.pages[place, cache.STATE] & cache.CHANGED:
        pager.pages[place, cache.STATE] |= cache.CHANGED
        pager.facts[cache.IDLE] -= 1
    _touch(pager, number)


@inlined
def _just_drops(pager: Pager, number: int) -> bool:
    """Whether `number` pages can be pinned at once so that none is spilled, and each that is read drops one at most."""
    facts = pager.facts
    return bool(
        facts[cache.HELD] - facts[cache.IDLE] + number < facts[cache.FEW]
        and facts[cache.HELD] < facts[cache.LIMIT]
        and facts[cache.IDLE] > number
    )


@inlined
def _use_branch(pager: Pager, number: int) -> None:
    """Uses a branch page: reads it if it is absent, else moves it to the newest. No changed page is written for it, so
    `_just_drops` must be true."""
    place = number + cache.PLACES
    state = pager.pages[place, cache.STATE]
    if state == 0:
        _read(pager, cache.BRANCH)
        pager.facts[cache.IDLE] += 1
        pager.pages[place, cache.STATE] = cache.HERE | cache.BRANCH * cache.KIND
        cache.put_in(pager.pages, cache.CLEAN, place)
    else:  # it may have come as a leaf
        pager.pages[place, cache.STATE] = state & cache.BITS | cache.BRANCH * cache.KIND
        _touch(pager, number)


@inlined
def _read_leaf(pager: Pager, number: int) -> None:
    """Uses and changes a leaf, which is read if it is absent, after the pages above it. `_just_drops` must be true."""
    place = number + cache.PLACES
    if pager.pages[place, cache.STATE]:
        pager.pages[place, cache.STATE] &= cache.BITS  # its kind is `LEAF`
        _use_leaf(pager, number)
    else:
        _read(pager, cache.LEAF)
        pager.pages[place, cache.STATE] = cache.HERE | cache.CHANGED
        cache.put_in(pager.pages, cache.DIRTY, place)


@inlined
def _read(pager: Pager, kind: int) -> None:
    """Counts a page that is read into the cache; if the cache is full, a clean page is dropped for it."""
    facts = pager.facts
    if facts[cache.HELD] + 1 >= facts[cache.LIMIT]:
        cache.drop_last(pager)
    facts[cache.HELD] += 1
    facts[facts[cache.PART] + kind] += 1


@kernel
def all_here(pager: Pager, trace: Ints, at: int) -> bool:
    """Whether all pages of a path are in the cache, and the row just fits its leaf."""
    while trace[at] != trees.ROOT:
        if not _is_here(pager, trace[at]):
            return False
        at += 1
    return bool(trace[at + 1] == trees.ROW_END)


@inlined
def _use_path(pager: Pager, trace: Ints, at: int, end: int) -> None:
    """Uses the pages of a path, which are all in the cache, and changes its leaf. `end`: where the path ends."""
    for place in range(end - 1, at, -1):
        _touch(pager, trace[place])
    _use_leaf(pager, trace[at])


@inlined
def short_way(pager: Pager, trace: Ints, at: int) -> int:
    """The fast path for a row that just fits its leaf, where no page has to be spilled for those that are read. Returns
    where the next record begins; 0 if the row is none such."""
    leaf, end, here = trace[at], at + 1, True
    while trace[end] != trees.ROOT:
        here &= _is_here(pager, trace[end])
        end += 1
    if trace[end + 1] != trees.ROW_END:
        return int64(0)
    if here and _is_here(pager, leaf):
        _use_path(pager, trace, at, end)
    elif _just_drops(pager, end - at):
        for place in range(end - 1, at, -1):
            _use_branch(pager, trace[place])
        _read_leaf(pager, leaf)
    else:
        return int64(0)
    prefetch(pager.pages, trace[end + 2 + _AHEAD * (end + 2 - at)] + cache.PLACES)
    return end + 2


@kernel
def use(pager: Pager, trace: Ints, at: int) -> int:
    """The fast path for a row for which `all_here` is true. Returns where the next record begins."""
    end = at
    while trace[end] != trees.ROOT:
        end += 1
    _use_path(pager, trace, at, end)
    return int(end + 2)


Path = NDArray[np.int64]
"""The pages that a cursor holds, the root first."""

_LEVELS = 32
"""More levels than any b-tree has."""
_IN_TX, _LAST_WRITER, _PART = range(3)
"""Fields of the state: rows of the transaction so far, the writer of the last one, and the part of the load."""
NOBODY = -1
"""The writer before the first row."""


class SentRows(NamedTuple):
    """The rows of a load: who sends each, and in what transactions and parts."""

    ends: Integers
    """(parts,): the rows before which each part of the load ends."""
    writers: NDArray[np.int16]
    """(n,): who sends each row."""
    rows_per_tx: int
    restart: int
    """The row before which connections are opened anew, with empty caches; −1 if they are not."""
    state: Integers
    """(3,): by the names above."""


def rows_of(ends: Integers, writers: NDArray[np.int16], rows_per_tx: int, restart: int | None) -> SentRows:
    """The rows of a load, before the first one is sent."""
    return SentRows(
        ends=ends,
        writers=writers,
        rows_per_tx=rows_per_tx,
        restart=-1 if restart is None else restart,
        state=np.array([0, NOBODY, 0]),
    )


@inlined
def _kind(of_table: bool, level: int) -> int:
    """The kind of a page of a level, in the table beside the index or in the key's b-tree."""
    return int(cache.TABLE if of_table else cache.LEAF if level == 0 else cache.BRANCH)


@inlined
def _descend(pager: Pager, trace: Ints, at: int, path: Path, of_table: bool) -> tuple[int, int]:
    """Pins the pages from the root to the leaf. Returns where the record goes on, and the number of pages."""
    height = 0
    while trace[at + height] != trees.ROOT:
        height += 1
    for level in range(height - 1, -1, -1):
        number = int64(trace[at + level])
        path[height - 1 - level] = number
        cache.fetch(pager, number, _kind(of_table, level), False)
    return at + height + 1, height


@inlined
def _release_path(pager: Pager, path: Path, height: int) -> None:
    """Unpins the pages of a path, the root first."""
    for i in range(height):
        cache.release(pager, path[i])


@kernel
def _new_page(pager: Pager, number: int, kind: int) -> None:
    """Pins a page that is new in the file, and changes it and page 1, which says how many pages the file has."""
    cache.change(pager, 1)
    cache.fetch(pager, number, kind, True)
    cache.change(pager, number)


@inlined
def _among(numbers: Ints, number: int) -> bool:
    """Whether a number is one of these."""
    is_among = False
    for each in numbers:
        is_among |= each == number
    return is_among


@kernel
def _spread(pager: Pager, trace: Ints, at: int, path: Path, height: int, kind: int) -> int:
    """Balances the last page of a path with its siblings (balance_nonroot). Returns where the record goes on."""
    changed, count, number = int64(trace[at]), int64(trace[at + 1]), int64(trace[at + 2])
    old = trace[at + 3 : at + 3 + count]
    now = trace[at + 3 + count : at + 3 + count + number]
    cache.change(pager, path[height - 2])
    for i in range(count - 1, -1, -1):
        cache.fetch(pager, int64(old[i]), kind, False)
    for i in range(min(count, number)):
        cache.change(pager, int64(old[i]))
    for i in range(number):
        if not _among(old, now[i]):
            _new_page(pager, int64(now[i]), kind)
    for i in range(number, count):
        cache.change(pager, 1)
        cache.change(pager, int64(old[i]))
        if i != changed:
            cache.release(pager, int64(old[i]))
    for i in range(number):
        if i != changed:
            cache.release(pager, int64(now[i]))
    cache.release(pager, int64(now[changed] if changed < number else old[changed]))
    return int(at + 3 + count + number)


@kernel
def _insert(pager: Pager, trace: Ints, at: int, path: Path, height: int, of_table: bool) -> tuple[int, int]:
    """Enters a row whose path is pinned, by the rest of its record in the trace (`trees`' docstring says what that is).
    Returns where the next record begins, and how long the path is now."""
    level, leaf = 0, path[height - 1]
    while trace[at] == trees.OVERFLOW:
        _new_page(pager, int64(trace[at + 1]), cache.OTHER)
        cache.release(pager, int64(trace[at + 1]))
        at += 2
    if trace[at] == trees.ROW_END:
        cache.change(pager, leaf)
    while trace[at] != trees.ROW_END:
        what = trace[at]
        at += 1
        if what == trees.DEEPENED:  # the root's cells go to a new child
            cache.change(pager, path[0])
            path[1], height = trace[at], 2
            _new_page(pager, path[1], _kind(of_table, level))
            at += 1
        elif what == trees.LIFTED:  # the only child's cells go to the root
            cache.change(pager, 1)
            at += 1
        elif what == trees.ALONE:  # balance_quick: the row goes alone to a new leaf, its parent gets an entry
            cache.change(pager, path[height - 2])
            _new_page(pager, int64(trace[at]), _kind(of_table, level))
            cache.release(pager, int64(trace[at]))
            height -= 1
            cache.release(pager, path[height])
            at += 1
        else:  # SPREAD: siblings are balanced, and the parent is what may be balanced next
            at = _spread(pager, trace, at, path, height, _kind(of_table, level))
            height -= 1
            level += 1
    return at + 1, height


@inlined
def _use_pages(
    pager: Pager, trace: Ints, at: int, table: Ints, at_table: int, path: Path, table_path: Path
) -> tuple[int, int]:
    """Does what a row's records ask of the pages. They begin at `at` in the trace of the key's b-tree, and at
    `at_table` in that of the table beside it. Returns where the next ones begin. `path`, `table_path`: room for paths.
    """
    beside, table_height = len(table) > 0, int64(0)
    if not beside:
        behind = short_way(pager, trace, at)
        if behind > 0:
            return behind, at_table
    elif all_here(pager, trace, at) and all_here(pager, table, at_table):
        behind_table = use(pager, table, at_table)
        return use(pager, trace, at), behind_table
    if beside:
        at_table, table_height = _descend(pager, table, at_table, table_path, True)
    at, height = _descend(pager, trace, at, path, False)
    at, height = _insert(pager, trace, at, path, height, False)
    if beside:
        at_table, table_height = _insert(pager, table, at_table, table_path, table_height, True)
        _release_path(pager, table_path, table_height)
    _release_path(pager, path, height)
    return at, at_table


@inlined
def _short_records(rows: SentRows, trace: Ints, at: int, table: Ints, at_table: int, row: int, end: int) -> int:
    """How many rows behind `row`, of its part of the load and of its transaction, have nothing but short records. Those
    begin at `at` and `at_table`, as in `_use_pages`. `end`: the row behind the last one in the traces."""
    state, writers, beside = rows.state, rows.writers, len(table) > 0
    end = min(end, rows.ends[state[_PART]], row + rows.rows_per_tx - state[_IN_TX])
    if rows.restart > row:
        end = min(end, rows.restart)
    count = int64(0)
    while row + 1 + count < end and writers[row + 1 + count] == writers[row]:
        if trace[at + count] != trees.ROW_END or (beside and table[at_table + count] != trees.ROW_END):
            break
        count += 1
    return count


@inlined
def _ends_transaction(rows: SentRows, row: int) -> bool:
    """Whether a commit follows this row, which is counted in `_IN_TX` already."""
    if rows.state[_IN_TX] == rows.rows_per_tx or row + 1 == len(rows.writers) or row + 1 == rows.restart:
        return True
    return bool(rows.writers[row + 1] != rows.writers[row])


@kernel
def replay(pager: Pager, rows: SentRows, trace: Ints, table: Ints, first: int, end: int) -> None:
    """Replays the records of rows `first` … `end` − 1 of the key's b-tree, and of the table beside it. `table`: the
    trace of that table, (0,) if there is none.

    A row that just fits the leaf of the row before has a short record, without a path: it uses that row's pages."""
    pager, rows = uncounted(pager), uncounted(rows)
    beside, state = len(table) > 0, rows.state
    path, table_path = np.empty(_LEVELS, np.int64), np.empty(_LEVELS, np.int64)
    # Where the row's records begin in both traces, and where the last ones begin that have a path.
    at = at_table = full = table_full = trees.FIRST
    row = first
    while row < end:
        while row >= rows.ends[state[_PART]]:
            state[_PART] += 1
            cache.next_part(pager)
        if state[_IN_TX] == 0:
            another = state[_LAST_WRITER] != NOBODY and state[_LAST_WRITER] != rows.writers[row]
            cache.begin(pager, another or row == rows.restart)
            state[_LAST_WRITER] = rows.writers[row]
        short, table_short = trace[at] == trees.ROW_END, beside and table[at_table] == trees.ROW_END
        full = full if short else at
        table_full = table_full if table_short else at_table
        if short and (table_short or not beside) and state[_IN_TX] > 0:
            # The same pages are the last ones that were used, by the next such rows too: nothing changes.
            more = _short_records(rows, trace, at + 1, table, at_table + 1, row, end)
            at, at_table, row = at + 1 + more, at_table + 1 + more, row + more
            state[_IN_TX] += more
        else:
            behind, behind_table = _use_pages(pager, trace, full, table, table_full, path, table_path)
            at = at + 1 if short else behind
            at_table = at_table + 1 if table_short else behind_table
        state[_IN_TX] += 1
        if _ends_transaction(rows, row):
            cache.commit(pager)
            state[_IN_TX] = 0
        row += 1
