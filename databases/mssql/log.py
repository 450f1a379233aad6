"""What the transaction log tells: page splits that moved rows, which no other source tells from appends.

A split that moves rows logs `LOP_DELETE_SPLIT`, an append does not; its context says on which level. `sys.fn_dblog` is
not documented (P. Randal describes it) and needs the role sysadmin. It reads the log that is still there: in recovery
SIMPLE a checkpoint would discard it, so a transaction is held open from before the first row until the log was read.
Nothing of this lies inside the timed window.
"""

from __future__ import annotations

from dataclasses import dataclass

from keybench.databases.mssql.connection import Connection
from keybench.databases.mssql.ddl import SCHEMA

HOLDER = f"[{SCHEMA}].[keybench_hold]"
HOLD = (
    f"IF OBJECT_ID(N'{HOLDER}') IS NULL CREATE TABLE {HOLDER} ([key] int NOT NULL)",
    f"INSERT INTO {HOLDER} ([key]) VALUES (1)",  # noqa: S608  # our own names
)
"""An open transaction keeps the log from its first record on, so it has to write something: a row of its own table."""

LAST = "SELECT MAX([Current LSN]) FROM sys.fn_dblog(NULL, NULL)"
SPLITS = (
    "SELECT [AllocUnitName], [Context], COUNT_BIG(*) FROM sys.fn_dblog(NULL, NULL) "
    "WHERE [Operation] = N'LOP_DELETE_SPLIT' AND [Current LSN] > ? GROUP BY [AllocUnitName], [Context]"
)
"""Numbers of log records have digits of one width, so that they compare as texts."""

_LEAF = {"LCX_CLUSTERED", "LCX_INDEX_LEAF"}


@dataclass(frozen=True)
class BadSplits:
    """Splits of one index that moved rows, by level."""

    leaf: int
    branch: int


def hold(connection: Connection) -> None:
    """Opens a transaction that keeps the log from here on; the connection is of no other use until `release`."""
    connection.run(HOLD[0])
    connection.begin()
    connection.run(HOLD[1])


def release(connection: Connection) -> None:
    """Undoes that transaction."""
    connection.rollback()


def last(connection: Connection) -> str:
    """The number of the last log record."""
    return str(connection.value(LAST))


def bad_splits(connection: Connection, since: str, table: str, index: str) -> BadSplits:
    """Splits of that index that moved rows, in what was logged after record `since`."""
    found = {True: 0, False: 0}
    for unit, context, count in connection.rows(SPLITS, since):
        if str(unit or "").endswith(f".{table}.{index}"):
            found[str(context) in _LEAF] += int(count)
    return BadSplits(found[True], found[False])
