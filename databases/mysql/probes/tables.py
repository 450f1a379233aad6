"""What the server's dictionary says about a trial's table: ids, file name, sizes; and the probes of size and order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from keybench.databases.contract.roles import Probe
from keybench.databases.core.probes import NO_HEAP, NO_ORDER, measured
from keybench.databases.mysql import ddl, settings
from keybench.databases.mysql.connection import Queries
from keybench.errors import ServerError
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table
from keybench.pagemodels.innodb import records


def index_id(server: Queries, table: Table, name: str = "") -> int:
    """InnoDB's id of the key's index, or of the index of that name; ServerError where there is none."""
    for index, index_name, _ in _indexes(server, table):
        if index_name == (name or ddl.index_name(table)):
            return index
    raise _no_table(server, table)


def table_id(server: Queries, table: Table) -> int:
    """InnoDB's id of the table; ServerError where there is none."""
    for _, _, number in _indexes(server, table):
        return number
    raise _no_table(server, table)


def innodb_name(table: Table) -> str:
    """The table's name with its database, as files and InnoDB's dictionary spell it.

    `@` and four hexadecimal digits stand for a character that is no letter, digit or underscore.
    """
    return f"{ddl.SCHEMA}/" + re.sub(r"[^A-Za-z0-9_]", lambda match: f"@{ord(match[0]):04x}", table.name)


def sizes(server: Queries, table: Table) -> tuple[int, int]:
    """(bytes of the clustered index, bytes of the others), unused pages of their segments included."""
    server.rows(f"ANALYZE TABLE {ddl.name(table)}")
    lengths = server.rows(
        "SELECT data_length, index_length FROM information_schema.tables WHERE table_schema = %s AND table_name = %s",
        [ddl.SCHEMA, table.name],
    )
    if not lengths:
        raise _no_table(server, table)
    return int(lengths[0][0]), int(lengths[0][1])


def index_bytes(server: Queries, table: Table) -> int:
    """Size of the key's index: of the table itself where it is clustered."""
    return sizes(server, table)[ddl.index_name(table) != ddl.CLUSTERED_INDEX]


def _indexes(server: Queries, table: Table) -> list[tuple[int, str, int]]:
    """(index id, index name, table id) of each index of the table."""
    return [(int(i), str(name), int(t)) for i, name, t in server.rows(server.flavour.indexes, [innodb_name(table)])]


def _no_table(server: Queries, table: Table) -> ServerError:
    return ServerError(f"{server.flavour.title}: there is no table {ddl.name(table)}.")


def leaf_pages(server: Queries, table: Table) -> int | None:
    """Leaf pages of the key's index, which ANALYZE TABLE counts exactly; None where the server stores no statistics.

    It counts those of the segment, unless so few pages are to be sampled that it reads them all: then MariaDB's number
    is wrong. ServerError where this user may not read the statistics.
    """
    server.rows(f"ALTER TABLE {ddl.name(table)} STATS_SAMPLE_PAGES = 1")
    server.rows(f"ANALYZE TABLE {ddl.name(table)}")
    counted = server.rows(
        "SELECT stat_value FROM mysql.innodb_index_stats WHERE database_name = %s AND table_name = %s "
        "AND index_name = %s AND stat_name = 'n_leaf_pages'",
        [ddl.SCHEMA, table.name, ddl.index_name(table)],
    )
    return int(counted[0][0]) if counted else None


def leaf_bytes(server: Queries, table: Table) -> int:
    """Bytes of all records in the leaves of the key's index, by the sizes of InnoDB's format."""
    key = records.key_bytes(table.column, multibyte=settings.is_multibyte(table))
    long = f" + (length(payload) > {records.SHORT_TEXT})" if table.payload > records.SHORT_LIMIT else ""
    text = f"sum(length(payload) + 1{long})" if table.payload else "0"
    ((rows, payload),) = server.rows(f"SELECT count(*), coalesce({text}, 0) FROM {ddl.name(table)}")  # noqa: S608
    if ddl.index_name(table) != ddl.CLUSTERED_INDEX:
        return int(rows) * records.leaf_record(key, 0, table.key)
    beside = table.key != "clustered"
    record = records.row_records(key, 0, table.key)[0] if beside else records.leaf_record(key, 0, table.key)
    return int(rows) * record + int(payload)


class SizesProbe(Probe):
    """Sizes of the key's index and of the table with all of its indexes."""

    supplies: Sequence[Metric] = (Metric.INDEX_BYTES, Metric.TABLE_BYTES)

    def __init__(self, server: Queries) -> None:
        self._server = server

    def after(self, table: Table) -> Iterable[Reading]:
        """Both sizes in bytes."""
        clustered, others = sizes(self._server, table)
        key_index = clustered if ddl.index_name(table) == ddl.CLUSTERED_INDEX else others
        return measured(self.supplies, (key_index, clustered + others))


class OrderProbe(Probe):
    """How far a table beside its key's index lies in key order."""

    supplies: Sequence[Metric] = (Metric.HEAP_CORRELATION,)

    def __init__(self, server: Queries) -> None:
        self._server = server

    def after(self, table: Table) -> Iterable[Reading]:
        """The correlation of row ids, or of moments by date, in key order, over all rows."""
        if table.key == "clustered":
            return Reading.absent(self.supplies, NO_HEAP)
        place = "created" if table.by_date else "row_id"
        rows = self._server.rows(f"SELECT {place} FROM {ddl.name(table)} FORCE INDEX (`key`) ORDER BY `key`")  # noqa: S608
        if len(rows) < 2:
            return Reading.absent(self.supplies, NO_ORDER)
        ranks = np.argsort(np.argsort(np.array(rows, np.int64).ravel()))  # LOAD DATA leaves gaps between row ids
        return measured(self.supplies, [np.corrcoef(np.arange(len(ranks)), ranks)[0, 1]])
