"""Counters of the whole server over a trial, and samples of the writers' waits.

The server shows each connection's wait at the moment of the question (manual, "pg_stat_activity"). The question goes to
the function behind the view, which costs less.
"""

import time
from collections.abc import Iterable, Sequence
from typing import Any, Final

from keybench.databases.core.probes import ServerProbe, UnreadableError, WaitSamples
from keybench.databases.postgresql import connection, ddl, log
from keybench.databases.postgresql.connection import AdminConnection
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table

_MOST_QUIET_SECONDS = 2.0
_WHY_ABSENT = {
    Metric.PAGES_WRITTEN: "PostgreSQL distinguishes pages written from pages added to a file from version 16 on.",
    Metric.LOG_PAGE_IMAGES: "PostgreSQL counts page images from version 14 on.",
    Metric.LOG_PAGE_IMAGE_BYTES: "PostgreSQL counts page images from version 14 on.",
    Metric.LOG_SYNCS: "PostgreSQL counts syncs of its log from version 14 on.",
}
"""Why an older server does not give a metric."""


class CountersProbe(ServerProbe[AdminConnection]):
    """Differences of counters over a trial. Other work on the server counts too. Pages read are those that the server
    read into its buffers for this database; written are those that it wrote from its buffers for all databases. It
    cannot tell whether a page came from the disk or from the operating system's cache. Before version 16 it counts
    pages that it adds to a file as read: the growth of the files is taken off."""

    supplies: Sequence[Metric] = (
        Metric.PAGES_READ,
        Metric.PAGES_WRITTEN,
        Metric.LOG_BYTES,
        Metric.LOG_PAGE_IMAGES,
        Metric.LOG_PAGE_IMAGE_BYTES,
        Metric.LOG_SYNCS,
    )

    def __init__(self, server: AdminConnection) -> None:
        super().__init__(server)
        self._connected_before: frozenset[int] = frozenset()
        self._counters: dict[Metric, int] = {}
        self._position = ""

    def before(self, _table: Table) -> None:
        """Notes the counters and the log's position."""
        self._connected_before = connected(self._server)
        self._counters = _counters(self._server)
        self._position = log.position(self._server)

    def after(self, _table: Table) -> Iterable[Reading]:
        """The differences, once the writers' connections have ended and their counters are included."""
        server = self._server
        wait_for_quiet(server, self._connected_before)
        after, end = _counters(server), log.position(server)
        growth = {metric: count - self._counters[metric] for metric, count in after.items()}
        growth[Metric.LOG_BYTES] = server.value("SELECT %s::pg_lsn - %s::pg_lsn", end, self._position)
        why_absent = dict(_WHY_ABSENT)
        if Metric.LOG_PAGE_IMAGES in growth:
            try:
                images = log.page_image_bytes(server, self._position, end) if growth[Metric.LOG_PAGE_IMAGES] else 0
                growth[Metric.LOG_PAGE_IMAGE_BYTES] = images
            except UnreadableError as error:
                why_absent[Metric.LOG_PAGE_IMAGE_BYTES] = str(error)
        for metric in self.supplies:
            if metric not in growth:
                yield from Reading.absent([metric], why_absent[metric])
            elif metric is Metric.PAGES_READ and server.version < ddl.PAGES_WRITTEN:
                yield Reading(metric, float(max(0, growth[metric])), "derived")  # the files may have grown by more
            else:
                yield Reading(metric, float(growth[metric]), "measured")


def _counters(server: AdminConnection) -> dict[Metric, int]:
    """The counters, at this moment, that this version has; pages read without those by which files have grown."""
    if server.version >= ddl.STATISTICS_ON_DEMAND:
        server.rows("SELECT pg_stat_force_next_flush()")
    read = int(server.value("SELECT blks_read FROM pg_stat_database WHERE datname = current_database()"))
    counters = {Metric.PAGES_READ: read}
    if server.version >= ddl.PAGES_WRITTEN:
        # Version 18 counts bytes, older ones pages. Both expressions take the size of a page, hence the `0 * %s`.
        expression = "sum(write_bytes) / %s" if server.version >= ddl.BYTES_WRITTEN else "sum(writes) + 0 * %s"
        statement = f"SELECT {expression} FROM pg_stat_io WHERE object = 'relation'"  # noqa: S608
        counters[Metric.PAGES_WRITTEN] = int(server.value(statement, server.page_bytes) or 0)
    else:
        added = server.value("SELECT pg_database_size(current_database()) / %s", server.page_bytes)
        counters[Metric.PAGES_READ] -= int(added)
    if server.version >= ddl.LOG_COUNTERS:
        counters[Metric.LOG_PAGE_IMAGES] = int(server.value("SELECT wal_fpi FROM pg_stat_wal"))
        syncs = "SELECT wal_sync FROM pg_stat_wal"
        if server.version >= ddl.BYTES_WRITTEN:
            syncs = "SELECT coalesce(sum(fsyncs), 0) FROM pg_stat_io WHERE object = 'wal'"
        counters[Metric.LOG_SYNCS] = int(server.value(syncs))
    return counters


def connected(server: AdminConnection) -> frozenset[int]:
    """The processes of keybench's other connections to this database."""
    processes = server.rows(
        "SELECT pid FROM pg_stat_activity WHERE application_name = %s AND datname = current_database() "
        "AND pid <> pg_backend_pid()",
        connection.APPLICATION,
    )
    return frozenset(pid for (pid,) in processes)


def wait_for_quiet(server: AdminConnection, connected_before: frozenset[int]) -> None:
    """Waits, at most `_MOST_QUIET_SECONDS`, until the writers' connections end: only then are their counters included.
    It does not wait for those that were open before the trial, because they do none of its work: on a user's own server
    one stays open for the whole run. `connected_before`: the processes of these, by `connected`."""
    deadline = time.monotonic() + _MOST_QUIET_SECONDS
    while connected(server) - connected_before and time.monotonic() < deadline:
        time.sleep(0.01)


_WAITS: Final = """
SELECT CASE WHEN state <> 'active' OR wait_event_type = 'Client' THEN 'client'
            WHEN wait_event IS NULL THEN 'running'
            ELSE wait_event_type || ':' || wait_event END, count(*)
FROM pg_stat_get_activity(NULL)
WHERE application_name = %s AND datid = %s AND backend_type = 'client backend' AND pid <> ALL (%s)
GROUP BY 1"""


class ActivitySampler(WaitSamples[AdminConnection]):
    """Samples of pg_stat_activity."""

    def begin(self) -> None:
        """Notes the database, and the connections that are no writer's: those that are there, and the sampler's own."""
        self._database = self._server.value("SELECT oid FROM pg_database WHERE datname = current_database()")
        self._not_writers = [self._server.raw.info.backend_pid, *connected(self._server)]

    def waits(self) -> Iterable[tuple[Any, ...]]:
        """(what they wait for, how many of the writers' connections do)."""
        return self._server.rows(_WAITS, connection.APPLICATION, self._database, self._not_writers)
