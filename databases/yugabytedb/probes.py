"""Readings of a table on a cluster: its tablets and their sizes.

`yb_table_properties` counts the tablets of a table or index (docs.yugabyte.com, "yb_table_properties"). `pg_table_size`
is the size of the logs and sorted files of their leaders, compressed and of one replica (since 2.15.3); files are
written from memory after a while, so a short load shows as log. A table in a colocated database has no size of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from keybench.databases.contract.roles import Probe
from keybench.databases.core.probes import FinalState
from keybench.databases.postgresql import ddl
from keybench.databases.postgresql.connection import Queries
from keybench.databases.postgresql.probes import waits
from keybench.errors import ServerError
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table

_WHOLE = (
    "SELECT pg_table_size(c.oid) + coalesce((SELECT sum(pg_table_size(indexrelid)) FROM pg_index "
    "WHERE indrelid = c.oid AND NOT indisprimary), 0) FROM pg_class c WHERE c.oid = %s::regclass"
)
NO_SIZE = "YugabyteDB tells no size of this table: one in a colocated database has none of its own."


def relation(table: Table) -> str:
    """The table or index that holds the measured index: a primary key is the table itself."""
    if table.key == "clustered" or table.measures_rows:
        return ddl.name(table)
    return f'{ddl.SCHEMA}."{ddl.ordered_index(table)}"'


def index_bytes(server: Queries, table: Table) -> int:
    """Bytes of the measured index."""
    return int(server.value("SELECT pg_table_size(%s::regclass)", relation(table)) or 0)


class TabletsProbe(FinalState):
    """The tablets of the key's index, and the sizes of index and table."""

    supplies: Sequence[Metric] = (Metric.INDEX_BYTES, Metric.TABLE_BYTES, Metric.RANGES)

    def __init__(self, server: Queries) -> None:
        self._server = server

    def after(self, table: Table) -> Iterable[Reading]:
        """Both sizes in bytes and the number of tablets; absent if the cluster does not tell."""
        server = self._server
        try:
            own = index_bytes(server, table)
            total = int(server.value(_WHOLE, ddl.name(table)) or 0)
            tablets = server.value("SELECT num_tablets FROM yb_table_properties(%s::regclass::oid)", relation(table))
        except ServerError as error:
            return Reading.absent(self.supplies, f"the tablets of the table cannot be read ({error}).")
        return [
            _size(Metric.INDEX_BYTES, own),
            _size(Metric.TABLE_BYTES, total),
            Reading(Metric.RANGES, float(tablets), "measured"),
        ]


def _size(metric: Metric, size: int) -> Reading:
    return Reading(metric, float(size), "measured") if size else Reading(metric, None, "absent", NO_SIZE)


class WaitSampler(waits.WaitSampler):
    """Samples of what the writers' connections wait for, on the node that the URL names (`pg_stat_activity`)."""

    shows_locks = False


def probes(server: Queries) -> tuple[Probe, ...]:
    """All probes."""
    return (TabletsProbe(server),)
