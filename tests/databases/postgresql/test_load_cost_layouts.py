"""The cost of layouts whose rows come from one process and from four, on servers with small caches and several
checkpoints, is that which the model expects."""

import numpy as np
import pytest

from keybench.databases.contract_suite.servers import Base
from keybench.databases.postgresql.engine import ENGINE
from keybench.model.byteorder import sort_words
from keybench.model.table import Table
from keybench.pagemodels.costs.contract import Load, PredictsCost, Server
from keybench.pagemodels.ranking import ranked
from keybench.runners.measuring.arrival_order import Recorder
from keybench.runners.planning.key_sources import KeySource, key_sources
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.planning.trial_tables import TrialTable, keys_in_order, writers_in_order
from keybench.runners.writers.load import load_rows
from keybench.scenarios.files import load_scenario
from tests.databases.postgresql.load_counters import CACHE, MAX_WAL_SIZE, Arrivals, compare, settled, small_server
from tests.databases.postgresql.test_load_cost import assert_close

ROWS = 1_200_000
PAYLOAD = 100
LAYOUTS = {
    "uuid-v4": "quick",
    "uuid-v7": "quick",
    "rt-comb-sql": "quick",
    "efcore-sequential": "azure-lag",
    "morris": "azure-lag",
}
"""The scenario of each layout."""


def planned(name: str, layout: str, rows: int) -> tuple[KeySource, ...]:
    """The writers' keys under a scenario."""
    work = load_scenario(name)
    request = Request(("postgresql",), {"postgresql": "embedded"}, work, (layout,), (), rows, 1, "durable", 3, 60.0)
    return key_sources(request, TrialPlan(1, 0, "postgresql", layout, "uuid", PAYLOAD, rows))


def arrivals(sources: tuple[KeySource, ...], rows_per_tx: int) -> Arrivals:
    """The rows of each writer in transactions, which come in the order of their last rows."""
    keys, writers = keys_in_order(sources), writers_in_order(sources)
    places = np.arange(len(writers))
    whole = [
        own[at : at + rows_per_tx]
        for own in (places[writers == writer] for writer in range(len(sources)))
        for at in range(0, len(own), rows_per_tx)
    ]
    order = np.concatenate(sorted(whole, key=lambda own: int(own[-1])))
    return Arrivals(keys[order], writers[order], rows_per_tx)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["embedded", "local"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_cost_of_layouts_is_that_of_the_model(base: Base, layout: str, kind: str) -> None:
    rows_per_tx = 1000 if LAYOUTS[layout] == "quick" else 100
    rows = arrivals(planned(LAYOUTS[layout], layout, ROWS), rows_per_tx)
    with small_server(kind) as admin:
        assert_close(compare(admin, rows, PAYLOAD))


@pytest.mark.long
def test_the_cost_of_processes_that_send_at_once_is_that_of_the_model(base: Base) -> None:
    """On PostgreSQL 18. On 15, pages are added to the heap ahead of need while processes wait for one another."""
    rows, rows_per_tx = 600_000, 100
    sources = planned("azure-lag", "efcore-sequential", rows)
    table = Table("trial", ENGINE.default_column("uuid"), PAYLOAD)
    with small_server("embedded") as admin:
        admin.create(table)
        recorder = Recorder(admin, TrialTable(table, sources))
        admin.checkpoint()
        begin = settled(admin)
        done = load_rows(admin.address, table, sources, rows_per_tx=rows_per_tx, skew_rows=2 * rows_per_tx, timeout=600)
        end = settled(admin)
        arrived = recorder.arrived(done)
    model = ENGINE.page_model(table)
    assert isinstance(model, PredictsCost)
    ranks = ranked(sort_words(arrived.keys(), table.column.order))
    server = Server(cache_bytes=CACHE, checkpoint_bytes=MAX_WAL_SIZE, log_position=begin.log)
    cost = model.load_cost(Load(ranks, [rows], rows_per_tx, arrived.writers()), server)
    assert cost.written is not None
    assert cost.log is not None
    assert cost.read.index.sum() == pytest.approx(end.index - begin.index, rel=0.02)
    assert cost.written.all.sum() == pytest.approx(end.written - begin.written, rel=0.03)
    assert cost.log.images.sum() == pytest.approx(end.images - begin.images, rel=0.03)
    assert cost.log.bytes.sum() == pytest.approx(end.log - begin.log, rel=0.01)
