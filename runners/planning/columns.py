"""The columns in which a layout is measured on an engine, and the layouts whose keys the server generates.

The default is the engine's own type for that kind of key, whatever order the layout ascends in: that is the table that
people have. Which column suits a layout is computed from the orders of both.

Keys that a server generates carry the time and order in which rows really arrive, not those of the scenario. So they
fit scenarios that only load, with equal writers.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from keybench.databases.contract.engine import Engine
from keybench.databases.registry import engine, engines
from keybench.errors import UsageError, unknown_name
from keybench.generators.core.layout import Layout, layout
from keybench.model.column import Column, Pairing
from keybench.model.names import COMPUTED, NATIVE, SUITED
from keybench.model.table import ServerKeys, is_key_and_payload
from keybench.scenarios.schema import Scenario


def pairing_of(on: Engine, name: str) -> Pairing | None:
    """The columns of the layout of that name; None for a server-generated layout that the engine does not make."""
    if name not in layouts_of_servers():
        return pairing(on, layout(name))
    server_keys = server_keys_of(on, name)
    if server_keys is None:
        return None
    column, ordered = server_keys.column, server_keys.order != "none"
    return Pairing(column, suited=column if ordered else "", ordered=ordered, suiting=(column,) if ordered else ())


def pairing(on: Engine, chosen: Layout) -> Pairing:
    """The layout's default column, the one that suits it, and all in whose order it ascends."""
    default = on.default_column(chosen.kind, chosen.shared_bits())
    suiting = [column for column in on.columns if chosen.suits(column)]
    native = [column for column in suiting if not column.stands_in_for]  # without imitations of another server's order
    suited = default if default in native else next(iter(native), None)
    names = tuple(column.name for column in suiting)
    return Pairing(default.name, suited.name if suited else "", ordered=chosen.order != "none", suiting=names)


def columns_of(on: Engine, name: str, asked: Sequence[str]) -> list[str]:
    """The engine's columns in which the layout of that name is measured, of those that were requested. A
    server-generated layout has one column whatever was requested, and none on engines that do not make it."""
    if name not in layouts_of_servers():
        return columns_for(on, layout(name), asked)
    server_keys = server_keys_of(on, name)
    return [server_keys.column] if server_keys else []


def columns_for(on: Engine, chosen: Layout, asked: Sequence[str]) -> list[str]:
    """The engine's columns in which the layout is measured: the requested ones that can hold its kind of key.

    `native` requests the layout's default column, `suited` that and the one that suits it. If no requested column can
    hold the keys (for example, the integer control among GUID columns), the layout keeps its default column.
    """
    pair, names = pairing(on, chosen), set(asked)
    if NATIVE in asked or SUITED in asked:
        names.add(pair.default)
    if SUITED in asked:
        names.add(pair.suited)  # empty if no column suits the layout: no column has that name
    return [c.name for c in on.columns if c.name in names and _holds(c, chosen)] or [pair.default]


def _holds(column: Column, chosen: Layout) -> bool:
    """Whether the column is for the layout's kind of key. Integers must all fit; a type for GUIDs may refuse some."""
    if chosen.kind not in column.kinds:
        return False
    return column.form != "int" or column.accepts_all(chosen.shared_bits())


def check_scenario(scenario: Scenario, databases: Sequence[str]) -> None:
    """UsageError if the scenario names an unknown database, or a column that does not exist: one for a single database
    there, if the run has it; one for all databases, in at least one of the run's."""
    if not isinstance(scenario.columns, Mapping):
        check_columns(databases, scenario.columns)
        return
    for name in scenario.columns:
        on = engine(name)
        if on.name in databases:
            check_columns([on.name], scenario.columns[name])


def check_columns(databases: Sequence[str], asked: Sequence[str]) -> None:
    """UsageError if a requested column exists in none of the databases."""
    known = {NATIVE, SUITED, *(column.name for name in databases for column in engine(name).columns)}
    for name in asked:
        if name not in known:
            raise unknown_name("column", name, known)


