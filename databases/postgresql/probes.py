"""The probes: log growth, splits, index pages, sizes, heap order. `source` knows how each is read on which server."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from keybench.databases.contract import Probe
from keybench.databases.core.key_order import correlation
from keybench.databases.core.probes import NO_ORDER, FinalState, measured
from keybench.databases.postgresql import connection
from keybench.databases.postgresql import ddl as layout
from keybench.databases.postgresql.files import source, wal
from keybench.databases.postgresql.files.source import UnreadableError
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table
from keybench.pagemodels.postgresql.records import leaf_capacity

if TYPE_CHECKING:
    from keybench.databases.postgresql.admin import PostgresAdmin

_QUIET_SECONDS = 2.0
_SLOT = "keybench"


def probes(admin: PostgresAdmin) -> tuple[Probe, ...]:
    """All probes. Those of cache and log come first: what the others read may read pages and write to the log."""
    return (
        CacheProbe(admin),
        LogProbe(admin),
        SplitsProbe(admin),
        PagesProbe(admin),
        SizesProbe(admin),
        HeapProbe(admin),
    )


class CacheProbe:
    """Pages that the server read into its buffers, of this database, and wrote from them, of all. Server-wide.

    What it reads may come from the operating system's cache: the server cannot tell.
    """

    server_wide = True
    supplies: Sequence[Metric] = (Metric.PAGES_READ, Metric.PAGES_WRITTEN)

    def __init__(self, admin: PostgresAdmin) -> None:
        self._admin = admin
        self._standing: frozenset[int] = frozenset()
        self._begin: tuple[int, int] = (0, 0)

    def before(self, _table: Table) -> None:
        """Notes the counters."""
        self._standing = connected(self._admin)
        self._begin = self._counters()

    def after(self, _table: Table) -> Iterable[Reading]:
        """The differences, once the writers' connections are gone and their counters in."""
        wait_for_quiet(self._admin, self._standing)
        read, written = (after - before for after, before in zip(self._counters(), self._begin, strict=True))
        known = measured(self.supplies[:1], [read])
        if self._admin.version < 160_000:
            why = "PostgreSQL tells pages written from pages added to a file from version 16 on."
            return known + Reading.absent(self.supplies[1:], why)
        return known + measured(self.supplies[1:], [written])

    def _counters(self) -> tuple[int, int]:
        admin = self._admin
        if admin.version >= 150_000:
            admin.rows("SELECT pg_stat_force_next_flush()")
        read = admin.value("SELECT blks_read FROM pg_stat_database WHERE datname = current_database()")
        if admin.version < 160_000:
            return int(read), 0
        pages = "sum(write_bytes) / %s" if admin.version >= 180_000 else "sum(writes) + 0 * %s"
        written = admin.value(f"SELECT {pages} FROM pg_stat_io WHERE object = 'relation'", admin.page_bytes)  # noqa: S608
        return int(read), int(written or 0)


def connected(admin: PostgresAdmin) -> frozenset[int]:
    """The processes of keybench's other connections to this database."""
    found = admin.rows(
        "SELECT pid FROM pg_stat_activity WHERE application_name = %s AND datname = current_database() "
        "AND pid <> pg_backend_pid()",
        [connection.APPLICATION],
    )
    return frozenset(pid for (pid,) in found)


def wait_for_quiet(admin: PostgresAdmin, standing: frozenset[int]) -> None:
    """A connection adds its counters to the server's at the latest when it ends.

    Those that were there before the trial do none of its work: on somebody's own server one stands for the whole run.
    """
    deadline = time.monotonic() + _QUIET_SECONDS
    while connected(admin) - standing and time.monotonic() < deadline:
        time.sleep(0.01)


