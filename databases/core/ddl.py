"""What the SQL of several engines has in common: types, names, the columns that are sent, and sentences of advice.

Also which key of a server stands in for a layout that people choose.
"""

import re
from collections.abc import Sequence
from typing import Final

from keybench.databases.contract.statements import START, STOP, KeyedTable, Statement
from keybench.generators.core.layout import layout, layouts
from keybench.model.column import Column
from keybench.model.names import CONTROL
from keybench.model.table import ServerKeys, Table

WIDEST_KEY = 36
"""Bytes of a key where an estimate is asked for before its layout is known."""
EMPTIEST = 0.5
"""Share of a page that is used at least: halves of a page that was split."""


def sql_type(column: Column) -> str:
    """The declaration of the column; `{width}` in it stands for the width of the layout's keys."""
    return column.sql_type.format(width=column.width)


def index_name(table: Table) -> str:
    """The name of the measured index: the key's or, with `measures_rows`, the one that holds the rows by date."""
    return f"{table.name}_{'created' if table.measures_rows else 'key'}"


def sent_columns(table: Table) -> tuple[str, ...]:
    """The names of the columns that rows are sent with, in order: without a key that the server makes."""
    payload = ("payload",) if table.payload else ()
    if table.server_keys:
        return payload
    return ("created", "key", *payload) if table.by_date else ("key", *payload)


def quoted(name: str, marks: str = '""') -> str:
    """A name between quotation marks, with each closing mark in it doubled."""
    return marks[0] + name.replace(marks[1], 2 * marks[1]) + marks[1]


def identifier(name: str, marks: str = '""') -> str:
    """A name as people write it: between quotation marks only if it needs them."""
    return name if re.fullmatch(r"[a-z_][a-z0-9_]*", name) else quoted(name, marks)


SERVER_MAKES: Final = "The server makes a key where a row brings none."
NO_FUNCTION: Final = "The application makes the keys: the server has no function for them."
FILL_NEW_KEYS: Final = (
    "Fill id_new of old rows in batches of some thousands, in the order of their creation: each with the next number, "
    "or a key of its row's time."
)
FILL_SAME_KEYS: Final = "Fill id_new of old rows with their own keys in the new type, in batches of some thousands."
FILL_CHILDREN: Final = "Give every child table a column for the new key, fill it by a join, and index it."
STANDSTILL: Final = (
    f"{STOP}: it knows the old keys alone. Fill the new columns of child rows that have come since, "
    "and drop the foreign keys that refer to the old key."
)
AFTER_STANDSTILL: Final = (
    "In every child table, rename the two columns in the same way, let the old one be NULL, and add the foreign key "
    f"again. {START} that knows the new keys. Make the new column NOT NULL later."
)
PUBLIC_ID: Final = "The key stays inside, and public_id is what people outside see."
NEXT_RANGES: Final = "Then the next 10,000 ids, and so on to the largest."
"""Sentences in advised statements."""


def note_on_server_keys(keys: ServerKeys, name: str) -> str:
    """A note for users who asked for keys of the layout `name`, on the keys that the server makes in their place."""
    if keys.replica == CONTROL:
        return "The server numbers the rows."
    return SERVER_MAKES if keys.replica == name else f"{SERVER_MAKES} Its keys are of the layout {keys.replica}."


def fill_public_ids(table: str, value: str) -> str:
    """The statement that gives old rows of a range their public id; `table`: its name, quoted."""
    return f"UPDATE {table} SET public_id = {value}\n  WHERE public_id IS NULL AND id BETWEEN 1 AND 10000"  # noqa: S608


_VERSION = slice(48, 52)  # bits 48 to 51 of a UUID hold its version (RFC 9562, 4.2), the highest bit first


def uuid_version(name: str) -> int | None:
    """The UUID version that all keys of the layout `name` have in their bits; None if they have none in common."""
    key_layout = layout(name)
    if key_layout.kind != "uuid":
        return None
    is_shared, values = key_layout.shared_bits()  # (128,) each: whether all keys share the bit, and its value
    if not is_shared[_VERSION].all():
        return None
    return int("".join(str(int(bit)) for bit in values[_VERSION]), base=2)


def alike(one: str, other: str) -> bool:
    """Whether keys of two layouts do the same to an index: they are of one layout, or both ascend in the same order
    and have the same UUID version."""
    if layout(one) == layout(other):
        return True
    version, order = uuid_version(one), layout(one).order
    return version is not None and order != "none" and (version, order) == (uuid_version(other), layout(other).order)


def step_instead_of_default(table: KeyedTable, declaration: str, note: str) -> Statement | None:
    """What users do instead where the server cannot get `declaration` as the new default of an existing key; None if it
    can. `declaration` is empty if the server makes no such keys; `note` says why."""
    if not declaration:
        return Statement("", f"Deploy the application that makes {table.layout} keys. {note}")
    if "DEFAULT" not in declaration:  # AUTO_INCREMENT, IDENTITY …
        return Statement("", "An integer cannot stand in a column of GUIDs: convert the keys.")
    return None


def server_made(keys: Sequence[ServerKeys], name: str, column: Column, version: int) -> ServerKeys | None:
    """The keys that a server of that version can make in that column and that are like those of the layout `name`; None
    if it can make none. `keys`: all that the engine's servers can make; `version`: as in `ServerKeys.min_version`."""
    for server_keys in keys:
        is_known = server_keys.replica in layouts()  # the client's layout of such keys: there may be none
        fits = server_keys.column == column.name and server_keys.min_version <= version
        if fits and is_known and alike(server_keys.replica, name):
            return server_keys
    return None
