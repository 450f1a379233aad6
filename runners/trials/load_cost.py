"""What the model expects a load to cost the server in page reads, page writes and log: along the load, and in all."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract.engine import Engine
from keybench.databases.contract.settings import CHECKPOINT, size_of
from keybench.databases.registry import engine
from keybench.errors import UsageError
from keybench.model.byteorder import stored
from keybench.model.keys import Keys
from keybench.model.metric import Metric
from keybench.model.names import MODEL_SERVER
from keybench.model.reading import Reading
from keybench.model.sizes import bytes_of, spelled
from keybench.model.subject import KEY, MODEL
from keybench.model.table import Table, is_key_and_payload
from keybench.model.url import is_url
from keybench.pagemodels.contract import SizedByValue
from keybench.pagemodels.costs.contract import Load, LoadCost, PredictsCost, Server, shared_bytes
from keybench.results.store import blobs
from keybench.runners.measuring.arrival_order import Arrived
from keybench.runners.measuring.measured import Measurements
from keybench.runners.planning.server_choice import settings_of
from keybench.runners.planning.trial_plan import Request, rows_of
from keybench.runners.planning.trial_tables import TrialTable

_PARTS = 60
"""Parts of the load for each of which a cost is given."""


def load_cost(on: Engine, request: Request, arrived: Arrived) -> Measurements:
    """The model's cost of the load as readings, and its course along the load as a picture. Nothing if the model knows
    no cache, or if nobody knows how large the server's cache is. Nothing either beside a server whose cache holds the
    table: such a server reads nothing, and its log is measured."""
    table, keys = arrived.table.table, arrived.keys()
    if (model := _model(on, request, table)) is None:
        return Measurements([])
    server = server_of(on, request)
    _, row_bytes = on.bytes_per_row(table.column, table.payload, table.key)  # with the log; `_`: of the index alone
    if not request.is_modelled(on.name) and len(keys) * row_bytes < server.cache_bytes:
        return Measurements([])
    ends = np.unique(np.linspace(0, len(keys), _PARTS + 1)[1:].astype(np.int64))  # fewer parts if rows are few
    ranks, rows_per_tx = arrived.ranks(), request.scenario.load.rows_per_tx
    writers = arrived.writers() if len(arrived.table.sources) > 1 else None
    # bytes that a key has in common with its neighbour, which some logs leave out
    shared = shared_bytes(stored(keys, table.column.order), ranks, ends)
    load = Load(ranks=ranks, ends=ends.tolist(), rows_per_tx=rows_per_tx, writers=writers, shared=shared)
    cost = _cost(model, load, keys, server)
    return _measured(cost, ends, server, arrived.order.note, alone=request.is_modelled(on.name))


def cost_with_restart(on: Engine, request: Request, trial_table: TrialTable, rows: int) -> LoadCost | None:
    """The cost in two parts: of the first `rows` rows, and, after a restart of the server, of the others. None if the
    model knows no cache, or if nobody knows how large the server's cache is."""
    if (model := _model(on, request, trial_table.table)) is None:
        return None
    load = Load(trial_table.ranks, [rows, len(trial_table.keys)], request.scenario.load.rows_per_tx, restart=rows)
    return _cost(model, load, trial_table.keys, server_of(on, request))


def _model(on: Engine, request: Request, table: Table) -> PredictsCost | None:
    """The engine's page model, if it predicts costs of such a table on a server whose cache is known; else None."""
    if is_url(request.servers[on.name]) or not is_key_and_payload(table.key) or table.lengths:
        return None
    try:
        model = on.page_model(table)
    except UsageError:  # `prediction` says why there is none
        return None
    return model if isinstance(model, PredictsCost) else None


def _cost(model: PredictsCost, load: Load, keys: Keys, server: Server) -> LoadCost:
    """The model's cost of the load. A model that sizes entries by the keys' values is given these sizes."""
    sizes = model.sizes(keys) if isinstance(model, SizedByValue) else None
    return model.load_cost(replace(load, sizes=sizes), server)


def _measured(cost: LoadCost, ends: NDArray[np.int64], server: Server, note: str, *, alone: bool) -> Measurements:
    """The cost as readings, and its course along the load. `alone`: there is no server beside the model."""
    parts_of = {Metric.PAGES_READ: cost.read.all}
    if cost.written is not None:
        parts_of[Metric.PAGES_WRITTEN] = cost.written.all
    if cost.log is not None:
        parts_of[Metric.LOG_BYTES] = cost.log.bytes
        if cost.log.images is not None:
            parts_of[Metric.LOG_PAGE_IMAGES] = cost.log.images
    note = "; ".join(filter(None, (note, cost.note)))
    subject = KEY if alone else MODEL
    readings = [Reading(metric, float(parts.sum()), "modelled", note, subject) for metric, parts in parts_of.items()]
    course = {metric.value: np.cumsum(parts) for metric, parts in parts_of.items()}
    return Measurements(readings, blobs=[blobs.load_cost(ends, course, server.cache_bytes, note)])


def ram_and_checkpoint(ram: str, checkpoint: str, servers: Mapping[str, str]) -> tuple[int, int]:
    """(bytes of --ram, bytes of --checkpoint), 0 if not given. UsageError for no size, and for real servers."""
    option = "--ram" if ram else "--checkpoint"
    for name, server in servers.items() if ram or checkpoint else ():
        if server != MODEL_SERVER:
            raise UsageError(
                f"{option} is for page models, and {engine(name).title} runs on a server that has its own: leave it "
                "out, or choose --server model."
            )
    return bytes_of(ram, "--ram") if ram else 0, bytes_of(checkpoint, "--checkpoint") if checkpoint else 0


def check(request: Request) -> None:
    """UsageError if --ram or --checkpoint do not fit a database: its model knows no cache, or the cache has fewer than
    a hundred pages."""
    for name in request.databases if request.ram or request.checkpoint else ():
        on = engine(name)
        model = on.page_model(Table("t", on.default_column("uuid"), 0))  # any table will do
        if not isinstance(model, PredictsCost):
            raise UsageError(
                f"the page model of {on.title} knows neither cache nor log yet: leave out --ram and --checkpoint, or "
                f"{name} out of --db."
            )
        server_of(on, request).pages(model.page_bytes)  # UsageError for fewer than a hundred


def server_of(on: Engine, request: Request) -> Server:
    """The cache and log of the request's server: those of --ram and --checkpoint, else of the scenario's settings, else
    keybench's own."""
    checkpoint = settings_of(request.scenario, on).get(CHECKPOINT, "")
    cache = request.ram or on.settings(request.profile, request.scenario.server.cache).cache_bytes
    durable = request.profile == "durable"
    return Server(
        cache_bytes=cache, checkpoint_bytes=request.checkpoint or size_of(checkpoint) or None, durable=durable
    )


def notes(request: Request) -> list[str]:
    """A line for the user for each database whose table fits the cache of --ram: nothing will be read there."""
    lines = []
    for name in request.databases if request.ram else ():
        on, payload = engine(name), request.scenario.table.payloads[0].mean
        rows = rows_of(request, on)
        _, row_bytes = on.bytes_per_row(on.default_column("uuid"), payload, request.scenario.table.key)
        if rows * row_bytes < request.ram:
            lines.append(
                f"{on.title}: a cache of {spelled(request.ram)} holds all of {rows:,} rows (about "
                f"{spelled(rows * row_bytes)}), so nothing is read."
            )
    return lines
