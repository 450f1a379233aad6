"""Probes of the server's own counters: log, page cache, page splits, waits. All are of the whole server."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from keybench.databases.core.probes import CounterProbe
from keybench.databases.mysql.connection import Queries
from keybench.databases.mysql.flavour import MYSQL
from keybench.databases.mysql.probes.arrival_order import log_positions
from keybench.errors import ServerError
from keybench.model.metric import Metric
from keybench.model.table import Table

_NO_PROCESS: Final = "INNODB_METRICS cannot be read without the privilege PROCESS."
_LATCHES: Final = """
SELECT coalesce(sum(count), 0) FROM information_schema.innodb_metrics
WHERE name IN ('innodb_rwlock_s_os_waits', 'innodb_rwlock_x_os_waits', 'innodb_rwlock_sx_os_waits')"""


class LogProbe(CounterProbe[Queries]):
    """Bytes written to the redo log.

    MariaDB 10.11 counts the bytes by which the log's position moved; older ones count whole blocks. MySQL's counter has
    no bytes that are still in memory, where a server that writes its log once a second keeps them: there the log's
    position itself is read, by users who may (PROCESS).
    """

    server_wide = True
    supplies: Sequence[Metric] = (Metric.LOG_BYTES,)

    def counters(self, _table: Table) -> Sequence[int | str]:
        """The position, or the counter."""
        if self._server.flavour is MYSQL:
            with suppress(ServerError):
                return [log_positions(self._server)[0]]
        return [self._server.status("Innodb_os_log_written")]


class CacheProbe(CounterProbe[Queries]):
    """Pages that InnoDB read into its buffer pool and wrote from it."""

    server_wide = True
    supplies: Sequence[Metric] = (Metric.PAGES_READ, Metric.PAGES_WRITTEN)

    def counters(self, _table: Table) -> Sequence[int | str]:
        """Both counters."""
        return [self._server.status("Innodb_pages_read"), self._server.status("Innodb_pages_written")]


class SplitsProbe(CounterProbe[Queries]):
    """`index_page_splits` of INNODB_METRICS, which counts more than page splits.

    MariaDB counts at the start of each attempt: splits of leaves and branch pages, appends, and insertions that went
    into the right neighbour instead. MySQL counts at the end of a split, so without the last kind
    (docs/internals/innodb.md §6).
    """

    server_wide = True
    supplies: Sequence[Metric] = (Metric.SPLIT_COUNTER,)

    def counters(self, _table: Table) -> Sequence[int | str]:
        """The counter, or why it cannot be read."""
        try:
            counts = self._server.rows(
                "SELECT count FROM information_schema.innodb_metrics "  # noqa: S608  # our own condition
                f"WHERE name = 'index_page_splits' AND {self._server.flavour.metric_enabled}"
            )
        except ServerError as error:
            return [f"the counter of page splits cannot be read ({error}): it needs the privilege PROCESS."]
        if not counts:
            return ["the server does not count page splits: SET GLOBAL innodb_monitor_enable = 'module_index' does."]
        return [int(counts[0][0])]

    def note(self, table: Table) -> str:
        """The parent's table is of the same server."""
        return "With the splits of the parent's table, which has the key as its primary key." if table.parent else ""


class ContentionProbe(CounterProbe[Queries]):
    """Waits for row locks, latches and the log.

    MariaDB has counted no waits for latches since 10.6; MySQL counts those of all read-write locks of InnoDB, of which
    those of pages and indexes are most.
    """

    server_wide = True

    def __init__(self, server: Queries) -> None:
        super().__init__(server)
        latches = (Metric.LATCH_WAITS,) if server.flavour is MYSQL else ()
        self.supplies: Sequence[Metric] = (Metric.ROW_LOCK_WAITS, Metric.ROW_LOCK_WAIT_MS, Metric.LOG_SYNCS, *latches)

    def counters(self, _table: Table) -> Sequence[int | str]:
        """The counters, in the order of `supplies`."""
        is_mysql = self._server.flavour is MYSQL
        # MariaDB counts writes of its log, each of which ends a group of commits; MySQL counts its synchronisations.
        syncs = "Innodb_os_log_fsyncs" if is_mysql else "Innodb_log_writes"
        counters: list[int | str] = [
            self._server.status(name) for name in ("Innodb_row_lock_waits", "Innodb_row_lock_time", syncs)
        ]
        if is_mysql:
            try:
                counters.append(int(self._server.value(_LATCHES)))
            except ServerError:
                counters.append(_NO_PROCESS)
        return counters
