"""What the model expects the load to cost the server, beside what it cost."""

from __future__ import annotations

from keybench.databases.contract.engine import Engine
from keybench.errors import UsageError
from keybench.model.byteorder import sort_words, stored
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import MODEL
from keybench.model.url import is_url
from keybench.pagemodels.costs.contract import Load, PredictsCost, Server
from keybench.pagemodels.costs.shared_bytes import shared_bytes
from keybench.pagemodels.ranking import ranked
from keybench.runners.measuring.arrival_order import Arrived
from keybench.runners.planning.trial_plan import Request


def load_cost(on: Engine, request: Request, arrived: Arrived) -> list[Reading]:
    """The model's readings; none where it knows no cache, or nobody knows how large the server's is."""
    table = arrived.table.table
    known = table.key in ("clustered", "nonclustered") and not table.lengths and request.scenario.table.shards == 1
    if is_url(request.servers[on.name]) or not known:
        return []
    try:
        model = on.page_model(table)
    except UsageError:  # `prediction` says why there is none
        return []
    if not isinstance(model, PredictsCost):
        return []
    keys = arrived.keys()
    writers = arrived.writers() if len(arrived.table.sources) > 1 else None
    ranks, ends = ranked(sort_words(keys, table.column.order)), [len(keys)]
    shared = shared_bytes(stored(keys, table.column.order), ranks, ends)
    load = Load(ranks, ends, request.scenario.load.rows_per_tx, writers, shared)
    cache = on.settings(request.profile, request.scenario.server.cache).cache_bytes
    cost = model.load_cost(load, Server(cache_bytes=cache, durable=request.profile == "durable"))
    expected: dict[Metric, int] = {Metric.PAGES_READ: int(cost.read.all.sum())}
    if cost.written is not None:
        expected[Metric.PAGES_WRITTEN] = int(cost.written.all.sum())
    if cost.log is not None:
        expected[Metric.LOG_BYTES] = int(cost.log.bytes.sum())
        expected[Metric.LOG_PAGE_IMAGES] = int(cost.log.images.sum())
    return [Reading(metric, float(value), "modelled", arrived.order.note, MODEL) for metric, value in expected.items()]
