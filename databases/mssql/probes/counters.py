"""Probes of the server's own counters: bytes of the log, page allocations, waits for page latches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from keybench.databases.contract.roles import Probe
from keybench.databases.core.probes import measured
from keybench.databases.mssql import ddl
from keybench.databases.mssql.connection import MssqlConnection
from keybench.databases.mssql.probes.pages import DENIED, index_id
from keybench.errors import ServerError
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table

LOG_WRITTEN = "SELECT num_of_bytes_written FROM sys.dm_io_virtual_file_stats(DB_ID(), 2)"
"""File 2 of a database is its log. Padding of commits is written, so it counts; so does other work in the database."""
OPERATIONS = (
    "SELECT leaf_allocation_count, nonleaf_allocation_count, page_latch_wait_count, page_latch_wait_in_ms "
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
"""`sys.dm_exec_requests` shows the wait of each request at the moment of the question (`wait_type` is null if it does not
wait); a session without a request is idle. PAGELATCH_EX is the wait for a page that another session changes; with
OPTIMIZE_FOR_SEQUENTIAL_KEY (`--set sequential_key=on`) it becomes BTREE_INSERT_FLOW_CONTROL (Microsoft, "CREATE INDEX",
"sys.dm_os_wait_stats")."""


class LogProbe(Probe):
    """Bytes written to the database's log file."""

    server_wide = True
    supplies: Sequence[Metric] = (Metric.LOG_BYTES,)

    def __init__(self, connection: MssqlConnection) -> None:
        self._connection = connection
        self._begin: int | str = 0

    def before(self, _table: Table) -> None:
        """Notes the counter."""
        self._begin = self._written()

    def after(self, _table: Table) -> Iterable[Reading]:
        """The difference, or why there is none."""
        end = self._written()
        if isinstance(end, str) or isinstance(self._begin, str):
            return Reading.absent(self.supplies, str(end if isinstance(end, str) else self._begin))
        return measured(self.supplies, [end - self._begin])

    def _written(self) -> int | str:
        try:
            return int(self._connection.value(LOG_WRITTEN))
        except ServerError as error:
            return f"bytes of the log cannot be read ({error}): the permission VIEW SERVER STATE is needed."


class OperationsProbe(Probe):
    """The server's counters of the key's index: page allocations, appends among them, and waits for page latches.

    They are in the server's metadata cache, and start anew with the table.
    """

    supplies: Sequence[Metric] = (Metric.SPLIT_COUNTER, Metric.LATCH_WAITS, Metric.LATCH_WAIT_MS)

    def __init__(self, connection: MssqlConnection) -> None:
        self._connection = connection
        self._begin: tuple[int, ...] | str = ""

    def before(self, table: Table) -> None:
        """Notes the counters."""
        self._begin = self._counters(table)

    def after(self, table: Table) -> Iterable[Reading]:
        """The differences, or why there are none."""
        end = self._counters(table)
        if isinstance(end, str) or isinstance(self._begin, str):
            return Reading.absent(self.supplies, str(end if isinstance(end, str) else self._begin))
        leaf, _, waits, milliseconds = (b - a for a, b in zip(self._begin, end, strict=True))
        return measured(self.supplies, (leaf, waits, milliseconds))

    def _counters(self, table: Table) -> tuple[int, ...] | str:
        try:
            rows = self._connection.rows(OPERATIONS, ddl.name(table), index_id(self._connection, table))
        except ServerError as error:
            return f"the server's counters cannot be read ({error}): {DENIED}."
        return tuple(int(value or 0) for value in rows[0]) if rows else (0, 0, 0, 0)
