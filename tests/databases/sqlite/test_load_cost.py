"""Connections with a small cache read the pages and write the log that the model expects."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks import streams
from keybench.databases.sqlite.connection import page_counts
from keybench.databases.sqlite.engine import ENGINE
from keybench.databases.sqlite.session import SqliteSession
from keybench.model.byteorder import sort_words
from keybench.model.keys import Keys
from keybench.model.payload import Payload
from keybench.model.table import Table
from keybench.pagemodels.contract import SizedByValue
from keybench.pagemodels.costs.contract import Load, LoadCost, PredictsCost, Server
from keybench.pagemodels.ranking import ranked
from keybench.runners.planning.key_sources import key_sources
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.scenarios.files import load_scenario

if TYPE_CHECKING:
    from conftest import Bench

Ints = NDArray[np.int64]
FIFTHS = 5
FRAME = 4096 + 24


class Rows(NamedTuple):
    keys: Keys
    writers: NDArray[np.int16]
    rows_per_tx: int

    def transactions(self) -> Iterator[tuple[int, int]]:
        """(first row, the row behind the last one) of each transaction."""
        begin = 0
        for row in range(1, len(self.keys) + 1):
            if row == len(self.keys) or self.writers[row] != self.writers[begin] or row - begin == self.rows_per_tx:
                yield begin, row
                begin = row


def of_one(stream: str, rows: int) -> Rows:
    keys = streams.keys(streams.STREAMS[stream](rows), ENGINE.column("binary16"))
    return Rows(keys, np.zeros(rows, np.int16), 1000)


def of_three(rows: int) -> Rows:
    """Some transactions of one writer after another, of 500 rows."""
    writers = np.repeat(np.random.Generator(np.random.PCG64(3)).integers(0, 3, rows // 500), 500)
    return of_one("random", rows)._replace(writers=writers.astype(np.int16), rows_per_tx=500)


def under(scenario: str, layout: str, rows: int) -> Rows:
    """The keys of a scenario's writers, whose transactions of 1,000 rows come in the order in which they are full."""
    request = Request(
        ("sqlite",), {"sqlite": "embedded"}, load_scenario(scenario), (layout,), (), rows, 1, "fast", 3, 60.0
    )
    sources = key_sources(request, TrialPlan(1, 0, "sqlite", layout, "binary16", 100, rows))
    parts = []
    for number, source in enumerate(sources):
        keys, n = source.stream().take(source.writer.rows), source.writer.rows
        for first in range(0, n, 1000):
            last = min(n, first + 1000)
            parts.append((int(source.planned[last - 1]), number, keys[first:last]))
    parts.sort(key=lambda part: part[0])
    writers = np.concatenate([np.full(len(keys), number, np.int16) for _, number, keys in parts])
    return Rows(Keys(np.concatenate([keys.data for _, _, keys in parts]), parts[0][2].kind), writers, 1000)


def live(bench: Bench, table: Table, rows: Rows, kib: int) -> Ints:
    """(2, 5): pages read and frames written in each fifth."""
    bench.admin.create(table)
    counts, part = [], len(rows.keys) // FIFTHS
    with ExitStack() as stack:
        sessions = [
            cast("SqliteSession", stack.enter_context(closing(bench.session(table, cache_size=str(-kib)))))
            for _ in range(int(rows.writers.max()) + 1)
        ]

        def note() -> None:
            each = [page_counts(session._connection) for session in sessions]
            counts.append([sum(one[name] for one in each) for name in ("missed", "written")])

        note()
        for first, end in rows.transactions():
            while first >= part * len(counts):
                note()
            session = sessions[rows.writers[first]]
            for batch in session.prepare(rows.keys[first:end], Payload(table.payload), first, rows.rows_per_tx):
                session.send(batch)
        note()
    bench.admin.drop(table)
    return np.diff(np.array(counts), axis=0).T


