"""Trials whose rows take the server's bulk path: who can, and what is not said of them.

Such a path sorts. Whatever is told from rows in order of arrival (the page model's prediction, where keys went into the
index, an adapter's own questions) is left out of these trials, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from keybench.databases.registry import engine, engines
from keybench.errors import UsageError
from keybench.model.metric import Metric
from keybench.model.names import MODEL_SERVER
from keybench.model.reading import Reading
from keybench.model.subject import MODEL
from keybench.runners.measuring import position
from keybench.scenarios.schema import Scenario

WARNING = "Rows were loaded in bulk, which sorts: splits are not those of rows in order of arrival."

ANNOUNCED = "rows are loaded in bulk, which sorts: splits will not be those of rows in order of arrival"

RECORDED = {"load_path": "bulk, sorted by the server"}
"""What stands in a server's environment in place of the usual path."""

_NO_PREDICTION = "No prediction: rows were loaded in bulk, which the server sorts, and a page model inserts row by row."
_NO_POSITION = "Rows were loaded in bulk, which the server sorts: where a key goes is not told by its order of arrival."


def chosen(scenario: Scenario) -> bool:
    """Whether rows are loaded in bulk."""
    return scenario.load.path == "bulk"


def check(scenario: Scenario, databases: Sequence[str]) -> None:
    """UsageError where one of the databases does not have the scenario's load path; names those that have."""
    for name in databases:
        if scenario.load.path not in engine(name).paths:
            able = [on.name for on in engines().values() if scenario.load.path in on.paths]
            others = f"{' and '.join(able)} can: choose by --db" if able else "no engine can: choose another path"
            raise _refused(scenario, f"{engine(name).title} does not load so, and {others}.")


def check_servers(scenario: Scenario, servers: Mapping[str, str]) -> None:
    """UsageError where the servers (kind or URL by database) cannot take it: a page model, or a driver without it."""
    for name, server in servers.items():
        if chosen(scenario) and server == MODEL_SERVER:
            raise _refused(scenario, "a page model inserts row by row: choose another --server.")
        if reason := "" if server == MODEL_SERVER else engine(name).refuses(scenario.load.path, server):
            raise _refused(scenario, reason)


def _refused(scenario: Scenario, reason: str) -> UsageError:
    return UsageError(f'scenario {scenario.name} has path = "{scenario.load.path}": {reason}')


def instead() -> list[Reading]:
    """What stands in place of the page model's prediction and of the keys' positions."""
    return [Reading(Metric.LEAF_PAGES, None, "absent", _NO_PREDICTION, MODEL), *position.absent(_NO_POSITION)]
