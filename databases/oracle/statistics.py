"""The server's statistics of a session, by name: their numbers move between releases.

They are a session's own and end with it. A writer therefore reads them before its first row, reads them again when it
closes, and puts the differences into a table, from which the probe adds them up. Neither lies in the timed window.
"""

from __future__ import annotations

from collections.abc import Mapping

from keybench.databases.oracle.connection import Connection
from keybench.databases.oracle.ddl import STATISTICS

LEAF_SPLITS = "leaf node splits"
"""All splits of leaves, appends among them."""
APPENDS = "leaf node 90-10 splits"
"""The special case that the rightmost leaf is full and the key above all present."""
BRANCH_SPLITS = "branch node splits"
ROOT_SPLITS = "root node splits"
REDO = "redo size"
NAMES = (LEAF_SPLITS, APPENDS, BRANCH_SPLITS, ROOT_SPLITS, REDO)

OWN = (
    "SELECT n.name, s.value FROM v$mystat s JOIN v$statname n ON n.statistic# = s.statistic# WHERE n.name IN ("  # noqa: S608
    + ", ".join(f"'{name}'" for name in NAMES)
    + ")"
)
CREATE = f"CREATE TABLE {STATISTICS} (name VARCHAR2(64) NOT NULL, value NUMBER NOT NULL)"
DROP = f"DROP TABLE IF EXISTS {STATISTICS} PURGE"
KEEP = f"INSERT INTO {STATISTICS} (name, value) VALUES (:name, :value)"  # noqa: S608
KEPT = f"SELECT name, SUM(value) FROM {STATISTICS} GROUP BY name"  # noqa: S608


def own(connection: Connection) -> Mapping[str, int]:
    """The statistics of this session; ServerError where it may not read them."""
    return {str(name): int(value) for name, value in connection.rows(OWN)}


def keep(connection: Connection, begin: Mapping[str, int]) -> None:
    """Puts what this session did since `begin` into the table."""
    for name, value in own(connection).items():
        connection.run(KEEP, {"name": name, "value": value - begin.get(name, 0)})
    connection.commit()


def kept(connection: Connection) -> Mapping[str, int]:
    """What all sessions put there, added up; empty where none did."""
    return {str(name): int(value) for name, value in connection.rows(KEPT)}
