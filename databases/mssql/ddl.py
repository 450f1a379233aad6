"""Columns, DDL, and how much room rows need; `rows` has the arithmetic. All columns here are NOT NULL."""

from __future__ import annotations

from keybench.databases.mssql.options import Options
from keybench.errors import UsageError
from keybench.model.column import Column
from keybench.model.keys import Kind
from keybench.model.table import KeyRole, Table
from keybench.pagemodels.mssql import records as rows

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
)
"""`{width}` stands for the width that the layout gives a key."""

PAGE_BYTES = 8192
_WIDEST_CHAR = 8000
_POINTER = 16
"""Of a value that lies outside the row."""
_WIDEST_KEY = 36
"""Bytes of a key where an estimate is asked for before its layout is known."""
_EMPTIEST = 0.5
_LOG_BYTES = 450
"""A row's log records with a share of its splits (measured by P. Randal: 328 bytes without, some 6,000 a split)."""


def name(table: Table) -> str:
    """The table's qualified, quoted name."""
    return f"[{SCHEMA}].[{table.name}]"


def index_name(table: Table) -> str:
    """The index of the key, which is the table itself where it is clustered; or by date that of the rows."""
    return f"{table.name}_{'created' if table.rows else 'key'}"


def sql_type(column: Column) -> str:
    """The declaration of the column, sized."""
    return column.sql_type.format(width=column.width)


def parameter(column: Column) -> str:
    """A parameter of the column's type: without the cast drivers send texts that no index of the column serves."""
    return f"CAST(? AS {sql_type(column).partition(' ')[0]})"


def payload_type(payload: int) -> str:
    """Of fixed width as long as a row can hold it, so that rows are alike."""
    return f"char({payload})" if payload <= _WIDEST_CHAR else "varchar(max)"


def create(table: Table, options: Options) -> str:
    """The statement that creates the table, without its parent.

    A nonclustered key stands over a bigint in order of arrival, or a heap; so does a foreign key, whose index is not
    unique. By date, the clustered index is of the moment with the key behind it, so that it is unique without a
    uniqueifier, and the key's index refers to rows by the moment.
    UsageError for two IDENTITY columns in one table, which SQL Server does not have.
    """
    made = f" {table.made.declaration}" if table.made else ""
    defined = [f"[key] {sql_type(table.column)}{made} NOT NULL"]
    if table.payload:
        defined.append(f"payload {payload_type(table.payload)} {_BINARY_ORDER} NOT NULL")
    how = "PRIMARY KEY CLUSTERED" if table.key == "clustered" else "PRIMARY KEY NONCLUSTERED"
    if table.dated:
        defined.insert(0, "created bigint NOT NULL")
        defined.append(f"CONSTRAINT [{table.name}_created] UNIQUE CLUSTERED (created, [key])")
    if table.key in ("nonclustered", "fk") and options.beneath == "clustered":
        if "IDENTITY" in made:
            raise UsageError(
                "a nonclustered server-identity would be the table's second IDENTITY column: "
                "leave KEYBENCH_MSSQL_BENEATH at heap."
            )
        defined.insert(0, "row_id bigint IDENTITY NOT NULL")
        defined.append(f"CONSTRAINT [{table.name}_row] PRIMARY KEY CLUSTERED (row_id)")
        how = "UNIQUE NONCLUSTERED"
    set_to = f"FILLFACTOR = {options.fill_factor}, OPTIMIZE_FOR_SEQUENTIAL_KEY = {options.sequential_key.upper()}"
    what, how = ("INDEX", "NONCLUSTERED") if table.key == "fk" else ("CONSTRAINT", how)
    defined.append(f"{what} [{index_name(table)}] {how} ([key]) WITH ({set_to})")
    return f"CREATE TABLE {name(table)} ({', '.join(defined)})"


def columns(table: Table) -> tuple[str, ...]:
    """The columns in the order in which rows are sent; the key is not, where the server makes it."""
    key = () if table.made else ("created", "[key]") if table.dated else ("[key]",)
    return (*key, "payload") if table.payload else key


def plain_columns(table: Table) -> tuple[str, ...]:
    """The same by their bare names, which bulk copy compares with those that the server tells."""
    return tuple(column.strip("[]") for column in columns(table))


def insert(table: Table) -> str:
    """The statement of one row."""
    given = columns(table)
    return f"INSERT INTO {name(table)} ({', '.join(given)}) VALUES ({', '.join('?' * len(given))})"  # noqa: S608  # our own names


def parameter_sizes(table: Table) -> tuple[tuple[str, int], ...]:
    """SQL type and size of the parameters of `insert`, by ODBC's names without `SQL_`."""
    column, width = table.column, table.column.width
    if column.name == "uniqueidentifier":
        key = ("GUID", 16)
    elif column.form == "int":
        key = ("BIGINT", 19)
    else:
        key = ("CHAR" if column.form == "text" else "BINARY", width)
    payload = (("VARCHAR", table.payload),) if table.payload else ()
    created = (("BIGINT", 19),) if table.dated else ()
    return payload if table.made else (*created, key, *payload)


def leaf_row(column: Column, payload: int, key: KeyRole, options: Options) -> int:
    """Bytes of a row in a leaf of the key's index, without its slot."""
    versions, width = options.row_versioning != "off", column.width or _WIDEST_KEY
    if key != "clustered":  # a RID, a bigint and the moment of creation are all of 8 bytes
        return rows.index_row(width, 8, versions=versions)
    return _data_row(width, payload) + rows.VERSION_TAG * versions


def _data_row(fixed: int, payload: int) -> int:
    if payload > _WIDEST_CHAR:
        return rows.data_row(fixed, 2, [_POINTER])
    return rows.data_row(fixed + payload, 2)


def bytes_per_row(column: Column, payload: int, key: KeyRole, options: Options) -> tuple[float, float]:
    """Estimated bytes a row of (the key's index filled in order, everything at its emptiest with log)."""
    index = _share(leaf_row(column, payload, key, options))
    beneath = _share(_data_row((column.width or _WIDEST_KEY) + 8, payload)) if key != "clustered" else 0.0
    beneath /= _EMPTIEST if key == "by-date" else 1  # writers whose clocks lag
    outside = payload if payload > _WIDEST_CHAR else 0
    return index, index / _EMPTIEST + beneath + outside + 2.5 * (_LOG_BYTES + payload)


def _share(row: int) -> float:
    return PAGE_BYTES / rows.rows_a_page(row)
