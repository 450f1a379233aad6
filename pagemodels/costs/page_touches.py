"""All pages that rows touch in an index whose full pages give their upper entries away, and in the table beneath it.

For each row in turn: the table's newest page, the pages from the root to the row's leaf, and where the leaf is full the
new page, the old right neighbour, whose link back changes, and the branch page above. Nothing is held for single rows:
the pages come some rows at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from keybench.compiled import kernel
from keybench.errors import UsageError
from keybench.pagemodels.costs.contract import Load, LookUps
from keybench.pagemodels.costs.look_ups import look_ups
from keybench.pagemodels.costs.touches import (
    NONE,
    Ancestry,
    Borders,
    ancestry,
    borders,
    leaves_touched,
    part_of,
    touched,
)
from keybench.pagemodels.half_split.rule import Rule
from keybench.pagemodels.half_split.tree import Level, build_branches, noted_level

Integers = NDArray[np.int64]
Pages = NDArray[np.int32]

CHANGED, FRESH = 1, 2
"""Flags of a touch: the page is changed; it is new, and not read."""
FLAGS = 2
"""Bits of flags; the page's number is above them."""
MOST = 12
"""More touches than a row has."""
_CHUNK = 1 << 13
"""Rows whose touches are held at a time: they stay in the cache."""


class Index(NamedTuple):
    """Where pages have their numbers: leaves first, then branch pages, their root, and the table's pages."""

    leaves: Ancestry
    branches: Ancestry
    first_branch: int
    root: int
    """The page above all branch pages; −1 if there is none."""
    first_table: int
    table_rows: int
    """Rows of a page of the table beneath the index; 0 if the index is the table."""
    pages: int
    """Of all kinds."""
    state: Integers
    """(2,): the next leaf and the next branch page to be made, by their places in `made`."""


class Touches(NamedTuple):
    """What some rows touch. The next ones are written over it."""

    first: int
    """The first of these rows."""
    rows: Pages
    """(runs,): rows that follow one another, all of which touch the same pages, none of them new."""
    ends: Pages
    """(runs,): where the touches of a row of each run end."""
    touches: Pages
    """Of one run after the other: a page's number times 4, and flags."""


def touches(
    ranks: Integers, leaf: Rule, branch: Rule, table_rows: int, parts: Integers
) -> tuple[Level, Index, Iterator[Touches]]:
    """(the leaf level in the end, the pages, what rows touch in order of arrival). `parts`: rows after which each part
    of the load ends, where no run goes on."""
    level = noted_level(ranks, leaf)
    above = build_branches(level, branch)
    leaves = ancestry(level)
    branches = ancestry(above[0]) if above else Ancestry(*(np.empty(0, own.dtype) for own in leaves))
    first_table = len(level) + len(branches.births) + 1
    root = first_table - 1 if len(above) > 1 else NONE
    pages = first_table + (-(-len(ranks) // table_rows) if table_rows else 0)
    index = Index(leaves, branches, len(level), root, first_table, table_rows, pages, np.zeros(2, np.int64))
    return level, index, _stream(level, index, borders(above[0]) if above else None, parts)


def refuse_restart(load: Load) -> None:
    """UsageError for a load with a restart, which models that follow documents alone do not know."""
    if load.restart is not None:
        raise UsageError("the page models of SQL Server and Oracle do not know what a restart of the server costs.")


def looked_up(level: Level, index: Index, ranks: Integers, present: NDArray[np.bool_]) -> LookUps | None:
    """What look-ups of whole rows read after the load. `present`: whether each page is in the cache, (pages,)."""
    n = len(ranks)
    if not n:
        return None
    leaf = np.repeat(np.arange(len(level), dtype=np.int32), level.rows)[ranks]
    if not index.table_rows:
        return look_ups(leaf, present)
    table = np.arange(n, dtype=np.int32) // np.int32(index.table_rows)
    return look_ups(leaf, present, table, present[index.first_table :])


def _stream(level: Level, index: Index, parents: Borders | None, parts: Integers) -> Iterator[Touches]:
    over, rows, ends = (np.zeros(_CHUNK, np.int32) for _ in range(3))
    each = np.empty(_CHUNK * MOST, np.int32)
    for first, at in leaves_touched(level, _CHUNK):
        if parents is not None:
            touched(index.branches, parents, at, first, over)
        runs = _list(index, at, over, first, parts, rows, ends, each)
        yield Touches(first, rows[:runs], ends[:runs], each)


@kernel
def _list(
    index: Index, at: Pages, over: Pages, first: int, parts: Integers, rows: Pages, ends: Pages, each: Pages
) -> int:
    """Writes the touches of some more rows: the leaf of each, and the branch page over it. Returns how many runs there
    are."""
    leaves, branches, state, n = index.leaves, index.branches, index.state, 0
    part, runs, end = part_of(parts, first), 0, first
    while end < first + len(at):
        row, i, made = end, end - first, state[0]
        if index.table_rows:
            fresh = FRESH if row % index.table_rows == 0 else 0
            each[n] = (index.first_table + row // index.table_rows) << FLAGS | CHANGED | fresh
            n += 1
        splits = made < len(leaves.made) and leaves.births[leaves.made[made]] == row
        leaf = leaves.origins[leaves.made[made]] if splits else at[i]
        above = state[1]
        grows = above < len(branches.made) and branches.births[branches.made[above]] == row
        branch = index.first_branch + (branches.origins[branches.made[above]] if grows else over[i])
        tall = len(leaves.made) > 0 and leaves.births[leaves.made[0]] < row
        if tall:
            if index.root >= 0 and branches.births[branches.made[0]] < row:
                each[n] = index.root << FLAGS
                n += 1
            each[n] = branch << FLAGS
            n += 1
        each[n] = np.int64(leaf) << FLAGS | CHANGED | (FRESH if row == 0 else 0)
        n += 1
        if splits:
            page = leaves.made[made]
            state[0] += 1
            each[n] = np.int64(page) << FLAGS | CHANGED | FRESH
            n += 1
            if leaves.neighbours[page] != NONE:
                each[n] = np.int64(leaves.neighbours[page]) << FLAGS | CHANGED
                n += 1
            each[n] = branch << FLAGS | CHANGED | (0 if tall else FRESH)
            n += 1
            if grows:
                each[n] = (index.first_branch + branches.made[above]) << FLAGS | CHANGED | FRESH
                n += 1
                state[1] += 1
                if index.root >= 0:
                    each[n] = index.root << FLAGS | CHANGED | (FRESH if above == 0 else 0)
                    n += 1
        end, until = row + 1, first + len(at)
        if not splits and row > 0 and end < until and at[i + 1] == leaf:  # the next rows, as long as nothing changes
            until = min(until, parts[part])
            if made < len(leaves.made):
                until = min(until, leaves.births[leaves.made[made]])
            if index.table_rows:
                until = min(until, (row // index.table_rows + 1) * index.table_rows)
                until = row + 1 if row % index.table_rows == 0 else until
            while end < until and at[end - first] == leaf and over[end - first] == over[i]:
                end += 1
        while part < len(parts) and parts[part] <= end:
            part += 1
        rows[runs], ends[runs] = end - row, n
        runs += 1
    return runs
