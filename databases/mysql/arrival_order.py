"""The order of arrival, by the transaction that inserted each record (DB_TRX_ID) and by the redo log.

Where the log cannot be read or was overwritten, the order is that of the transactions, which get their numbers at their
first insertion. Overlapping transactions are then told apart, but not how their rows interleaved: nearly exact
for transactions of one row, approximate for longer ones. Measured with 200,000 rows from four writers on two cores: the
model had 0 to 3.5 % more or fewer leaves than the server, equally many with the order from the log, and 1 to 22 % more
or fewer with the order by the writers' own clocks (docs/internals/arrival-order.md §2).
"""

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract.roles import Arrivals
from keybench.databases.core.probes import UnreadableError
from keybench.databases.mysql import ddl, mysql_log, redo_log
from keybench.databases.mysql.connection import Queries
from keybench.databases.mysql.flavour import MYSQL
from keybench.databases.mysql.ibd_file import leaves, records_of, space, summarise
from keybench.databases.mysql.probes import data_file, flushed, index_id, log_positions, table_id
from keybench.databases.mysql.redo_log import entered_rows, inserted_keys
from keybench.errors import ServerError
from keybench.model.byteorder import rank
from keybench.model.column import EncodedKeys
from keybench.model.keys import Keys
from keybench.model.table import Table
from keybench.pagemodels.innodb.records import primary_bytes

ReadKeys = Callable[[Table], EncodedKeys]

_TRX_ID_BYTES = 6  # bytes of a record's DB_TRX_ID
_FLUSH_SECONDS = 10.0  # with the profile `fast` the server writes the log to its file once a second

NEAR = "By the order of transactions, which is near that of their rows"
BY_DATE = "By the order in which rows came into the table, which is near that in which keys came into their index."


class InsertionRecorder:
    """Reads the table's file and the log once the rows are in."""

    def __init__(self, server: Queries, keys_by_row: ReadKeys) -> None:
        """`keys_by_row` gives all keys of a table in order of its primary key."""
        self._server = server
        self._keys_by_row = keys_by_row
        self._begin = 0

    def before(self, _table: Table) -> None:
        """Notes the log's position."""
        if self._server.private:
            self._begin, _ = log_positions(self._server)

    def after(self, table: Table) -> Arrivals:
        """The transaction of each row, and the rows in order of insertion, or at least of their transactions."""
        try:
            trx_ids, index_pages = self._read_file(table)
        except UnreadableError as error:
            raise ServerError(f"the order of arrival cannot be read: {error}") from error
        keys = self._keys_by_row(table)
        if len(keys) != len(trx_ids):
            raise ServerError(f"the table's file holds {len(trx_ids)} rows, the table {len(keys)}.")
        try:
            order = self._insertions(table, index_pages, len(trx_ids))
        except UnreadableError as error:
            return Arrivals(keys, trx_ids, np.sort(trx_ids), near=f"{NEAR}: the log cannot be used, because {error}")
        return Arrivals(keys, trx_ids, trx_ids[order], near=BY_DATE if table.by_date else "")

    def _read_file(self, table: Table) -> tuple[NDArray[np.int64], tuple[int, NDArray[np.int64]]]:
        """(the transaction of each row in order of the primary key, (tablespace, page numbers) of the key's index).
        UnreadableError if the file cannot be read, ServerError on somebody's own server."""
        with flushed(self._server, table) as pages:
            if pages is None:
                raise ServerError("the order of arrival is in files that keybench reads on its own servers alone.")
            clustered = leaves(pages, index_id(self._server, table, ddl.CLUSTERED_INDEX))
            trx_ids = transactions(clustered, primary_bytes(table))
            index = summarise(pages, index_id(self._server, table))
            return trx_ids, (space(pages), np.concatenate(index.levels))

    def _insertions(self, table: Table, index_pages: tuple[int, NDArray[np.int64]], rows: int) -> NDArray[np.int64]:
        """For each insertion, in order of arrival, the inserted row's number in order of the primary key, from 0: int64
        (rows,). `index_pages`: (tablespace, page numbers) of the key's index. UnreadableError if the log is no use."""
        server = self._server
        end = flushed_log(server)
        log = mysql_log if server.flavour is MYSQL else redo_log
        with data_file(server, log.PLACE) as path:
            assert path is not None, "the table's file has been read"
            windows = log.windows(path, self._begin, end)
            if table.key in ("clustered", "by-date"):
                width = table.column.width
                widths = (primary_bytes(table) - width, width) if table.by_date else (width,)  # by date: moment and key
                # The log's records hold the primary key itself.
                return rank(Keys(inserted_keys(windows, table_id(server, table), widths, rows), "bytes"), "rfc")
            # Else they hold `row_id`, the primary key. The argsort of an argsort gives the rank of each value.
            last = int(server.value(f"SELECT max(row_id) FROM {ddl.name(table)}"))  # noqa: S608  # our own names
            return np.argsort(np.argsort(entered_rows(windows, index_pages, last, rows)))


def flushed_log(server: Queries) -> int:
    """The position of the log's end, when the server has written all before it to the log's files. UnreadableError if
    it does not within `_FLUSH_SECONDS`."""
    deadline = time.monotonic() + _FLUSH_SECONDS
    end, written = log_positions(server)
    server.rows("FLUSH NO_WRITE_TO_BINLOG ENGINE LOGS")  # it may return before all is written
    while written < end:
        if time.monotonic() > deadline:
            raise UnreadableError("the server does not write it to its file.")
        time.sleep(0.02)
        _, written = log_positions(server)
    return end


def transactions(pages: NDArray[np.uint8], key_bytes: int) -> NDArray[np.int64]:
    """DB_TRX_ID of each record in key order, from the leaves of a clustered index in key order: uint8 (n, page bytes).
    A record begins with its primary key; the number follows."""
    page, _, at = records_of(pages, key_bytes + _TRX_ID_BYTES)
    numbers = np.zeros(len(page), np.int64)
    for i in range(_TRX_ID_BYTES):  # most significant byte first
        numbers = numbers << 8 | pages[page, at + key_bytes + i]
    return numbers
