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
from keybench.model.names import COMPUTED, MODEL_SERVER
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


def check_servers(names: Iterable[str], servers: Mapping[str, str]) -> None:
    """UsageError if one of the names is a server-generated layout, and all databases that make it have only their page
    models (`servers`: the server kind or URL by database)."""
    for name in names:
        made = {database: one for database in servers if (one := made_by(engine(database), name))}
        if not made or any(servers[database] not in COMPUTED for database in made):
            continue
        models = " and ".join(engine(database).title for database in made)
        replica = next(
            (f"take {one.replica}, which the client makes in the same way, " for one in made.values() if one.replica),
            "",
        )
        raise UsageError(
            f"{name} keys are made by a server, and this run has only the page model of {models}: "
            f"{replica or 'leave the layout out, '}or choose another --server."
        )


def left_out_of_models(chosen: Sequence[str], servers: Mapping[str, str]) -> str:
    """Which server-generated layouts of the run are not measured on databases that have only their page models.

    A line for the user; empty if there are none.
    """
    missing = [
        f"{name} on {engine(database).title}"
        for name in chosen
        for database, server in servers.items()
        if server in COMPUTED and made_by(engine(database), name)
    ]
    return f"not measured, because a page model cannot make these keys: {', '.join(missing)}" if missing else ""


def left_out_of_all(chosen: Sequence[str], servers: Mapping[str, str], scenario: Scenario) -> str:
    """What `--layout all` leaves out, and how to add it, as a line for the user; empty if it leaves nothing out.

    `chosen` are the run's layouts, `servers` the server kind or URL by database.
    """
    missing = [
        name
        for name, makers in known().items()
        if name not in chosen and any(database in servers for database in makers)
    ]
    if not missing or scenario.kind == "keys":
        return ""
    real = [
        name for name in missing if any(servers.get(maker, MODEL_SERVER) not in COMPUTED for maker in known()[name])
    ]
    if reason := _unfit(scenario):
        then = f"They do not fit this scenario: {reason}."
    elif not real:
        then = "Page models cannot take them."
    else:
        then = f"Add those you want: --layout all,{','.join(real)}"
    return f"--layout all leaves out what servers make: {', '.join(missing)}. {then}"


def _unfit(scenario: Scenario) -> str:
    if scenario.kind == "keys":
        return "it makes keys without a database"
    if scenario.kind == "phases":
        return "its phases delete rows by their keys, which only the server knows"
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
