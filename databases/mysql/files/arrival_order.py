"""The order of arrival: each record names the transaction that inserted it (DB_TRX_ID), and MariaDB's redo log tells in
which order rows came into an index.

Where the log cannot be read, or has been written over, the order is that of the transactions, which get their numbers
at their first insertion. Those that overlap are told apart then, but not how their rows lay between one another: exact
for transactions of one row, near for longer ones. Of 200,000 rows from four writers on two cores the model then has 0
to 3.5 % more or fewer leaves than the server; from the log as many; from the writers' own clocks 1 to 22 %.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from keybench.databases.core.arrival import Arrivals
from keybench.databases.mysql import ddl as layout
from keybench.databases.mysql.files import redo
from keybench.databases.mysql.files.ibd import UnreadablePagesError, leaves, space, summarise
from keybench.databases.mysql.probes import flushed
from keybench.errors import ServerError
from keybench.model.byteorder import rank
from keybench.model.keys import Keys
from keybench.model.table import Table
from keybench.pagemodels.innodb.records import primary_bytes

if TYPE_CHECKING:
    from keybench.databases.mysql.admin import MySqlAdmin

_INFIMUM, _SUPREMUM = 99, 112
"""Where the system records of a page in row format DYNAMIC begin."""
_TRX_ID_BYTES = 6
_FLUSH_SECONDS = 10.0
"""The profile `fast` has the log written to its file once a second."""

NEAR = "By the order of transactions, which is near that of their rows"
BY_DATE = "By the order in which rows came into the table, which is near that in which keys came into their index."


class InsertionRecorder:
    """Reads the table's file and the log once the rows are in."""

    def __init__(self, admin: MySqlAdmin) -> None:
        self._admin = admin
        self._begin = 0

    def before(self, _table: Table) -> None:
        """Notes the log's position."""
        if self._admin.private and self._admin.flavour.log_position:
            self._begin = self._admin.status(self._admin.flavour.log_position)

    def after(self, table: Table) -> Arrivals:
        """The transaction of each row, and rows in order of their insertion, or at least of their transactions."""
        admin, by_number = self._admin, table.key not in ("clustered", "by-date")
        width = primary_bytes(table)
        try:
            with flushed(admin, table) as pages:
                if pages is None:
                    raise ServerError("the order of arrival is in files that keybench reads on its own servers alone.")
                found = transactions(leaves(pages, admin.index(table, layout.CLUSTERED_INDEX)), width)
                index = space(pages), np.concatenate(summarise(pages, admin.index(table)).levels)
        except UnreadablePagesError as error:
            raise ServerError(f"the order of arrival cannot be read: {error}") from error
        keys = admin.keys_by_row(table)
        if len(keys) != len(found):
            raise ServerError(f"the table's file holds {len(found)} rows, the table {len(keys)}.")
        if not admin.flavour.log_position:
            return Arrivals(keys, found, np.sort(found), f"{NEAR}.")
        try:
            end = self._flushed_log()
            with admin.data_file(redo.FILE) as path:
                if path is None:
                    return Arrivals(keys, found, np.sort(found), f"{NEAR}.")
                if by_number:
                    last = int(admin.value(f"SELECT max(row_id) FROM {layout.name(table)}"))  # noqa: S608
                    rows = redo.entered(path, self._begin, end, index, last, len(found))
                    return Arrivals(keys, found, found[np.argsort(np.argsort(rows))])
                inserted = redo.inserted(path, self._begin, end, admin.table_id(table), width, len(found))
                near = BY_DATE if table.dated else ""
                return Arrivals(keys, found, found[rank(Keys(inserted, "bytes"), "rfc")], near)
        except redo.UnreadableLogError as error:
            return Arrivals(keys, found, np.sort(found), f"{NEAR}: the log does not tell more, for {error}")

    def _flushed_log(self) -> int:
        """The log's end, once it is in the file. The server is asked to write it there at once, and is not trusted."""
        names = self._admin.flavour
        end, deadline = self._admin.status(names.log_position), time.monotonic() + _FLUSH_SECONDS
        self._admin.rows("FLUSH NO_WRITE_TO_BINLOG ENGINE LOGS")
        while self._admin.status(names.log_flushed) < end:
            if time.monotonic() > deadline:
                raise redo.UnreadableLogError("the server does not write it to its file.")
            time.sleep(0.02)
        return end


def transactions(pages: NDArray[np.uint8], key_bytes: int) -> NDArray[np.int64]:
    """DB_TRX_ID of each record in key order, from the leaves of a clustered index in key order: uint8 (n, page bytes).

    A record's origin is its primary key; the two bytes before it lead to the next record's, relative to it.
    """
    own = np.arange(len(pages))
    at = np.full(len(pages), _INFIMUM)
    places, numbers = [], []
    step = 0
    while True:
        links = pages[own, at - 2].astype(np.int64) << 8 | pages[own, at - 1]
        at = (at + links) % (1 << 16)
        going = at != _SUPREMUM
        own, at = own[going], at[going]
        if not len(own):
            break
        if step > pages.shape[1] or (at + key_bytes + _TRX_ID_BYTES > pages.shape[1]).any():
            raise UnreadablePagesError("the records of a leaf are no chain.")
        number = np.zeros(len(own), np.int64)
        for i in range(_TRX_ID_BYTES):
            number = number << 8 | pages[own, at + key_bytes + i]
        places.append(own * pages.shape[1] + step)
        numbers.append(number)
        step += 1
    return np.concatenate(numbers)[np.argsort(np.concatenate(places))]
