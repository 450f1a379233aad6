"""Probes of the server's own counters: log, page cache, page splits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

from keybench.databases.contract.roles import Probe
from keybench.databases.core.probes import measured
from keybench.databases.mysql.connection import Queries
from keybench.databases.mysql.flavour import MYSQL
from keybench.databases.mysql.probes.arrival_order import log_positions
from keybench.errors import ServerError
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table

_WITH_PARENT = "With the splits of the parent's table, which has the key as its primary key."
_LOG_COUNTER = "Innodb_os_log_written"


class LogProbe(Probe):
    """Bytes written to the redo log. Server-wide: other work on the server counts too.

    MariaDB 10.11 counts the bytes by which the log's position moved; older ones count whole blocks. MySQL's counter has
    no bytes that are still in memory, where a server that writes its log once a second keeps them: there the log's
    position itself is read, by users who may (PROCESS).
    """

    server_wide = True
    supplies: Sequence[Metric] = (Metric.LOG_BYTES,)

    def __init__(self, server: Queries) -> None:
        self._server = server
        self._begin = 0

    def before(self, _table: Table) -> None:
        """Notes the counter."""
        self._begin = self._position()

    def after(self, _table: Table) -> Iterable[Reading]:
        """The difference."""
        return measured(self.supplies, [self._position() - self._begin])

    def _position(self) -> int:
        if self._server.flavour is MYSQL:
            with suppress(ServerError):
                return log_positions(self._server)[0]
        return self._server.status(_LOG_COUNTER)


class CacheProbe(Probe):
    """Pages that InnoDB read into its buffer pool and wrote from it. Server-wide."""

    server_wide = True
    supplies: Sequence[Metric] = (Metric.PAGES_READ, Metric.PAGES_WRITTEN)
    _COUNTERS = ("Innodb_pages_read", "Innodb_pages_written")

    def __init__(self, server: Queries) -> None:
        self._server = server
        self._begin: list[int] = []

    def before(self, _table: Table) -> None:
        """Notes the counters."""
        self._begin = list(map(self._server.status, self._COUNTERS))

    def after(self, _table: Table) -> Iterable[Reading]:
        """The differences."""
        end = map(self._server.status, self._COUNTERS)
        return measured(self.supplies, [after - before for after, before in zip(end, self._begin, strict=True)])


class CounterProbe(Probe):
    """`index_page_splits` of INNODB_METRICS: of the whole server, and more than page splits.

    MariaDB counts at the start of each attempt: splits of leaves and branch pages, appends, and insertions that went
    into the right neighbour instead. MySQL counts at the end of a split, so without the last kind
    (docs/internals/innodb.md §6).
    """

    server_wide = True
    supplies: Sequence[Metric] = (Metric.SPLIT_COUNTER,)

    def __init__(self, server: Queries) -> None:
        self._server = server
        self._begin: int | str = ""

    def before(self, _table: Table) -> None:
        """Notes the counter."""
        self._begin = self._count()

    def after(self, table: Table) -> Iterable[Reading]:
        """The difference, or why there is none."""
        end = self._count()
        if isinstance(end, str) or isinstance(self._begin, str):
            return Reading.absent(self.supplies, str(end if isinstance(end, str) else self._begin))
        note = _WITH_PARENT if table.parent else ""
        return [Reading(Metric.SPLIT_COUNTER, float(end - self._begin), "measured", note)]

    def _count(self) -> int | str:
        """The counter, or why it cannot be read."""
        try:
            counts = self._server.rows(
                "SELECT count FROM information_schema.innodb_metrics "  # noqa: S608  # our own condition
                f"WHERE name = 'index_page_splits' AND {self._server.flavour.metric_enabled}"
            )
        except ServerError as error:
            return f"the counter of page splits cannot be read ({error}): it needs the privilege PROCESS."
        if not counts:
            return "the server does not count page splits: SET GLOBAL innodb_monitor_enable = 'module_index' does."
        return int(counts[0][0])
