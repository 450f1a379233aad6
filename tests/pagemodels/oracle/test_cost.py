"""The buffer cache follows the published rule of touch counts, written down plainly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import streams
from keybench.databases.oracle.engine import ENGINE
from keybench.errors import UsageError
from keybench.model.table import Table
from keybench.pagemodels.costs.contract import Load, LoadCost, LookUps, PredictsCost, Server
from keybench.pagemodels.costs.page_touches import FLAGS, FRESH
from keybench.pagemodels.oracle.cost.touch_counts import NOWHERE, new, use


class Plain:
    """A cache of so many buffers; both halves have the hot end first."""

    def __init__(self, buffers: int, rows_apart: int) -> None:
        self.room, self.rows_apart = buffers, rows_apart
        self.hot: list[int] = []
        self.cold: list[int] = []
        self.counts: dict[int, int] = {}
        self.touched: dict[int, int] = {}
        self.read = 0

    def use(self, page: int, row: int, flags: int) -> None:
        if page in self.counts:
            if row - self.touched[page] >= self.rows_apart:
                self.counts[page] += 1
                self.touched[page] = row
            return
        self.read += not flags & FRESH
        if len(self.counts) == self.room:
            self.free()
        self.cold.insert(0, page)
        self.counts[page], self.touched[page] = 1, row

    def free(self) -> None:
        while True:
            page = (self.cold or self.hot).pop()
            if self.counts[page] < 2:
                del self.counts[page]
                return
            self.counts[page] = 0
            self.hot.insert(0, page)
            if len(self.hot) > self.room // 2:
                cooled = self.hot.pop()
                self.counts[cooled] = 1
                self.cold.insert(0, cooled)


TOUCHES = st.lists(st.tuples(st.integers(0, 30), st.sampled_from([0, FRESH])), min_size=1, max_size=4)


RUNS = st.tuples(st.integers(1, 9), st.lists(st.integers(0, 30), min_size=1, max_size=4, unique=True))
"""Rows that follow one another, and the blocks that each of them touches."""


@given(
    st.lists(
        st.one_of(
            RUNS.map(lambda run: (run[0], [(page, 0) for page in run[1]])),
            st.tuples(st.just(1), TOUCHES),
        ),
        min_size=1,
        max_size=60,
    ),
    st.integers(4, 20),
    st.integers(1, 5),
)
@settings(max_examples=100)
def test_blocks_leave_the_cache_by_its_rule(
    runs: Sequence[tuple[int, list[tuple[int, int]]]], buffers: int, apart: int
) -> None:
    plain, cache, row = Plain(buffers, apart), new(buffers, 31, 31, 31, apart), 0
    for many, own in runs:
        for _ in range(many):
            row += 1
            for page, flags in own:
                plain.use(page, row, flags)
    flat = np.array([page << FLAGS | flags for _, own in runs for page, flags in own], np.int32)
    costs, ends = np.zeros((2, 3), np.int64), np.cumsum([len(own) for _, own in runs]).astype(np.int32)
    use(cache, np.array([many for many, _ in runs], np.int32), ends, flat, np.array([0, row]), costs)
    assert costs.tolist() == [[0, 0, 0], [plain.read, 0, 0]]
    assert np.flatnonzero(cache.buffers != NOWHERE).tolist() == sorted(plain.counts)
    assert {page: cache.counts[cache.buffers[page]] for page in plain.counts} == plain.counts


def cost(stream: str, key: str, cache_pages: int, rows_apart: int = 30_000) -> LoadCost:
    table = Table("t", ENGINE.default_column("uuid"), 100, "clustered" if key == "clustered" else "nonclustered")
    model = ENGINE.page_model(table, rows_in_3_seconds=rows_apart)
    assert isinstance(model, PredictsCost)
    load = Load(streams.STREAMS[stream](30_000), [15_000, 30_000], 1000)
    return model.load_cost(load, Server(cache_bytes=cache_pages * 8192))


def test_look_ups_read_what_the_load_did_not_leave_in_the_cache() -> None:
    random, ascending, fits = (
        cost(stream, key, pages).look_ups
        for stream, key, pages in (
            ("random", "clustered", 200),
            ("increasing", "clustered", 200),
            ("random", "nonclustered", 5000),
        )
    )
    assert random
    assert ascending
    assert 0.5 < random.any_row < 0.9
    assert random.newest < 0.5 * random.any_row, "their pages were just used"
    assert ascending.newest == 0
    assert 0.4 < ascending.any_row < random.any_row
    assert ascending.window == pytest.approx(1 / 60, rel=0.3), "each page once"
    assert fits == LookUps(any_row=0, newest=0, window=0)


def test_random_keys_read_what_ascending_ones_do_not() -> None:
    random, ascending = cost("random", "clustered", 200), cost("increasing", "clustered", 200)
    assert random.read.leaf[1] > 6_000
    assert ascending.read.leaf.sum() == 0
    assert cost("random", "nonclustered", 2000).read.all.sum() == 0
    assert random.written is None
    assert random.log is None


def test_blocks_above_the_leaves_stay_if_their_touches_count() -> None:
    assert cost("random", "clustered", 150, rows_apart=1).read.branch.sum() < 20
    assert cost("random", "clustered", 150).read.branch.sum() > 100
    with pytest.raises(UsageError) as refused:
        cost("random", "clustered", 150, rows_apart=0)
    assert str(refused.value) == "rows_in_3_seconds is at least 1, not 0: the default is 30,000."
