"""The cost of rows that four processes send at once, on a server with a small cache and several checkpoints."""

import pytest

from keybench.databases.contract_suite.servers import Base
from keybench.databases.postgresql.engine import ENGINE
from keybench.model.byteorder import sort_words
from keybench.model.table import Table
from keybench.pagemodels.costs.contract import Load, Server
from keybench.pagemodels.ranking import ranked
from keybench.runners.measuring.arrival_order import Recorder
from keybench.runners.planning.key_sources import key_sources
from keybench.runners.planning.trial_plan import Request, TrialPlan
from keybench.runners.planning.trial_tables import TrialTable
from keybench.runners.writers.load import load_rows
from keybench.scenarios.files import load_scenario
from tests.databases.postgresql.load_counters import CACHE, MAX_WAL_SIZE, settled, small_server

PAYLOAD = 100


@pytest.mark.long
def test_the_cost_of_processes_that_send_at_once_is_that_of_the_model(base: Base) -> None:
    """On PostgreSQL 18. On 15, pages are added to the heap ahead of need while processes wait for one another."""
    rows, rows_per_tx = 600_000, 100
    work, name = load_scenario("azure-lag"), "efcore-sequential"
    request = Request(("postgresql",), {"postgresql": "embedded"}, work, (name,), (), rows, 1, "durable", 3, 60.0)
    sources = key_sources(request, TrialPlan(1, 0, "postgresql", name, "uuid", PAYLOAD, rows))
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
    ranks = ranked(sort_words(arrived.keys(), table.column.order))
    server = Server(cache_bytes=CACHE, checkpoint_bytes=MAX_WAL_SIZE, log_position=begin.log)
    cost = model.load_cost(Load(ranks, [rows], rows_per_tx, arrived.writers()), server)
    assert cost.log is not None
    assert cost.read.index.sum() == pytest.approx(end.index - begin.index, rel=0.02)
    assert cost.written.all.sum() == pytest.approx(end.written - begin.written, rel=0.03)
    assert cost.log.images.sum() == pytest.approx(end.images - begin.images, rel=0.03)
    assert cost.log.bytes.sum() == pytest.approx(end.log - begin.log, rel=0.01)
