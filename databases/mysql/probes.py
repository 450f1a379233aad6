"""The probes of the server's counters and of the pages of the key's index, and the samples of waits.

Pages are in the table's file, which only a private server lets keybench read. Elsewhere InnoDB's statistics have the
number of leaves.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from keybench.databases.core import probes
from keybench.databases.hosting import docker_daemon
from keybench.databases.hosting.container import KIND
from keybench.databases.mysql import ddl, settings
from keybench.databases.mysql.connection import Queries
from keybench.databases.mysql.flavour import MYSQL
from keybench.databases.mysql.ibd_file import IndexPages, index_pages, pages_of, summarise
from keybench.errors import EnvironmentMissing, ServerError
from keybench.locked_folder import base_directory, locked_folder
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table
from keybench.pagemodels.innodb import records
from keybench.pagemodels.innodb.server_pages import InnodbPages

_NO_PROCESS: Final = "INNODB_METRICS cannot be read without the privilege PROCESS."
_LATCHES: Final = """
SELECT coalesce(sum(count), 0) FROM information_schema.innodb_metrics
WHERE name IN ('innodb_rwlock_s_os_waits', 'innodb_rwlock_x_os_waits', 'innodb_rwlock_sx_os_waits')"""
_NO_FILES: Final = "the pages are in the server's files, which keybench reads on its own private servers alone."
_NO_COUNT: Final = (
    f"{_NO_FILES} It reads mysql.innodb_index_stats on others, which needs innodb_stats_persistent = ON and "
    "GRANT SELECT ON mysql.innodb_index_stats"
)
_LOG_POSITIONS: Final = "Log sequence number", "Log flushed up to"


class StatusProbe(probes.CounterProbe[Queries]):
    """Bytes of the redo log; pages read into the buffer pool and written from it; waits for row locks, log and latches.
    MariaDB has counted no waits for latches since 10.6. MySQL counts those of all read-write locks of InnoDB, of which
    those of pages and indexes are most."""

    def __init__(self, server: Queries) -> None:
        super().__init__(server)
        latches = (Metric.LATCH_WAITS,) if server.flavour is MYSQL else ()
        self.supplies: Sequence[Metric] = (
            Metric.LOG_BYTES,
            Metric.PAGES_READ,
            Metric.PAGES_WRITTEN,
            Metric.ROW_LOCK_WAITS,
            Metric.ROW_LOCK_WAIT_MS,
            Metric.LOG_SYNCS,
            *latches,
        )

    def counters(self, _table: Table) -> Sequence[int | str]:
        """The counters, in the order of `supplies`."""
        is_mysql = self._server.flavour is MYSQL
        # MariaDB counts writes of its log, each of which ends a group of commits; MySQL counts its synchronisations.
        syncs = "Innodb_os_log_fsyncs" if is_mysql else "Innodb_log_writes"
        names = "Innodb_pages_read", "Innodb_pages_written", "Innodb_row_lock_waits", "Innodb_row_lock_time", syncs
        return [self._log_bytes(), *map(self._server.status, names), *([self._latches()] if is_mysql else [])]

    def _log_bytes(self) -> int:
        """The position of the log's end in bytes, or a counter of the bytes written that takes its place. MariaDB 10.11
        counts the bytes by which the log's position moved; older ones count whole blocks. MySQL's counter lacks what is
        still in memory: up to a second's log with the profile `fast`. So users who may (PROCESS) read the position
        itself."""
        if self._server.flavour is MYSQL:
            with suppress(ServerError):
                return log_positions(self._server)[0]
        return self._server.status("Innodb_os_log_written")

    def _latches(self) -> int | str:
        """The waits for latches, or why they cannot be read."""
        try:
            return int(self._server.value(_LATCHES))
        except ServerError:
            return _NO_PROCESS


class SplitsProbe(probes.CounterProbe[Queries]):
    """`index_page_splits` of INNODB_METRICS, which counts more than page splits. MariaDB counts at the start of each
    attempt: splits of leaves and branch pages, appends, and insertions that went into the right neighbour instead.
    MySQL counts at the end of a split, so without the last kind (docs/internals/innodb.md §6)."""

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
        """A caveat if the table has a parent: the counter is the whole server's."""
        return "With the splits of the parent's table, which has the key as its primary key." if table.parent else ""


