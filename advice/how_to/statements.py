"""The statements for a table with a chosen key, on a chosen engine and version. Nothing here runs them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from keybench.advice.how_to.existing import Name
from keybench.databases.contract.engine import Engine
from keybench.databases.contract.statements import KeyedTable, Statement
from keybench.errors import UsageError
from keybench.generators.core.layout import layout
from keybench.model.column import Column
from keybench.model.names import CONTROL

Default = Literal["", "a function", "an expression"]
"""What a column has as its default, where the server has no keys of its own that fit."""


def create_table(
    on: Engine, version: str, column: Column, name: str, table: str = "orders", *, by_clients: bool = False
) -> Sequence[Statement]:
    """The statements that create a table with keys of the layout `name` in that column, and what makes them, where the
    server can. Empty if the engine knows no statements. `version` is the server's, as people write it; empty for the
    newest. `by_clients`: no default makes keys, also where the server could. UsageError for a version or layout that is
    not known, and for a column that does not take the layout's keys."""
    writes = on.statements()
    return writes.creating(_keyed(table, column, name, version, by_clients)) if writes else []


def create_with_public_id(on: Engine, version: str) -> Sequence[Statement]:
    """The statements for a new table with a counter as its key and a random `public_id`; empty if there are none."""
    writes = on.statements()
    if not (writes and on.creates_public_ids):
        return []
    column = on.default_column("int", layout(CONTROL).shared_bits())  # the integer type for the control's keys
    counter = _keyed("orders", column, CONTROL, version, by_clients=False)
    return writes.creating(replace(counter, public_id=True))


def add_public_id(on: Engine, version: str, column: Column, name: str) -> Sequence[Statement]:
    """The statements that add a random `public_id` beside a table's key, which is of the layout `name` in `column`."""
    writes = on.statements()
    return writes.adding_public_id(_keyed("orders", column, name, version, by_clients=False)) if writes else []


def steps(
    option: Name,
    on: Engine,
    version: str,
    old: tuple[Column, str],
    new: tuple[Column, str],
    *,
    by_clients: bool = False,
) -> list[Statement]:
    """The statements for one way to go, in order; none for staying. `old`, `new`: (column, layout) of today's keys and
    of new ones; `by_clients`: no default makes keys. Empty, and UsageError, as for `create_table`."""
    writes = on.statements()
    if not writes:
        return []
    if option in ("convert", "retype"):  # every row gets a new key, or its own key in the new type
        before = _keyed("orders", *old, version, by_clients=False)
        after = _keyed("orders", *new, version, by_clients)
        return list(writes.converting(before, after, same_keys=option == "retype"))
    switched = _keyed("orders", old[0], new[1], version, by_clients)  # new rows get other keys, in today's column
    switch = writes.switching(switched) if "switch" in option else []
    rebuild = writes.rebuilding(replace(switched, by_clients=False)) if "rebuild" in option else []
    return [*rebuild, *switch] if option.endswith("now") else [*switch, *rebuild]


def can_hold(on: Engine, version: str, column: Column, name: str) -> bool:
    """Whether that version has the column, for keys of the layout `name`; True if the engine knows no statements."""
    try:
        create_table(on, version, column, name)
    except UsageError:
        return False
    return True


def default_of(on: Engine, version: str, column: Column, name: str) -> Default:
    """By what the column's default makes keys of the layout `name`; empty if the application has to make them."""
    created = create_table(on, version, column, name)
    without_default = create_table(on, version, column, name, by_clients=True)
    if [one.sql for one in created] == [one.sql for one in without_default]:
        return ""
    return "a function" if len(created) > 1 else "an expression"  # a statement more: it creates the function


def _keyed(table: str, column: Column, name: str, version: str, by_clients: bool) -> KeyedTable:
    """The table with keys of the layout `name`. UsageError if the column does not take them all."""
    key_layout = layout(name)
    if key_layout.kind not in column.kinds or not column.accepts_all(key_layout.shared_bits()):
        raise UsageError(f"the column {column.name} does not take all {name} keys: choose another column.")
    return KeyedTable(table, column.sized(key_layout.key_bytes), name, version, by_clients)
