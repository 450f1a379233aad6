"""Pages that a server with a small cache reads and writes, and its log, are those that the model expects."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from benchmarks import streams
from keybench.advice.row_cost import rows_from_which
from keybench.databases.contract_suite.servers import Base
from keybench.databases.postgresql.engine import ENGINE
from keybench.model.keys import Keys
from keybench.model.table import Table
from keybench.pagemodels.costs.contract import Load, LoadCost, Server
from tests.databases.postgresql.load_counters import CACHE, Compared, by_one, compare, small_server

WITHIN = {"index": 0.1, "heap": 0.0, "written": 0.15, "images": 0.05, "log": 0.05}
"""By how much the model may differ: in a part of a load, or in all of it (`IN_ALL`)."""
IN_ALL = ("written", "images", "log")
"""What falls into the next fifth where a checkpoint comes a moment later, as on a busy machine: its images are a large
part of the log."""
FEW = {"index": 0.01, "heap": 0.0001, "written": 0.001, "images": 0.001, "log": 2}
"""The same, as pages or bytes a row."""
BEFORE = {"written": 500}
"""The catalog's pages fill a part of the cache before the load, so that pages are written a little earlier; and the
background writer cleans pages ahead while nothing is sent."""


def assert_close(compared: Compared, before: Mapping[str, int] = BEFORE) -> None:
    print("\n".join(compared.lines()))
    for what, within in WITHIN.items():
        pairs = list(compared.pairs(what))
        if what in IN_ALL:
            pairs = [(sum(measured), sum(predicted)) for measured, predicted in [zip(*pairs, strict=True)]]
        few = FEW[what] * compared.rows / len(pairs) + before.get(what, 0)
        for part, (measured, predicted) in enumerate(pairs, start=1):
            assert predicted == pytest.approx(measured, rel=within, abs=few), f"{what}, part {part}"


def uuids(stream: str, rows: int) -> Keys:
    return streams.keys(streams.STREAMS[stream](rows), ENGINE.default_column("uuid"))


def integers(stream: str, rows: int) -> Keys:
    return Keys(streams.STREAMS[stream](rows).astype(np.int64), "int")


def test_a_small_server_s_counters_are_the_model_s(base: Base) -> None:
    with small_server("embedded", bgwriter_lru_maxpages="0") as admin:
        compared = compare(admin, by_one(uuids("random", 130_000)), 100)
    assert_close(compared, {"written": 200})


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "stream", "rows", "payload"),
    [("embedded", "random", 600_000, 0), ("local", "random", 600_000, 100), ("embedded", "wrapping", 600_000, 100),
     ("local", "wrapping", 600_000, 0), ("embedded", "4 lagging by 10 %", 400_000, 0),
     ("local", "increasing", 1_200_000, 0)],
)  # fmt: skip
def test_counters_in_each_fifth_are_the_model_s(base: Base, kind: str, stream: str, rows: int, payload: int) -> None:
    with small_server(kind) as admin:
        assert_close(compare(admin, by_one(uuids(stream, rows)), payload))


@pytest.mark.long
@pytest.mark.parametrize("kind", ["embedded", "local"])
def test_a_row_costs_a_page_read_from_the_number_of_rows_that_the_model_says(base: Base, kind: str) -> None:
    rows, parts = 800_000, 32
    with small_server(kind, max_wal_size="4GB") as admin:
        compared = compare(admin, by_one(uuids("random", rows)), 0, parts)
    ends = np.array([rows * (i + 1) // parts for i in range(parts)])
    knees = []
    for side in zip(*compared.pairs("index"), strict=True):
        each = np.array(side) / (rows / parts)
        knees.append([rows_from_which(each, ends, reads) for reads in (0.05, 0.25, 0.5)])
    print(knees)
    assert knees[0] == pytest.approx(knees[1], rel=0.1)
    assert (knees[0][0] or 0) > 150_000


def cost(rows: int, server: Server, *, restart: int | None = None, payload: int = 0, parts: int = 1) -> LoadCost:
    """Of random keys."""
    model = ENGINE.page_model(Table("t", ENGINE.default_column("uuid"), payload))
    ends = [rows * (i + 1) // parts for i in range(parts)]
    return model.load_cost(Load(streams.random(rows), ends, 1000, restart=restart), server)


def test_a_restart_empties_the_cache() -> None:
    big = Server(cache_bytes=64 << 20)
    warm, cold = (cost(100_000, big, restart=restart, parts=10).read for restart in (None, 50_000))
    assert warm.all.sum() == 0
    assert cold.all[:5].sum() == 0
    assert cold.leaf[5] == pytest.approx(255, rel=0.06), "each leaf of 50,000 rows that was there, once"
    assert cold.branch[5] == 1
    assert cold.table[5] == 1


@pytest.mark.long
@pytest.mark.parametrize("kind", ["embedded", "local"])
@pytest.mark.parametrize("cache", [CACHE, 256 << 20])
@pytest.mark.parametrize("keys_of", [uuids, integers])
@pytest.mark.parametrize(
    ("stream", "rows", "payload", "rows_per_tx"),
    [("random", 200_000, 100, 100), ("random", 100_000, 1000, 1), ("increasing", 100_000, 0, 1)],
)
def test_counters_of_short_transactions_are_the_model_s(
    base: Base,
    kind: str,
    cache: int,
    keys_of: Callable[[str, int], Keys],
    stream: str,
    rows: int,
    payload: int,
    rows_per_tx: int,
) -> None:
    with small_server(kind, shared_buffers=f"{cache >> 10}kB") as admin:
        assert_close(compare(admin, by_one(keys_of(stream, rows), rows_per_tx), payload))


@pytest.mark.long
@pytest.mark.parametrize("kind", ["embedded", "local"])
@pytest.mark.parametrize(
    ("stream", "payload", "rows_per_tx"),
    [("random", 100, 1000), ("random", 100, 1), ("4 lagging by 0.5 %", 0, 1000), ("increasing", 200, 1000)],
)
def test_the_log_without_a_checkpoint_is_the_model_s(
    base: Base, kind: str, stream: str, payload: int, rows_per_tx: int
) -> None:
    with small_server(kind, max_wal_size="4GB") as admin:
        compared = compare(admin, by_one(uuids(stream, 40_000), rows_per_tx), payload, 1)
    assert compared.predicted.log.bytes.tolist() == pytest.approx(compared.measured["log"], rel=0.01)
