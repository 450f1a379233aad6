"""Settings that the user chose by `--set` or in a scenario's `[server] settings`: read, checked, and given to engines.

A name stands for every database of the run that has such a setting, `database.name` for that database's alone. What a
server reports takes the same way: its values are added to those of the scenario.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from keybench.databases.contract.engine import Engine
from keybench.databases.contract.settings import Setting
from keybench.databases.registry import engine, engines
from keybench.errors import UsageError, unknown_name
from keybench.scenarios.schema import Scenario


def read(assignments: Sequence[str]) -> dict[str, str]:
    """The values of `--set`, `name=value` each, by name. UsageError for one without a name or a value."""
    chosen = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        if not (equals and name.strip() and value.strip()):
            raise UsageError(f"--set {text}: write NAME=VALUE or DB.NAME=VALUE, as in --set page_size=8K.")
        chosen[name.strip()] = value.strip()
    return chosen


def resolved(scenario: Scenario, databases: Sequence[str], chosen: Mapping[str, str]) -> Scenario:
    """The scenario with its own settings and those `chosen`, each by `database.name`, in its one spelling.

    A scenario may have settings of databases that are not in the run. UsageError for a name that none of the databases
    has, and for a value that is none of the setting's.
    """
    used = [engine(name) for name in databases]
    values: dict[str, str] = {}
    for given in (scenario.server.settings, chosen):
        own: dict[str, str] = {}
        for name, value in given.items():
            found = list(_named(name, used))
            if not found and given is not chosen and name.partition(".")[0] in engines():
                continue  # a scenario's settings of a database that this run does not have
            if not found:
                raise _unknown(name, used)
            exact = "." in name
            for on, setting in found:
                key = f"{on.name}.{setting.name}"
                if exact or key not in given:
                    own[key] = setting.read(value, on.name)
        values |= own
    server = scenario.server.model_copy(update={"settings": values})
    return scenario.model_copy(update={"server": server})


def of(scenario: Scenario, on: Engine) -> dict[str, str]:
    """The settings of one database by their plain names. `database.name` comes before `name`."""
    given, prefix = scenario.server.settings, f"{on.name}."
    plain = {setting.name: given[setting.name] for setting in on.settable if setting.name in given}
    return plain | {name.removeprefix(prefix): value for name, value in given.items() if name.startswith(prefix)}


def check(on: Engine, chosen: Mapping[str, str], found: Mapping[str, str]) -> None:
    """UsageError if the server has another value of a setting than the user chose."""
    for setting in on.settable:
        wanted, real = chosen.get(setting.name), found.get(setting.name)
        if wanted is not None and real is not None and wanted != real:
            raise UsageError(
                f"--set {setting.name}={wanted}: this {on.title} server has {setting.name} = {real}, which keybench "
                f"does not change. Leave the setting out, or measure on a server that keybench starts."
            )


def _named(name: str, used: Sequence[Engine]) -> Iterator[tuple[Engine, Setting]]:
    database, dot, own = name.rpartition(".")
    for on in used:
        for setting in on.settable:
            if setting.name == own and (not dot or on.name == database):
                yield on, setting


def _unknown(name: str, used: Sequence[Engine]) -> UsageError:
    database, dot, _ = name.rpartition(".")
    if dot and database not in [on.name for on in used]:
        raise unknown_name("database of this run", database, [on.name for on in used])
    of_databases = " or ".join(on.name for on in used if not dot or on.name == database)
    prefix = f"{database}." if dot else ""
    known = {f"{prefix}{setting.name}" for on in used if not dot or on.name == database for setting in on.settable}
    return unknown_name(f"setting of {of_databases}" if of_databases else "setting", name, known)
