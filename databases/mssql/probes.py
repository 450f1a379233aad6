"""The probes: log growth, splits, page structure, sizes, waits for latches. All read before and after, not between."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from keybench.databases.contract import Probe
from keybench.databases.core.key_order import PlaceProbe
from keybench.databases.mssql import ddl as layout
from keybench.databases.mssql import log
from keybench.errors import ServerError
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table

if TYPE_CHECKING:
    from keybench.databases.mssql.admin import MssqlAdmin

LOG_WRITTEN = "SELECT num_of_bytes_written FROM sys.dm_io_virtual_file_stats(DB_ID(), 2)"
"""File 2 of a database is its log. Padding of commits is written, so it counts; so does other work in the database."""
OPERATIONS = (
    "SELECT leaf_allocation_count, nonleaf_allocation_count, page_latch_wait_count, page_latch_wait_in_ms "
    "FROM sys.dm_db_index_operational_stats(DB_ID(), OBJECT_ID(?), ?, NULL)"
)
PAGES = (
    "SELECT index_level, page_count, record_count, avg_page_space_used_in_percent, avg_fragmentation_in_percent, "
    "max_record_size_in_bytes FROM sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID(?), ?, NULL, 'DETAILED') "
    "WHERE alloc_unit_type_desc = 'IN_ROW_DATA' ORDER BY index_level"
)
"""DETAILED is the one mode that returns all levels and density. OBJECT_ID of a table that is not there would be NULL,
and NULL means every table: `MssqlAdmin.index` is asked first, and fails."""
USED = (
    "SELECT index_id, SUM(used_page_count) * 8192 FROM sys.dm_db_partition_stats WHERE object_id = OBJECT_ID(?) "
    "GROUP BY index_id"
)

_DENIED = "the permission VIEW DATABASE STATE (from SQL Server 2022 on: VIEW DATABASE PERFORMANCE STATE) is needed"
_UNLOGGED = "the log cannot be read ({}): sys.fn_dblog needs the role sysadmin."


def probes(admin: MssqlAdmin) -> tuple[Probe, ...]:
    """All probes. Of two that read counters, the one that the other's reading would change comes first."""
    return (
        LogProbe(admin),
        OperationsProbe(admin),
        SplitsProbe(admin),
        PagesProbe(admin),
        SizesProbe(admin),
        PlaceProbe(admin),
    )


def _measured(metrics: Sequence[Metric], values: Iterable[float]) -> list[Reading]:
    return [Reading(metric, float(value), "measured") for metric, value in zip(metrics, values, strict=True)]


class LogProbe:
    """Bytes written to the database's log file."""

    server_wide = True
    supplies: Sequence[Metric] = (Metric.LOG_BYTES,)

    def __init__(self, admin: MssqlAdmin) -> None:
        self._admin = admin
        self._begin: int | str = 0

    def before(self, _table: Table) -> None:
        """Notes the counter."""
        self._begin = self._written()

    def after(self, _table: Table) -> Iterable[Reading]:
        """The difference, or why there is none."""
        end = self._written()
        if isinstance(end, str) or isinstance(self._begin, str):
            return Reading.absent(self.supplies, str(end if isinstance(end, str) else self._begin))
        return _measured(self.supplies, [end - self._begin])

    def _written(self) -> int | str:
        try:
            return int(self._admin.connection.value(LOG_WRITTEN))
        except ServerError as error:
            return f"bytes of the log cannot be read ({error}): the permission VIEW SERVER STATE is needed."


class OperationsProbe:
    """The server's counters of the key's index: page allocations, appends among them, and waits for page latches.

    They live in the server's cache of metadata, and begin anew with the table.
    """

    supplies: Sequence[Metric] = (Metric.SPLIT_COUNTER, Metric.LATCH_WAITS, Metric.LATCH_WAIT_MS)

    def __init__(self, admin: MssqlAdmin) -> None:
        self._admin = admin
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
        return _measured(self.supplies, (leaf, waits, milliseconds))

    def _counters(self, table: Table) -> tuple[int, ...] | str:
        try:
            index = self._admin.index(table)
            found = self._admin.connection.rows(OPERATIONS, layout.name(table), index)
        except ServerError as error:
            return f"the server's counters cannot be read ({error}): {_DENIED}."
        return tuple(int(value or 0) for value in found[0]) if found else (0, 0, 0, 0)


class SplitsProbe:
    """Splits that moved rows, from the log; appends are all other leaf pages but the first."""

    supplies: Sequence[Metric] = (Metric.APPENDS, Metric.EDGE_AND_INTERIOR_SPLITS)

    def __init__(self, admin: MssqlAdmin) -> None:
        self._admin = admin
        self._begin = ""
        self._why_not = ""

    def before(self, _table: Table) -> None:
        """Notes the log's end, and keeps the log from there on until `after`."""
        try:
            self._begin = log.last(self._admin.connection)
            self._admin.hold_log()
        except ServerError as error:
            self._why_not = _UNLOGGED.format(error)
            self._admin.release_log()

    def after(self, table: Table) -> Iterable[Reading]:
        """Both, or why the log cannot be read."""
        if self._why_not:
            return Reading.absent(self.supplies, self._why_not)
        try:
            bad = log.bad_splits(self._admin.connection, self._begin, table.name, layout.index_name(table)).leaf
            leaf = next(iter(self._admin.levels(table))).pages
        except ServerError as error:
            return Reading.absent(self.supplies, _UNLOGGED.format(error))
        finally:
            self._admin.release_log()
        return [
            Reading(Metric.APPENDS, float(leaf - 1 - bad), "derived"),
            Reading(Metric.EDGE_AND_INTERIOR_SPLITS, float(bad), "measured"),
        ]


class PagesProbe:
    """Page structure of the key's index after the inserts."""

    supplies: Sequence[Metric] = (
        Metric.LEAF_PAGES,
        Metric.BRANCH_PAGES,
        Metric.LEAF_DENSITY,
        Metric.LEAF_NONADJACENT,
        Metric.BRANCH_SPLITS,
    )

    def __init__(self, admin: MssqlAdmin) -> None:
        self._admin = admin

    def before(self, _table: Table) -> None:
        """Nothing to note: the final state counts."""

    def after(self, table: Table) -> Iterable[Reading]:
        """All of them, or why they cannot be read. Each level of branch pages began with one; the rest are splits."""
        try:
            leaf, *branches = self._admin.levels(table)
        except ServerError as error:
            return Reading.absent(self.supplies, f"the pages cannot be read ({error}): {_DENIED}.")
        branch = sum(level.pages for level in branches)
        splits = Reading(Metric.BRANCH_SPLITS, float(branch - len(branches)), "derived")
        return [*_measured(self.supplies[:-1], (leaf.pages, branch, leaf.density, leaf.fragmentation)), splits]


class SizesProbe:
    """Pages in use by the key's index and by the table with all of its indexes."""

    supplies: Sequence[Metric] = (Metric.INDEX_BYTES, Metric.TABLE_BYTES)

    def __init__(self, admin: MssqlAdmin) -> None:
        self._admin = admin

    def before(self, _table: Table) -> None:
        """Nothing to note: the final state counts."""

    def after(self, table: Table) -> Iterable[Reading]:
        """Both sizes in bytes."""
        sizes = self._admin.sizes(table)
        return _measured(self.supplies, (sizes[self._admin.index(table)], sum(sizes.values())))
