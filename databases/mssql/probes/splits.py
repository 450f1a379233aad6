"""Page splits that moved rows, from the transaction log: no other source tells them from appends.

A split that moves rows logs `LOP_DELETE_SPLIT`, an append does not; the record's context gives the level.
`sys.fn_dblog` is not documented (P. Randal describes it) and needs the role sysadmin. It reads the log that is still
there. In recovery model SIMPLE a checkpoint would discard it, so a transaction is held open from before the first row
until the log has been read. None of this happens inside the timed window (docs/internals/mssql.md §3).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from keybench.databases.contract.roles import Address, Probe
from keybench.databases.core.ddl import index_name
from keybench.databases.mssql import ddl
from keybench.databases.mssql.connection import MssqlConnection, connect
from keybench.databases.mssql.probes.pages import levels
from keybench.errors import ServerError
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table

HOLDER = f"[{ddl.SCHEMA}].[keybench_hold]"
MAKE_HOLDER = f"IF OBJECT_ID(N'{HOLDER}') IS NULL CREATE TABLE {HOLDER} ([key] int NOT NULL)"
HOLD = f"INSERT INTO {HOLDER} ([key]) VALUES (1)"  # noqa: S608  # our own names
"""An open transaction keeps the log from its first record on, so it has to write something: a row of its own table."""

LAST = "SELECT MAX([Current LSN]) FROM sys.fn_dblog(NULL, NULL)"
SPLITS = (
    "SELECT [AllocUnitName], [Context], COUNT_BIG(*) FROM sys.fn_dblog(NULL, NULL) "
    "WHERE [Operation] = N'LOP_DELETE_SPLIT' AND [Current LSN] > ? GROUP BY [AllocUnitName], [Context]"
)
"""Numbers of log records have a fixed number of digits, so they compare as texts."""

_LEAF = {"LCX_CLUSTERED", "LCX_INDEX_LEAF"}
_UNLOGGED = "the log cannot be read ({}): sys.fn_dblog needs the role sysadmin."


class LogHolder:
    """Keeps the log by an open transaction on a connection of its own, for as many probes as hold it."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._connection: MssqlConnection | None = None
        self._holds = 0

    def hold(self) -> None:
        """Keeps the log from here on, until `release` has been called as often as `hold`."""
        if self._connection is None:
            self._connection = connect(self._address)
            self._connection.run(MAKE_HOLDER)
            self._connection.begin()
            self._connection.run(HOLD)
        self._holds += 1

    def release(self) -> None:
        """Ends one hold; harmless where there is none."""
        self._holds = max(0, self._holds - 1)
        if self._connection and not self._holds:
            self._connection.rollback()
            self._connection.close()
            self._connection = None

    def close(self) -> None:
        """Ends all holds: after a failed trial an open one would block the next trial."""
        self._holds = 0
        self.release()


def last_record(connection: MssqlConnection) -> str:
    """The number of the last log record."""
    return str(connection.value(LAST))


def leaf_splits(connection: MssqlConnection, since: str, table: Table) -> int:
    """Leaf splits of the key's index that moved rows, in what was logged after record `since`."""
    index = f".{table.name}.{index_name(table)}"
    return sum(
        int(count)
        for unit, context, count in connection.rows(SPLITS, since)
        if str(unit or "").endswith(index) and str(context) in _LEAF
    )


class SplitsProbe(Probe):
    """Splits that moved rows, from the log; appends are all other leaf pages but the first."""

    supplies: Sequence[Metric] = (Metric.APPENDS, Metric.EDGE_AND_INTERIOR_SPLITS)

    def __init__(self, connection: MssqlConnection, log_holder: LogHolder) -> None:
        self._connection = connection
        self._log_holder = log_holder
        self._begin = ""
        self._why_not = ""

    def before(self, _table: Table) -> None:
        """Notes the log's end, and keeps the log from there on until `after`."""
        try:
            self._begin = last_record(self._connection)
            self._log_holder.hold()
        except ServerError as error:
            self._why_not = _UNLOGGED.format(error)
            self._log_holder.release()

    def after(self, table: Table) -> Iterable[Reading]:
        """Both, or why the log cannot be read."""
        if self._why_not:
            return Reading.absent(self.supplies, self._why_not)
        try:
            moved = leaf_splits(self._connection, self._begin, table)
            leaves, _, _ = levels(self._connection, table)[0]
        except ServerError as error:
            return Reading.absent(self.supplies, _UNLOGGED.format(error))
        finally:
            self._log_holder.release()
        return [
            Reading(Metric.APPENDS, float(leaves - 1 - moved), "derived"),
            Reading(Metric.EDGE_AND_INTERIOR_SPLITS, float(moved), "measured"),
        ]
