"""A read-only look at a MariaDB or MySQL database.

Tables and indexes are those of the information schema, which shows each user what that user may see. Rows are met by
their primary key (`row_sample`). InnoDB's statistics have the leaves of each index; their fill follows from the number
of rows and the sizes of InnoDB's format.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from keybench.databases.contract.existing import (
    LOCK_SECONDS,
    PAGES,
    SILENT_SECONDS,
    STATEMENT_SECONDS,
    About,
    Allow,
    ColumnHere,
    Form,
    IndexHere,
    Inspector,
    PagesHere,
    SampleHere,
    TableHere,
    WholeIndex,
    first_row_and_columns,
    key_roles,
)
from keybench.databases.contract.roles import Address
from keybench.databases.mysql.connection import Queries
from keybench.databases.mysql.flavour import MARIADB
from keybench.databases.mysql.row_sample import RANGES, WHOLE, ColumnFacts, Facts, RowSampler
from keybench.errors import ServerError, UsageError
from keybench.model.column import Column
from keybench.pagemodels.innodb.records import PAGE_HEADER

_MOST_SINGLE_PAGES: Final = 64  # of an index; a larger one has whole extents, with pages in reserve
_COUNTED: Final = 4_000  # pages of a table whose rows are counted
_FULL: Final = 92.0  # density that ascending keys leave in %: InnoDB keeps a sixteenth of a page free


class MySqlInspector(Inspector):
    """One connection in autocommit; each of its transactions is read-only."""

    def __init__(self, address: Address, database: str) -> None:
        """EnvironmentMissing if the server cannot be reached."""
        self._server = server = Queries(address)
        self._database = database
        try:
            self._version = str(server.value("SELECT version()"))
            is_mariadb = server.flavour is MARIADB
            for statement in (
                "SET SESSION TRANSACTION READ ONLY",
                f"SET SESSION lock_wait_timeout = {LOCK_SECONDS}",
                f"SET SESSION innodb_lock_wait_timeout = {LOCK_SECONDS}",
            ):
                server.rows(statement)
            limit, per_second = ("max_statement_time", 1) if is_mariadb else ("max_execution_time", 1000)
            before = float(server.value(f"SELECT @@{limit}")) / per_second  # 0: none; a lower one stays
            self._seconds = min(before or STATEMENT_SECONDS, STATEMENT_SECONDS)
            server.rows(f"SET SESSION {limit} = {self._seconds * per_second:g}")
            server.limit(STATEMENT_SECONDS + SILENT_SECONDS)
            self._page_bytes = int(server.value("SELECT @@innodb_page_size"))
            self._sees_statistics = self._may("SELECT 1 FROM mysql.innodb_index_stats LIMIT 1")
            self._sees_counters = self._may("SELECT 1 FROM performance_schema.table_io_waits_summary_by_table LIMIT 1")
            self._since = self._started()
        except BaseException:
            server.close()
            raise
        self._facts: dict[str, Facts] = {}  # by the table's full name; `tables` fills it
        self._columns: dict[str, dict[str, ColumnFacts]] = {}  # by that and the column's name; `details` fills it
        self._samples: dict[tuple[str, str], tuple[SampleHere, float]] = {}  # by table and index (`_sampled`)

    def _may(self, query: str) -> bool:
        """Whether this user may run the query, and it returns a row."""
        try:
            return bool(self._server.rows(query))
        except ServerError:
            return False

    def _started(self) -> str:
        """When the server started, as ISO 8601; empty if it does not say."""
        seconds = self._server.rows("SHOW GLOBAL STATUS LIKE 'Uptime'")
        if not seconds:
            return ""
        return (datetime.now(UTC) - timedelta(seconds=int(seconds[0][1]))).strftime("%Y-%m-%dT%H:%M:%SZ")

    def about(self) -> About:
        """The server, and what this user cannot know on it."""
        caveats = ["The order of an index's pages is unknown: InnoDB shows it to nobody by SQL."]
        if not self._sees_statistics:
            caveats.append(
                "This user may not read InnoDB's statistics (GRANT SELECT ON mysql.innodb_index_stats): the density of "
                "indexes is estimated from the size of the whole table, and that of secondary indexes is unknown."
            )
        if not self._sees_counters:
            caveats.append(
                "Nobody knows how many rows are inserted a day: performance_schema is off or may not be read."
            )
        return About(
            self._server.flavour.name,
            self._version,
            f"{self._server.flavour.title} {self._version}",
            (
                f"Each transaction is read-only; no query runs for more than {self._seconds:g} s, or waits for a "
                f"lock for more than {LOCK_SECONDS} s.",
                f"At most {2 * WHOLE:,} rows of a table are read: small ones whole, others by key, with {2 * RANGES} "
                f"estimates of ranges; only tables of up to {_COUNTED:,} pages are counted.",
            ),
            tuple(caveats),
        )

    def tables(self) -> Sequence[TableHere]:
        """All tables and views of the URL's database, or of all, the largest first, with partitions. Fills `_facts`."""
        condition = "table_schema = %s" if self._database else f"table_schema NOT IN {_SYSTEM}"
        values = [self._database] if self._database else []
        listed = []
        # First the partitions of each table: name, rows, bytes of the data, bytes of the indexes.
        partitions_of: dict[tuple[str, str], list[tuple[str, float, int, int]]] = {}
        for schema, name, part, rows, data, index in self._server.rows(
            "SELECT table_schema, table_name, partition_name, table_rows, data_length, index_length "  # noqa: S608 (constants)
            f"FROM information_schema.partitions WHERE {condition} AND partition_name IS NOT NULL "
            "ORDER BY partition_ordinal_position",
            *values,
        ):
            partition = str(part), float(rows or 0), int(data or 0), int(index or 0)
            partitions_of.setdefault((schema, name), []).append(partition)
        children = {  # foreign keys that refer to a table
            (schema, name): int(count)
            for schema, name, count in self._server.rows(
                "SELECT unique_constraint_schema, referenced_table_name, count(*) "
                "FROM information_schema.referential_constraints GROUP BY 1, 2"
            )
        }
        # Then the tables, each with its partitions behind it.
        for schema, name, kind, engine, rows, data, index in self._server.rows(
            "SELECT table_schema, table_name, table_type, engine, table_rows, data_length, index_length "  # noqa: S608
            f"FROM information_schema.tables WHERE {condition} ORDER BY data_length + index_length DESC, 1, 2",
            *values,
        ):
            partitions = partitions_of.get((schema, name), [])
            is_view, refused = "VIEW" in kind, ""
            if is_view:
                refused = "a view has no keys of its own: name its tables."
            elif engine != "InnoDB":
                refused = f"its storage engine is {engine}, and keybench knows InnoDB's tables alone."
            table = TableHere(
                str(schema), str(name), "view" if is_view else "partitioned table" if partitions else "table",
                rows=None if rows is None else float(rows), bytes=int(data or 0) + int(index or 0), refused=refused,
                children=children.get((schema, name), 0),
            )  # fmt: skip
            listed.append(table)
            self._facts[table.full_name] = Facts(str(schema), str(name), partition="", data_bytes=int(data or 0))
            for part, part_rows, part_data, part_index in partitions:
                part_table = TableHere(
                    str(schema), f"{name} PARTITION ({part})", "table", table.full_name, rows=part_rows,
                    bytes=part_data + part_index, refused=refused,
                )  # fmt: skip
                listed.append(part_table)
                self._facts[part_table.full_name] = Facts(str(schema), str(name), partition=part, data_bytes=part_data)
        return listed

    def details(self, table: TableHere) -> TableHere:
        """The table with its rows (counted if it is small, else InnoDB's estimate), those inserted, and their bytes."""
        facts = self._facts[table.full_name]
        by_name = self._columns[table.full_name] = columns(self._server, facts)
        rows, origin = table.rows, "InnoDB's estimate"
        if facts.data_bytes <= _COUNTED * self._page_bytes:
            rows, origin = float(self._server.value(f"SELECT count(*) FROM {facts.from_sql}")), "counted"  # noqa: S608
        inserted = None
        if self._sees_counters and not facts.partition:
            counted = self._server.rows(
                "SELECT count_insert FROM performance_schema.table_io_waits_summary_by_table "
                "WHERE object_schema = %s AND object_name = %s",
                *facts.place,
            )
            inserted = int(counted[0][0]) if counted else None
        widths = " + ".join(column.bytes_sql for column in by_name.values())
        mean = self._server.value(
            f"SELECT avg(w) FROM (SELECT {widths} AS w FROM {facts.from_sql} LIMIT {PAGES}) AS rows_of_some"  # noqa: S608
        )
        return replace(
            table, rows=rows, rows_from=origin, inserted=inserted, since=self._since,
            row_bytes=None if mean is None else float(mean),
        )  # fmt: skip

    def indexes(self, table: TableHere) -> Sequence[IndexHere]:
        """Its primary key, unique indexes and foreign keys (which always have an index in InnoDB)."""
        facts, by_name = self._facts[table.full_name], self._columns[table.full_name]
        foreign_keys = first_row_and_columns(
            self._server.rows(
                "SELECT constraint_name, column_name FROM information_schema.key_column_usage WHERE table_schema = %s "
                "AND table_name = %s AND referenced_table_name IS NOT NULL ORDER BY constraint_name, ordinal_position",
                *facts.place,
            ),
            name=0,
            column=1,
        )
        indexes = first_row_and_columns(
            self._server.rows(
                "SELECT index_name, non_unique, column_name, index_type FROM information_schema.statistics "
                "WHERE table_schema = %s AND table_name = %s "
                "ORDER BY index_name = 'PRIMARY' DESC, non_unique, index_name, seq_in_index",
                *facts.place,
            ),
            name=0,
            column=2,
        )
        result = []
        columns_of_foreign_keys = [names for _, names in foreign_keys.values()]
        for index, ((_, non_unique, _, method), names) in indexes.items():
            is_table = index == "PRIMARY"
            roles = key_roles(names, columns_of_foreign_keys, primary=is_table, unique=not int(non_unique))
            if roles and method == "BTREE" and all(name in by_name for name in names):  # no virtual ones
                key = tuple(_column(by_name[name]) for name in names)
                result.append(IndexHere(index, key, roles, is_table=is_table))
        return result

    def sample(self, table: TableHere, index: IndexHere) -> SampleHere:
        """Keys of the index, of rows that are looked up by the primary key."""
        return self._sampled(table, index)[0]

    def _sampled(self, table: TableHere, index: IndexHere) -> tuple[SampleHere, float]:
        """(the sample, the mean bytes of a record in the index); read once for each index."""
        key = (table.full_name, index.name)
        if key not in self._samples:
            facts, by_name = self._facts[table.full_name], self._columns[table.full_name]
            clustered = next((each for each in self.indexes(table) if each.is_table), None)
            primary = [by_name[column] for column in clustered.columns] if clustered else []
            self._samples[key] = RowSampler(self._server, facts, by_name, primary).look_up(table, index)
        return self._samples[key]

    def pages(self, table: TableHere, index: IndexHere, sample: SampleHere) -> PagesHere:  # noqa: ARG002
        """The index's size by InnoDB's statistics, which it renews when a tenth of the rows have changed; and its fill,
        by the number of rows and the mean bytes of a record: `missing` says so, in place of an `error`."""
        facts = self._facts[table.full_name]
        leaves = size = None
        if self._sees_statistics:
            # A partition has a table's name; servers differ in the case of its P. The query takes two names.
            names = [f"{facts.table}#{p}#{facts.partition}" for p in "Pp"] if facts.partition else [facts.table] * 2
            statistics = self._server.rows(
                "SELECT stat_name, stat_value FROM mysql.innodb_index_stats WHERE database_name = %s "
                "AND table_name IN (%s, %s) AND index_name = %s AND stat_name IN ('size', 'n_leaf_pages')",
                facts.schema,
                *names,
                index.name,
            )
            pages = {str(name): int(value) for name, value in statistics}
            leaves, size = pages.get("n_leaf_pages"), pages.get("size")
            if leaves == 1 and size and size > 1:
                # MariaDB states a wrong 1 if it read all pages of an index. Of a small one all but the root are leaves.
                if size > _MOST_SINGLE_PAGES:
                    return PagesHere(size * self._page_bytes, missing="MariaDB's statistics do not state its leaves.")
                leaves = size - 1
        if leaves is None and not index.is_table:
            return PagesHere(missing="this user may not read InnoDB's statistics, which alone have this index's size.")
        if leaves is None:
            size = facts.data_bytes // self._page_bytes
            leaves = max(1, size - 1)  # nearly all pages are leaves
        _, record_bytes = self._sampled(table, index)
        room = self._page_bytes - PAGE_HEADER
        rows = table.rows or 0.0
        counted = table.rows_from == "counted"
        return PagesHere(
            bytes=None if size is None else size * self._page_bytes,
            leaf_pages=float(leaves),
            density=min(100.0, 100 * rows * record_bytes / (leaves * room)) if rows else None,
            full=_FULL,
            origin="estimated",
            error=None,
            missing="from the number of leaves, the number of rows and the mean size of a row"
            + ("." if counted else ", of which InnoDB's number of rows may be 5 % off."),
        )

    def whole(self, table: TableHere, index: IndexHere, column: Column, allow: Allow) -> WholeIndex:
        """All pages of the table's file, which are those of its primary key."""
        if not index.is_table or len(index.key) > 1:
            raise UsageError("--next knows tables of InnoDB with a primary key of one column.")
        from keybench.databases.mysql.whole import whole_table  # with the page model

        return whole_table(self._server, self._facts[table.full_name], column, allow)

    def close(self) -> None:
        """Closes the connection."""
        self._server.close()


