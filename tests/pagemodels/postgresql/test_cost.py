"""What a load costs PostgreSQL; tests/databases/postgresql/test_load_cost.py compares it with servers."""

import numpy as np
import pytest

from benchmarks import streams
from keybench.databases.postgresql.engine import ENGINE
from keybench.model.table import Table
from keybench.pagemodels.costs.contract import Load, LoadCost, Log, Server

ROOMY = 256 << 20
"""Bytes of a cache that holds all pages."""
OFTEN, NEVER = 32 << 20, 4 << 30
"""max_wal_size for a checkpoint after each segment of 16 MB, and for none."""


def cost(
    stream: str, rows: int, server: Server, payload: int = 100, rows_per_tx: int = 1000, kind: str = "uuid"
) -> LoadCost:
    model = ENGINE.page_model(Table("t", ENGINE.default_column(kind), payload))
    ranks = np.argsort(np.argsort(streams.STREAMS[stream](rows), kind="stable"), kind="stable")
    return model.load_cost(Load(ranks, [rows // 2, rows], rows_per_tx), server)


def log_of(one: LoadCost) -> Log:
    assert one.log is not None
    return one.log


@pytest.mark.parametrize(
    ("stream", "rows", "payload", "rows_per_tx", "measured"),
    [
        ("random", 60_000, 100, 1000, 13_021_440),
        ("increasing", 40_000, 100, 1, 0),
    ],
)
def test_the_log_of_rows_and_splits_is_what_servers_write(
    stream: str, rows: int, payload: int, rows_per_tx: int, measured: int
) -> None:
    """Measured on PostgreSQL 15 and 18."""
    one = log_of(cost(stream, rows, Server(cache_bytes=ROOMY, checkpoint_bytes=NEVER), payload, rows_per_tx))
    assert one.bytes.sum() == pytest.approx(measured, rel=0.005)
