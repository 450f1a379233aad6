"""Readings of a table on a cluster: its Regions, and what TiKV says of their size.

`SHOW TABLE … REGIONS` has a row for each Region (docs.pingcap.com). Sizes are what TiKV last told the placement driver,
once a minute, in whole MB: before that they are 0, and then absent here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from keybench.databases.contract.capabilities import ReadsInOrder
from keybench.databases.contract.roles import Address, Probe
from keybench.databases.core.key_order import HeapOrderProbe
from keybench.databases.core.probes import FinalState, WaitSamples
from keybench.databases.mysql import ddl
from keybench.databases.mysql.connection import Queries
from keybench.errors import ServerError
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table

_REGION, _SIZE = 0, 9
"""Columns REGION_ID and APPROXIMATE_SIZE(MB), the same since 3.1."""
_MB: Final = 1 << 20
NOT_YET: Final = "TiKV tells the sizes of Regions once a minute: it has told none of this table yet."
SHARED: Final = "a Region can hold the rows and several indexes of a table: TiDB does not tell the size of one index."

_WAITS: Final = """
SELECT CASE WHEN p.command = 'Sleep' THEN 'client' WHEN t.state IS NULL THEN 'running' ELSE lower(t.state) END, count(*)
FROM information_schema.cluster_processlist p
LEFT JOIN information_schema.cluster_tidb_trx t ON t.session_id = p.id AND t.instance = p.instance
WHERE p.id NOT IN ({standing}) GROUP BY 1"""
_CONNECTIONS: Final = "SELECT id FROM information_schema.cluster_processlist"


def regions(server: Queries, table: Table, index: str = "") -> dict[int, int]:
    """Bytes of each Region of the table or of one of its indexes, by the Region's number."""
    of_index = f" INDEX `{index}`" if index else ""
    found = server.rows(f"SHOW TABLE {ddl.name(table)}{of_index} REGIONS")
    return {int(row[_REGION]): int(row[_SIZE] or 0) * _MB for row in found}


def of_key(server: Queries, table: Table) -> dict[int, int]:
    """The Regions of the measured index."""
    name = ddl.index_name(table)
    return regions(server, table, "" if name == ddl.CLUSTERED_INDEX else name)


class RegionsProbe(FinalState):
    """The Regions of the key's index, and the sizes of index and table."""

    supplies: Sequence[Metric] = (Metric.INDEX_BYTES, Metric.TABLE_BYTES, Metric.RANGES)

    def __init__(self, server: Queries) -> None:
        self._server = server

    def after(self, table: Table) -> Iterable[Reading]:
        """The number of Regions, and the sizes that TiKV has told; absent with the reason where there are none."""
        try:
            own, whole = of_key(self._server, table), regions(self._server, table)
        except ServerError as error:
            return Reading.absent(self.supplies, f"the Regions of the table cannot be read ({error}).")
        size = sum(whole.values())
        clustered = ddl.index_name(table) == ddl.CLUSTERED_INDEX
        return [
            _size(Metric.INDEX_BYTES, size, "" if clustered else SHARED),
            _size(Metric.TABLE_BYTES, size, ""),
            Reading(Metric.RANGES, float(len(own)), "measured"),
        ]


def _size(metric: Metric, size: int, refused: str) -> Reading:
    if refused or not size:
        return Reading(metric, None, "absent", refused or NOT_YET)
    return Reading(metric, float(size), "measured")


class WaitSampler:
    """Samples of what the writers' transactions do, on all nodes of the cluster, by a connection of its own.

    `lockwaiting` is a wait for another transaction's lock, `committing` contains the wait for the log ("TIDB_TRX").
    """

    def __init__(self, address: Address) -> None:
        self._server = Queries(address)
        try:
            standing = ", ".join(str(int(number)) for (number,) in self._server.rows(_CONNECTIONS)) or "0"
        except BaseException:
            self._server.close()
            raise
        self._statement = _WAITS.format(standing=standing)
        self._samples = WaitSamples()

    def sample(self) -> None:
        """Counts the connections by state."""
        self._samples.add((name, number) for name, number in self._server.rows(self._statement))

    def readings(self) -> Iterable[Reading]:
        """The share of each state."""
        return self._samples.shares()

    def close(self) -> None:
        """Closes the connection."""
        self._server.close()


def probes(server: Queries, keys: ReadsInOrder) -> tuple[Probe, ...]:
    """All probes."""
    return (RegionsProbe(server), HeapOrderProbe(keys))
