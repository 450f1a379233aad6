"""Determines which server each database of a run uses, and its settings, from the values of `--server` and `--set`.

The name of a setting stands for every database of the run that has such a setting, `database.name` for that database's
alone. What a server reports is added to the settings of the scenario.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from keybench.databases.contract.engine import Engine
from keybench.databases.contract.settings import Setting
from keybench.databases.registry import engine, engines
from keybench.errors import EnvironmentMissing, KeybenchError, UsageError, unknown_name
from keybench.model.names import COMPUTED, MODEL_SERVER
from keybench.model.url import is_url, scheme
from keybench.scenarios.schema import Scenario

AUTO = "auto"
_RESTARTED = ("local", "embedded", MODEL_SERVER)
"""Servers that keybench can restart in the middle of a trial."""
_KIND = re.compile(r"(?:[\w-]+=)?[\w-]*")
"""The form of a kind of server, or of `database=kind`; any other text may be a malformed URL."""


def resolve(databases: tuple[str, ...], asked: tuple[str, ...]) -> dict[str, str]:
    """A server for each database, from values like `auto`, `local`, `postgresql=local` or a URL. Raises UsageError for
    a value that fits no database, and EnvironmentMissing with the choices if nothing can be started."""
    return _all_startable(_value_for_each(databases, asked))


def reasons_of_auto(databases: tuple[str, ...], asked: tuple[str, ...]) -> list[str]:
    """For each database on `auto` with several kinds of server: a line that says which one `resolve` took and why."""
    sentences = []
    for on in (engine(name) for name, server in _value_for_each(databases, asked).items() if server == AUTO):
        missing = {kind: on.missing(kind) for kind in on.servers}  # why it cannot start; empty if it can
        chosen, *others = (kind for kind, reason in missing.items() if not reason)  # one at least: `resolve` found it
        reasons = [reason.partition(": ")[0] for reason in missing.values() if reason]  # without what to do about it
        if len(on.servers) > 1:
            because = f" ({'; '.join(reasons)})" if reasons else ""
            instead = f"; --server {' or '.join(others)} is here too" if others else ""
            sentences.append(f"{on.title}: --server {chosen}, the first that starts here{because}{instead}")
    return sentences


def _value_for_each(databases: tuple[str, ...], asked: tuple[str, ...]) -> dict[str, str]:
    """The value of `--server` for each database; UsageError for a value that fits none."""
    for_all, for_one = AUTO, dict[str, str]()  # the kind for all databases; the servers of single ones, by name
    for value in asked or (AUTO,):
        name, equals, kind = value.partition("=")
        if is_url(value):
            for_one[_reached_by(databases, value)] = value
        elif not _KIND.fullmatch(value):
            raise UsageError(  # it may be a malformed URL
                "--server: one value is neither a kind of server nor a URL, and is not shown, because it may hold a "
                "password: write a URL as postgresql://user@host:5432/database, special characters in user and "
                "password as %XX."
            )
        elif equals:
            if name not in databases:
                raise UsageError(
                    f"--server {value}: {name} is not among the databases of this run ({', '.join(databases)})."
                )
            for_one[name] = kind
        else:
            for_all = value
    return {name: for_one.get(name, for_all) for name in databases}


def _all_startable(servers: Mapping[str, str]) -> dict[str, str]:
    """The server of each database, checked, with a kind in place of `auto`. If some cannot be had, one error has the
    reasons of all, each once: a UsageError if one of them is, else EnvironmentMissing."""
    startable = dict[str, str]()
    refused = dict[str, KeybenchError]()
    for name, server in servers.items():
        try:
            startable[name] = _startable(engine(name), server)
        except KeybenchError as error:
            refused[name] = error
    if not refused:
        return startable
    error_type = UsageError if any(isinstance(error, UsageError) for error in refused.values()) else EnvironmentMissing
    raise error_type("\n".join(dict.fromkeys(map(str, refused.values()))))


def _reached_by(databases: tuple[str, ...], url: str) -> str:
    """The first of these databases that the URL reaches. UsageError if it reaches none of them."""
    for name in databases:
        if engine(name).reached_by(url):
            return name
    raise UsageError(
        f"--server {scheme(url) or '…'}://…: none of the databases of this run ({', '.join(databases)}) is reached by "
        "such a URL."
    )


def check_url(on: Engine, url: str) -> None:
    """Raises UsageError, which does not show the URL, if the engine does not understand it or one of its options."""
    on.provision(url, on.settings("durable", "default"))  # understands the URL, and starts nothing


def _startable(on: Engine, server: str) -> str:
    """The server itself, or for `auto` the first kind that starts here. KeybenchError if it cannot be had."""
    if is_url(server):
        check_url(on, server)
        return server
    if server == MODEL_SERVER:
        if not on.has_page_model:
            raise on.without_page_model()
        return server
    if server == AUTO:
        reasons = {kind: on.missing(kind) for kind in on.servers or ("",)}  # "": why keybench starts none of it at all
        for kind, reason in reasons.items():
            if not reason:
                return kind
        raise EnvironmentMissing(
            f"no {on.title} server can be started here:"
            + "".join(f"\n  {reason}" for reason in reasons.values())
            + ("\n  without any server: --server model predicts the pages" if on.has_page_model else "")
        )
    if server not in on.servers:
        kinds = [*on.servers, *([MODEL_SERVER] if on.has_page_model else []), AUTO]
        raise UsageError(
            f"{on.name} has no server kind {server!r} (it has: {', '.join(kinds)}"
            f"{', or a URL' if on.url_schemes else ''}). For one database only: --server {on.name}=KIND."
        )
    if reason := on.missing(server):
        raise EnvironmentMissing(reason)
    return server


def check_restarts(scenario: Scenario, servers: Mapping[str, str]) -> None:
    """UsageError if the scenario restarts its server, but keybench cannot restart one of these servers."""
    for name, server in servers.items():
        if server not in _RESTARTED and any(phase.restart for phase in scenario.phase):
            raise UsageError(
                f"scenario {scenario.name} restarts the server of {engine(name).title}, which keybench does only with "
                "one that it starts itself, outside of a container: choose --server local or embedded."
            )


def check_load_path(scenario: Scenario, databases: Sequence[str]) -> None:
    """UsageError if a database does not support the load path or its transactions; the error names those that do."""
    _check_transactions(scenario, databases)
    needed = scenario.load_path.transport
    for name in databases:
        if needed not in engine(name).paths:
            able = [on.name for on in engines().values() if needed in on.paths]
            choice = f"{' and '.join(able)} can: choose one with --db" if able else "no engine can: choose another path"
            raise _refused(scenario, f"{engine(name).title} cannot load rows this way; {choice}.")


def check_path_on_servers(scenario: Scenario, servers: Mapping[str, str]) -> None:
    """UsageError if a server (kind or URL, by database) cannot load rows in this way or in transactions."""
    path = scenario.load_path
    for name, server in servers.items():
        modelled = server in COMPUTED
        if modelled and scenario.load.style:
            raise UsageError(
                f"scenario {scenario.name} is about transactions, which a page model does not have: choose another "
                "--server."
            )
        reason = path.refuses_model if modelled else engine(name).refuses(path.transport, server)
        if reason:
            raise _refused(scenario, reason)


def _check_transactions(scenario: Scenario, databases: Sequence[str]) -> None:
    """UsageError if a database cannot run the scenario's transactions, or not at its isolation level."""
    load = scenario.load
    demand = f'isolation = "{load.isolation}"' if load.isolation else f'look_up = "{load.look_up}"'
    for name in databases if load.style else ():  # without a style there are no transactions to refuse
        levels = engine(name).isolations
        if not levels or (load.isolation and load.isolation not in levels):
            level = load.isolation or "read-committed"  # which every engine with transactions has
            able = [on.name for on in engines().values() if level in on.isolations]
            raise UsageError(
                f"scenario {scenario.name} has {demand}: keybench does not run {engine(name).title}'s transactions so; "
                f"{' and '.join(able)} can: choose with --db."
            )


