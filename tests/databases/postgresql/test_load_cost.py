"""Pages that a server with a small cache reads and writes, and its log, are those that the model expects."""

from collections.abc import Mapping

import numpy as np
import pytest

from benchmarks import streams
from keybench.advice.row_cost import rows_from_which
from keybench.databases.contract_suite.servers import Base
from keybench.databases.postgresql import log
from keybench.databases.postgresql.engine import ENGINE
from keybench.errors import UsageError
from keybench.model.byteorder import sort_words
from keybench.model.keys import Keys
from keybench.model.table import Table
from keybench.pagemodels.costs.contract import Load, LoadCost, PredictsCost, Server
from keybench.pagemodels.postgresql.cost.limits import Limits
from keybench.pagemodels.postgresql.cost.load import HeapIndexModel
from keybench.pagemodels.postgresql.cost.log import USABLE
from keybench.pagemodels.ranking import ranked
from tests.databases.postgresql.load_counters import PARTS, Compared, by_one, compare, records, send, small_server
from tests.pagemodels.postgresql.cost.reference import Reference

WITHIN = {"index": 0.03, "heap": 0.0, "written": 0.15, "images": 0.03, "log": 0.01}
"""By how much the model may differ in a part of a load."""
FEW = {"index": 0.001, "heap": 0.0001, "written": 0.001, "images": 0.001, "log": 8}
"""The same, as pages or bytes a row."""
BEFORE = {"written": 500}
"""The catalog's pages fill a part of the cache before the load, so that pages are written a little earlier; and the
background writer cleans pages ahead while nothing is sent."""


def assert_close(compared: Compared, before: Mapping[str, int] = BEFORE) -> None:
    print("\n".join(compared.lines()))
    for what, within in WITHIN.items():
        few = FEW[what] * compared.rows / PARTS + before.get(what, 0)
        for part, (measured, predicted) in enumerate(compared.pairs(what), start=1):
            assert predicted == pytest.approx(measured, rel=within, abs=few), f"{what}, fifth {part}"


def uuids(stream: str, rows: int) -> Keys:
    return streams.keys(streams.STREAMS[stream](rows), ENGINE.default_column("uuid"))


def test_a_small_server_s_counters_are_the_model_s(base: Base) -> None:
    with small_server("embedded", bgwriter_lru_maxpages="0") as admin:
        compared = compare(admin, by_one(uuids("random", 130_000)), 100)
    assert_close(compared, {"written": 200})


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "stream", "rows", "payload"),
    [
        ("embedded", "random", 600_000, 0),
        ("local", "random", 600_000, 100),
        ("embedded", "wrapping", 600_000, 100),
        ("local", "wrapping", 600_000, 0),
        ("embedded", "4 lagging by 10 %", 400_000, 0),
        ("local", "increasing", 1_200_000, 0),
    ],
)
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
    assert isinstance(model, PredictsCost)
    ends = [rows * (i + 1) // parts for i in range(parts)]
    return model.load_cost(Load(streams.random(rows), ends, 1000, restart=restart), server)


def test_a_cache_of_a_few_pages_is_refused() -> None:
    with pytest.raises(UsageError) as refused:
        cost(10, Server(cache_bytes=99 * 8192))
    assert str(refused.value) == "a cache of 811,008 bytes has fewer than 100 pages: give it more memory."


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
@pytest.mark.parametrize(
    ("stream", "payload", "rows_per_tx"),
    [("random", 100, 1000), ("random", 100, 1), ("4 lagging by 0.5 %", 0, 1000), ("increasing", 200, 1000)],
)
def test_each_kind_of_record_is_the_model_s(base: Base, kind: str, stream: str, payload: int, rows_per_tx: int) -> None:
    """Numbers and bytes by `pg_waldump --stats=record`, beside the model in plain Python, without a checkpoint."""
    keys = by_one(uuids(stream, 40_000), rows_per_tx)
    with small_server(kind) as admin:
        table = Table("small", ENGINE.default_column("uuid"), payload)
        admin.create(table)
        admin.checkpoint()
        begin = log.position(admin)
        send(admin, table, keys, keys.transactions())
        stats = records(admin, begin, log.position(admin))
        admin.drop(table)
    model = ENGINE.page_model(table)
    assert isinstance(model, HeapIndexModel)
    load = Load(ranked(sort_words(keys.keys, table.column.order)), [40_000], rows_per_tx)
    plain = Reference(model, load, Limits(1024, 128, USABLE, 0), 1 << 20, True, 0).run()
    modelled = {kind: (number, plain.bytes[kind]) for kind, number in plain.records.items()}
    assert {kind: stats[kind] for kind in modelled} == modelled
    assert stats.keys() - modelled.keys() <= {"XLOG/FPI_FOR_HINT", "Standby/RUNNING_XACTS", "CLOG/ZEROPAGE"}
