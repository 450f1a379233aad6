"""Samples of the writers' waits, and of the predicate locks of serialisable transactions.

The server shows each connection's wait at the moment of the question (manual, "pg_stat_activity"). Both questions go to
the functions behind the views, which costs less. Asking for predicate locks briefly holds all their partitions
(`GetPredicateLockStatusData` in predicate.c), so that is done in each tenth sample only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from keybench.databases.contract.roles import Address
from keybench.databases.core.probes import WaitSamples
from keybench.databases.postgresql import connection, ddl
from keybench.databases.postgresql.connection import AdminConnection
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table

_LOCKS_EACH: Final = 10

_WAITS: Final = """
SELECT CASE WHEN state <> 'active' OR wait_event_type = 'Client' THEN 'client'
            WHEN wait_event IS NULL THEN 'running'
            ELSE wait_event_type || ':' || wait_event END, count(*)
FROM pg_stat_get_activity(NULL)
WHERE application_name = %s AND datid = %s AND backend_type = 'client backend' AND pid <> ALL (%s)
GROUP BY 1"""

_LOCKS: Final = """
SELECT count(*), count(DISTINCT page)
FROM pg_lock_status() WHERE mode = 'SIReadLock' AND locktype = 'page' AND relation = %s"""


class ActivitySampler:
    """Takes samples by a connection of its own."""

    def __init__(self, address: Address, table: Table) -> None:
        self._server = AdminConnection(address)
        self._samples = WaitSamples()
        self._locks: list[tuple[int, int]] = []
        try:
            self._database = self._server.value("SELECT oid FROM pg_database WHERE datname = current_database()")
            self._index = self._server.value(
                "SELECT indexrelid FROM pg_index WHERE indrelid = %s::regclass AND indisunique", ddl.name(table)
            )
            standing = self._server.rows(
                "SELECT pid FROM pg_stat_activity WHERE application_name = %s AND datname = current_database()",
                [connection.APPLICATION],
            )
        except BaseException:
            self._server.close()
            raise
        self._standing = [pid for (pid,) in standing]

    def sample(self) -> None:
        """Counts the writers' connections by what they wait for."""
        waits = self._server.rows(_WAITS, [connection.APPLICATION, self._database, self._standing])
        self._samples.add((name, number) for name, number in waits)
        if self._samples.count % _LOCKS_EACH == 1 and waits:
            (locks,) = self._server.rows(_LOCKS, [self._index])
            self._locks.append((int(locks[0]), int(locks[1])))

    def readings(self) -> Iterable[Reading]:
        """The share of each kind of wait, and the mean numbers of predicate locks if there were any."""
        shares = self._samples.shares()
        if not any(locks for locks, _ in self._locks):
            return shares
        means = [sum(column) / len(self._locks) for column in zip(*self._locks, strict=True)]
        of_locks = (Metric.PREDICATE_LOCKS, Metric.PREDICATE_LEAVES)
        based = f"{len(self._locks)} samples"
        return shares + [Reading(metric, mean, "measured", based) for metric, mean in zip(of_locks, means, strict=True)]

    def close(self) -> None:
        """Closes the connection."""
        self._server.close()
