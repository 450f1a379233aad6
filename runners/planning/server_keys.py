"""Layouts whose keys the server generates: which exist, and which scenarios they fit.

Such keys carry the time and order in which rows really arrive, not those of the scenario. So they fit scenarios that
only load, with equal writers. They are refused if keys must carry the scenario's time, or if the oldest rows are
deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from keybench.databases.contract.engine import Engine
from keybench.databases.registry import engine, engines
from keybench.errors import UsageError
from keybench.model.table import ServerKeys, is_key_and_payload
from keybench.scenarios.schema import Scenario


def made_by(on: Engine, name: str) -> ServerKeys | None:
    """The engine's server-generated layout of that name; None if it has none."""
    return next((made for made in on.server_keys if made.name == name), None)


def known() -> Mapping[str, tuple[str, ...]]:
    """Every server-generated layout by name, with the engines that make it."""
    names = dict.fromkeys(made.name for on in engines().values() for made in on.server_keys)
    return {name: tuple(on.name for on in engines().values() if made_by(on, name)) for name in names}


def check(names: Iterable[str], databases: Sequence[str], scenario: Scenario) -> None:
    """UsageError if one of the names is a server-generated layout that none of these databases makes, or that does not
    fit the scenario."""
    for name in names:
        if name not in known():
            continue
        if not any(made_by(engine(database), name) for database in databases):
            raise UsageError(f"{name} keys are made by {' and '.join(known()[name])} only: choose one by --db.")
        if reason := _unfit(scenario):
            raise UsageError(
                f"{name} keys do not fit scenario {scenario.name}: {reason}. Choose another --scenario, or a layout "
                "whose keys the client makes."
            )


def _unfit(scenario: Scenario) -> str:
    if scenario.generation:
        return "it makes keys without a database"
    if scenario.after.delete_oldest or scenario.after.refill:
        return "it deletes the oldest rows by their keys, which only the server knows"
    if scenario.table.shards > 1:
        return "its rows go to several tables, each of which would make keys of its own"
    if not is_key_and_payload(scenario.table.key):
        return "its table has columns or rows beside the key's, and a server's keys are made row by row in one table"
    if reason := scenario.load_path.refuses_server_keys:
        return reason
    if scenario.timed:
        return "its keys must carry the scenario's virtual time, and a server's keys carry the server's clock"
    if 0 in scenario.table.payload:
        return "its rows have nothing beside the key, and rows without a key would have nothing at all"
    return ""
