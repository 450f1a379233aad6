"""The pages of the key's index and their sizes, as the server's views show them, and the probes of both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from keybench.databases.contract.roles import Probe
from keybench.databases.core.ddl import index_name
from keybench.databases.core.probes import measured
from keybench.databases.mssql import ddl
from keybench.databases.mssql.connection import MssqlConnection
from keybench.errors import ServerError
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table

PAGES = (
    "SELECT page_count, avg_page_space_used_in_percent, avg_fragmentation_in_percent "
    "FROM sys.dm_db_index_physical_stats(DB_ID(), OBJECT_ID(?), ?, NULL, 'DETAILED') "
    "WHERE alloc_unit_type_desc = 'IN_ROW_DATA' ORDER BY index_level"
)
"""DETAILED is the one mode that returns all levels and the density. OBJECT_ID of a missing table is NULL, which means
every table: so `index_id` is called first, which fails for a missing table."""
USED = (
    "SELECT index_id, SUM(used_page_count) * 8192 FROM sys.dm_db_partition_stats WHERE object_id = OBJECT_ID(?) "
    "GROUP BY index_id"
)

DENIED = "the permission VIEW DATABASE STATE (from SQL Server 2022 on: VIEW DATABASE PERFORMANCE STATE) is needed"


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
    """(pages, density in %, pages in % that do not follow the page before them in the file) of each level of the key's
    index, the leaves first. ServerError where they cannot be read."""
    rows = connection.rows(PAGES, ddl.name(table), index_id(connection, table))
    if not rows:
        raise ServerError(f"SQL Server: nothing is known of the pages of {ddl.name(table)}.")
    return [(int(pages), float(density or 0), float(nonadjacent or 0)) for pages, density, nonadjacent in rows]


def sizes(connection: MssqlConnection, table: Table) -> Mapping[int, int]:
    """Bytes of the pages in use, by index id."""
    return {int(index): int(used) for index, used in connection.rows(USED, ddl.name(table))}


class PagesProbe(Probe):
    """Page structure of the key's index after the inserts."""

    supplies: Sequence[Metric] = (
        Metric.LEAF_PAGES,
        Metric.BRANCH_PAGES,
        Metric.LEAF_DENSITY,
        Metric.LEAF_NONADJACENT,
        Metric.BRANCH_SPLITS,
    )

    def __init__(self, connection: MssqlConnection) -> None:
        self._connection = connection

    def after(self, table: Table) -> Iterable[Reading]:
        """All of them, or why they cannot be read.

        Each level of branch pages begins with one page; a split made each of the others.
        """
        try:
            (leaves, density, nonadjacent), *branches = levels(self._connection, table)
        except ServerError as error:
            return Reading.absent(self.supplies, f"the pages cannot be read ({error}): {DENIED}.")
        branch = sum(pages for pages, _, _ in branches)
        splits = Reading(Metric.BRANCH_SPLITS, float(branch - len(branches)), "derived")
        return [*measured(self.supplies[:-1], (leaves, branch, density, nonadjacent)), splits]


class SizesProbe(Probe):
    """Pages in use by the key's index and by the table with all of its indexes."""

    supplies: Sequence[Metric] = (Metric.INDEX_BYTES, Metric.TABLE_BYTES)

    def __init__(self, connection: MssqlConnection) -> None:
        self._connection = connection

    def after(self, table: Table) -> Iterable[Reading]:
        """Both sizes in bytes."""
        by_index = sizes(self._connection, table)
        return measured(self.supplies, (by_index[index_id(self._connection, table)], sum(by_index.values())))
