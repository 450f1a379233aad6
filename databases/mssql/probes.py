"""Probes of counters, splits, pages and sizes. They read before and after the inserts.

Splits that moved rows come from the transaction log: no other source tells them from appends. A split that moves rows
logs `LOP_DELETE_SPLIT`, an append does not; the record's context gives the level. `sys.fn_dblog` is not documented
(P. Randal describes it) and needs the role sysadmin. It reads the log that is still there. In recovery model SIMPLE a
checkpoint would discard it, so a transaction is held open from before the first row until the log has been read. None
of this happens inside the timed window (docs/internals/mssql.md §3).
"""

from collections.abc import Iterable, Mapping, Sequence

from keybench.databases.contract.roles import Address
from keybench.databases.core.ddl import index_name
from keybench.databases.core.probes import CounterProbe, ServerProbe, measured
from keybench.databases.mssql import ddl
from keybench.databases.mssql.connection import MssqlConnection, connect, without_permission
from keybench.errors import ServerError
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table

LEVELS = (
    "SELECT page_count, avg_page_space_used_in_percent, avg_fragmentation_in_percent "
    "FROM sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID(?), ?, NULL, 'DETAILED') "
    "WHERE alloc_unit_type_desc = 'IN_ROW_DATA' ORDER BY index_level"
)
"""DETAILED is the one mode that returns all levels and the density. OBJECT_ID of a missing table is NULL, which means
every table: so `index_id` is called first, which fails for a missing table."""
SIZES = (
    "SELECT index_id, SUM(used_page_count) * 8192 FROM sys.dm_db_partition_stats WHERE object_id = OBJECT_ID(?) "
    "GROUP BY index_id"
)

STATE = "the permission VIEW DATABASE STATE (from SQL Server 2022 on: VIEW DATABASE PERFORMANCE STATE)"


def index_id(connection: MssqlConnection, table: Table) -> int:
    """The id of the key's index; ServerError where there is no such table."""
    ids = connection.rows(
        "SELECT index_id FROM sys.indexes WHERE object_id = OBJECT_ID(?) AND name = ?",
        ddl.name(table),
        index_name(table),
    )
    if not ids:
        raise ServerError(f"SQL Server: there is no table {ddl.name(table)}.")
    return int(ids[0][0])


def levels(connection: MssqlConnection, table: Table) -> list[tuple[int, float, float]]:
    """(pages, density in %, share in % of pages that do not follow the page before them in the file) of each level.
    Levels are those of the key's index, the leaves first. ServerError if they cannot be read."""
    rows = connection.rows(LEVELS, ddl.name(table), index_id(connection, table))
    if not rows:
        raise ServerError(f"SQL Server: nothing is known of the pages of {ddl.name(table)}.")
    return [(int(pages), float(density or 0), float(nonadjacent or 0)) for pages, density, nonadjacent in rows]


def sizes(connection: MssqlConnection, table: Table) -> Mapping[int, int]:
    """Bytes of the pages in use, by index id."""
    return {int(index): int(used) for index, used in connection.rows(SIZES, ddl.name(table))}


class PagesProbe(ServerProbe[MssqlConnection]):
    """Page structure of the key's index after the inserts."""

    supplies: Sequence[Metric] = (
        Metric.LEAF_PAGES,
        Metric.BRANCH_PAGES,
        Metric.LEAF_DENSITY,
        Metric.LEAF_NONADJACENT,
        Metric.BRANCH_SPLITS,
    )

    def after(self, table: Table) -> Iterable[Reading]:
        """The readings, or why they cannot be read. Each level of branch pages begins with one page; a split made each
        of the others."""
        try:
            (leaves, density, nonadjacent), *branches = levels(self._server, table)
        except ServerError as error:
            return Reading.absent(self.supplies, f"the pages cannot be read {without_permission(error, STATE)}")
        branch = sum(pages for pages, _, _ in branches)
        splits = Reading(Metric.BRANCH_SPLITS, float(branch - len(branches)), "derived")
        return [*measured(self.supplies[:-1], (leaves, branch, density, nonadjacent)), splits]


LOG_WRITTEN = "SELECT num_of_bytes_written FROM sys.dm_io_virtual_file_stats(DB_ID(), 2)"
"""File 2 of a database is its log. Padding of commits is written, so it counts; so does other work in the database."""
OPERATIONS = (
    "SELECT leaf_allocation_count, page_latch_wait_count, page_latch_wait_in_ms "
    "FROM sys.dm_db_index_operational_stats(DB_ID(), OBJECT_ID(?), ?, NULL)"
)


class LogProbe(CounterProbe[MssqlConnection]):
    """Bytes written to the database's log file."""

    supplies: Sequence[Metric] = (Metric.LOG_BYTES,)

    def counters(self, table: Table) -> Sequence[int | str]:  # noqa: ARG002 (the log is the database's)
        """The bytes written to the log file so far, or why they cannot be read."""
        try:
            return [int(self._server.value(LOG_WRITTEN))]
        except ServerError as error:
            why = without_permission(error, "the permission VIEW SERVER STATE")
            return [f"bytes of the log cannot be read {why}"]


