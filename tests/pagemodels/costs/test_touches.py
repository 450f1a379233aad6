"""The pages that rows touch are those of a simulator that moves entries one by one."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from keybench.pagemodels.costs.touches import NONE, ancestry, borders, leaves_touched, touched
from keybench.pagemodels.half_split.rule import Rule
from keybench.pagemodels.half_split.tree import TreeLevel, noted_level

RULE = Rule(room=6, room_last=7, keep_append=6, keep_edge=6, keep_interior=4)


@dataclass(eq=False)
class Page:
    low: int = -1
    items: list[int] = field(default_factory=list)
    found: int = NONE
    """The row whose split made it."""


@dataclass
class Plain:
    """`touched`: the page of each row, after a split that it caused; `splits`: (old, new, right neighbour)."""

    pages: list[Page] = field(default_factory=lambda: [Page()])
    touched: list[Page] = field(default_factory=list)
    splits: list[tuple[Page, Page, Page | None]] = field(default_factory=list)

    def insert(self, row: int, key: int) -> None:
        at = max(i for i, page in enumerate(self.pages) if page.low <= key)
        page, last = self.pages[at], at == len(self.pages) - 1
        append = last and key > max(page.items, default=-1)
        insort(page.items, key)
        if len(page.items) > (RULE.room_last if last else RULE.room):
            keep = RULE.keep_append if append else RULE.keep_edge if last else RULE.keep_interior
            new = Page(page.items[keep], page.items[keep:], row)
            del page.items[keep:]
            self.splits.append((page, new, None if last else self.pages[at + 1]))
            self.pages.insert(at + 1, new)
            page = new if key in new.items else page
        self.touched.append(page)


def numbers(n: int, seed: int, runs: int, lag: int) -> np.ndarray:
    """Ranks of keys from generators that lag behind one another; with one, in random order."""
    random = np.random.Generator(np.random.PCG64(seed))
    if runs == 1:
        return random.permutation(n)
    who = random.integers(0, runs, n)
    return np.argsort(np.argsort((np.arange(n) - who * lag) * 8 + who, kind="stable"), kind="stable")


@given(st.integers(1, 400), st.integers(0, 2**32), st.integers(1, 4), st.integers(0, 100), st.integers(1, 50))
def test_every_row_touches_the_page_that_it_would_find(n: int, seed: int, runs: int, lag: int, chunk: int) -> None:
    ranks = numbers(n, seed, runs, lag)
    plain, level = Plain(), noted_level(ranks, RULE)
    for row, rank in enumerate(ranks.tolist()):
        plain.insert(row, rank)
    place = {id(page): i for i, page in enumerate(plain.pages)}
    assert [len(page.items) for page in plain.pages] == level.rows.tolist()
    firsts, parts = zip(*leaves_touched(level, chunk), strict=True)
    assert firsts == tuple(range(0, n, chunk))
    at, found, pages = np.concatenate(parts), np.empty(n, np.int32), ancestry(level)
    assert at.tolist() == [place[id(page)] for page in plain.touched]
    touched(pages, borders(level), ranks, 0, found)
    assert found.tolist() == at.tolist(), "the ancestry tells the same"
    assert pages.made.tolist() == [place[id(new)] for _, new, _ in plain.splits]
    for old, new, right in plain.splits:
        assert pages.origins[place[id(new)]] == place[id(old)]
        assert pages.neighbours[place[id(new)]] == (place[id(right)] if right else NONE)


def test_one_page_has_no_ancestry() -> None:
    pages = ancestry(TreeLevel(np.array([-1]), np.zeros(1, np.int8), np.array([3])))
    assert (pages.origins.tolist(), pages.neighbours.tolist(), pages.made.tolist()) == ([NONE], [NONE], [])
