"""A read-only look at a SQL Server database, from documentation alone: it was never run on a live server.

Sources: learn.microsoft.com, "FROM clause … TABLESAMPLE", "sys.dm_db_index_physical_stats", "sys.partitions",
"sys.allocation_units", "sys.dm_db_index_operational_stats". SQL Server has no read-only transaction for tables on disk:
keybench sends nothing but SELECT, without locks.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from keybench.databases.contract.existing import (
    LOCK_SECONDS,
    PAGES,
    STATEMENT_SECONDS,
    About,
    ColumnHere,
    Form,
    IndexHere,
    Inspector,
    PagesHere,
    SampleHere,
    TableHere,
    first_row_and_columns,
    key_roles,
    values_of,
)
from keybench.databases.contract.roles import Address
from keybench.databases.core.ddl import quoted
from keybench.databases.mssql.connection import MssqlConnection, connect, without_permission
from keybench.databases.mssql.probes import STATE
from keybench.errors import ServerError

_SAMPLED: Final = 200_000
"""Pages of an index of which SAMPLED reads one in a hundred; of a larger one the density is not asked for."""
_KEYS: Final = 10_000  # keys of a sample, at most
_CLUSTERED: Final = 1  # in the column `type` of sys.indexes
_FORMS: Final[dict[str, Form]] = {
    "uniqueidentifier": "uuid", "binary": "bytes", "varbinary": "bytes", "char": "text", "varchar": "text",
    "nchar": "text", "nvarchar": "text", "tinyint": "int", "smallint": "int", "int": "int", "bigint": "int",
}  # fmt: skip

_MOST: Final = {"tinyint": 255, "smallint": (1 << 15) - 1, "int": (1 << 31) - 1, "bigint": (1 << 63) - 1}

TABLES: Final = (
    "SELECT s.name, o.name, o.type, "
    "HAS_PERMS_BY_NAME(QUOTENAME(s.name) + '.' + QUOTENAME(o.name), 'OBJECT', 'SELECT'), "
    "(SELECT SUM(p.rows) FROM sys.partitions p WHERE p.object_id = o.object_id AND p.index_id IN (0, 1)), "
    "(SELECT SUM(a.total_pages) * 8192 FROM sys.partitions p JOIN sys.allocation_units a "
    "ON a.container_id IN (p.hobt_id, p.partition_id) WHERE p.object_id = o.object_id), "
    "(SELECT COUNT(*) FROM sys.foreign_keys f WHERE f.referenced_object_id = o.object_id) "
    "FROM sys.objects o JOIN sys.schemas s ON s.schema_id = o.schema_id "
    "WHERE o.type IN ('U', 'V') AND o.is_ms_shipped = 0 ORDER BY 6 DESC"
)
INDEXES: Final = (
    "SELECT i.index_id, i.name, i.is_primary_key, i.is_unique, i.type, i.has_filter, i.fill_factor, c.name, t.name, "
    "c.max_length FROM sys.indexes i JOIN sys.index_columns k ON k.object_id = i.object_id AND k.index_id = i.index_id "
    "JOIN sys.columns c ON c.object_id = i.object_id AND c.column_id = k.column_id "
    "JOIN sys.types t ON t.user_type_id = c.system_type_id WHERE i.object_id = OBJECT_ID(?) AND k.key_ordinal > 0 "
    "AND i.type IN (1, 2) ORDER BY i.is_primary_key DESC, i.index_id, k.key_ordinal"
)
FOREIGN: Final = (
    "SELECT k.constraint_object_id, c.name FROM sys.foreign_key_columns k JOIN sys.columns c "
    "ON c.object_id = k.parent_object_id AND c.column_id = k.parent_column_id "
    "WHERE k.parent_object_id = OBJECT_ID(?) ORDER BY k.constraint_object_id, k.constraint_column_id"
)
PHYSICAL: Final = (
    "SELECT SUM(page_count), SUM(page_count * avg_page_space_used_in_percent) / NULLIF(SUM(page_count), 0), "
    "SUM(page_count * avg_fragmentation_in_percent) / NULLIF(SUM(page_count), 0) "
    "FROM sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID(?), ?, NULL, ?) "
    "WHERE index_level = 0 AND alloc_unit_type_desc = 'IN_ROW_DATA'"
)
USED: Final = (
    "SELECT SUM(a.used_pages) FROM sys.partitions p JOIN sys.allocation_units a ON a.container_id = p.hobt_id "
    "AND a.type = 1 WHERE p.object_id = OBJECT_ID(?) AND p.index_id = ?"
)
INSERTED: Final = (
    "SELECT SUM(leaf_insert_count) FROM sys.dm_db_index_operational_stats(DB_ID(), OBJECT_ID(?), NULL, NULL) "
    "WHERE index_id IN (0, 1)"
)
STARTED: Final = "SELECT CONVERT(varchar(19), DATEADD(minute, DATEDIFF(minute, GETDATE(), GETUTCDATE()), \
sqlserver_start_time), 126) FROM sys.dm_os_sys_info"


class MssqlInspector(Inspector):
    """One connection that reads without locks."""

    def __init__(self, address: Address) -> None:
        """EnvironmentMissing if the server cannot be reached."""
        self._server: MssqlConnection = connect(address)
        self._server.limit(STATEMENT_SECONDS)
        self._server.run("SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED")
        self._server.run(f"SET LOCK_TIMEOUT {1000 * LOCK_SECONDS}")
        self._ids_and_fills: dict[tuple[str, str], tuple[int, int]] = {}  # by full name of the table and index name
        self._since, self._unknown = "", ""  # since when the server counts; what this user cannot know, and why
        try:
            self._since = f"{self._server.value(STARTED)}Z"
        except ServerError as error:
            self._unknown = f"density, order and growth are not known {without_permission(error, STATE)}"

    def _value_if_allowed(self, statement: str, *values: object) -> Any:
        """The one value of a query; None if the server refuses it to this user."""
        try:
            return self._server.value(statement, *values)
        except ServerError:
            return None

    def about(self) -> About:
        """The server, and what this user cannot know on it."""
        version = str(self._server.value("SELECT SERVERPROPERTY(?)", "ProductVersion"))
        return About(
            "mssql",
            version,
            f"SQL Server {version}",
            (
                "SQL Server has no read-only transactions: keybench sends SELECT alone, at READ UNCOMMITTED.",
                f"About {PAGES} pages of each table are read (TABLESAMPLE SYSTEM). dm_db_index_physical_stats reads "
                f"one page in a hundred of indexes of up to {_SAMPLED:,} pages, and of others their branch pages.",
            ),
            (self._unknown,) if self._unknown else (),
        )

    def tables(self) -> Sequence[TableHere]:
        """All tables and views."""
        tables = []
        for schema, name, kind, may_read, rows, size, children in self._server.rows(TABLES):
            view = str(kind).strip() == "V"
            refused = "" if may_read else f"this user may not read it: GRANT SELECT ON {schema}.{name}."
            tables.append(
                TableHere(
                    str(schema), str(name), "view" if view else "table", rows=None if rows is None else float(rows),
                    rows_from="the number that SQL Server keeps", bytes=None if size is None else int(size),
                    refused="a view has no keys of its own: name its tables." if view else refused,
                    children=int(children),
                )
            )  # fmt: skip
        return tables

    def details(self, table: TableHere) -> TableHere:
        """The table with the rows inserted since the server started, and the mean bytes of a row."""
        inserted = self._value_if_allowed(INSERTED, _quoted(table))
        width = None if not table.rows or table.bytes is None else table.bytes / table.rows
        return replace(table, inserted=None if inserted is None else int(inserted), since=self._since, row_bytes=width)

    def indexes(self, table: TableHere) -> Sequence[IndexHere]:
        """The primary key, unique indexes and those on foreign keys, from the catalogue. Fills `_ids_and_fills`."""
        rows_of_foreign = self._server.rows(FOREIGN, _quoted(table))
        foreign = [columns for _, columns in first_row_and_columns(rows_of_foreign, name=0, column=1).values()]
        indexes = []
        rows = self._server.rows(INDEXES, _quoted(table))
        types = {str(row[7]): str(row[8]) for row in rows}
        for name, (row, columns) in first_row_and_columns(rows, name=1, column=7).items():
            number, _, primary, unique, kind, filtered, fill, *_ = row
            if roles := key_roles(columns, foreign, primary=bool(primary), unique=bool(unique)):
                self._ids_and_fills[table.full_name, name] = int(number), int(fill)
                note = "a filtered index" if filtered else ""
                key = tuple(_column(column, types[column]) for column in columns)
                indexes.append(IndexHere(name, key, roles, is_table=int(kind) == _CLUSTERED, note=note))
        return indexes

    def sample(self, table: TableHere, index: IndexHere) -> SampleHere:
        """Keys of random pages; the server says nothing of the order in which they came."""
        selected = ", ".join(map(_selected, index.key))
        present = " AND ".join(f"{quoted(column, '[]')} IS NOT NULL" for column in index.columns)
        pages = f"TABLESAMPLE SYSTEM ({PAGES} PAGES)" if (table.rows or 0) > _KEYS else ""
        rows = self._server.rows(
            f"SELECT TOP ({_KEYS}) {selected} FROM {_quoted(table)} {pages} WHERE {present}"  # noqa: S608
        )
        values, others = values_of(rows, index.key)
        return SampleHere(values, pages_read=PAGES, others=others)

    def pages(self, table: TableHere, index: IndexHere, sample: SampleHere) -> PagesHere:  # noqa: ARG002
        """The index's size and fill, with the reason if the server does not show the fill. SQL Server's fragmentation
        stands for the share of pages that lie before the page before them."""
        number, fill = self._ids_and_fills[table.full_name, index.name]
        used = int(self._server.value(USED, _quoted(table), number) or 0)
        size = PagesHere(bytes=used * 8192, full=float(fill or 100))
        mode = "SAMPLED" if used <= _SAMPLED else "LIMITED"  # LIMITED gives no density
        try:
            ((leaves, density, fragmentation),) = self._server.rows(PHYSICAL, _quoted(table), number, mode)
        except ServerError as error:
            return replace(size, missing=f"the pages cannot be read {without_permission(error, STATE)}")
        return replace(
            size,
            leaf_pages=None if leaves is None else float(leaves),
            density=None if density is None else float(density),
            backward=None if fragmentation is None else float(fragmentation),
            origin="sampled" if density is not None else "",
            missing="" if density is not None else "the index is too large for a sample of its pages.",
            pages_read=used // 100 if mode == "SAMPLED" else 0,
        )

    def close(self) -> None:
        """Closes the connection."""
        self._server.close()


def _quoted(table: TableHere) -> str:
    return f"{quoted(table.schema, '[]')}.{quoted(table.name, '[]')}"


def _column(name: str, sql_type: str) -> ColumnHere:
    form = _FORMS.get(sql_type)
    return ColumnHere(name, sql_type, form, "mssql" if form == "uuid" else "rfc", most=_MOST.get(sql_type))


def _selected(column: ColumnHere) -> str:
    name = quoted(column.name, "[]")
    converted = {"uuid": f"CONVERT(char(36), {name})", "int": f"CONVERT(bigint, {name})", None: "NULL"}
    return converted.get(column.form, name)