_SYSTEM: Final = ("mysql", "information_schema", "performance_schema", "sys")  # printed, it is a list in SQL
_FORMS: Final[dict[str, Form]] = {
    "uuid": "uuid", "binary": "bytes", "varbinary": "bytes", "char": "text", "varchar": "text",
    "tinyint": "int", "smallint": "int", "mediumint": "int", "int": "int", "bigint": "int", "datetime": "number",
    "timestamp": "number", "date": "number", "decimal": "number", "double": "number", "float": "number",
}  # fmt: skip
_WIDTHS: Final = {
    "tinyint": 1, "smallint": 2, "mediumint": 3, "int": 4, "bigint": 8, "float": 4, "double": 8, "date": 3, "year": 1,
    "time": 3, "datetime": 5, "timestamp": 4, "uuid": 16, "inet6": 16, "inet4": 4, "enum": 1, "bit": 8,
}  # fmt: skip
"""Bytes of a value of each type."""
_DIGITS: Final = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)  # bytes of up to nine decimal digits (strings/decimal.c, dig2bytes)
_SHORT: Final = 255  # the most bytes of a column whose values have one byte of length


def _column(column: ColumnFacts) -> ColumnHere:
    """The column as the contract describes it."""
    form, most = _FORMS.get(column.kind), None
    if form == "int":
        sign_bits = 0 if "unsigned" in column.sql_type else 1
        most = (1 << 8 * (column.width or 8) - sign_bits) - 1
    return ColumnHere(column.name, column.sql_type, form, "mariadb" if column.kind == "uuid" else "rfc", most)


