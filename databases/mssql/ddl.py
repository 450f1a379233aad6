"""Columns, DDL, keys that the server makes, and how much room rows need, by the arithmetic of `records`.

All columns are NOT NULL.
"""

from __future__ import annotations

from keybench.databases.contract.settings import EngineOptions
from keybench.databases.core.ddl import EMPTIEST, WIDEST_KEY, index_name, sent_columns, sql_type
from keybench.errors import UsageError
from keybench.model.column import Column
from keybench.model.keys import Kind
from keybench.model.names import CONTROL, RANDOM
from keybench.model.table import KeyRole, ServerKeys, Table
from keybench.pagemodels.mssql import records

SCHEMA = "keybench"
"""The one schema that keybench works in, and the database that it makes where a URL names none."""

_GUID: frozenset[Kind] = frozenset({"uuid"})
_BINARY_ORDER = "COLLATE Latin1_General_100_BIN2"

COLUMNS = (
    Column("uniqueidentifier", "uniqueidentifier", _GUID, "mssql", native=True),
    Column("binary16", "binary(16)", _GUID, "rfc"),
    Column("binary16-net", "binary(16)", _GUID, "net"),
    Column("binary16-mssql", "binary(16)", _GUID, "mssql", stands_in_for="SQL Server uniqueidentifier"),
    Column("char36", f"char(36) {_BINARY_ORDER}", _GUID, "rfc", "text", width=36),
    Column("binary", "binary({width})", frozenset({"bytes"}), "rfc", native=True, width=0),
    Column("char", f"char({{width}}) {_BINARY_ORDER}", frozenset({"text"}), "rfc", "text", native=True, width=0),
    Column("bigint", "bigint", frozenset({"int"}), "rfc", "int", native=True, width=8),
    Column("int", "int", frozenset({"int"}), "rfc", "int", native=True, width=4),
)

PAGE_BYTES = 8192
_WIDEST_CHAR = 8000
_POINTER = 16
"""Bytes of the pointer to a value that is stored outside the row."""
_LOG_BYTES = 450
"""Log records of a row with its share of splits (measured by P. Randal: 328 bytes without, some 6,000 a split)."""


def name(table: Table) -> str:
    """The table's qualified, quoted name."""
    return f"[{SCHEMA}].[{table.name}]"


def parameter(column: Column) -> str:
    """A parameter of the column's type: without the cast, drivers send texts, for which the index cannot be used."""
    return f"CAST(? AS {sql_type(column).partition(' ')[0]})"


def payload_type(table: Table) -> str:
    """A type of fixed width where a row can hold it, so that all rows have one size, unless their lengths vary."""
    if table.payload > _WIDEST_CHAR:
        return "varchar(max)"
    return f"{'varchar' if table.lengths else 'char'}({table.payload})"


def create(table: Table, options: EngineOptions) -> str:
    """The statement that creates the table, without its parent.

    Beneath a nonclustered key is a heap, or a clustered index of a bigint in order of arrival; so it is with a foreign
    key, whose index is not unique. By date, the clustered index is of the moment and then the key, so that it is unique
    without a uniqueifier.
    UsageError for two IDENTITY columns in one table, which SQL Server does not allow.
    """
    default = f" {table.server_keys.declaration}" if table.server_keys else ""
    defined = [f"[key] {sql_type(table.column)}{default} NOT NULL"]
    if table.payload:
        defined.append(f"payload {payload_type(table)} {_BINARY_ORDER} NOT NULL")
    how = "PRIMARY KEY CLUSTERED" if table.key == "clustered" else "PRIMARY KEY NONCLUSTERED"
    if table.by_date:
        defined.insert(0, "created bigint NOT NULL")
        defined.append(f"CONSTRAINT [{table.name}_created] UNIQUE CLUSTERED (created, [key])")
    if table.key in ("nonclustered", "fk") and options["beneath"] == "clustered":
        if "IDENTITY" in default:
            raise UsageError(
                "a nonclustered server-identity would be the table's second IDENTITY column: "
                "leave KEYBENCH_MSSQL_BENEATH at heap."
            )
        defined.insert(0, "row_id bigint IDENTITY NOT NULL")
        defined.append(f"CONSTRAINT [{table.name}_row] PRIMARY KEY CLUSTERED (row_id)")
        how = "UNIQUE NONCLUSTERED"
    fill, sequential = options["fill_factor"], options["sequential_key"].upper()
    set_to = f"FILLFACTOR = {fill}, OPTIMIZE_FOR_SEQUENTIAL_KEY = {sequential}"
    what, how = ("INDEX", "NONCLUSTERED") if table.key == "fk" else ("CONSTRAINT", how)
    defined.append(f"{what} [{index_name(table)}] {how} ([key]) WITH ({set_to})")
    return f"CREATE TABLE {name(table)} ({', '.join(defined)})"


