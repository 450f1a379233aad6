"""What transactions waited for: counters of row locks, latches and log writes; samples of the list of connections."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from keybench.databases.contract.roles import Address, Probe
from keybench.databases.core.probes import WaitSamples
from keybench.databases.mysql.connection import Queries
from keybench.databases.mysql.flavour import MYSQL
from keybench.errors import ServerError
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table

_LATCHES: Final = """
SELECT coalesce(sum(count), 0) FROM information_schema.innodb_metrics
WHERE name IN ('innodb_rwlock_s_os_waits', 'innodb_rwlock_x_os_waits', 'innodb_rwlock_sx_os_waits')"""


class ContentionProbe(Probe):
    """Differences of counters of the whole server. MariaDB has counted no waits for latches since 10.6; MySQL counts
    those of all read-write locks of InnoDB, of which those of pages and indexes are most."""

    server_wide = True

    def __init__(self, server: Queries) -> None:
        self._server = server
        self._begin: list[int | None] = []
        latches = (Metric.LATCH_WAITS,) if server.flavour is MYSQL else ()
        self.supplies: Sequence[Metric] = (Metric.ROW_LOCK_WAITS, Metric.ROW_LOCK_WAIT_MS, Metric.LOG_SYNCS, *latches)

    def before(self, _table: Table) -> None:
        """Notes the counters."""
        self._begin = self._count()

    def after(self, _table: Table) -> Iterable[Reading]:
        """The differences."""
        for metric, first, last in zip(self.supplies, self._begin, self._count(), strict=True):
            if first is None or last is None:
                yield Reading(metric, None, "absent", "INNODB_METRICS cannot be read without the privilege PROCESS.")
            else:
                yield Reading(metric, float(last - first), "measured")

    def _count(self) -> list[int | None]:
        # MariaDB counts writes of its log, each of which ends a group of commits; MySQL counts its synchronisations.
        syncs = "Innodb_os_log_fsyncs" if self._server.flavour is MYSQL else "Innodb_log_writes"
        counters: list[int | None] = list(
            map(self._server.status, ("Innodb_row_lock_waits", "Innodb_row_lock_time", syncs))
        )
        if self._server.flavour is MYSQL:
            latches = None
            with suppress(ServerError):
                latches = int(self._server.value(_LATCHES))
            counters.append(latches)
        return counters


class WaitSampler:
    """Takes samples by a connection of its own.

    The server's list of connections shows the stage of a statement, not a wait: `Update` is an insertion, with its
    waits for latches and row locks, and the stage of a commit contains the wait for the log.
    """

    def __init__(self, address: Address) -> None:
        self._server = Queries(address)
        try:
            standing = self._server.rows("SELECT id FROM information_schema.processlist")
        except BaseException:
            self._server.close()
            raise
        self._standing = ", ".join(str(int(number)) for (number,) in standing)
        self._samples = WaitSamples()

    def sample(self) -> None:
        """Counts the connections by stage."""
        found = self._server.rows(
            "SELECT CASE WHEN command = 'Sleep' THEN 'client' WHEN coalesce(state, '') = '' THEN 'running' "  # noqa: S608
            "ELSE lower(state) END, count(*) FROM information_schema.processlist "
            f"WHERE id NOT IN ({self._standing}) AND command <> 'Daemon' GROUP BY 1"
        )
        self._samples.add((name, number) for name, number in found)

    def readings(self) -> Iterable[Reading]:
        """The share of each stage."""
        return self._samples.shares()

    def close(self) -> None:
        """Closes the connection."""
        self._server.close()
