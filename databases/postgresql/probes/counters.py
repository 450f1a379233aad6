"""Counters of the whole server: pages read and written, growth of the log."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from keybench.databases.contract.roles import Probe
from keybench.databases.core.probes import measured
from keybench.databases.postgresql import connection, versions
from keybench.databases.postgresql.connection import Queries
from keybench.databases.postgresql.probes import log
from keybench.databases.postgresql.probes.tables import UnreadableError
from keybench.databases.postgresql.probes.waldump import WalUnreadableError
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table

_QUIET_SECONDS = 2.0


class CacheProbe(Probe):
    """Pages that the server read into its buffers for this database, and wrote from its buffers for all databases.

    The server cannot tell whether a page came from the disk or from the operating system's cache. Before version 16 it
    counts pages that it adds to a file as read: the growth of the files is taken off.
    """

    server_wide = True
    supplies: Sequence[Metric] = (Metric.PAGES_READ, Metric.PAGES_WRITTEN)

    def __init__(self, server: Queries) -> None:
        self._server = server
        self._standing: frozenset[int] = frozenset()
        self._begin: tuple[int, int] = (0, 0)

    def before(self, _table: Table) -> None:
        """Notes the counters."""
        self._standing = connected(self._server)
        self._begin = self._counters()

    def after(self, _table: Table) -> Iterable[Reading]:
        """The differences, once the writers' connections have ended and their counters are included."""
        wait_for_quiet(self._server, self._standing)
        read, written = (after - before for after, before in zip(self._counters(), self._begin, strict=True))
        if self._server.version < versions.PAGES_WRITTEN:
            why = "PostgreSQL distinguishes pages written from pages added to a file from version 16 on."
            fresh = Reading(Metric.PAGES_READ, float(max(0, read)), "derived")
            return [fresh, *Reading.absent(self.supplies[1:], why)]
        return measured(self.supplies, [read, written])

    def _counters(self) -> tuple[int, int]:
        server = self._server
        if server.version >= versions.STATISTICS_ON_DEMAND:
            server.rows("SELECT pg_stat_force_next_flush()")
        read = server.value("SELECT blks_read FROM pg_stat_database WHERE datname = current_database()")
        if server.version < versions.PAGES_WRITTEN:
            added = server.value("SELECT pg_database_size(current_database()) / %s", server.page_bytes)
            return int(read) - int(added), 0
        pages = "sum(write_bytes) / %s" if server.version >= versions.BYTES_WRITTEN else "sum(writes) + 0 * %s"
        written = server.value(f"SELECT {pages} FROM pg_stat_io WHERE object = 'relation'", server.page_bytes)  # noqa: S608
        return int(read), int(written or 0)


def connected(server: Queries) -> frozenset[int]:
    """The processes of keybench's other connections to this database."""
    processes = server.rows(
        "SELECT pid FROM pg_stat_activity WHERE application_name = %s AND datname = current_database() "
        "AND pid <> pg_backend_pid()",
        [connection.APPLICATION],
    )
    return frozenset(pid for (pid,) in processes)


def wait_for_quiet(server: Queries, standing: frozenset[int]) -> None:
    """Waits until the writers' connections end: only then do the server's counters include theirs.

    It does not wait for connections that were open before the trial (`standing`), which do none of its work. On a
    user's own server one connection stays open for the whole run.
    """
    deadline = time.monotonic() + _QUIET_SECONDS
    while connected(server) - standing and time.monotonic() < deadline:
        time.sleep(0.01)


class LogProbe(Probe):
    """How much the log grew, and how much of that is whole pages. Other work on the server counts too."""

    server_wide = True
    supplies: Sequence[Metric] = (Metric.LOG_BYTES, Metric.LOG_PAGE_IMAGES, Metric.LOG_PAGE_IMAGE_BYTES)

    def __init__(self, server: Queries) -> None:
        self._server = server
        self._standing: frozenset[int] = frozenset()
        self._begin = ""
        self._images = 0

    def before(self, _table: Table) -> None:
        """Notes the log position and the counter."""
        self._standing = connected(self._server)
        self._images = self._image_counter()
        self._begin = log.position(self._server)

    def after(self, _table: Table) -> Iterable[Reading]:
        """The differences, once the writers' connections have ended and their counters are included."""
        server = self._server
        end = log.position(server)
        grown = float(server.value("SELECT %s::pg_lsn - %s::pg_lsn", end, self._begin))
        readings = [Reading(Metric.LOG_BYTES, grown, "measured")]
        if server.version < versions.PAGE_IMAGE_COUNTER:
            return readings + Reading.absent(self.supplies[1:], "PostgreSQL counts page images from version 14 on.")
        wait_for_quiet(server, self._standing)
        images = self._image_counter() - self._images
        readings.append(Reading(Metric.LOG_PAGE_IMAGES, float(images), "measured"))
        try:
            size = log.page_image_bytes(server, self._begin, end) if images else 0
        except (UnreadableError, WalUnreadableError) as error:
            return readings + Reading.absent([Metric.LOG_PAGE_IMAGE_BYTES], str(error))
        return [*readings, Reading(Metric.LOG_PAGE_IMAGE_BYTES, float(size), "measured")]

    def _image_counter(self) -> int:
        if self._server.version < versions.PAGE_IMAGE_COUNTER:
            return 0
        if self._server.version >= versions.STATISTICS_ON_DEMAND:
            self._server.rows("SELECT pg_stat_force_next_flush()")
        return int(self._server.value("SELECT wal_fpi FROM pg_stat_wal"))
