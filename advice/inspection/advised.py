"""What `keybench advise` says about the keys of a table that exists: its sentence, and the command for the rest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from keybench.advice.figure import FEWEST_ROWS, LEAST_BYTES, LEAST_SHARE, spoken
from keybench.advice.inspection.findings import TableFinding, inserted_a_day
from keybench.advice.inspection.naming import KeyGroup
from keybench.advice.inspection.sentences import NEARLY_USED_UP
from keybench.databases.contract.engine import Engine
from keybench.databases.contract.existing import ColumnHere
from keybench.errors import UsageError
from keybench.generators.core.layout import layout
from keybench.model.names import CONTROL
from keybench.model.sizes import spelled

_WIDEST: Final = (1 << 63) - 1  # the greatest key of the widest integer type


@dataclass(frozen=True)
class Advice:
    """One table's."""

    text: str
    command: str = ""
    """Empty where `keybench advise` has no answer."""


def advice(on: Engine, version: str, one: TableFinding) -> Advice | None:
    """The advice on a table's key, of a server of that version; None for tables without a known key. Large tables go
    through the page model, which takes some seconds."""
    key, rows = one.key, round(one.table.rows or 0)
    if key is None or key.content is None or key.content.newest is None:
        return None
    if key.used_up >= NEARLY_USED_UP:
        return Advice(_widened(on, one, key.column))
    if key.ahead:
        return Advice("Mend the clock: these keys hold the end of the index until their times have come.")
    if len(key.index.key) > 1:
        return Advice("keybench advises on keys of one column, not yet on those of several.")
    size = sum(each.pages.bytes or 0 for each in one.indexes)
    small = f"Leave it: at {spoken(rows)} rows and {spelled(size)} of index, other keys save little."
    if rows < FEWEST_ROWS:
        return Advice(small)
    asked = options(on, version, one, key.column, key.content.newest)
    command = " ".join(["keybench advise", *(f"--{name.replace('_', '-')} {value}" for name, value in asked.items())])
    if size < LEAST_BYTES:
        return Advice(small, command)
    if key.new_rows.where == "between" and key.gain >= max(LEAST_BYTES, LEAST_SHARE * (key.pages.bytes or 0)):
        return Advice(f"Rebuild the index {key.index.name}: it would be {spelled(key.gain)} smaller.", command)
    try:
        return Advice(_computed(asked), command)
    except UsageError as why:
        return Advice(f"keybench advise has no answer: {why}", command)


def _widened(on: Engine, one: TableFinding, column: ColumnHere) -> str:
    """What to do about an integer key that is nearly used up."""
    name = f"{one.table.full_name}.{column.name}"
    wide = on.default_column("int", layout(CONTROL).shared_bits())
    if not column.most or column.most >= _WIDEST:
        return f"No integer type is wider than that of {name}: give new rows keys of another type."
    return (
        f"Make {name} {wide.sql_type} before its keys end; the columns that refer to it go first. Fill a second column "
        "in batches: a change in place locks the table while all rows are written again. The sequence and the programs "
        "may stop at 32 bits, too."
    )


def options(on: Engine, version: str, one: TableFinding, column: ColumnHere, keys: KeyGroup) -> Mapping[str, Any]:
    """The options of `keybench advise` that describe the table: today's type, and the rows that a year brings."""
    rows = round(one.table.rows or 0)
    a_year = 365 * (inserted_a_day(one.table) or 0.0)
    known_version = version_of(on, version)
    column_name = column_on(on, column, keys)
    # counters alike differ in how far they go: the one that ends where the column does
    takes = on.column(column_name).accepts_all if column_name else lambda _: True
    name = next((each for each in keys.layouts if takes(layout(each).shared_bits())), keys.layouts[0])
    payload = max(0, round(one.table.row_bytes - keys.layout.key_bytes)) if one.table.row_bytes else 100  # the default
    return {
        "db": f"{on.name}:{known_version}" if known_version else on.name,
        "rows": str(round(rows + a_year)),
        "existing": ":".join(filter(None, (name, str(rows), column_name))),  # no colon without a column
        "payload": min(payload, 8_000),  # the most that the option takes, as 64 below
        **({"children": min(one.table.children, 64)} if one.table.children else {}),
    }


def version_of(on: Engine, version: str) -> str:
    """The newest version that keybench knows, of those that are not newer than the server's; empty if there is none."""
    server = tuple(int(number) for number in re.findall(r"\d+", version.partition("-")[0])) or (0,)
    # SQL Server's versions are named by years, and its servers state the number of the version
    older = [
        name
        for name, number in on.versions.items()
        if tuple(map(int, name.split("."))) <= server or number <= server[0]
    ]
    return older[-1] if older else ""


def column_on(on: Engine, column: ColumnHere, keys: KeyGroup) -> str:
    """The name of the engine's column that stores such keys as the table's column does; empty if it has none."""
    fitting = [
        one
        for one in on.columns
        if keys.layout.kind in one.kinds
        and not one.stands_in_for
        and (one.form == "text") == (column.form == "text")
        and (column.form == "uuid" or one.order == keys.order)  # a UUID's order is the server's own
        and (not column.width or one.width == column.width)  # `column.width`: of integers alone
    ]
    type_name = re.match(r"\w*", column.sql_type)
    same_type = [one for one in fitting if type_name and one.sql_type.lower().startswith(type_name[0].lower())]
    return next((one.name for one in (*same_type, *fitting)), "")


def _computed(asked: Mapping[str, Any]) -> str:
    """The first sentence of `keybench advise` with these options."""
    from keybench.advice.answer import answer
    from keybench.advice.needs import needs_from_options
    from keybench.advice.sentences import headline

    return headline(answer(needs_from_options(asked)))
