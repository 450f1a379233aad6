"""What a load costs InnoDB."""

import math

import numpy as np
import pytest

from benchmarks import streams
from keybench.databases.mariadb import ENGINE
from keybench.databases.mysql import ENGINE as MYSQL
from keybench.model.table import Table
from keybench.pagemodels.costs.contract import Load, PredictsCost, Server, shared_bytes
from keybench.pagemodels.innodb.cost import frames_of


def test_a_pool_has_as_many_pages_as_the_server_says() -> None:
    known = {6: 379, 8: 507, 16: 1014, 24: 1521, 64: 4056}  # Innodb_buffer_pool_pages_total of MariaDB 10.11.19
    assert {size: frames_of(size << 20, 16384) for size in known} == known


def model(payload: int = 0) -> PredictsCost:
    return ENGINE.page_model(Table("t", ENGINE.column("binary16"), payload))


def test_nothing_is_read_or_written_while_all_pages_fit() -> None:
    load_ = Load(streams.random(20_000), [10_000, 20_000], 1000)
    cost = model().load_cost(load_, Server(cache_bytes=64 << 20))
    assert (cost.read.all.sum(), cost.written.all.sum()) == (0, 0)
    small = model().load_cost(load_, Server(cache_bytes=6 << 20))
    assert np.array_equal(small.log.bytes, cost.log.bytes), "the log does not depend on the pool"


def test_random_keys_read_a_page_a_row_once_the_index_is_far_larger_than_the_pool() -> None:
    rows = 60_000
    ends = [rows // 3, 2 * rows // 3, rows]
    random, increasing = (
        model(200).load_cost(Load(streams.STREAMS[name](rows), ends, 1000), Server(cache_bytes=2 << 20))
        for name in ("random", "increasing")
    )
    assert random.read.leaf[-1] > 0.8 * rows / 3
    assert increasing.read.leaf.sum() < 10
    assert random.written.leaf[-1] == pytest.approx(random.read.leaf[-1], rel=0.1)
    assert random.read.table.sum() == 0


def test_pages_that_checkpoints_write_are_not_known() -> None:
    load_ = Load(streams.increasing(100_000), [50_000, 100_000], 1000)
    pool = 6 << 20
    usual, short = (
        model(100).load_cost(load_, Server(cache_bytes=pool, checkpoint_bytes=log)) for log in (None, 2 << 20)
    )
    assert usual.written.leaf.sum() > 600
    assert short.written is None, "a page stays in the pool for longer than its change may stay in the log"


def test_a_restart_empties_the_pool() -> None:
    rows = 50_000  # 162 leaves
    load_ = Load(streams.random(rows), [rows // 2, rows], 1000, restart=rows // 2)
    cost = model().load_cost(load_, Server(cache_bytes=64 << 20))
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
    assert part.read.leaf[1] / share == pytest.approx(full.leaf[1], rel=0.05)


def test_the_smallest_sample_ends_and_reads_what_the_pool_lacks() -> None:
    rows, share = 60_000, 2.2e-4
    cost = model(100).load_cost(
        Load(streams.random(rows), [rows // 2, rows], 1), Server(cache_bytes=16 << 30, share=share)
    )
    frames, leaves = frames_of(16 << 30, 16384) * share, rows / 80
    assert cost.read.leaf[1] / (rows / 2) == pytest.approx(1 - 2 * math.log(2) * frames / leaves, abs=0.03)


def test_keys_share_bytes_with_those_before_them() -> None:
    stored = np.array([[1, 0, 0], [1, 0, 9], [1, 0, 5], [2, 0, 0]], np.uint8)
    assert shared_bytes(stored, np.array([0, 2, 1, 3]), [2, 4]) == [2, 0]
    assert shared_bytes(np.array([256, 259, 300]), np.arange(3), [3]) == [7]
    assert shared_bytes(stored[:1], np.array([0]), [1]) == [0], "none is before the first"


def test_no_cost_is_predicted_for_what_is_not_known() -> None:
    column = ENGINE.column("binary16")
    assert not isinstance(ENGINE.page_model(Table("t", column, 0, "nonclustered")), PredictsCost)


def test_mysql_reads_less_than_mariadb_and_has_no_log() -> None:
    of_mysql = MYSQL.page_model(Table("t", MYSQL.column("binary16"), 100))
    load_, server = Load(streams.random(200_000), [100_000, 200_000], 1000), Server(cache_bytes=24 << 20)
    cost = of_mysql.load_cost(load_, server)
    assert 10_000 < cost.read.leaf[1] < 0.9 * model(100).load_cost(load_, server).read.leaf[1]
    assert (cost.written, cost.log) == (None, None)
