"""The SQL of trials' tables: columns, the statements that create and read them, and keys that the server makes.

Versions are libpq's numbers: 18.4 is 180004. Indexes grow alike from 13 to 18 (docs/internals/versions.md), so the page
model needs no version.
"""

from __future__ import annotations

from keybench.errors import ServerError
from keybench.model.column import Column
from keybench.model.names import CONTROL, RANDOM
from keybench.model.table import ServerKeys, Table

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


OLDEST = 13
"""The oldest major version that keybench uses."""

SERVER_UUID_V4 = 130_000
"""gen_random_uuid() without an extension."""
QUIET_INITDB = 14
"""initdb's option --no-instructions."""
LOG_COUNTERS = 140_000
"""pg_stat_wal, which counts page images and syncs."""
IDLE_SESSION_TIMEOUT = 140_000
STATISTICS_ON_DEMAND = 150_000
"""pg_stat_force_next_flush()."""
CHECKPOINT_ROLE = 150_000
"""The role pg_checkpoint, whose members may make checkpoints."""
ICU_DATABASES = 150_000
"""Databases with a collation of ICU."""
PAGES_WRITTEN = 160_000
"""pg_stat_io, which tells pages written from pages added to a file."""
BYTES_WRITTEN = 180_000
"""pg_stat_io counts bytes: an operation can write several pages."""
SERVER_UUID_V7 = 180_000
"""uuidv7()."""

SERVER_KEYS = (
    ServerKeys(
        "server-identity", "the server's own sequence", "bigint", "rfc", "GENERATED ALWAYS AS IDENTITY", replica=CONTROL
    ),
    ServerKeys(
        "server-uuid-v4", "gen_random_uuid()", "uuid", "none", "DEFAULT gen_random_uuid()", SERVER_UUID_V4, RANDOM
    ),
    ServerKeys(
        "server-uuidv7",
        "uuidv7(): milliseconds, 12 bits of their fraction",
        "uuid",
        "rfc",
        "DEFAULT uuidv7()",
        SERVER_UUID_V7,
        "postgresql-uuidv7",
    ),
)


def check(keys: ServerKeys, version: int) -> None:
    """Raises ServerError if a server of that version (as libpq numbers it) cannot make these keys."""
    if version < keys.min_version:
        raise ServerError(
            f"{keys.name} keys are made by PostgreSQL {keys.min_version // 10_000} and newer, and this server is "
            f"{version // 10_000}: choose a newer --server, or the client's layout of the same kind."
        )