def columns(server: Queries, facts: Facts) -> dict[str, ColumnFacts]:
    """The stored columns of a table by name, in its order: all but those that are computed when they are read."""
    by_name = {}
    for name, kind, sql_type, nullable, extra, most_bytes, charset, precision, scale, fraction in server.rows(
        "SELECT c.column_name, c.data_type, c.column_type, c.is_nullable, c.extra, c.character_octet_length, "
        "c.character_set_name, c.numeric_precision, c.numeric_scale, c.datetime_precision "
        "FROM information_schema.columns c WHERE c.table_schema = %s AND c.table_name = %s ORDER BY c.ordinal_position",
        *facts.place,
    ):
        if "VIRTUAL GENERATED" in str(extra).upper():
            continue
        width = _width(str(kind), most_bytes, charset, precision, scale, int(fraction or 0))
        long = width is None and int(most_bytes or 0) > _SHORT
        by_name[str(name)] = ColumnFacts(
            str(name), str(kind), str(sql_type), nullable=nullable == "YES", numbered="auto_increment" in str(extra),
            width=width, long=long,
        )  # fmt: skip
    return by_name


def _width(
    kind: str, most_bytes: int | None, charset: str | None, precision: int | None, scale: int | None, fraction: int
) -> int | None:
    """Bytes of a value of a column with these properties in the information schema; None if they vary. `precision` is
    the number of a decimal's digits, `scale` how many are behind the point, `fraction` the decimals of a second."""
    if kind == "decimal":  # four bytes for nine digits, on each side of the point
        whole, behind = int(precision or 10) - int(scale or 0), int(scale or 0)
        return whole // 9 * 4 + _DIGITS[whole % 9] + behind // 9 * 4 + _DIGITS[behind % 9]
    if kind in _WIDTHS:
        return _WIDTHS[kind] + (fraction + 1) // 2  # two decimals of a second take a byte
    if kind == "binary" or (kind == "char" and charset in {"ascii", "latin1"}):
        return int(most_bytes or 0)
    return None
