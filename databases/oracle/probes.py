"""Probes of the index's structure and sizes, and of splits and redo from the writers' own statistics.

The server has statistics of each session, by name: their numbers differ by release. They end with the session. A writer
therefore reads them before its first row and when it closes, and stores the differences in a table; the probe adds them
up. Neither is inside the timed window.
"""

from collections.abc import Iterable, Mapping, Sequence

from keybench.databases.core.ddl import index_name
from keybench.databases.core.probes import ServerProbe, measured
from keybench.databases.oracle.connection import OracleConnection
from keybench.databases.oracle.ddl import STATISTICS
from keybench.errors import ServerError
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table

VALIDATE = 'ANALYZE INDEX "{}" VALIDATE STRUCTURE'
"""Without ONLINE, which would not fill INDEX_STATS. That view has one row, of the same session."""
STRUCTURE = "SELECT height, lf_rows, lf_blks, lf_rows_len, lf_blk_len, br_blks FROM index_stats"
SIZES = (
    "SELECT segment_name, SUM(bytes) FROM user_segments "
    "WHERE segment_name IN (:heap, :by_key, :by_date) GROUP BY segment_name"
)


def sizes(connection: OracleConnection, table: Table) -> Mapping[str, int]:
    """Bytes of the segments of the table and of its indexes, by name."""
    names = {"heap": table.name, "by_key": index_name(table), "by_date": f"{table.name}_created"}
    return {str(name): int(size) for name, size in connection.rows(SIZES, names)}


class StructureProbe(ServerProbe[OracleConnection]):
    """Blocks of the key's index, from INDEX_STATS."""

    supplies: Sequence[Metric] = (Metric.LEAF_PAGES, Metric.BRANCH_PAGES, Metric.LEAF_DENSITY)

    def after(self, table: Table) -> Iterable[Reading]:
        """The readings, or why the index cannot be read. LF_ROWS_LEN includes the row directory's two bytes a row."""
        try:
            self._server.run(VALIDATE.format(index_name(table)))
            rows = self._server.rows(STRUCTURE)
        except ServerError as error:
            return Reading.absent(self.supplies, f"the index cannot be read ({error}).")
        if not rows:
            return Reading.absent(self.supplies, "INDEX_STATS is empty after ANALYZE INDEX … VALIDATE STRUCTURE.")
        _height, _rows, leaves, used, room, branches = (int(value) for value in rows[0])
        return measured(self.supplies, (leaves, branches, 100 * used / (leaves * room)))


LEAF_SPLITS = "leaf node splits"
"""All splits of leaves, appends among them."""
APPENDS = "leaf node 90-10 splits"
"""The special case that the rightmost leaf is full and the new key is above all present."""
BRANCH_SPLITS = "branch node splits"
ROOT_SPLITS = "root node splits"
REDO = "redo size"
NAMES = (LEAF_SPLITS, APPENDS, BRANCH_SPLITS, ROOT_SPLITS, REDO)

OF_SESSION = (
    "SELECT n.name, s.value FROM v$mystat s JOIN v$statname n ON n.statistic# = s.statistic# WHERE n.name IN ("  # noqa: S608
    + ", ".join(f"'{name}'" for name in NAMES)
    + ")"
)
CREATE = f'CREATE TABLE "{STATISTICS}" (name VARCHAR2(64) NOT NULL, value NUMBER NOT NULL)'
KEEP = f'INSERT INTO "{STATISTICS}" (name, value) VALUES (:name, :value)'  # noqa: S608
KEPT = f'SELECT name, SUM(value) FROM "{STATISTICS}" GROUP BY name'  # noqa: S608
_NO_STATISTICS = (
    "the writers' sessions may not read their statistics: GRANT SELECT ON v_$mystat and v_$statname as in "
    "databases/oracle/admin.py."
)
_TWO_INDEXES = "Oracle counts the splits of a session's indexes together, and this trial's rows go into two."


def session_statistics(connection: OracleConnection) -> Mapping[str, int]:
    """The statistics of this session; ServerError where it may not read them."""
    return {str(name): int(value) for name, value in connection.rows(OF_SESSION)}


def store_statistics(connection: OracleConnection, begin: Mapping[str, int]) -> None:
    """Stores the differences of this session's statistics since `begin`."""
    for name, value in session_statistics(connection).items():
        connection.run(KEEP, {"name": name, "value": value - begin.get(name, 0)})
    connection.commit()


class SessionsProbe(ServerProbe[OracleConnection]):
    """Splits and redo of the sessions that wrote, for all their indexes together."""

    supplies: Sequence[Metric] = (
        Metric.APPENDS,
        Metric.EDGE_AND_INTERIOR_SPLITS,
        Metric.SPLIT_COUNTER,
        Metric.BRANCH_SPLITS,
        Metric.LOG_BYTES,
    )

    def after(self, table: Table) -> Iterable[Reading]:
        """The sums of the writers' statistics; splits only if the key's index is the table's only one."""
        try:
            total = {str(name): int(value) for name, value in self._server.rows(KEPT)}
        except ServerError as error:
            return Reading.absent(self.supplies, f"the writers' statistics cannot be read ({error}).")
        if not set(NAMES) <= set(total):
            return Reading.absent(self.supplies, _NO_STATISTICS)
        if table.other_indexes:
            redo = Reading(Metric.LOG_BYTES, float(total[REDO]), "measured")
            return [*Reading.absent(self.supplies[:-1], _TWO_INDEXES), redo]  # all but the bytes of redo
        leaf_splits, appends = total[LEAF_SPLITS], total[APPENDS]
        branch_splits = total[BRANCH_SPLITS] + total[ROOT_SPLITS]
        # leaf splits include appends
        return measured(self.supplies, (appends, leaf_splits - appends, leaf_splits, branch_splits, total[REDO]))
