"""What the model expects a load to cost the server in page reads, page writes and log: along the load, and in all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract.engine import Engine
from keybench.errors import UsageError
from keybench.model.byteorder import sort_words, stored
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import KEY, MODEL
from keybench.model.table import Table
from keybench.model.url import is_url
from keybench.pagemodels.contract import SizedByValue
from keybench.pagemodels.costs.contract import Load, LoadCost, PredictsCost, Server
from keybench.pagemodels.costs.shared_bytes import shared_bytes
from keybench.pagemodels.ranking import ranked
from keybench.results.store import blobs
from keybench.runners.measuring.arrival_order import Arrived
from keybench.runners.measuring.measured import Measured
from keybench.runners.planning.trial_plan import Request
from keybench.runners.trials.model_server import server_of

_PARTS = 60


def load_cost(on: Engine, request: Request, arrived: Arrived) -> Measured:
    """The model's readings and their course; nothing where it knows no cache, or nobody knows how large the server's
    is."""
    table, keys = arrived.table.table, arrived.keys()
    if (model := _model(on, request, table)) is None:
        return Measured([])
    server = server_of(on, request)
    ends = np.unique(np.linspace(0, len(keys), _PARTS + 1)[1:].astype(np.int64))
    ranks, rows_per_tx = ranked(sort_words(keys, table.column.order)), request.scenario.load.rows_per_tx
    writers = arrived.writers() if len(arrived.table.sources) > 1 else None
    shared = shared_bytes(stored(keys, table.column.order), ranks, ends)
    cost = _cost(model, Load(ranks, ends.tolist(), rows_per_tx, writers, shared, look_ups=False), keys, server)
    return _measured(cost, ends, server, arrived.order.note, alone=request.is_modelled(on.name))


def cost_with_restart(on: Engine, request: Request, table: Table, keys: Keys, rows: int) -> LoadCost | None:
    """The cost of so many rows, and, after a restart of the server, of the others.

    None where `load_cost` gives nothing.
    """
    if (model := _model(on, request, table)) is None:
        return None
    ranks = ranked(sort_words(keys, table.column.order))
    load = Load(ranks, [rows, len(keys)], request.scenario.load.rows_per_tx, restart=rows, look_ups=False)
    return _cost(model, load, keys, server_of(on, request))


def _model(on: Engine, request: Request, table: Table) -> PredictsCost | None:
    known = table.key in ("clustered", "nonclustered") and not table.lengths and request.scenario.table.shards == 1
    if is_url(request.servers[on.name]) or not known:
        return None
    try:
        model = on.page_model(table)
    except UsageError:  # `prediction` says why there is none
        return None
    return model if isinstance(model, PredictsCost) else None


def _cost(model: PredictsCost, load: Load, keys: Keys, server: Server) -> LoadCost:
    sizes = model.sizes(keys) if isinstance(model, SizedByValue) else None
    return model.load_cost(replace(load, sizes=sizes), server)


def _measured(cost: LoadCost, ends: NDArray[np.int64], server: Server, note: str, *, alone: bool) -> Measured:
    expected = {Metric.PAGES_READ: cost.read.all}
    if cost.written is not None:
        expected[Metric.PAGES_WRITTEN] = cost.written.all
    if cost.log is not None:
        expected[Metric.LOG_BYTES] = cost.log.bytes
        if cost.log.images is not None:
            expected[Metric.LOG_PAGE_IMAGES] = cost.log.images
    note = "; ".join(filter(None, (note, cost.note)))
    subject = KEY if alone else MODEL
    readings = [Reading(metric, float(of.sum()), "modelled", note, subject) for metric, of in expected.items()]
    course = {metric.value: np.cumsum(of) for metric, of in expected.items()}
    return Measured(readings, blobs=[blobs.load_cost(ends, course, server.cache_bytes, note)])