class PagesProbe(probes.ServerProbe[Queries]):
    """Page structure of the key's index after the inserts: from the table's file, or leaves alone from statistics."""

    supplies: Sequence[Metric] = (*probes.PAGE_STRUCTURE, Metric.BRANCH_SPLITS)

    def after(self, table: Table) -> Iterable[Reading]:
        """The readings, or why the pages cannot be read."""
        try:
            index = read_index(self._server, table)
        except (probes.UnreadableError, OSError) as error:
            return Reading.absent(self.supplies, f"the table's file cannot be read: {error}")
        if index is None:  # somebody's own server, whose files are out of reach
            return self._counted(table)
        shares = index.density, index.fragmentation, index.nonadjacent
        # Each level of branch pages begins with one page; a split made each of the others.
        splits = Reading(Metric.BRANCH_SPLITS, float(index.branch - index.height), "derived")
        return [*probes.measured(probes.PAGE_STRUCTURE, (index.leaf, index.branch, *shares)), splits]

    def _counted(self, table: Table) -> Iterable[Reading]:
        """The leaves that somebody's own server counts, and their density by InnoDB's sizes of rows; the other metrics
        are absent."""
        problem = ""
        try:
            leaves = leaf_pages(self._server, table)
        except ServerError as error:
            leaves, problem = None, f" ({error})"
        if leaves is None:
            return Reading.absent(self.supplies, f"{_NO_COUNT}{problem}.")
        room = leaves * (int(self._server.value("SELECT @@innodb_page_size")) - records.PAGE_HEADER)
        by_metric = {
            Metric.LEAF_PAGES: Reading(Metric.LEAF_PAGES, float(leaves), "measured"),
            Metric.LEAF_DENSITY: Reading(Metric.LEAF_DENSITY, 100 * leaf_bytes(self._server, table) / room, "derived"),
        }
        return [by_metric.get(absent.metric, absent) for absent in Reading.absent(self.supplies, _NO_FILES)]


class StageSampler(probes.WaitSamples[Queries]):
    """Samples of the stages of the writers' statements, because the server's list of connections shows no waits. The
    stage `Update` is an insertion, with its waits for latches and row locks; that of a commit has the wait for the log.
    """

    def begin(self) -> None:
        """Notes all connections that are there: those of writers come later."""
        rows = self._server.rows("SELECT id FROM information_schema.processlist")
        self._earlier_ids = ", ".join(str(int(number)) for (number,) in rows)

    def waits(self) -> Iterable[tuple[Any, ...]]:
        """The writers' connections by stage."""
        return self._server.rows(
            "SELECT CASE WHEN command = 'Sleep' THEN 'client' WHEN coalesce(state, '') = '' THEN 'running' "  # noqa: S608
            "ELSE lower(state) END, count(*) FROM information_schema.processlist "
            f"WHERE id NOT IN ({self._earlier_ids}) AND command <> 'Daemon' GROUP BY 1"
        )


def log_positions(server: Queries) -> tuple[int, int]:
    """(the position of the log's end, the position up to which the log is in its files), in bytes. Not from status
    variables: those of MySQL lag behind."""
    ((*_, status),) = server.rows("SHOW ENGINE INNODB STATUS")
    end, written = (re.search(rf"^{name}\s+(\d+)$", status, re.MULTILINE) for name in _LOG_POSITIONS)
    if not end or not written:
        raise ServerError(f"{server.flavour.title}: SHOW ENGINE INNODB STATUS does not say where its log ends.")
    return int(end[1]), int(written[1])


@contextmanager
def data_file(server: Queries, name: str) -> Iterator[Path | None]:
    """A file of the server's data directory for as long as the block lasts: a copy where it is in a container. None on
    somebody's own server. UnreadableError where it cannot be copied."""
    parameters = server.address.parameters
    if "data" in parameters:  # a private server's data directory
        yield Path(parameters["data"], name)
    elif KIND in parameters:
        with locked_folder(base_directory(), "copy") as folder:
            source, copy = f"{str(server.value('SELECT @@datadir')).rstrip('/')}/{name}", folder / "copy"
            try:
                docker_daemon.copy_file(parameters[KIND], source, copy)
            except EnvironmentMissing as error:
                raise probes.UnreadableError(str(error)) from None
            yield copy
    else:
        yield None


@contextmanager
def flushed(server: Queries, table: Table) -> Iterator[NDArray[np.uint8] | None]:
    """All pages of the table's file in order, uint8 (n, page bytes); None on somebody's own server. FLUSH TABLES … FOR
    EXPORT writes them all to the file and locks the table until UNLOCK TABLES."""
    if not server.private:
        yield None
        return
    page_bytes = int(server.value("SELECT @@innodb_page_size"))
    server.rows(f"FLUSH TABLES {ddl.name(table)} FOR EXPORT")
    try:
        with data_file(server, f"{innodb_name(table)}.ibd") as file:
            yield pages_of(file, page_bytes) if file else None
    finally:
        server.rows("UNLOCK TABLES")


