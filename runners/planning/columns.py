"""The columns in which a layout is measured on an engine.

The default is the engine's own type for that kind of key, whatever order the layout ascends in: that is the table that
people have. Which column suits a layout is computed from the orders of both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from keybench.databases.contract.engine import Engine
from keybench.databases.registry import engine
from keybench.errors import unknown_name
from keybench.generators.core.layout import Layout, layout
from keybench.model.column import Column, Pairing
from keybench.model.names import NATIVE, SUITED
from keybench.runners.planning import server_keys
from keybench.scenarios.schema import Scenario


def pairing_of(on: Engine, name: str) -> Pairing | None:
    """The columns of the layout of that name; None for a server-generated layout that the engine does not make."""
    if name not in server_keys.known():
        return pairing(on, layout(name))
    made = server_keys.made_by(on, name)
    ordered = made is not None and made.order != "none"
    if made is None:
        return None
    return Pairing(made.column, made.column if ordered else "", ordered, (made.column,) if ordered else ())


def pairing(on: Engine, chosen: Layout) -> Pairing:
    """The layout's default column and the one that suits it."""
    default = on.default_column(chosen.kind, chosen.shared_bits())
    suiting = [column for column in on.columns if chosen.suits(column)]
    own = [column for column in suiting if not column.stands_in_for]
    suited = default.name if default in own else own[0].name if own else ""
    return Pairing(default.name, suited, chosen.order != "none", tuple(column.name for column in suiting))


def columns_of(on: Engine, name: str, asked: Sequence[str]) -> list[str]:
    """As `columns_for`. A server-generated layout has one column, and none on engines that do not make it."""
    if name not in server_keys.known():
        return columns_for(on, layout(name), asked)
    made = server_keys.made_by(on, name)
    return [made.column] if made else []


def columns_for(on: Engine, chosen: Layout, asked: Sequence[str]) -> list[str]:
    """The engine's columns in which the layout is measured: the requested ones that can hold its kind of key.

    `native` requests the layout's default column, `suited` that and the one that suits it. If no requested column can
    hold the keys (for example, the integer control among GUID columns), the layout keeps its default column.
    """
    pair = pairing(on, chosen)
    wanted = {*asked, *([pair.default] if NATIVE in asked or SUITED in asked else [])}
    wanted |= {pair.suited} if SUITED in asked else set()
    return [c.name for c in on.columns if c.name in wanted and _holds(c, chosen)] or [pair.default]


def _holds(column: Column, chosen: Layout) -> bool:
    """Whether the column is made for the layout's keys. A type for GUIDs is, even if it refuses some of them."""
    if chosen.kind not in column.kinds:
        return False
    return column.form != "int" or column.accepts_all(chosen.shared_bits())


def check_scenario(scenario: Scenario, databases: Sequence[str]) -> None:
    """UsageError if the scenario names an unknown database, or a column that one of the run's databases has not.

    Columns that it names for all databases have to exist in one of these.
    """
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
