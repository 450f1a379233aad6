"""Replays the events of an index's leaves, and of the table beside it, on branch pages and file, row by row."""

from __future__ import annotations

from keybench.compiled import kernel
from keybench.pagemodels.innodb.branch_memory import MARGIN, PAGES, Ints, Tree
from keybench.pagemodels.innodb.branch_splits import enter
from keybench.pagemodels.innodb.leaf_memory import DOWN, ROW, WHAT
from keybench.pagemodels.innodb.node_pointers import apply_pending, leave
from keybench.pagemodels.innodb.tablespace import EXTENT, LIMIT, Space
from keybench.pagemodels.memory import uncounted

_HIGHEST = 1 << 62


@kernel
def _has_room(tree: Tree, space: Space) -> bool:
    return bool(
        tree.facts[PAGES] + MARGIN < len(tree.state)
        and space.facts[LIMIT] // space.facts[EXTENT] + MARGIN < len(space.extents)
    )


@kernel
def follow(tree: Tree, space: Space, events: Ints, begin: int, end: int) -> int:
    """Replays the events from `begin` on, of rows before `end`, or until memory must grow. Returns the next event."""
    for at in range(begin, len(events)):
        if events[at, ROW] >= end or not _has_room(tree, space):
            return at
        if events[at, WHAT] > DOWN:
            apply_pending(tree, space, leave(tree, space, events[at]))
            continue
        first = at == 0 or events[at - 1, ROW] < events[at, ROW]
        apply_pending(tree, space, enter(tree, space, events[at], first))
    return len(events)


@kernel
def follow_both(
    table: Tree, index: Tree, space: Space, rows: Ints, entries: Ints, done: int, begin: int
) -> tuple[int, int]:
    """As `follow`, for an index beside a table, into which each row goes first. Returns the next event of either."""
    table, index, space = uncounted(table), uncounted(index), uncounted(space)
    while begin < len(entries):
        row = entries[begin, ROW]
        done = follow(table, space, rows, done, row + 1)
        if done < len(rows) and rows[done, ROW] <= row:
            break
        reached = follow(index, space, entries, begin, row + 1)
        if reached == begin:
            break
        begin = reached
    if begin == len(entries):
        done = follow(table, space, rows, done, _HIGHEST)
    return done, begin
