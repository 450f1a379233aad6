"""What a load costs MariaDB: the pool's kernel against a plain one, and what follows where all pages fit."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import streams
from keybench.databases.mariadb import ENGINE
from keybench.databases.mysql import ENGINE as MYSQL
from keybench.errors import UsageError
from keybench.model.table import Table
from keybench.pagemodels.costs.contract import Load, PredictsCost, Server, shared_bytes
from keybench.pagemodels.innodb.cost import cache
from keybench.pagemodels.innodb.cost.cache import (
    BATCH,
    BATCH_TIME,
    CHANGED,
    DEPTH,
    FREE,
    FREED,
    LENGTH,
    NOW,
    OLD,
    OLDER,
    READ_TIME,
    SHORT,
    WRITES,
    WRITTEN,
    BufferPool,
)
from tests.pagemodels.innodb.reference_pool import PlainPool


@settings(max_examples=40, deadline=None)
@given(
    frames=st.integers(100, 900),
    spread=st.integers(1, 3000),
    rows=st.integers(1, 6000),
    share=st.sampled_from([1.0, 0.3, 0.05, 2e-4]),
    changed=st.floats(0, 1),
    pause=st.integers(0, 10**7),
    seed=st.integers(0, 9),
)
def test_the_pool_is_the_plain_one(
    frames: int, spread: int, rows: int, share: float, changed: float, pause: int, seed: int
) -> None:
    chance = np.random.Generator(np.random.PCG64(seed))
    pool = cache.new(frames, 0, 0, spread + rows, share)
    state = pool.state
    constants = (int(state[which]) for which in (READ_TIME, BATCH, BATCH_TIME, DEPTH, SHORT, WRITES))
    plain = PlainPool(frames, int(state[LENGTH]), *constants)
    for row in range(rows):
        page, changes = int(chance.integers(spread)), bool(chance.random() < changed)
        if chance.random() < 0.05:
            new_page = spread + row if changes else page
            cache.create(pool, new_page)
            plain.create(new_page)
        elif chance.random() < 0.05:
            cache.drop(pool, page)
            plain.drop(page)
        else:
            assert cache.use(pool, page, changes) == plain.use(page, changes)
        state[NOW] += pause
        plain.now += pause
        cache.clean(pool)
        plain.clean()
    same(pool, plain)


def same(pool: BufferPool, plain: PlainPool) -> None:
    """Asserts that both pools are in the same state, with the same pages."""
    state = pool.state
    assert (state[LENGTH], state[FREE], state[FREED]) == (len(plain.pages), plain.free, plain.freed)
    assert (state[NOW], state[WRITTEN:].sum(), state[OLDER]) == (plain.now, plain.written, plain.old_pages)
    changed = pool.frames[:, CHANGED]
    oldest = min((page.changed_at for page in plain.pages if page.changed), default=plain.now)
    assert changed[changed > 0].min(initial=plain.now + 1) - 1 == oldest
    there = {page.number: page.old for page in plain.pages if page.number >= 0}
    assert set(np.flatnonzero(pool.places >= 0).tolist()) == set(there)
    for page, old in there.items():
        assert pool.frames[pool.places[page], OLD] == old


def test_a_pool_has_as_many_pages_as_the_server_says() -> None:
    known = {6: 379, 8: 507, 16: 1014, 24: 1521, 64: 4056}  # Innodb_buffer_pool_pages_total of MariaDB 10.11.19
    assert {size: cache.frames_of(size << 20, 16384) for size in known} == known


def model(payload: int = 0) -> PredictsCost:
    found = ENGINE.page_model(Table("t", ENGINE.column("binary16"), payload))
    assert isinstance(found, PredictsCost)
    return found


def test_nothing_is_read_or_written_while_all_pages_fit() -> None:
    load_ = Load(streams.random(20_000), [10_000, 20_000], 1000)
    cost = model().load_cost(load_, Server(cache_bytes=64 << 20))
    assert cost.written is not None
    assert cost.log is not None
    assert (cost.read.all.sum(), cost.written.all.sum()) == (0, 0)
    small = model().load_cost(load_, Server(cache_bytes=6 << 20))
    assert small.log is not None
    assert np.array_equal(small.log.bytes, cost.log.bytes), "the log does not depend on the pool"
    short = model().load_cost(load_, Server(cache_bytes=64 << 20, checkpoint_bytes=1 << 20))
    assert short.written is None, "pages that only checkpoints write are not known"


def test_random_keys_read_a_page_a_row_once_the_index_is_far_larger_than_the_pool() -> None:
    rows = 60_000
    ends = [rows // 3, 2 * rows // 3, rows]
    random, increasing = (
        model(200).load_cost(Load(streams.STREAMS[name](rows), ends, 1000), Server(cache_bytes=2 << 20))
        for name in ("random", "increasing")
    )
    assert random.read.leaf[-1] > 0.8 * rows / 3
    assert increasing.read.leaf.sum() < 10
    assert random.written is not None
    assert random.written.leaf[-1] == pytest.approx(random.read.leaf[-1], rel=0.1)
    assert random.read.table.sum() == 0


def test_pages_that_checkpoints_write_are_not_known() -> None:
    load_ = Load(streams.increasing(100_000), [50_000, 100_000], 1000)
    pool = 6 << 20
    usual, short = (
        model(100).load_cost(load_, Server(cache_bytes=pool, checkpoint_bytes=log)) for log in (None, 2 << 20)
    )
    assert usual.written is not None
    assert usual.written.leaf.sum() > 700
    assert short.written is None, "a page stays in the pool for longer than its change may stay in the log"


def test_a_restart_empties_the_pool() -> None:
    rows = 50_000  # 162 leaves
    load_ = Load(streams.random(rows), [rows // 2, rows], 1000, restart=rows // 2)
    cost = model().load_cost(load_, Server(cache_bytes=64 << 20))
    assert cost.written is not None
    assert cost.read.leaf.tolist() == cost.written.leaf.tolist(), "the server writes each leaf as it stops"
    assert (cost.read.leaf[0], cost.read.leaf[1] > 50) == (0, True)


def test_a_sample_of_rows_reads_its_share() -> None:
    rows, share = 400_000, 0.1
    whole = streams.random(rows)
    sample = np.argsort(np.argsort(whole[whole % 10 == 0]))
    server = Server(cache_bytes=16 << 20)
    full = model(100).load_cost(Load(whole, [rows // 2, rows], 1000), server).read
    part = model(100).load_cost(
        Load(sample, [len(sample) // 2, len(sample)], 1000), Server(cache_bytes=16 << 20, share=share)
    )
    assert part.read.other is None
    assert part.read.leaf[1] / share == pytest.approx(full.leaf[1], rel=0.05)


def test_the_smallest_sample_ends_and_reads_what_the_pool_lacks() -> None:
    rows, share = 60_000, 2.2e-4
    cost = model(100).load_cost(
        Load(streams.random(rows), [rows // 2, rows], 1), Server(cache_bytes=16 << 30, share=share)
    )
    frames, leaves = cache.frames_of(16 << 30, 16384) * share, rows / 80
    assert cost.read.leaf[1] / (rows / 2) == pytest.approx(1 - 2 * math.log(2) * frames / leaves, abs=0.03)


def test_keys_share_bytes_with_those_before_them() -> None:
    stored = np.array([[1, 0, 0], [1, 0, 9], [1, 0, 5], [2, 0, 0]], np.uint8)
    assert shared_bytes(stored, np.array([0, 2, 1, 3]), [2, 4]) == [2, 0]
    assert shared_bytes(np.array([256, 259, 300]), np.arange(3), [3]) == [7]
    assert shared_bytes(stored[:1], np.array([0]), [1]) == [0], "none is before the first"


def test_a_cache_of_a_few_pages_is_refused() -> None:
    with pytest.raises(UsageError) as refused:
        model().load_cost(Load(streams.random(10), [10], 1000), Server(cache_bytes=99 * 16384))
    assert str(refused.value) == "a cache of 1,622,016 bytes has fewer than 100 pages: give it more memory."


def test_no_cost_is_predicted_for_what_is_not_known() -> None:
    column = ENGINE.column("binary16")
    assert not isinstance(ENGINE.page_model(Table("t", column, 0, "nonclustered")), PredictsCost)
    assert not isinstance(MYSQL.page_model(Table("t", MYSQL.column("binary16"), 0)), PredictsCost)