def rebuild(table: Table, fill: int, options: EngineOptions) -> str:
    """The statement that builds the key's index again; the table itself where the key is clustered."""
    pad = options["pad_index"].upper()
    return f"ALTER INDEX [{index_name(table)}] ON {name(table)} REBUILD WITH (FILLFACTOR = {fill}, PAD_INDEX = {pad})"


def insert(table: Table) -> str:
    """The statement of one row."""
    columns = [f"[{column}]" if column == "key" else column for column in sent_columns(table)]
    return f"INSERT INTO {name(table)} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608  # our own names


def parameter_sizes(table: Table) -> tuple[tuple[str, int], ...]:
    """SQL type, by ODBC's name without `SQL_`, and size of each parameter of `insert`."""
    column, width = table.column, table.column.width
    if column.name == "uniqueidentifier":
        key = ("GUID", 16)
    elif column.form == "int":
        key = ("BIGINT", 19) if width == 8 else ("INTEGER", 10)
    else:
        key = ("CHAR" if column.form == "text" else "BINARY", width)
    payload = (("VARCHAR", table.payload),) if table.payload else ()
    created = (("BIGINT", 19),) if table.by_date else ()
    return payload if table.server_keys else (*created, key, *payload)


def leaf_row(column: Column, payload: int, key: KeyRole, options: EngineOptions) -> int:
    """Bytes of a row in a leaf of the key's index, without its slot."""
    versions, width = options["row_versioning"] != "off", column.width or WIDEST_KEY
    if key != "clustered":  # a RID, a bigint and the moment of creation are all of 8 bytes
        return records.index_row(width, 8, versions=versions)
    return _data_row(width, payload) + records.VERSION_TAG * versions


def _data_row(fixed: int, payload: int) -> int:
    if payload > _WIDEST_CHAR:
        return records.data_row(fixed, 2, [_POINTER])
    return records.data_row(fixed + payload, 2)


def bytes_per_row(column: Column, payload: int, key: KeyRole, options: EngineOptions) -> tuple[float, float]:
    """Estimated bytes a row of (the key's index filled in order, everything at its emptiest with log)."""
    index = _share(leaf_row(column, payload, key, options))
    beneath = _share(_data_row((column.width or WIDEST_KEY) + 8, payload)) if key != "clustered" else 0.0
    beneath /= EMPTIEST if key == "by-date" else 1  # writers whose clocks lag
    outside = payload if payload > _WIDEST_CHAR else 0
    return index, index / EMPTIEST + beneath + outside + 2.5 * (_LOG_BYTES + payload)


def _share(row: int) -> float:
    return PAGE_BYTES / records.rows_a_page(row)


SERVER_KEYS = (
    ServerKeys("server-identity", "the table's IDENTITY", "bigint", "rfc", "IDENTITY", replica=CONTROL),
    ServerKeys("server-newid", "NEWID(): random", "uniqueidentifier", "none", "DEFAULT NEWID()", replica=RANDOM),
    ServerKeys(
        "server-newsequentialid",
        "NEWSEQUENTIALID(): one counter of the whole server",
        "uniqueidentifier",
        "mssql",
        "DEFAULT NEWSEQUENTIALID()",
        replica="newsequentialid",
    ),
)
"""NEWSEQUENTIALID is documented to ascend, but has an implementation of its own on Linux: `QUESTIONS` asks."""
