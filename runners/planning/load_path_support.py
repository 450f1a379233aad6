"""Whether the databases and servers of a run can take the scenario's load path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from keybench.databases.registry import engine, engines
from keybench.errors import UsageError
from keybench.model.names import COMPUTED
from keybench.scenarios.schema import Scenario


def check_databases(scenario: Scenario, databases: Sequence[str]) -> None:
    """UsageError if one of the databases does not support the load path or its transactions; the message names those
    that do."""
    _check_transactions(scenario, databases)
    needed = scenario.load_path.transport
    for name in databases:
        if needed not in engine(name).paths:
            able = [on.name for on in engines().values() if needed in on.paths]
            choice = f"{' and '.join(able)} can: choose one with --db" if able else "no engine can: choose another path"
            raise _refused(scenario, f"{engine(name).title} cannot load rows this way; {choice}.")


def check_servers(scenario: Scenario, servers: Mapping[str, str]) -> None:
    """UsageError if a server (kind or URL, by database) cannot use the load path: a page model, or a driver without
    it."""
    path = scenario.load_path
    for name, server in servers.items():
        modelled = server in COMPUTED
        if modelled and scenario.load.style:
            raise UsageError(
                f"scenario {scenario.name} is about transactions, which a page model does not have: choose another "
                "--server."
            )
        if reason := path.refuses_model if modelled else engine(name).refuses(path.transport, server):
            raise _refused(scenario, reason)


def _check_transactions(scenario: Scenario, databases: Sequence[str]) -> None:
    load = scenario.load
    wanted = f'isolation = "{load.isolation}"' if load.isolation else f'look_up = "{load.look_up}"'
    for name in databases if load.style else ():
        levels = engine(name).isolations
        if not levels or (load.isolation and load.isolation not in levels):
            able = [on.name for on in engines().values() if (load.isolation or "read-committed") in on.isolations]
            raise UsageError(
                f"scenario {scenario.name} has {wanted}: keybench does not run {engine(name).title}'s transactions so; "
                f"{' and '.join(able)} can: choose with --db."
            )


def _refused(scenario: Scenario, reason: str) -> UsageError:
    return UsageError(f'scenario {scenario.name} has path = "{scenario.load.path}": {reason}')
