"""Probes of the server's own counters: bytes of the log, page allocations, waits for page latches."""

from __future__ import annotations

from collections.abc import Sequence

from keybench.databases.core.probes import CounterProbe
from keybench.databases.mssql import ddl
from keybench.databases.mssql.connection import MssqlConnection
from keybench.databases.mssql.probes.pages import DENIED, index_id
from keybench.errors import ServerError
from keybench.model.metric import Metric
from keybench.model.table import Table

LOG_WRITTEN = "SELECT num_of_bytes_written FROM sys.dm_io_virtual_file_stats(DB_ID(), 2)"
"""File 2 of a database is its log. Padding of commits is written, so it counts; so does other work in the database."""
OPERATIONS = (
    "SELECT leaf_allocation_count, page_latch_wait_count, page_latch_wait_in_ms "
    "FROM sys.dm_db_index_operational_stats(DB_ID(), OBJECT_ID(?), ?, NULL)"
)


STANDING_SESSIONS = "SELECT session_id FROM sys.dm_exec_sessions WHERE is_user_process = 1"
_KIND = "CASE WHEN r.session_id IS NULL THEN N'client' ELSE COALESCE(r.wait_type, N'running') END"
WAITS = (
    f"SELECT {_KIND}, COUNT(*) FROM sys.dm_exec_sessions AS s "  # noqa: S608  # our own words and numbers
    "LEFT JOIN sys.dm_exec_requests AS r ON r.session_id = s.session_id "
    "WHERE s.is_user_process = 1 AND s.database_id = DB_ID() AND s.session_id NOT IN ({standing}) "
    f"GROUP BY {_KIND}"
)
"""`wait_type` is null for a request that does not wait; a session without a request is idle. PAGELATCH_EX is the wait
for a page that another session changes; with OPTIMIZE_FOR_SEQUENTIAL_KEY (`--set sequential_key=on`) it becomes
BTREE_INSERT_FLOW_CONTROL (Microsoft, "CREATE INDEX", "sys.dm_os_wait_stats")."""


class LogProbe(CounterProbe):
    """Bytes written to the database's log file."""

    server_wide = True
    supplies: Sequence[Metric] = (Metric.LOG_BYTES,)

    def __init__(self, connection: MssqlConnection) -> None:
        self._connection = connection

    def counters(self, table: Table) -> Sequence[int | str]:  # noqa: ARG002 (the log is the database's)
        """Of the log file."""
        try:
            return [int(self._connection.value(LOG_WRITTEN))]
        except ServerError as error:
            return [f"bytes of the log cannot be read ({error}): the permission VIEW SERVER STATE is needed."]


class OperationsProbe(CounterProbe):
    """The server's counters of the key's index: page allocations, appends among them, and waits for page latches.

    They are in the server's metadata cache, and start anew with the table.
    """

    supplies: Sequence[Metric] = (Metric.SPLIT_COUNTER, Metric.LATCH_WAITS, Metric.LATCH_WAIT_MS)

    def __init__(self, connection: MssqlConnection) -> None:
        self._connection = connection

    def counters(self, table: Table) -> Sequence[int | str]:
        """Of the index; 0 where the server has none yet."""
        try:
            rows = self._connection.rows(OPERATIONS, ddl.name(table), index_id(self._connection, table))
        except ServerError as error:
            return [f"the server's counters cannot be read ({error}): {DENIED}."] * len(self.supplies)
        return [int(value or 0) for value in rows[0]] if rows else [0, 0, 0]
