"""A read-only look at a MariaDB or MySQL database.

Rows are met by their primary key: at even steps where it is numbered by the server, else where `key_space` finds them.
InnoDB's statistics have the leaves of each index; their fill follows from the number of rows and the sizes of InnoDB's
format.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from keybench.databases.contract.existing import (
    LOCK_SECONDS,
    PAGES,
    STATEMENT_SECONDS,
    About,
    IndexHere,
    PagesHere,
    SampleHere,
    TableHere,
)
from keybench.databases.contract.roles import Address
from keybench.databases.mysql.connection import Queries
from keybench.databases.mysql.flavour import MARIADB
from keybench.databases.mysql.probes.inspection import catalogue, key_space
from keybench.databases.mysql.probes.inspection.catalogue import ColumnFacts, Facts
from keybench.databases.mysql.probes.inspection.rows import DIVES, RowSampler
from keybench.errors import ServerError
from keybench.pagemodels.innodb.records import PAGE_HEADER

_COUNTED: Final = 4_000
"""Pages of a table whose rows are counted."""
_FULL: Final = 92.0
"""Density that ascending keys leave in %: InnoDB keeps a sixteenth of a page free."""


class MySqlInspector:
    """One connection in autocommit; each of its transactions is read-only."""

    def __init__(self, address: Address, database: str) -> None:
        """EnvironmentMissing if the server cannot be reached."""
        self._server = server = Queries(address)
        self._database = database
        try:
            self._version = str(server.value("SELECT version()"))
            mariadb = server.flavour is MARIADB
            for statement in (
                "SET SESSION TRANSACTION READ ONLY",
                f"SET SESSION lock_wait_timeout = {LOCK_SECONDS}",
                f"SET SESSION innodb_lock_wait_timeout = {LOCK_SECONDS}",
                f"SET SESSION max_statement_time = {STATEMENT_SECONDS}"
                if mariadb
                else f"SET SESSION max_execution_time = {1000 * STATEMENT_SECONDS}",
            ):
                server.rows(statement)
            self._page_bytes = int(server.value("SELECT @@innodb_page_size"))
            self._statistics = self._may("SELECT 1 FROM mysql.innodb_index_stats LIMIT 1")
            self._counters = self._may("SELECT 1 FROM performance_schema.table_io_waits_summary_by_table LIMIT 1")
            self._since = self._started()
        except BaseException:
            server.close()
            raise
        self._facts: dict[str, Facts] = {}
        self._columns: dict[str, dict[str, ColumnFacts]] = {}
        self._samples: dict[tuple[str, str], tuple[SampleHere, float]] = {}

    def _may(self, query: str) -> bool:
        """Whether a query is permitted and gives anything."""
        try:
            return bool(self._server.rows(query))
        except ServerError:
            return False

    def _started(self) -> str:
        seconds = self._server.rows("SHOW GLOBAL STATUS LIKE 'Uptime'")
        if not seconds:
            return ""
        return (datetime.now(UTC) - timedelta(seconds=int(seconds[0][1]))).strftime("%Y-%m-%dT%H:%M:%SZ")

    def about(self) -> About:
        """The server, and what this user cannot know on it."""
        caveats = ["The order of an index's pages is unknown: InnoDB shows it to nobody by SQL."]
        if not self._statistics:
            caveats.append(
                "This user may not read InnoDB's statistics (GRANT SELECT ON mysql.innodb_index_stats): the density of "
                "indexes is estimated from the size of the whole table, and that of secondary indexes is unknown."
            )
        if not self._counters:
            caveats.append(
                "Nobody knows how many rows are inserted a day: performance_schema is off or may not be read."
            )
        return About(
            self._server.flavour.name,
            f"{self._server.flavour.title} {self._version}",
            (
                f"Each transaction is read-only; no query runs for more than {STATEMENT_SECONDS} s, or waits for a "
                f"lock for more than {LOCK_SECONDS} s.",
                f"At most {DIVES:,} rows of a table are looked up by key, with {2 * key_space.RANGES} estimates of "
                f"ranges; only tables of up to {_COUNTED:,} pages are counted.",
            ),
            tuple(caveats),
        )

    def tables(self) -> Sequence[TableHere]:
        """All tables and views of the URL's database, or of all."""
        tables, self._facts = catalogue.tables(self._server, self._database)
        return tables

    def details(self, table: TableHere) -> TableHere:
        """The rows, counted where the table is small, else InnoDB's estimate; and how many were inserted."""
        at = self._facts[table.full_name]
        columns = self._columns[table.full_name] = catalogue.columns(self._server, at)
        rows, origin = table.rows, "InnoDB's estimate"
        if at.data_bytes <= _COUNTED * self._page_bytes:
            rows, origin = float(self._server.value(f"SELECT count(*) FROM {at.from_sql}")), "counted"  # noqa: S608
        inserted = None
        if self._counters and not at.partition:
            counted = self._server.rows(
                "SELECT count_insert FROM performance_schema.table_io_waits_summary_by_table "
                "WHERE object_schema = %s AND object_name = %s",
                [at.schema, at.table],
            )
            inserted = int(counted[0][0]) if counted else None
        widths = " + ".join(column.bytes_sql for column in columns.values())
        mean = self._server.value(
            f"SELECT avg(w) FROM (SELECT {widths} AS w FROM {at.from_sql} LIMIT {PAGES}) AS rows_of_some"  # noqa: S608
        )
        return replace(
            table, rows=rows, rows_from=origin, inserted=inserted, since=self._since,
            row_bytes=None if mean is None else float(mean),
        )  # fmt: skip

    def indexes(self, table: TableHere) -> Sequence[IndexHere]:
        """By the information schema."""
        return catalogue.indexes(self._server, self._facts[table.full_name], self._columns[table.full_name])

    def sample(self, table: TableHere, index: IndexHere) -> SampleHere:
        """Keys of rows that are met by the primary key."""
        return self._sampled(table, index)[0]

    def _sampled(self, table: TableHere, index: IndexHere) -> tuple[SampleHere, float]:
        """The sample, and the mean bytes of a record in the index."""
        key = (table.full_name, index.name)
        if key not in self._samples:
            at, known = self._facts[table.full_name], self._columns[table.full_name]
            own = next((each for each in self.indexes(table) if each.is_table), None)
            primary = [known[column] for column in own.columns] if own else []
            self._samples[key] = RowSampler(self._server, at, known, primary).look_up(table, index)
        return self._samples[key]

    def pages(self, table: TableHere, index: IndexHere, sample: SampleHere) -> PagesHere:  # noqa: ARG002
        """By InnoDB's statistics, which it renews by itself when a tenth of the rows have changed."""
        at = self._facts[table.full_name]
        leaves = size = None
        if self._statistics:
            names = [at.table] if not at.partition else [f"{at.table}#P#{at.partition}", f"{at.table}#p#{at.partition}"]
            stated = self._server.rows(
                "SELECT stat_name, stat_value FROM mysql.innodb_index_stats WHERE database_name = %s "
                "AND table_name IN (%s, %s) AND index_name = %s AND stat_name IN ('size', 'n_leaf_pages')",
                [at.schema, names[0], names[-1], index.name],
            )
            numbers = {str(name): int(value) for name, value in stated}
            leaves, size = numbers.get("n_leaf_pages"), numbers.get("size")
            if leaves and size and 2 * leaves < size:
                leaves = (
                    size - 1
                )  # MariaDB states 1 where it read all pages of a small index; then one page is above them
        if leaves is None and not index.is_table:
            return PagesHere(missing="this user may not read InnoDB's statistics, which alone have this index's size.")
        if leaves is None:
            size = at.data_bytes // self._page_bytes
            leaves = max(1, size - 1)
        _, record = self._sampled(table, index)
        room = self._page_bytes - PAGE_HEADER
        rows = table.rows or 0.0
        counted = table.rows_from == "counted"
        return PagesHere(
            bytes=None if size is None else size * self._page_bytes,
            leaf_pages=float(leaves),
            density=min(100.0, 100 * rows * record / (leaves * room)) if rows else None,
            full=_FULL,
            origin="estimated",
            error=None,
            missing="from the number of leaves, the number of rows and the mean size of a row"
            + ("." if counted else ", of which InnoDB's number of rows may be 5 % off."),
        )

    def close(self) -> None:
        """Closes the connection."""
        self._server.close()
