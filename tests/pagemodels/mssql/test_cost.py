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
    LRU_2,
    NOWHERE,
    WRITTEN,
    new,
    use,
)
from keybench.pagemodels.mssql.cost.load import insert_bytes, split_bytes

BEGIN = 124


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


@given(st.lists(TOUCHES, min_size=1, max_size=60), st.integers(5, 20), st.sampled_from([COUNTERS, LRU_2]))
@settings(max_examples=60)
def test_pages_leave_the_pool_by_its_rule(rows: Sequence[list[tuple[int, int]]], buffers: int, rule: int) -> None:
    plain, pool = Plain(buffers, rule), new(buffers, 31, rule, 31, 31, 0)
    for row, own in enumerate(rows, start=1):
        for page, flags in own:
            plain.use(page, row, flags)
    flat = np.array([page << FLAGS | flags for own in rows for page, flags in own])
    ends, costs = np.cumsum([len(own) for own in rows]), np.zeros((1, COLUMNS), np.int64)
    use(pool, ends, flat, np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64), 0, costs)
    assert costs[0, [0, WRITTEN]].tolist() == [plain.read, plain.written]
    assert np.flatnonzero(pool.buffers != NOWHERE).tolist() == sorted(plain.pages)


def test_a_checkpoint_writes_each_dirty_page_once() -> None:
    pool, costs = new(10, 10, COUNTERS, 5, 10, 100), np.zeros((2, COLUMNS), np.int64)
    pages = np.array([0, 1, 7, 0]) << FLAGS | CHANGED
    use(pool, np.arange(1, 5), pages, np.array([0, 0, 0, 1]), np.array([10, 50, 120, 260]), 100, costs)
    assert costs[:, WRITTEN : WRITTEN + 3].tolist() == [[2, 1, 0], [1, 0, 0]]
    assert costs[:, CHECKPOINTS].tolist() == [1, 1]


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
