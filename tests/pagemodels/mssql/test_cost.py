"""The buffer pool follows both published rules, written down plainly; log bytes are those that were published."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import streams
from keybench.databases.mssql.engine import ENGINE
from keybench.errors import UsageError
from keybench.model.table import Table
from keybench.pagemodels.costs.contract import Load, LoadCost, LookUps, PredictsCost, Server
from keybench.pagemodels.costs.page_touches import CHANGED, FLAGS, FRESH
from keybench.pagemodels.mssql.cost.buffer_pool import (
    CHECKPOINTS,
    COLUMNS,
    COUNTERS,
    LOG,
    LRU_2,
    NOWHERE,
    WRITTEN,
    Records,
    new,
    use,
)
from keybench.pagemodels.mssql.cost.load import insert_bytes, split_bytes

BEGIN = 124
NO_SPLITS = np.empty((0, 2), np.int64)


class Plain:
    """A pool of so many buffers; each is (page, uses, rows in which it was used, dirty)."""

    def __init__(self, buffers: int, rule: int) -> None:
        self.room, self.rule, self.hand = buffers, rule, 0
        self.pages: list[int] = []
        self.counters: list[int] = []
        self.rows: list[list[int]] = []
        self.dirty: list[bool] = []
        self.read = self.written = 0

    def free(self) -> int:
        if self.rule == COUNTERS:
            while True:
                place, self.hand = self.hand, (self.hand + 1) % self.room
                self.counters[place] //= 4
                if self.counters[place] == 0:
                    return place
        section = [(self.hand + i) % self.room for i in range(64)]
        self.hand = (self.hand + 64) % self.room
        # The last use but one, −1 if there was none, then the last.
        return min(section, key=lambda place: (([-1, *self.rows[place]])[-2], self.rows[place][-1]))

    def use(self, page: int, row: int, flags: int) -> None:
        if page not in self.pages:
            self.read += not flags & FRESH
            if len(self.pages) < self.room:
                place = len(self.pages)
                for each, first in ((self.pages, page), (self.counters, 0), (self.rows, []), (self.dirty, False)):
                    each.append(first)  # type: ignore[attr-defined]
            else:
                place = self.free()
                self.written += self.dirty[place]
                self.pages[place], self.counters[place], self.rows[place], self.dirty[place] = page, 0, [], False
        place = self.pages.index(page)
        self.counters[place] += 1
        if row not in self.rows[place]:
            self.rows[place].append(row)
        self.dirty[place] |= bool(flags & CHANGED)


TOUCHES = st.lists(
    st.tuples(st.integers(0, 30), st.sampled_from([0, CHANGED, CHANGED | FRESH])), min_size=1, max_size=4
)


RUNS = st.tuples(
    st.integers(1, 9),
    st.lists(
        st.tuples(st.integers(0, 30), st.sampled_from([0, CHANGED])), min_size=1, max_size=4, unique_by=lambda t: t[0]
    ),
)
"""Rows that follow one another, and what each of them touches."""


@given(
    st.lists(st.one_of(RUNS, st.tuples(st.just(1), TOUCHES)), min_size=1, max_size=60),
    st.integers(5, 20),
    st.sampled_from([COUNTERS, LRU_2]),
)
@settings(max_examples=100)
def test_pages_leave_the_pool_by_its_rule(
    runs: Sequence[tuple[int, list[tuple[int, int]]]], buffers: int, rule: int
) -> None:
    plain, pool, row = Plain(buffers, rule), new(buffers, 31, rule, 31, 31, 0), 0
    for many, own in runs:
        for _ in range(many):
            row += 1
            for page, flags in own:
                plain.use(page, row, flags)
    flat = np.array([page << FLAGS | flags for _, own in runs for page, flags in own], np.int32)
    ends, costs = np.cumsum([len(own) for _, own in runs]).astype(np.int32), np.zeros((1, COLUMNS), np.int64)
    log = Records.new(NO_SPLITS, 5, 2, 10)
    use(pool, np.array([many for many, _ in runs], np.int32), ends, flat, np.array([row]), log, 0, costs)
    assert costs[0, [0, WRITTEN]].tolist() == [plain.read, plain.written]
    assert costs[0, LOG] == 5 * row + 2 * -(-row // 10)
    assert np.flatnonzero(pool.buffers != NOWHERE).tolist() == sorted(plain.pages)


def test_a_checkpoint_writes_each_dirty_page_once() -> None:
    pool, costs = new(10, 10, COUNTERS, 5, 10, 100), np.zeros((2, COLUMNS), np.int64)
    pages = (np.array([0, 1, 7, 0]) << FLAGS | CHANGED).astype(np.int32)
    log = Records.new(np.array([[1, 30], [2, 60], [3, 130]]), 10, 0, 1000)
    use(pool, np.ones(4, np.int32), np.arange(1, 5, dtype=np.int32), pages, np.array([3, 4]), log, 100, costs)
    assert costs[:, WRITTEN : WRITTEN + 3].tolist() == [[2, 1, 0], [1, 0, 0]]
    assert costs[:, CHECKPOINTS].tolist() == [1, 1]
    assert costs[:, LOG].tolist() == [120, 140]


def test_a_checkpoint_comes_in_the_middle_of_rows_that_touch_one_page() -> None:
    pool, costs = new(10, 10, COUNTERS, 5, 10, 100), np.zeros((1, COLUMNS), np.int64)
    one, page = np.ones(1, np.int32), np.array([CHANGED], np.int32)
    use(pool, 8 * one, one, page, np.array([8]), Records.new(NO_SPLITS, 30, 0, 1000), 100, costs)
    assert costs.tolist() == [[1, 0, 0, 2, 0, 0, 2, 240]]
    assert pool.dirty[0], "the eighth row changed it after the second checkpoint"


@pytest.mark.parametrize(("characters", "published"), [(10, 240), (100, 328), (1000, 1228)])
def test_the_log_of_an_insertion_is_as_published(characters: int, published: int) -> None:
    row = 4 + 4 + characters + 3  # int, char; P. Randal, "How expensive are page splits in terms of transaction log?"
    assert BEGIN + insert_bytes(row) == published


@pytest.mark.parametrize(("row", "moved", "published"), [(1011, 4, 6724), (111, 36, 5924)])
def test_the_log_of_a_split_is_within_half_a_per_cent_of_what_was_published(
    row: int, moved: int, published: int
) -> None:
    assert BEGIN + insert_bytes(row) + split_bytes(row, moved) == pytest.approx(published, rel=0.005)


def cost(stream: str, key: str, cache_pages: int, checkpoint_bytes: int | None = None, **given_: str) -> LoadCost:
    table = Table("t", ENGINE.default_column("uuid"), 100, "clustered" if key == "clustered" else "nonclustered")
    model = ENGINE.page_model(table, **given_)
    assert isinstance(model, PredictsCost)
    server = Server(cache_bytes=cache_pages * 8192, checkpoint_bytes=checkpoint_bytes)
    return model.load_cost(Load(streams.STREAMS[stream](30_000), [15_000, 30_000], 1000), server)


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
    assert random.read.leaf[1] > 7_000
    assert ascending.read.all.sum() == 0
    assert random.log is not None
    assert ascending.log is not None
    assert (random.log.bytes > 1.3 * ascending.log.bytes).all()
    assert random.written is None, "checkpoints depend on time"
    written = cost("random", "clustered", 200, 1 << 20).written
    assert written is not None
    assert (written.leaf >= random.read.leaf - 200).all()


def test_what_fits_is_not_read_and_written_by_checkpoints_alone() -> None:
    all_fit = cost("random", "nonclustered", 5000, 1 << 20)
    assert all_fit.read.all.sum() == 0
    assert all_fit.log is not None
    assert all_fit.log.checkpoints.sum() == all_fit.log.bytes.sum() >> 20


def test_both_readings_of_the_rule_are_known_and_no_others() -> None:
    by_counters, by_lru = (cost("random", "clustered", 150, replacement=name) for name in ("counters", "lru-2"))
    assert by_counters.read.leaf.tolist() != by_lru.read.leaf.tolist()
    with pytest.raises(UsageError) as refused:
        cost("random", "clustered", 150, replacement="lru")
    assert "lru-2" in str(refused.value)