def _refused(scenario: Scenario, reason: str) -> UsageError:
    return UsageError(f'scenario {scenario.name} has path = "{scenario.load.path}": {reason}')


def read_settings(assignments: Sequence[str]) -> dict[str, str]:
    """The values of `--set`, `name=value` each, by name. UsageError for one without a name or a value."""
    chosen = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        if not (equals and name.strip() and value.strip()):
            raise UsageError(f"--set {text}: write NAME=VALUE or DB.NAME=VALUE, as in --set page_size=8K.")
        chosen[name.strip()] = value.strip()
    return chosen


def with_settings_chosen(scenario: Scenario, databases: Sequence[str], chosen: Mapping[str, str]) -> Scenario:
    """The scenario with its own settings and those `chosen`, each by `database.name`, in its one spelling.

    A scenario may have settings of databases that are not in the run. UsageError for a name that none of the databases
    has, and for a value that is none of the setting's.
    """
    used = [engine(name) for name in databases]
    values: dict[str, str] = {}
    for settings in (scenario.server.settings, chosen):  # the user's values come last and replace the scenario's
        for name, value in settings.items():
            matches = list(_matches(name, used))
            if not matches and settings is not chosen and name.partition(".")[0] in engines():
                continue  # a scenario's settings of a database that this run does not have
            if not matches:
                raise _unknown(name, used)
            for on, setting in matches:
                full_name = f"{on.name}.{setting.name}"
                if name == full_name or full_name not in settings:  # `database.name` has precedence over `name`
                    values[full_name] = setting.read(value, on.name)
    server = scenario.server.model_copy(update={"settings": values})
    return scenario.model_copy(update={"server": server})


def settings_of(scenario: Scenario, on: Engine) -> dict[str, str]:
    """The settings of one database by their plain names. `database.name` has precedence over `name`."""
    settings, prefix = scenario.server.settings, f"{on.name}."
    plain = {setting.name: settings[setting.name] for setting in on.settable if setting.name in settings}
    return plain | {name.removeprefix(prefix): value for name, value in settings.items() if name.startswith(prefix)}


def check_settings(on: Engine, chosen: Mapping[str, str], reported: Mapping[str, str]) -> None:
    """UsageError if the server has another value of a setting than the user chose."""
    for setting in on.settable:
        asked, real = chosen.get(setting.name), reported.get(setting.name)  # None: not chosen, or not reported
        if asked is not None and real is not None and asked != real:
            raise UsageError(
                f"--set {setting.name}={asked}: this {on.title} server has {setting.name} = {real}, which keybench "
                f"does not change. Leave the setting out, or measure on a server that keybench starts."
            )


def _matches(name: str, used: Sequence[Engine]) -> Iterator[tuple[Engine, Setting]]:
    """Each engine that has a setting of that name, `setting` or `database.setting`, with the setting."""
    database, dot, setting_name = name.rpartition(".")
    for on in used:
        for setting in on.settable:
            if setting.name == setting_name and (not dot or on.name == database):
                yield on, setting


def _unknown(name: str, used: Sequence[Engine]) -> UsageError:
    """The error for a setting that none of these engines has."""
    known = {f"{on.name}.{setting.name}" if "." in name else setting.name for on in used for setting in on.settable}
    return unknown_name(f"setting of {' or '.join(on.name for on in used)}", name, known)
