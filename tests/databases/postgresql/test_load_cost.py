"""Pages that a server with a small cache reads are those that the model expects."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import pairwise

import pytest

from benchmarks import streams
from keybench.databases.postgresql.admin import PostgresAdmin
from keybench.databases.postgresql.engine import ENGINE
from keybench.errors import UsageError
from keybench.model.byteorder import sort_words
from keybench.model.payload import Payload
from keybench.model.table import Table
from keybench.pagemodels.costs.contract import Load, Pages, PredictsCost, Server
from keybench.pagemodels.ranking import ranked
from keybench.testing.contract.servers import Base

CACHE = 8 << 20
FIFTHS = 5


@pytest.fixture
def small(base: Base) -> Iterator[PostgresAdmin]:
    """A server with 1,024 buffers."""
    usual = ENGINE.settings("durable", "small")
    settings = replace(usual, values={**usual.values, "shared_buffers": "8MB"}, cache_bytes=CACHE)
    provision = ENGINE.provision("embedded", settings)
    try:
        with closing(PostgresAdmin(provision.start())) as admin:
            yield admin
    finally:
        provision.stop()


def both(admin: PostgresAdmin, stream: str, rows: int, payload: int) -> tuple[list[int], Pages]:
    """Pages of the index read in each fifth of a load: by the server's counter, and by the model."""
    column = ENGINE.default_column("uuid")
    table = Table("small", column, payload)
    keys, part, counted = streams.keys(streams.STREAMS[stream](rows), column), rows // FIFTHS, [0]
    admin.create(table)
    for first in range(0, rows, part):
        with closing(ENGINE.session(admin.address, table)) as session:
            for batch in session.prepare(keys[first : first + part], Payload(payload), first, 1000):
                session.send(batch)
        counted.append(_settled(admin))
    admin.drop(table)
    model = ENGINE.page_model(table)
    assert isinstance(model, PredictsCost)
    ends = [part * (i + 1) for i in range(FIFTHS)]
    load = Load(ranked(sort_words(keys, column.order)), ends, 1000)
    reads = model.load_cost(load, Server(cache_bytes=CACHE)).read
    return [after - before for before, after in pairwise(counted)], reads


def _settled(admin: PostgresAdmin) -> int:
    """The server's counter, once what the ended session counted is in it."""
    value = -1
    while True:
        time.sleep(0.2)
        admin.rows("SELECT pg_stat_force_next_flush()")
        before, value = value, int(admin.value("SELECT idx_blks_read FROM pg_statio_user_tables"))
        if value == before:
            return value


@pytest.mark.long
@pytest.mark.parametrize(
    ("stream", "rows", "payload"),
    [("random", 600_000, 0), ("wrapping", 600_000, 100), ("4 lagging by 10 %", 400_000, 0), ("increasing", 400_000, 0)],
)
def test_reads_in_each_fifth_are_within_three_per_cent(
    small: PostgresAdmin, stream: str, rows: int, payload: int
) -> None:
    real, model = both(small, stream, rows, payload)
    for fifth, (measured, predicted) in enumerate(zip(real, model.index.tolist(), strict=True), start=1):
        assert predicted == pytest.approx(measured, rel=0.03, abs=0.01 * rows / FIFTHS), f"fifth {fifth}"
    assert model.table.sum() == 0, "the newest page of rows is always there"


def test_a_cache_of_a_few_pages_is_refused() -> None:
    model = ENGINE.page_model(Table("t", ENGINE.default_column("uuid"), 0))
    assert isinstance(model, PredictsCost)
    with pytest.raises(UsageError) as refused:
        model.load_cost(Load(streams.random(10), [10], 1000), Server(cache_bytes=99 * 8192))
    assert str(refused.value) == "a cache of 811,008 bytes has fewer than 100 pages: give it more memory."


def test_nothing_is_read_while_all_pages_fit() -> None:
    model = ENGINE.page_model(Table("t", ENGINE.default_column("uuid"), 0))
    assert isinstance(model, PredictsCost)
    ranks = streams.random(30_000)  # 148 leaves and 163 pages of the heap, of which only the newest is used again
    load = Load(ranks, [30_000], 1000)
    caches = {pages: Server(cache_bytes=pages * 8192) for pages in (100, 400, 2000)}
    read = {pages: int(model.load_cost(load, server).read.all.sum()) for pages, server in caches.items()}
    assert read[100] > 1000
    assert (read[400], read[2000]) == (0, 0), "by simulation, and because there cannot be so many pages"
