"""Columns, DDL, keys that the server makes, and how much room rows need, by the arithmetic of `records`.

All columns are NOT NULL, but for texts that may be empty.
"""

from __future__ import annotations

from keybench.databases.contract.settings import EngineOptions
from keybench.databases.core.ddl import EMPTIEST, WIDEST_KEY, index_name, sent_columns, sql_type
from keybench.model.column import Column
from keybench.model.keys import Kind
from keybench.model.names import CONTROL
from keybench.model.table import KeyRole, ServerKeys, Table
from keybench.pagemodels.oracle import records

_GUID: frozenset[Kind] = frozenset({"uuid"})

COLUMNS = (
    Column("raw16", "RAW(16)", _GUID, "rfc", native=True),
    Column("raw16-net", "RAW(16)", _GUID, "net"),
    Column("binary16-mssql", "RAW(16)", _GUID, "mssql", stands_in_for="SQL Server uniqueidentifier"),
    Column("char36", "CHAR(36)", _GUID, "rfc", "text", width=36),
    Column("raw", "RAW({width})", frozenset({"bytes"}), "rfc", native=True, width=0),
    Column("char", "CHAR({width})", frozenset({"text"}), "rfc", "text", native=True, width=0),
    Column("number", "NUMBER(19)", frozenset({"int"}), "rfc", "int", native=True, width=8),
)
"""Texts compare by their bytes: NLS_SORT and NLS_COMP are BINARY unless a session changes them."""

STATISTICS = '"keybench_statistics"'
"""The table in which writers' sessions store their own statistics when they end."""

_WIDEST_TEXT = 4000
_BLOCK_BYTES = 8192
_MOMENT_BYTES = 9
"""A NUMBER of sixteen digits."""
_REDO_BYTES = 700


def name(table: Table) -> str:
    """The table's quoted name."""
    return f'"{table.name}"'


def payload_type(payload: int) -> str:
    """Texts up to 4,000 bytes are stored in the row."""
    return f"VARCHAR2({payload} BYTE)" if payload <= _WIDEST_TEXT else "CLOB"


def create(table: Table, options: EngineOptions) -> tuple[str, ...]:
    """The statements that create the table, without its parent.

    A clustered key is that of an index-organised table without overflow. Any other has an index beside the heap, the
    usual case in Oracle. By date, the heap has an index on the moment of creation, too: the key's
    index of an index-organised table would hold only guesses of the rows' places.
    """
    default = f" {table.server_keys.declaration}" if table.server_keys else ""
    defined = ["created NUMBER(19) NOT NULL"] * table.by_date
    defined += [f"key {sql_type(table.column)}{default} NOT NULL"]
    if table.payload:
        empty = table.lengths is not None and table.lengths.least == 0  # to Oracle an empty text is NULL
        defined.append(f"payload {payload_type(table.payload)}{'' if empty else ' NOT NULL'}")
    if table.key == "clustered":
        defined.append(f'CONSTRAINT "{index_name(table)}" PRIMARY KEY (key)')
        return (f"CREATE TABLE {name(table)} ({', '.join(defined)}) ORGANIZATION INDEX",)
    unique = "UNIQUE " if is_unique(table, options) else ""
    by_date = (f'CREATE INDEX "{table.name}_created" ON {name(table)} (created)',) if table.by_date else ()
    return (
        f"CREATE TABLE {name(table)} ({', '.join(defined)})",
        f'CREATE {unique}INDEX "{table.name}_key" ON {name(table)} (key)',
        *by_date,
    )


def rebuild(table: Table, fill: int) -> str:
    """The statement that builds the key's index again. Oracle rebuilds no primary index of an index-organised table
    (ORA-28650): such a table moves instead."""
    pctfree = f"PCTFREE {100 - int(fill)}"
    if table.key == "clustered":
        return f"ALTER TABLE {name(table)} MOVE {pctfree}"
    return f'ALTER INDEX "{index_name(table)}" REBUILD {pctfree}'


def is_unique(table: Table, options: EngineOptions) -> bool:
    """Whether the key's index is declared unique."""
    return table.key == "clustered" or (options["unique"] == "yes" and table.key != "fk")


def insert(table: Table) -> str:
    """The statement of one row."""
    columns = sent_columns(table)
    binds = ", ".join(f":{column}" for column in columns)
    return f"INSERT INTO {name(table)} ({', '.join(columns)}) VALUES ({binds})"  # noqa: S608  # our own names


def entry_bytes(column: Column, payload: int, key: KeyRole) -> int:
    """Bytes of an entry in a leaf of the key's index."""
    width = column.width or WIDEST_KEY
    if key == "clustered":
        return records.table_entry(width, payload if payload <= _WIDEST_TEXT else 40)
    return records.nonunique_entry(width) if key == "fk" else records.unique_entry(width)


def bytes_per_row(column: Column, payload: int, key: KeyRole) -> tuple[float, float]:
    """Estimated bytes a row of (the key's index filled in order, everything at its emptiest with redo and undo)."""
    index = entry_bytes(column, payload, key) * _BLOCK_BYTES / records.LEAF_BYTES
    beneath = 1.25 * (records.table_entry(column.width or WIDEST_KEY, payload)) if key != "clustered" else 0.0
    if key == "by-date":
        beneath += records.nonunique_entry(_MOMENT_BYTES) * (1.25 + 1 / EMPTIEST)
    return index, index / EMPTIEST + beneath + 2 * (_REDO_BYTES + payload)


_IDENTITY = "GENERATED ALWAYS AS IDENTITY"

SERVER_KEYS = (
    ServerKeys(
        "server-identity",
        "an identity column, sequence cache of 20",
        "number",
        "rfc",
        f"{_IDENTITY} (CACHE 20)",
        replica=CONTROL,
    ),
    ServerKeys(
        "server-identity-cache-1000",
        "the same, cache of 1,000",
        "number",
        "rfc",
        f"{_IDENTITY} (CACHE 1000)",
        replica=CONTROL,
    ),
    ServerKeys(
        "server-identity-no-cache",
        "the same, without a cache",
        "number",
        "rfc",
        f"{_IDENTITY} (NOCACHE)",
        replica=CONTROL,
    ),
    ServerKeys(
        "server-sys-guid",
        "SYS_GUID(): a counter of each session first",
        "raw16",
        "rfc",
        "DEFAULT SYS_GUID()",
        replica="oracle-sys-guid",
    ),
)
"""SYS_GUID was seen to ascend in a session on Linux; that is not documented: `engine.QUESTIONS` tests it."""