class LogProbe:
    """How much the log grew, and how much of that is whole pages. Server-wide: other work on the server counts too."""

    server_wide = True
    supplies: Sequence[Metric] = (Metric.LOG_BYTES, Metric.LOG_PAGE_IMAGES, Metric.LOG_PAGE_IMAGE_BYTES)

    def __init__(self, admin: PostgresAdmin) -> None:
        self._admin = admin
        self._standing: frozenset[int] = frozenset()
        self._begin = ""
        self._images = 0

    def before(self, _table: Table) -> None:
        """Notes position and counter."""
        self._standing = connected(self._admin)
        self._images = self._image_counter()
        self._begin = source.position(self._admin)

    def after(self, _table: Table) -> Iterable[Reading]:
        """The differences, once the writers' connections are gone and their counters in."""
        admin = self._admin
        end = source.position(admin)
        grown = float(admin.value("SELECT %s::pg_lsn - %s::pg_lsn", end, self._begin))
        readings = [Reading(Metric.LOG_BYTES, grown, "measured")]
        if admin.version < 140_000:
            return readings + Reading.absent(self.supplies[1:], "PostgreSQL counts page images from version 14 on.")
        wait_for_quiet(admin, self._standing)
        images = self._image_counter() - self._images
        readings.append(Reading(Metric.LOG_PAGE_IMAGES, float(images), "measured"))
        try:
            size = source.page_image_bytes(admin, self._begin, end) if images else 0
        except (UnreadableError, wal.WalUnreadableError) as error:
            return readings + Reading.absent([Metric.LOG_PAGE_IMAGE_BYTES], str(error))
        return [*readings, Reading(Metric.LOG_PAGE_IMAGE_BYTES, float(size), "measured")]

    def _image_counter(self) -> int:
        if self._admin.version < 140_000:
            return 0
        if self._admin.version >= 150_000:
            self._admin.rows("SELECT pg_stat_force_next_flush()")
        return int(self._admin.value("SELECT wal_fpi FROM pg_stat_wal"))


class SplitsProbe:
    """Splits of the key's index by kind, from the log written during the trial."""

    supplies: Sequence[Metric] = (Metric.APPENDS, Metric.EDGE_SPLITS, Metric.INTERIOR_SPLITS, Metric.BRANCH_SPLITS)

    def __init__(self, admin: PostgresAdmin) -> None:
        self._admin = admin
        self._begin = ""

    def before(self, table: Table) -> None:
        """Notes the log's position, and on a private server keeps the log from there on until `after`."""
        source.keep_log(self._admin, _SLOT, table)
        self._begin = source.position(self._admin)

    def after(self, table: Table) -> Iterable[Reading]:
        """The kinds of splits; absent where their sum is not the number of leaf pages less one."""
        try:
            end = source.position(self._admin)
            capacity = leaf_capacity(table.column, self._admin.page_bytes)
            records = source.split_records(self._admin, self._begin, end)
            found = wal.count(records, source.relation(self._admin, table), capacity)
            leaf = source.read_index(self._admin, table).leaf
        except (UnreadableError, wal.WalUnreadableError) as error:
            return Reading.absent(self.supplies, str(error))
        finally:
            source.let_log_go(self._admin, _SLOT, table)
        if found.leaf != leaf - 1:
            return Reading.absent(
                self.supplies, f"the log shows {found.leaf} leaf splits, but the index has {leaf} leaf pages."
            )
        return measured(self.supplies, (found.appends, found.edge, found.interior, found.branch))


class PagesProbe(FinalState):
    """Page structure of the key's index, as it lies in its file after the inserts."""

    supplies: Sequence[Metric] = (
        Metric.LEAF_PAGES,
        Metric.BRANCH_PAGES,
        Metric.LEAF_DENSITY,
        Metric.LEAF_FRAGMENTATION,
        Metric.LEAF_NONADJACENT,
    )

    def __init__(self, admin: PostgresAdmin) -> None:
        self._admin = admin

    def after(self, table: Table) -> Iterable[Reading]:
        """All five, or the reason why the index cannot be read."""
        try:
            found = source.read_index(self._admin, table)
        except UnreadableError as error:
            return Reading.absent(self.supplies, str(error))
        return measured(
            self.supplies, (found.leaf, found.branch, found.density, found.fragmentation, found.nonadjacent)
        )


class SizesProbe(FinalState):
    """Sizes of the key's index and of the table with all that belongs to it."""

    supplies: Sequence[Metric] = (Metric.INDEX_BYTES, Metric.TABLE_BYTES)

    def __init__(self, admin: PostgresAdmin) -> None:
        self._admin = admin

    def after(self, table: Table) -> Iterable[Reading]:
        """Both sizes in bytes."""
        total = self._admin.value("SELECT pg_total_relation_size(%s::regclass)", layout.name(table))
        return measured(self.supplies, (self._admin.index_bytes(table), total))


class HeapProbe(FinalState):
    """How far the heap lies in key order."""

    supplies: Sequence[Metric] = (Metric.HEAP_CORRELATION,)

    def __init__(self, admin: PostgresAdmin) -> None:
        self._admin = admin

    def after(self, table: Table) -> Iterable[Reading]:
        """The correlation, over all rows."""
        slices = list(self._admin.stored_keys(table))
        if sum(map(len, slices)) < 2:
            return Reading.absent(self.supplies, NO_ORDER)
        return measured(self.supplies, [correlation(np.concatenate(slices))])  # type: ignore[arg-type]
