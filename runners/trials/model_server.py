"""The cache and log behind a page model: those of keybench's servers, or the chosen ones (`--ram`, `--checkpoint`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from keybench.databases.contract.engine import Engine
from keybench.databases.contract.setting import CHECKPOINT, size_of
from keybench.databases.registry import engine
from keybench.errors import UsageError
from keybench.model.names import MODEL_SERVER
from keybench.model.sizes import bytes_of, spelled
from keybench.model.table import Table
from keybench.pagemodels.costs.contract import PredictsCost, Server
from keybench.runners.planning import chosen_settings
from keybench.runners.planning.trial_plan import Request, rows_of


class Chosen(TypedDict, total=False):
    """Fields of a request."""

    ram: int
    checkpoint: int


def chosen(ram: str, checkpoint: str, servers: Mapping[str, str]) -> Chosen:
    """The sizes in bytes, those that were given. UsageError for text that is no size, and for databases on real
    servers."""
    given: Chosen = {}
    if ram:
        given["ram"] = bytes_of(ram, "--ram")
    if checkpoint:
        given["checkpoint"] = bytes_of(checkpoint, "--checkpoint")
    option = "--ram" if ram else "--checkpoint"
    for name, server in servers.items() if given else ():
        if server != MODEL_SERVER:
            raise UsageError(
                f"{option} is for page models, and {engine(name).title} runs on a server that has its own: leave it "
                "out, or choose --server model."
            )
    return given


def check(request: Request) -> None:
    """UsageError for a cache of fewer than a hundred pages, and for an engine whose model knows no cache."""
    for name in request.databases if request.ram or request.checkpoint else ():
        on = engine(name)
        model = on.page_model(Table("t", on.default_column("uuid"), 0))
        if not isinstance(model, PredictsCost):
            raise UsageError(
                f"the page model of {on.title} knows neither cache nor log yet: leave out --ram and --checkpoint, or "
                f"{name} out of --db."
            )
        server_of(on, request).pages(model.page_bytes)


def server_of(on: Engine, request: Request) -> Server:
    """The cache and log of the request's server: those that the user chose for a page model, else keybench's own."""
    chosen = chosen_settings.of(request.scenario, on).get(CHECKPOINT, "")
    cache = request.ram or on.settings(request.profile, request.scenario.server.cache).cache_bytes
    durable = request.profile == "durable"
    return Server(cache_bytes=cache, checkpoint_bytes=request.checkpoint or size_of(chosen) or None, durable=durable)


def notes(request: Request) -> list[str]:
    """For each database whose table fits the cache that the user chose: that nothing is read."""
    told = []
    for name in request.databases if request.ram else ():
        on, payload = engine(name), request.scenario.table.payloads[0].mean
        rows = rows_of(request, on)
        _, each = on.bytes_per_row(on.default_column("uuid"), payload, request.scenario.table.key)
        if rows * each < request.ram:
            told.append(
                f"{on.title}: a cache of {spelled(request.ram)} holds all of {rows:,} rows (about "
                f"{spelled(rows * each)}), so nothing is read."
            )
    return told
