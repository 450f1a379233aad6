"""The SQL of trials' tables: their columns, and the statements that create and read them."""

from __future__ import annotations

from keybench.model.column import Column
from keybench.model.table import Table

SCHEMA = "keybench"
"""The one schema that keybench works in."""
USER = "keybench"
"""The user of trials, and the name of their database, on servers that keybench starts."""

COLUMNS = (
    Column("uuid", "uuid", frozenset({"uuid"}), "rfc", native=True),
    Column("binary16", "bytea", frozenset({"uuid"}), "rfc"),
    Column("binary16-net", "bytea", frozenset({"uuid"}), "net"),
    Column("binary16-mssql", "bytea", frozenset({"uuid"}), "mssql", stands_in_for="SQL Server uniqueidentifier"),
    Column("char36", 'character(36) COLLATE "C"', frozenset({"uuid"}), "rfc", form="text", width=36),
    Column("char36-default", "character(36)", frozenset({"uuid"}), "rfc", form="text", width=36),
    Column("bytea", "bytea", frozenset({"bytes"}), "rfc", native=True, width=0),
    Column("text", 'text COLLATE "C"', frozenset({"text"}), "rfc", form="text", native=True, width=0),
    Column("bigint", "bigint", frozenset({"int"}), "rfc", form="int", native=True, width=8),
    Column("int", "integer", frozenset({"int"}), "rfc", form="int", native=True, width=4),
)

_SENDER = {
    "uuid": "uuid_send",
    "bytea": "byteasend",
    "text": "textsend",
    "character(36)": "bpcharsend",
    "bigint": "int8send",
    "integer": "int4send",
}


def _type(column: Column) -> str:
    return column.sql_type.partition(" ")[0]


def name(table: Table) -> str:
    """The table's qualified, quoted name."""
    return f'{SCHEMA}."{table.name}"'


def create(table: Table) -> tuple[str, ...]:
    """The statements that create the table, without its parent. The key's index is the primary key's.

    A table by date has an index on the time of creation, because PostgreSQL keeps no table in an index's order. A
    foreign key's index keeps one entry per row. PostgreSQL by default merges equal keys (`deduplicate_items`). That
    would hide the effect of the order of arrival, and it depends on when a page becomes full.
    """
    payload = ", payload text NOT NULL" if table.payload else ""
    default = f" {table.server_keys.declaration}" if table.server_keys else ""
    created = "created bigint NOT NULL, " if table.by_date else ""
    filled = f"fillfactor = {fill}" if (fill := table.settings.get("fillfactor")) else ""
    constraint = "NOT NULL" if table.key == "fk" else f"PRIMARY KEY{f' WITH ({filled})' if filled else ''}"
    statements = [
        f"CREATE TABLE {name(table)} ({created}key {table.column.sql_type} {constraint}{default}{payload}) "
        "WITH (autovacuum_enabled = false, toast.autovacuum_enabled = false)"
    ]
    if table.by_date:
        statements.append(f'CREATE INDEX "{table.name}_created" ON {name(table)} (created)')
    if table.key == "fk":
        options = ", ".join(filter(None, ["deduplicate_items = off", filled]))
        statements.append(f'CREATE INDEX "{table.name}_key" ON {name(table)} (key) WITH ({options})')
    return tuple(statements)


def is_primary(table: Table) -> bool:
    """Whether the measured index is the primary key's. A table has at most one other index."""
    return table.key != "fk" and not table.measures_rows


def columns(table: Table) -> str:
    """The columns, in the order in which rows are sent."""
    return ", ".join(["created"] * table.by_date + ["key"] + ["payload"] * bool(table.payload))


def sender(column: Column) -> str:
    """The server's function that returns a key in its binary form."""
    return _SENDER[_type(column)]