def server_keys_of(on: Engine, name: str) -> ServerKeys | None:
    """The engine's server-generated layout of that name; None if it has none."""
    return next((keys for keys in on.server_keys if keys.name == name), None)


def layouts_of_servers() -> Mapping[str, tuple[str, ...]]:
    """Every server-generated layout by name, with the engines that make it."""
    names = dict.fromkeys(keys.name for on in engines().values() for keys in on.server_keys)
    return {name: tuple(on.name for on in engines().values() if server_keys_of(on, name)) for name in names}


def check_server_keys(names: Iterable[str], databases: Sequence[str], scenario: Scenario) -> None:
    """UsageError for a server-generated layout that no database here makes, or that does not fit the scenario."""
    for name in names:
        if name not in layouts_of_servers():
            continue
        if not any(server_keys_of(engine(database), name) for database in databases):
            raise UsageError(
                f"{name} keys are made by {' and '.join(layouts_of_servers()[name])} only: choose one by --db."
            )
        if reason := _refuses_server_keys(scenario):
            raise UsageError(
                f"{name} keys do not fit scenario {scenario.name}: {reason}. Choose another --scenario, or a layout "
                "whose keys the client makes."
            )


def check_servers(names: Iterable[str], servers: Mapping[str, str]) -> None:
    """UsageError if one of the names is a server-generated layout, and all databases that make it have only their page
    models (`servers`: the server kind or URL by database)."""
    for name in names:
        makers = {database: keys for database in servers if (keys := server_keys_of(engine(database), name))}
        # a layout of clients has no makers; otherwise one real server is enough
        if not makers or any(servers[database] not in COMPUTED for database in makers):
            continue
        models = " and ".join(engine(database).title for database in makers)
        replica = next((keys.replica for keys in makers.values() if keys.replica), "")
        instead = f"take {replica}, which the client makes in the same way" if replica else "leave the layout out"
        raise UsageError(
            f"{name} keys are made by a server, and this run has only the page model of {models}: {instead}, or choose "
            "another --server."
        )


def left_out_of_models(chosen: Sequence[str], servers: Mapping[str, str]) -> str:
    """A line on server-generated layouts that page models alone cannot make; empty if there are none."""
    missing = [
        f"{name} on {engine(database).title}"
        for name in chosen
        for database, server in servers.items()
        if server in COMPUTED and server_keys_of(engine(database), name)
    ]
    return f"not measured, because a page model cannot make these keys: {', '.join(missing)}" if missing else ""


def left_out_of_all(chosen: Sequence[str], databases: Collection[str], scenario: Scenario) -> str:
    """A line on server-generated layouts, besides the `chosen` ones, that `--layout all` leaves out. Empty if there is
    none, or if the scenario only makes keys."""
    missing = [
        name
        for name, makers in layouts_of_servers().items()
        if name not in chosen and not set(makers).isdisjoint(databases)
    ]
    if not missing or scenario.kind == "keys":
        return ""
    return f"--layout all leaves out what servers make: {', '.join(missing)}. Add those you want: --layout all,NAME."


def _refuses_server_keys(scenario: Scenario) -> str:
    """Why keys that a server makes do not fit the scenario; empty if they do."""
    if scenario.kind == "keys":
        return "it makes keys without a database"
    if scenario.kind == "phases":
        return "its phases delete rows by their keys, which only the server knows"
    if not is_key_and_payload(scenario.table.key):
        return "its table has columns or rows beside the key's, and a server's keys are made row by row in one table"
    if reason := scenario.load_path.refuses_server_keys:
        return reason
    if scenario.load.style:
        return "its transactions look up keys and are sent again, and only the server knows its keys"
    if scenario.timed:
        return "its keys must carry the scenario's virtual time, and a server's keys carry the server's clock"
    if 0 in scenario.table.payload:
        return "its rows have nothing beside the key, and rows without a key would have nothing at all"
    return ""