def read_index(server: Queries, table: Table) -> IndexPages | None:
    """The pages of the key's index; None on somebody's own server."""
    with flushed(server, table) as pages:
        return None if pages is None else summarise(pages, index_id(server, table))


def read_for_model(server: Queries, table: Table) -> InnodbPages | None:
    """All that the page model needs to go on from the key's index; None on somebody's own server."""
    with flushed(server, table) as pages:
        if pages is None:
            return None
        return index_pages(pages, summarise(pages, index_id(server, table)), table.column)


def innodb_name(table: Table) -> str:
    """The table's name with its database, as files and InnoDB's dictionary spell it: with `@` and four hexadecimal
    digits for what is no letter, digit or underscore."""
    return f"{ddl.SCHEMA}/" + re.sub(r"[^A-Za-z0-9_]", lambda match: f"@{ord(match[0]):04x}", table.name)


def index_id(server: Queries, table: Table, name: str = "") -> int:
    """InnoDB's id of the key's index, or of the index of that name; ServerError where there is none."""
    return _ids(server, table, name or ddl.index_name(table))[0]


def table_id(server: Queries, table: Table) -> int:
    """InnoDB's id of the table; ServerError where there is none."""
    return _ids(server, table, ddl.CLUSTERED_INDEX)[1]


def _ids(server: Queries, table: Table, name: str) -> tuple[int, int]:
    """InnoDB's (id of the index of that name, id of its table); ServerError if there is none."""
    for index_number, index_name, table_number in server.rows(server.flavour.index_sql, innodb_name(table)):
        if index_name == name:
            return int(index_number), int(table_number)
    raise _no_table(server, table)


def _no_table(server: Queries, table: Table) -> ServerError:
    return ServerError(f"{server.flavour.title}: there is no table {ddl.name(table)}.")


def index_sizes(server: Queries, table: Table) -> tuple[int, int]:
    """(Bytes of the clustered index, bytes of the others), unused pages of their segments included."""
    server.rows(f"ANALYZE TABLE {ddl.name(table)}")
    lengths = server.rows(
        "SELECT data_length, index_length FROM information_schema.tables WHERE table_schema = %s AND table_name = %s",
        ddl.SCHEMA,
        table.name,
    )
    if not lengths:
        raise _no_table(server, table)
    return int(lengths[0][0]), int(lengths[0][1])


def index_bytes(server: Queries, table: Table) -> int:
    """Size of the key's index: of the table itself where it is clustered."""
    clustered, others = index_sizes(server, table)
    return clustered if ddl.index_name(table) == ddl.CLUSTERED_INDEX else others


def leaf_pages(server: Queries, table: Table) -> int | None:
    """Leaf pages of the key's index, which ANALYZE TABLE counts exactly, by the index's segment; None where the server
    stores no statistics. ServerError where this user may not read them. Changes the table's STATS_SAMPLE_PAGES."""
    # A sample of more pages than the index has means that all are read, and then MariaDB's number is wrong.
    server.rows(f"ALTER TABLE {ddl.name(table)} STATS_SAMPLE_PAGES = 1")
    server.rows(f"ANALYZE TABLE {ddl.name(table)}")
    counted = server.rows(
        "SELECT stat_value FROM mysql.innodb_index_stats WHERE database_name = %s AND table_name = %s "
        "AND index_name = %s AND stat_name = 'n_leaf_pages'",
        ddl.SCHEMA,
        table.name,
        ddl.index_name(table),
    )
    return int(counted[0][0]) if counted else None


def leaf_bytes(server: Queries, table: Table) -> int:
    """Bytes of all records in the leaves of the key's index, by the sizes of InnoDB's format."""
    key = records.key_bytes(table.column, multibyte=settings.is_multibyte(table))
    # A text has one byte for its length in front of it; in a wide column a longer text has two.
    second_byte = f" + (length(payload) > {records.SHORT_TEXT})" if table.payload > records.SHORT_LIMIT else ""
    payloads = f"sum(length(payload) + 1{second_byte})" if table.payload else "0"
    ((rows, payload),) = server.rows(f"SELECT count(*), coalesce({payloads}, 0) FROM {ddl.name(table)}")  # noqa: S608
    if ddl.index_name(table) != ddl.CLUSTERED_INDEX:  # a secondary index, which has no payload
        return int(rows) * records.leaf_record(key, 0, table.key)
    if table.key == "clustered":
        record = records.leaf_record(key, 0, table.key)
    else:  # the rows lie by date
        record, _ = records.row_records(key, 0, table.key)  # that in a leaf
    return int(rows) * record + int(payload)