class OperationsProbe(CounterProbe[MssqlConnection]):
    """The server's counters of the key's index: page allocations, appends among them, and waits for page latches. They
    are in the server's metadata cache, and start anew with the table."""

    supplies: Sequence[Metric] = (Metric.SPLIT_COUNTER, Metric.LATCH_WAITS, Metric.LATCH_WAIT_MS)

    def counters(self, table: Table) -> Sequence[int | str]:
        """The index's counters, 0 where the server has none yet; or for each of them why it cannot be read."""
        try:
            rows = self._server.rows(OPERATIONS, ddl.name(table), index_id(self._server, table))
        except ServerError as error:
            return [f"the server's counters cannot be read {without_permission(error, STATE)}"] * len(self.supplies)
        return [int(value or 0) for value in rows[0]] if rows else [0, 0, 0]


HOLDER = "keybench_hold"
"""The table in whose transaction the log is kept."""
_HOLDER = f"[{ddl.SCHEMA}].[{HOLDER}]"
MAKE_HOLDER = f"IF OBJECT_ID(N'{_HOLDER}') IS NULL CREATE TABLE {_HOLDER} ([key] int NOT NULL)"
HOLD = f"INSERT INTO {_HOLDER} ([key]) VALUES (1)"  # noqa: S608  # our own names
"""An open transaction keeps the log from its first record on, so it has to write something: a row of its own table."""

LAST_RECORD = "SELECT MAX([Current LSN]) FROM sys.fn_dblog(NULL, NULL)"
SPLITS = (
    "SELECT [AllocUnitName], [Context], COUNT_BIG(*) FROM sys.fn_dblog(NULL, NULL) "
    "WHERE [Operation] = N'LOP_DELETE_SPLIT' AND [Current LSN] > ? GROUP BY [AllocUnitName], [Context]"
)
"""Numbers of log records have a fixed number of digits, so they compare as texts."""

_LEAF_CONTEXTS = {"LCX_CLUSTERED", "LCX_INDEX_LEAF"}
"""The contexts of records about leaf pages, of a clustered index and of another."""


def _log_unreadable(error: ServerError) -> str:
    return f"the log cannot be read {without_permission(error, 'for sys.fn_dblog the role sysadmin')}"


class LogHolder:
    """Keeps the log by an open transaction on a connection of its own."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._connection: MssqlConnection | None = None

    def hold(self) -> None:
        """Keeps the log from here on, until `release`."""
        if self._connection is None:  # else a trial failed before it had released it
            self._connection = connect(self._address)
            self._connection.run(MAKE_HOLDER)
            self._connection.begin()
            self._connection.run(HOLD)

    def release(self) -> None:
        """Ends the transaction, which would block the next trial; harmless where there is none."""
        if self._connection:
            self._connection.rollback()
            self._connection.close()
            self._connection = None


def leaf_splits(connection: MssqlConnection, since: str, table: Table) -> int:
    """The number of leaf splits of the key's index that moved rows, in what was logged after record `since`."""
    index = f".{table.name}.{index_name(table)}"  # an allocation unit's name is `schema.table.index`
    return sum(
        int(count)
        for allocation_unit, context, count in connection.rows(SPLITS, since)
        if str(allocation_unit or "").endswith(index) and str(context) in _LEAF_CONTEXTS
    )


class SplitsProbe(ServerProbe[MssqlConnection]):
    """Splits that moved rows, from the log; appends are all other leaf pages but the first."""

    supplies: Sequence[Metric] = (Metric.APPENDS, Metric.EDGE_AND_INTERIOR_SPLITS)

    def __init__(self, server: MssqlConnection, log_holder: LogHolder) -> None:
        super().__init__(server)
        self._log_holder = log_holder
        self._last_before = ""
        self._why_not = ""

    def before(self, _table: Table) -> None:
        """Notes the log's end, and keeps the log from there on until `after`."""
        try:
            self._last_before = str(self._server.value(LAST_RECORD))
            self._log_holder.hold()
        except ServerError as error:
            self._why_not = _log_unreadable(error)
            self._log_holder.release()

    def after(self, table: Table) -> Iterable[Reading]:
        """Appends and splits that moved rows, or why the log cannot be read."""
        if self._why_not:
            return Reading.absent(self.supplies, self._why_not)
        try:
            moved = leaf_splits(self._server, self._last_before, table)
            leaves, _, _ = levels(self._server, table)[0]
        except ServerError as error:
            return Reading.absent(self.supplies, _log_unreadable(error))
        finally:
            self._log_holder.release()
        return [
            Reading(Metric.APPENDS, float(leaves - 1 - moved), "derived"),
            Reading(Metric.EDGE_AND_INTERIOR_SPLITS, float(moved), "measured"),
        ]
