"""The plain cache reads and writes what a tree and a list of pages, written down plainly, read and write."""

from bisect import insort
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import streams
from keybench.databases.registry import engine
from keybench.errors import UsageError
from keybench.model.table import Table
from keybench.pagemodels.costs.contract import Load, LoadCost, Server
from keybench.pagemodels.costs.plain_cache import NOTE, PlainCacheModel
from keybench.pagemodels.half_split.build import SortedBuild
from keybench.pagemodels.half_split.kernel import ALONE, Rule
from tests.errors import raised

LEAF, BRANCH = Rule(4, 4, ALONE, 2, 2), Rule(3, 3, 2, 2, 2)
KINDS = ("leaf", "branch", "table")
ROOM = 100
Touch = tuple[tuple[str, int], bool, bool]
"""A kind of page and the row that made it; whether it is changed; whether it is new."""


class Page(NamedTuple):
    """A leaf with keys, or a branch page with leaves, and the row that made it."""

    birth: int
    entries: list[Any]


def touches(ranks: list[int], table_rows: int) -> Iterator[list[Touch]]:
    """What each row uses, in a tree that is built page by page; pages above the lowest branch pages are left out."""
    leaves, branches = [Page(-1, [])], list[Page]()
    for row, rank in enumerate(ranks):
        used: list[Touch] = []
        if table_rows:
            used.append((("table", row // table_rows), True, row % table_rows == 0))
        # The border of a leaf is its lowest key when it was made, which stays the lowest: keys below go left.
        at = next((i for i, leaf in enumerate(leaves[1:]) if leaf.entries[0] > rank), len(leaves) - 1)
        leaf = leaves[at]
        insort(leaf.entries, rank)
        full = len(leaf.entries) > LEAF.room
        above = next((i for i, page in enumerate(branches) if any(leaf is each for each in page.entries)), None)
        keep = len(leaf.entries) - 1 if at == len(leaves) - 1 and rank == leaf.entries[-1] else 2
        new = Page(row, leaf.entries[keep:])
        if above is not None:
            page = branches[above]
            used.append((("branch", page.birth), full, False))
            if full:
                page.entries.insert([each is leaf for each in page.entries].index(True) + 1, new)
            if len(page.entries) > BRANCH.room:
                branches.insert(above + 1, Page(row, page.entries[BRANCH.keep_interior :]))
                del page.entries[BRANCH.keep_interior :]
                used.append((("branch", row), True, True))
        elif full:
            branches.append(Page(row, [leaf, new]))
            used.append((("branch", row), True, True))
        used.append((("leaf", leaf.birth), True, row == 0))
        if full:
            del leaf.entries[keep:]
            leaves.insert(at + 1, new)
            used.append((("leaf", row), True, True))
            if at + 2 < len(leaves):
                used.append((("leaf", leaves[at + 2].birth), True, False))
        yield used


def plain(ranks: list[int], table_rows: int, part: int, restart: int) -> list[list[list[int]]]:
    """(parts, read and written, kinds)."""
    cache: OrderedDict[tuple[str, int], bool] = OrderedDict()
    counts = [[[0, 0, 0], [0, 0, 0]] for _ in range(2)]
    for row, used in enumerate(touches(ranks, table_rows)):
        read, written = counts[row >= part]
        while row == restart and cache:
            (kind, _), changed = cache.popitem(last=False)
            written[KINDS.index(kind)] += changed
        for page, changes, is_new in used:
            if page not in cache:
                if len(cache) == ROOM:
                    (kind, _), changed = cache.popitem(last=False)
                    written[KINDS.index(kind)] += changed
                read[KINDS.index(page[0])] += not is_new
            cache[page] = cache.get(page, False) or changes
            cache.move_to_end(page)
    return counts


@given(st.integers(0, 2**32), st.booleans(), st.sampled_from([0, 7]), st.integers(1, 900), st.integers(0, 900))
@settings(max_examples=30, deadline=None)
def test_each_row_uses_the_pages_of_a_plain_tree(seed: int, ascends: bool, table_rows: int, n: int, cut: int) -> None:
    ranks = np.arange(n) if ascends else np.random.default_rng(seed).permutation(n)
    build = SortedBuild(lambda _fill: 4, lambda _fill: 3, lambda _fill: LEAF)
    model = PlainCacheModel(
        leaf=LEAF, branch=BRANCH, density=lambda _rows, _used, _pages: 0.0, build=build, table_rows=table_rows
    )
    part, restart = min(cut, n), n // 2
    cost = model.load_cost(Load(ranks, [part, n], 10, restart=restart), Server(cache_bytes=ROOM * 8192))
    counted = [
        [[int(getattr(pages, kind)[i]) for kind in KINDS] for pages in (cost.read, cost.written)] for i in range(2)
    ]
    assert counted == plain(ranks.tolist(), table_rows, part, restart)


def cost_of(name: str, stream: str, key: str, cache_pages: int) -> LoadCost:
    on = engine(name)
    table = Table("t", on.default_column("uuid"), 100, "clustered" if key == "clustered" else "nonclustered")
    model = on.page_model(table)
    load = Load(streams.STREAMS[stream](30_000), [15_000, 30_000], 1000)
    return model.load_cost(load, Server(cache_bytes=cache_pages * 8192))


@pytest.mark.parametrize("name", ["mssql", "oracle"])
def test_random_keys_read_what_ascending_ones_do_not(name: str) -> None:
    random, ascending = (cost_of(name, stream, "clustered", 200) for stream in ("random", "increasing"))
    assert random.read.leaf[1] > 6_000
    assert ascending.read.all.sum() == 0
    assert cost_of(name, "random", "nonclustered", 5000).read.all.sum() == 0
    assert random.log is None, "nobody could confirm one"
    assert random.note == ascending.note == NOTE


@pytest.mark.parametrize(
    ("name", "pages"), [("postgresql", 99), ("mariadb", 199), ("sqlite", 51), ("mssql", 99), ("oracle", 99)]
)
def test_a_cache_of_few_pages_is_refused(name: str, pages: int) -> None:
    """InnoDB has pages of 16 KiB, SQLite of 4 KiB and 136 bytes."""
    said = raised(UsageError, cost_of, name, "random", "clustered", pages)
    assert said == f"a cache of {pages * 8192:,} bytes has fewer than 100 pages: give it more memory."
