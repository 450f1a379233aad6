"""The probes: splits and redo from the writers' own statistics, the index's structure, sizes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from keybench.databases.contract import Probe
from keybench.databases.core.key_order import PlaceProbe
from keybench.databases.oracle import ddl as layout
from keybench.databases.oracle import statistics
from keybench.errors import ServerError
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table

if TYPE_CHECKING:
    from keybench.databases.oracle.admin import OracleAdmin

VALIDATE = 'ANALYZE INDEX "{}" VALIDATE STRUCTURE'
"""Without ONLINE, which would not fill INDEX_STATS: that has one row, of the same session."""
STRUCTURE = "SELECT height, lf_rows, lf_blks, lf_rows_len, lf_blk_len, br_blks FROM index_stats"
SIZES = (
    "SELECT segment_name, SUM(bytes) FROM user_segments WHERE segment_name IN (:first, :second) GROUP BY segment_name"
)

_NO_STATISTICS = (
    "the writers' sessions may not read their statistics: GRANT SELECT ON v_$mystat and v_$statname as in "
    "databases/oracle/owned_schema.py."
)
_TWO_INDEXES = "Oracle counts the splits of a session's indexes together, and this trial's rows go into two."


def probes(admin: OracleAdmin) -> tuple[Probe, ...]:
    """All probes."""
    return SessionsProbe(admin), StructureProbe(admin), SizesProbe(admin), PlaceProbe(admin)


def _measured(metrics: Sequence[Metric], values: Iterable[float]) -> list[Reading]:
    return [Reading(metric, float(value), "measured") for metric, value in zip(metrics, values, strict=True)]


class SessionsProbe:
    """Splits and redo of the sessions that wrote. Of all their indexes: splits are the key's where it is alone."""

    server_wide = True
    supplies: Sequence[Metric] = (
        Metric.APPENDS,
        Metric.EDGE_AND_INTERIOR_SPLITS,
        Metric.SPLIT_COUNTER,
        Metric.BRANCH_SPLITS,
        Metric.LOG_BYTES,
    )

    def __init__(self, admin: OracleAdmin) -> None:
        self._admin = admin

    def before(self, _table: Table) -> None:
        """Nothing to note: the writers do."""

    def after(self, table: Table) -> Iterable[Reading]:
        """What the writers left; `leaf node splits` counts appends, too."""
        try:
            found = statistics.kept(self._admin.connection)
        except ServerError as error:
            return Reading.absent(self.supplies, f"the writers' statistics cannot be read ({error}).")
        if not set(statistics.NAMES) <= set(found):
            return Reading.absent(self.supplies, _NO_STATISTICS)
        if table.other_indexes:
            redo = Reading(Metric.LOG_BYTES, float(found[statistics.REDO]), "measured")
            return [*Reading.absent(self.supplies[:-1], _TWO_INDEXES), redo]
        leaf, appends = found[statistics.LEAF_SPLITS], found[statistics.APPENDS]
        branch = found[statistics.BRANCH_SPLITS] + found[statistics.ROOT_SPLITS]
        return _measured(self.supplies, (appends, leaf - appends, leaf, branch, found[statistics.REDO]))


class StructureProbe:
    """Blocks of the key's index, as INDEX_STATS has them."""

    supplies: Sequence[Metric] = (Metric.LEAF_PAGES, Metric.BRANCH_PAGES, Metric.LEAF_DENSITY)

    def __init__(self, admin: OracleAdmin) -> None:
        self._admin = admin

    def before(self, _table: Table) -> None:
        """Nothing to note: the final state counts."""

    def after(self, table: Table) -> Iterable[Reading]:
        """All of them, or why the index cannot be read. LF_ROWS_LEN includes the row directory's two bytes a row."""
        try:
            self._admin.connection.run(VALIDATE.format(layout.index_name(table)))
            found = self._admin.connection.rows(STRUCTURE)
        except ServerError as error:
            return Reading.absent(self.supplies, f"the index cannot be read ({error}).")
        if not found:
            return Reading.absent(self.supplies, "INDEX_STATS is empty after ANALYZE INDEX … VALIDATE STRUCTURE.")
        _, _, leaves, used, room, branches = (int(value) for value in found[0])
        return _measured(self.supplies, (leaves, branches, 100 * used / (leaves * room)))


class SizesProbe:
    """Sizes of the key's index and of the table with it, in extents."""

    supplies: Sequence[Metric] = (Metric.INDEX_BYTES, Metric.TABLE_BYTES)

    def __init__(self, admin: OracleAdmin) -> None:
        self._admin = admin

    def before(self, _table: Table) -> None:
        """Nothing to note: the final state counts."""

    def after(self, table: Table) -> Iterable[Reading]:
        """Both sizes in bytes."""
        sizes = self._admin.sizes(table)
        return _measured(self.supplies, (sizes.get(layout.index_name(table), 0), sum(sizes.values())))
