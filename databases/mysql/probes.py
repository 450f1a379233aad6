"""The probes: log growth, the server's counter of splits, index pages, sizes, order of a table beside its key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract import Probe
from keybench.databases.core.probes import NO_HEAP, NO_ORDER, FinalState, measured
from keybench.databases.mysql import ddl as layout
from keybench.databases.mysql.files.ibd import IndexPages, UnreadablePagesError, pages_of, summarise
from keybench.errors import ServerError
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table

if TYPE_CHECKING:
    from keybench.databases.mysql.admin import MySqlAdmin

_LOG_COUNTER = "Innodb_os_log_written"
_FILES = "the pages are in the server's files, which keybench reads on its own private servers alone."


def probes(admin: MySqlAdmin) -> tuple[Probe, ...]:
    """All probes. The counters come first: what the others do adds to them."""
    own = LogProbe, CacheProbe, CounterProbe, PagesProbe, SizesProbe, OrderProbe
    return tuple(probe(admin) for probe in own)


class LogProbe:
    """Bytes written to the redo log. Server-wide: other work on the server counts too.

    On MariaDB 10.11 that is to the byte how far the log's position moved, on older ones and MySQL whole blocks of it.
    """

    server_wide = True
    supplies: Sequence[Metric] = (Metric.LOG_BYTES,)

    def __init__(self, admin: MySqlAdmin) -> None:
        self._admin = admin
        self._begin = 0

    def before(self, _table: Table) -> None:
        """Notes the counter."""
        self._begin = self._admin.status(_LOG_COUNTER)

    def after(self, _table: Table) -> Iterable[Reading]:
        """The difference."""
        return measured(self.supplies, [self._admin.status(_LOG_COUNTER) - self._begin])


class CacheProbe:
    """Pages that InnoDB read into its buffer pool, and wrote from it. Server-wide."""

    server_wide = True
    supplies: Sequence[Metric] = (Metric.PAGES_READ, Metric.PAGES_WRITTEN)
    _COUNTERS = ("Innodb_pages_read", "Innodb_pages_written")

    def __init__(self, admin: MySqlAdmin) -> None:
        self._admin = admin
        self._begin: list[int] = []

    def before(self, _table: Table) -> None:
        """Notes the counters."""
        self._begin = list(map(self._admin.status, self._COUNTERS))

    def after(self, _table: Table) -> Iterable[Reading]:
        """The differences."""
        end = map(self._admin.status, self._COUNTERS)
        return measured(self.supplies, [after - before for after, before in zip(end, self._begin, strict=True)])


class CounterProbe:
    """`index_page_splits` of INNODB_METRICS: of the whole server, and not what its name says.

    MariaDB adds to it at the start of each attempt: splits of leaves and branch pages, appends, and insertions that
    went into the right neighbour instead. MySQL adds at the end of a split, so without the last.
    """

    server_wide = True
    supplies: Sequence[Metric] = (Metric.SPLIT_COUNTER,)

    def __init__(self, admin: MySqlAdmin) -> None:
        self._admin = admin
        self._begin: int | str = ""

    def before(self, _table: Table) -> None:
        """Notes the counter."""
        self._begin = self._count()

    def after(self, _table: Table) -> Iterable[Reading]:
        """The difference, or why there is none."""
        end = self._count()
        if isinstance(end, str) or isinstance(self._begin, str):
            return Reading.absent(self.supplies, str(end if isinstance(end, str) else self._begin))
        return measured(self.supplies, [end - self._begin])

    def _count(self) -> int | str:
        try:
            found = self._admin.rows(
                "SELECT count FROM information_schema.innodb_metrics "  # noqa: S608  # our own condition
                f"WHERE name = 'index_page_splits' AND {self._admin.flavour.metric_enabled}"
            )
        except ServerError as error:
            return f"the counter of page splits cannot be read ({error}): it needs the privilege PROCESS."
        if not found:
            return "the server does not count page splits: SET GLOBAL innodb_monitor_enable = 'module_index' does."
        return int(found[0][0])


class PagesProbe(FinalState):
    """Page structure of the key's index, as it lies in the table's file after the inserts."""

    supplies: Sequence[Metric] = (
        Metric.LEAF_PAGES,
        Metric.BRANCH_PAGES,
        Metric.LEAF_DENSITY,
        Metric.LEAF_FRAGMENTATION,
        Metric.LEAF_NONADJACENT,
        Metric.BRANCH_SPLITS,
    )

    def __init__(self, admin: MySqlAdmin) -> None:
        self._admin = admin

    def after(self, table: Table) -> Iterable[Reading]:
        """All of them, or the reason why the pages cannot be read.

        A level of branch pages begins with one; all others of it came of splits.
        """
        try:
            found = read_index(self._admin, table)
        except (UnreadablePagesError, OSError) as error:
            return Reading.absent(self.supplies, f"the table's file cannot be read: {error}")
        if found is None:
            return Reading.absent(self.supplies, _FILES)
        shares = found.density, found.fragmentation, found.nonadjacent
        splits = Reading(Metric.BRANCH_SPLITS, float(found.branch - found.height), "derived")
        return [*measured(self.supplies[:-1], (found.leaf, found.branch, *shares)), splits]


def read_index(admin: MySqlAdmin, table: Table) -> IndexPages | None:
    """The pages of the key's index; None where the server's files are not at hand."""
    with flushed(admin, table) as pages:
        return None if pages is None else summarise(pages, admin.index(table))


@contextmanager
def flushed(admin: MySqlAdmin, table: Table) -> Iterator[NDArray[np.uint8] | None]:
    """All pages of the table's file in order, uint8 (n, page bytes); None where the server's files are not at hand.

    FLUSH TABLES … FOR EXPORT writes them all to the file and keeps it so until the tables are unlocked.
    """
    if not admin.private:
        yield None
        return
    page_bytes = int(admin.value("SELECT @@innodb_page_size"))
    admin.rows(f"FLUSH TABLES {layout.name(table)} FOR EXPORT")
    try:
        with admin.file(table) as file:
            yield pages_of(file, page_bytes) if file else None
    finally:
        admin.rows("UNLOCK TABLES")


class SizesProbe(FinalState):
    """Sizes of the key's index and of the table with all of its indexes."""

    supplies: Sequence[Metric] = (Metric.INDEX_BYTES, Metric.TABLE_BYTES)

    def __init__(self, admin: MySqlAdmin) -> None:
        self._admin = admin

    def after(self, table: Table) -> Iterable[Reading]:
        """Both sizes in bytes."""
        clustered, others = self._admin.sizes(table)
        own = clustered if layout.index_name(table) == layout.CLUSTERED_INDEX else others
        return measured(self.supplies, (own, clustered + others))


class OrderProbe(FinalState):
    """How far a table beside its key's index lies in key order."""

    supplies: Sequence[Metric] = (Metric.HEAP_CORRELATION,)

    def __init__(self, admin: MySqlAdmin) -> None:
        self._admin = admin

    def after(self, table: Table) -> Iterable[Reading]:
        """The correlation of row ids in order of the key, over all rows."""
        if table.key == "clustered":
            return Reading.absent(self.supplies, NO_HEAP)
        place = "created" if table.dated else "row_id"
        found = self._admin.rows(f"SELECT {place} FROM {layout.name(table)} FORCE INDEX (`key`) ORDER BY `key`")  # noqa: S608
        if len(found) < 2:
            return Reading.absent(self.supplies, NO_ORDER)
        places = np.argsort(np.argsort(np.array(found, np.int64).ravel()))  # LOAD DATA leaves gaps between row ids
        return measured(self.supplies, [np.corrcoef(np.arange(len(places)), places)[0, 1]])