def modelled(table: Table, rows: Rows, kib: int) -> LoadCost:
    model, part = ENGINE.page_model(table), len(rows.keys) // FIFTHS
    ends = list(range(part, len(rows.keys) + 1, part))
    # A transaction belongs to the fifth in which it begins.
    begins = [first for first, _ in rows.transactions()] + [len(rows.keys)]
    ends = [begins[int(np.searchsorted(begins, end))] for end in ends]
    ranks = ranked(sort_words(rows.keys, table.column.order))
    sizes = model.sizes(rows.keys) if isinstance(model, SizedByValue) else None
    load = Load(ranks, ends, rows.rows_per_tx, rows.writers, sizes=sizes)
    return model.load_cost(load, Server(cache_bytes=kib << 10))


def compared(bench: Bench, table: Table, rows: Rows, kib: int) -> Ints:
    """(2, 5): as of `live`. Asserts that the model's pages and frames are within 5 %, or 0.02 reads a row."""
    cost, real = modelled(table, rows, kib), live(bench, table, rows, kib)
    reads, frames = cost.read.all, cost.log.bytes // FRAME
    assert reads.tolist() == pytest.approx(real[0].tolist(), rel=0.05, abs=0.02 * len(rows.keys) / FIFTHS)
    assert frames.tolist() == pytest.approx(real[1].tolist(), rel=0.05)
    return real


def test_one_writer_and_a_full_cache(bench: Bench) -> None:
    real = compared(bench, bench.table("binary16"), of_one("random", 80_000), 512)
    assert real[0, -1] > 8_000, "most rows read a page"


def test_several_writers_lose_their_caches_to_one_another(bench: Bench) -> None:
    real = compared(bench, bench.table("binary16"), of_three(20_000), 1024)
    assert real[0].sum() > 1000


@pytest.mark.long
@pytest.mark.parametrize(
    ("stream", "rows", "payload", "kib"),
    [("random", 400_000, 0, 2048), ("random", 300_000, 100, 4096), ("wrapping", 300_000, 100, 2048),
     ("4 lagging by 10 %", 300_000, 0, 1024), ("increasing", 200_000, 100, 512), ("descending", 200_000, 0, 512)],
)  # fmt: skip
@pytest.mark.parametrize("key", ["clustered", "nonclustered"])
def test_one_writer(bench: Bench, stream: str, rows: int, payload: int, kib: int, key: str) -> None:
    table = bench.table("binary16", payload, "clustered" if key == "clustered" else "nonclustered")
    compared(bench, table, of_one(stream, rows), kib)


@pytest.mark.long
@pytest.mark.parametrize(
    ("column", "key"), [("integer", "clustered"), ("bigint", "clustered"), ("bigint", "nonclustered")]
)
@pytest.mark.parametrize("stream", ["increasing", "random"])
def test_integers(bench: Bench, column: str, key: str, stream: str) -> None:
    table = bench.table(column, 100, "clustered" if key == "clustered" else "nonclustered")
    keys = streams.keys(streams.STREAMS[stream](150_000) * 999, table.column)
    writers = np.repeat(np.arange(50, dtype=np.int16) % 3, 3000)
    real = compared(bench, table, Rows(keys, writers, 1000), 1024)
    assert real[0].sum() > 100


@pytest.mark.long
@pytest.mark.parametrize(
    ("scenario", "layout"),
    [("quick", "uuid-v4"), ("quick", "uuid-v7"), ("quick", "rt-comb-sql"), ("azure-lag", "efcore-sequential"),
     ("azure-lag", "morris")],
)  # fmt: skip
def test_layouts_with_an_index_of_four_caches(bench: Bench, scenario: str, layout: str) -> None:
    compared(bench, bench.table("binary16", 100), under(scenario, layout, 300_000), 8192)


def test_what_the_model_does_not_know(bench: Bench) -> None:
    small = bench.table("binary16")
    assert isinstance(ENGINE.page_model(small), PredictsCost)
    assert isinstance(ENGINE.page_model(bench.table("binary16", 4000, "nonclustered")), PredictsCost)
    assert not isinstance(ENGINE.page_model(bench.table("binary16", 5000, "nonclustered")), PredictsCost)
    assert not isinstance(ENGINE.page_model(bench.table("binary16", 5000)), PredictsCost), "searches read its overflow"
