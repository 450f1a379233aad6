"""What a load costs PostgreSQL; tests/databases/postgresql/test_load_cost.py compares it with servers."""

from dataclasses import replace

import pytest

from benchmarks import streams
from keybench.databases.postgresql.engine import ENGINE
from keybench.model.table import Table
from keybench.pagemodels.costs.contract import Load, LoadCost, Log, Server

ROWS = 60_000
ROOMY = Server(cache_bytes=256 << 20)
"""A server with a cache that holds all pages, and without a checkpoint."""
OFTEN = Server(cache_bytes=256 << 20, checkpoint_bytes=32 << 20, log_position=9 << 20)
"""With a checkpoint at the end of a segment of 16 MB, after 7 MB of log: just in the second half of the load."""
LEAVES_THEN, FULL = 153, 202 * 28 + 70
"""Leaves at that checkpoint, of some 31,000 random uuids, and bytes of one with so many entries, roughly."""


def cost(server: Server, stream: str = "random", rows_per_tx: int = 1000, rows: int = ROWS) -> LoadCost:
    model = ENGINE.page_model(Table("t", ENGINE.default_column("uuid"), 100))
    return model.load_cost(Load(streams.STREAMS[stream](rows), [rows // 2, rows], rows_per_tx), server)


def log_of(one: LoadCost) -> Log:
    return one.log


def test_the_log_of_rows_and_splits_is_what_servers_write() -> None:
    assert log_of(cost(ROOMY)).bytes.sum() == pytest.approx(13_021_440, rel=0.005), "measured on PostgreSQL 15 and 18"
    # Records of 55 and 117 bytes, 48 and 24, 34, each aligned to 8; headers of the log's pages; some 230 splits.
    assert log_of(cost(ROOMY, "increasing", 1)).bytes.sum() / ROWS == pytest.approx(
        (176 + 72 + 40) * 1.003 + 5, rel=0.01
    )


def test_each_leaf_is_logged_whole_at_its_first_change_after_a_checkpoint() -> None:
    often, never, unprotected = (log_of(cost(server)) for server in (OFTEN, ROOMY, replace(OFTEN, durable=False)))
    assert often.images.tolist() == [0, pytest.approx(LEAVES_THEN, rel=0.05)]
    images = often.bytes - never.bytes
    assert images.tolist() == [0, pytest.approx(often.images[1] * FULL, rel=0.1)]
    assert unprotected.bytes.tolist() == never.bytes.tolist()


def test_a_checkpoint_writes_the_pages_that_changed() -> None:
    assert written(ROOMY, ROWS) == [0, 0]
    leaves, heap = written(OFTEN, 100_000)
    assert leaves == pytest.approx(LEAVES_THEN, rel=0.1)
    assert heap == pytest.approx(6.5 * 2**20 / 217 / 55, rel=0.15), "pages of the rows before the checkpoint"


def written(server: Server, rows: int) -> list[int]:
    """Leaves, and pages of the heap."""
    pages = cost(server, rows=rows).written
    return [int(pages.leaf.sum()), int(pages.table.sum())]


def test_random_keys_read_a_page_a_row_once_the_index_is_far_larger_than_the_cache() -> None:
    small = Server(cache_bytes=100 * 8192)
    random, increasing = (cost(small, stream, rows=200_000).read for stream in ("random", "increasing"))
    assert random.leaf[1] == pytest.approx(0.88 * 100_000, rel=0.03)
    assert increasing.all.sum() < 5
