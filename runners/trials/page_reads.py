"""Pages that the model expects the server to read, beside those that it read."""

from __future__ import annotations

from keybench.databases.contract.engine import Engine
from keybench.errors import UsageError
from keybench.model.byteorder import sort_words
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.subject import MODEL
from keybench.model.url import is_url
from keybench.pagemodels.pools.contract import CountsPageReads
from keybench.pagemodels.ranking import ranked
from keybench.runners.measuring.arrival_order import Arrived
from keybench.runners.planning.trial_plan import Request


def page_reads(on: Engine, request: Request, arrived: Arrived) -> list[Reading]:
    """The model's reading; none where it knows no cache, or nobody knows how large the server's is."""
    table = arrived.table.table
    known = table.key in ("clustered", "nonclustered") and not table.lengths and request.scenario.table.shards == 1
    if is_url(request.servers[on.name]) or not known:
        return []
    try:
        model = on.page_model(table)
    except UsageError:  # `prediction` says why there is none
        return []
    if not isinstance(model, CountsPageReads):
        return []
    keys, cache = arrived.keys(), on.settings(request.profile, request.scenario.server.cache).cache_bytes
    ranks = ranked(sort_words(keys, table.column.order))
    reads = model.page_reads(ranks, cache, [len(keys)], request.scenario.load.rows_per_tx)
    return [Reading(Metric.PAGES_READ, float(reads.total), "modelled", arrived.order.note, MODEL)]
