"""The touches of rows are those of a tree that is built page by page, plainly."""

from __future__ import annotations

from bisect import insort
from typing import Any, NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from keybench.pagemodels.costs.page_touches import CHANGED, FLAGS, FRESH, looked_up, touches
from keybench.pagemodels.half_split.kernel import ALONE
from keybench.pagemodels.half_split.rule import Rule

Touch = tuple[str, int, int]
"""A kind of page, the row that made it, and flags."""

LEAF, BRANCH = Rule(4, 4, ALONE, 2, 2), Rule(3, 3, 2, 2, 2)


class Page(NamedTuple):
    """A leaf with keys, or a branch page with leaves, and the row that made it."""

    birth: int
    entries: list[Any]


def plain(ranks: list[int], table_rows: int) -> list[list[Touch]]:
    """What each row touches, while the tree has up to three levels."""
    leaves, branches, found, root = [Page(-1, [])], [], [], False
    for row, rank in enumerate(ranks):
        own: list[Touch] = []
        if table_rows:
            own.append(("table", row // table_rows, CHANGED | FRESH * (row % table_rows == 0)))
        at = next((i for i, leaf in enumerate(leaves[1:]) if leaf.entries[0] > rank), len(leaves) - 1)
        # The border of a leaf is its lowest key when it was made, which stays the lowest: keys below go left.
        leaf, place = leaves[at], at
        above = next((i for i, page in enumerate(branches) if any(leaf is each for each in page.entries)), None)
        if root:
            own.append(("root", 0, 0))
        if above is not None:
            own.append(("branch", branches[above].birth, 0))
        own.append(("leaf", leaf.birth, CHANGED | FRESH * (row == 0)))
        insort(leaf.entries, rank)
        if len(leaf.entries) > LEAF.room:
            keep = 2
            if at == len(leaves) - 1 and rank == leaf.entries[-1]:
                keep = len(leaf.entries) - 1
            new = Page(row, leaf.entries[keep:])
            del leaf.entries[keep:]
            leaves.insert(place + 1, new)
            own.append(("leaf", row, CHANGED | FRESH))
            if place + 2 < len(leaves):
                own.append(("leaf", leaves[place + 2].birth, CHANGED))
            if above is None:
                branches.append(Page(row, [leaf, new]))
                own.append(("branch", row, CHANGED | FRESH))
            else:
                page = branches[above]
                own.append(("branch", page.birth, CHANGED))
                page.entries.insert([each is leaf for each in page.entries].index(True) + 1, new)
                if len(page.entries) > BRANCH.room:
                    own.append(("branch", row, CHANGED | FRESH))
                    own.append(("root", 0, CHANGED | FRESH * (not root)))
                    branches.insert(above + 1, Page(row, page.entries[BRANCH.keep_interior :]))
                    del page.entries[BRANCH.keep_interior :]
                    root = True
        found.append(own)
    return found


@given(st.permutations(range(40)), st.booleans(), st.sampled_from([0, 7]), st.integers(1, 40), st.integers(0, 40))
@settings(max_examples=80)
def test_each_row_touches_the_pages_of_a_plain_tree(
    order: list[int], ascends: bool, table_rows: int, rows: int, part: int
) -> None:
    ranks = np.argsort(np.argsort(range(rows) if ascends else order[:rows])).astype(np.int64)
    ends = np.array([0, min(part, rows), rows])
    _, index, stream = touches(ranks, LEAF, BRANCH, table_rows, ends)
    births = [index.leaves.births, index.branches.births]

    def named(touch: int) -> Touch:
        page, flags = touch >> FLAGS, touch & (CHANGED | FRESH)
        if page >= index.first_table:
            return "table", page - index.first_table, flags
        if page == index.root:
            return "root", 0, flags
        level = int(page >= index.first_branch)
        return ("leaf", "branch")[level], int(births[level][page - level * index.first_branch]), flags

    found: list[list[Touch]] = []
    for some in stream:
        assert some.first == len(found)
        for many, own in zip(some.rows, np.split(some.touches[: some.ends[-1]], some.ends[:-1]), strict=True):
            assert not ({len(found)} < {*ends.tolist()} & {*range(len(found) + 1, len(found) + many)})
            found += [[named(int(each)) for each in own]] * many
    assert found == plain(ranks.tolist(), table_rows)


def test_look_ups_find_rows_in_their_last_leaf_and_on_their_page() -> None:
    ranks = np.arange(40)[::-1].copy()
    level, index, _ = touches(ranks, LEAF, BRANCH, 7, np.array([40]))
    present = np.zeros(index.pages, np.bool_)
    present[[0, index.first_table + 5]] = True  # the leaf of the lowest keys, the page of the last five rows
    found = looked_up(level, index, ranks, present)
    assert found is not None
    assert found.any_row == 1 - level.rows[0] / 40 + 35 / 40
    assert found.newest == 0
    assert found.window == 2
    level, index, _ = touches(ranks, LEAF, BRANCH, 0, np.array([40]))
    alone = looked_up(level, index, ranks, present[: index.pages])
    assert alone is not None
    assert alone.any_row == 1 - level.rows[0] / 40
