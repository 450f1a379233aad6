"""Readings of a table on a cluster: its ranges, and the bytes in them.

`SHOW RANGES … WITH DETAILS, INDEXES` has a row for each range and index in it (since 23.1), whose `span_stats` count
the keys and values of that index alone: before compression, and once, however many replicas there are
(cockroachlabs.com/docs, "SHOW RANGES"; pkg/sql/delegate/show_ranges.go). It needs the privilege ZONECONFIG.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from keybench.databases.contract.capabilities import ReadsInOrder
from keybench.databases.contract.roles import Probe
from keybench.databases.core.key_order import HeapOrderProbe
from keybench.databases.core.probes import FinalState, measured
from keybench.databases.postgresql import ddl
from keybench.databases.postgresql.connection import Queries
from keybench.errors import ServerError
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table

_RANGES = (
    "SELECT index_name, count(DISTINCT range_id), "
    "sum((span_stats->>'key_bytes')::INT8 + (span_stats->>'val_bytes')::INT8)::INT8 "
    "FROM [SHOW RANGES FROM TABLE {} WITH DETAILS, INDEXES] GROUP BY index_name"
)


@dataclass(frozen=True)
class Extent:
    """An index of a table."""

    ranges: int
    bytes: int
    """Of keys and values, with their old versions."""


def extents(server: Queries, table: Table) -> Mapping[str, Extent]:
    """All indexes of the table by name. ServerError if there is no such table, or this user may not ask."""
    found = server.rows(_RANGES.format(ddl.name(table)))
    return {str(index): Extent(int(ranges), int(size)) for index, ranges, size in found}


def index_bytes(server: Queries, table: Table) -> int:
    """Bytes of the measured index."""
    return extents(server, table)[ddl.ordered_index(table)].bytes


class RangesProbe(FinalState):
    """The ranges of the key's index, and the sizes of index and table."""

    supplies: Sequence[Metric] = (Metric.INDEX_BYTES, Metric.TABLE_BYTES, Metric.RANGES)

    def __init__(self, server: Queries) -> None:
        self._server = server

    def after(self, table: Table) -> Iterable[Reading]:
        """Both sizes in bytes and the number of ranges; absent if the cluster does not tell."""
        try:
            found = extents(self._server, table)
        except ServerError as error:
            return Reading.absent(self.supplies, f"the ranges of the table cannot be read ({error}).")
        own = found[ddl.ordered_index(table)]
        return measured(self.supplies, (own.bytes, sum(one.bytes for one in found.values()), own.ranges))


def probes(server: Queries, keys: ReadsInOrder) -> tuple[Probe, ...]:
    """All probes."""
    return (RangesProbe(server), HeapOrderProbe(keys))
