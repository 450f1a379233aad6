"""Probes of the key's index after the inserts: its blocks and its size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from keybench.databases.contract.roles import Probe
from keybench.databases.core.ddl import index_name
from keybench.databases.core.probes import measured
from keybench.databases.oracle.connection import OracleConnection
from keybench.errors import ServerError
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table

VALIDATE = 'ANALYZE INDEX "{}" VALIDATE STRUCTURE'
"""Without ONLINE, which would not fill INDEX_STATS. That view has one row, of the same session."""
STRUCTURE = "SELECT height, lf_rows, lf_blks, lf_rows_len, lf_blk_len, br_blks FROM index_stats"
SIZES = (
    "SELECT segment_name, SUM(bytes) FROM user_segments WHERE segment_name IN (:first, :second) GROUP BY segment_name"
)


def sizes(connection: OracleConnection, table: Table) -> Mapping[str, int]:
    """Bytes of the segments of table and index, by name."""
    names = {"first": table.name, "second": index_name(table)}
    return {str(name): int(size) for name, size in connection.rows(SIZES, names)}


class StructureProbe(Probe):
    """Blocks of the key's index, from INDEX_STATS."""

    supplies: Sequence[Metric] = (Metric.LEAF_PAGES, Metric.BRANCH_PAGES, Metric.LEAF_DENSITY)

    def __init__(self, connection: OracleConnection) -> None:
        self._connection = connection

    def after(self, table: Table) -> Iterable[Reading]:
        """All of them, or why the index cannot be read. LF_ROWS_LEN includes the row directory's two bytes a row."""
        try:
            self._connection.run(VALIDATE.format(index_name(table)))
            rows = self._connection.rows(STRUCTURE)
        except ServerError as error:
            return Reading.absent(self.supplies, f"the index cannot be read ({error}).")
        if not rows:
            return Reading.absent(self.supplies, "INDEX_STATS is empty after ANALYZE INDEX … VALIDATE STRUCTURE.")
        _, _, leaves, used, room, branches = (int(value) for value in rows[0])
        return measured(self.supplies, (leaves, branches, 100 * used / (leaves * room)))


class SizesProbe(Probe):
    """Sizes of the key's index and of the table with it, in extents."""

    supplies: Sequence[Metric] = (Metric.INDEX_BYTES, Metric.TABLE_BYTES)

    def __init__(self, connection: OracleConnection) -> None:
        self._connection = connection

    def after(self, table: Table) -> Iterable[Reading]:
        """Both sizes in bytes."""
        by_name = sizes(self._connection, table)
        return measured(self.supplies, (by_name.get(index_name(table), 0), sum(by_name.values())))
