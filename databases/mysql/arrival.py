"""The order of arrival from the clustered index: each record names the transaction that inserted it (DB_TRX_ID).

Transactions get their numbers at their first insertion, so transactions that overlap are told apart but not how their
rows lay between one another: exact for transactions of one row, near for longer ones. Of 200,000 rows from four writers
on two cores the model then has 0 to 3.5 % more or fewer leaves than the server; from the writers' own clocks 1 to 22 %.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from keybench.databases.arrival import Arrivals
from keybench.databases.engine import Table
from keybench.databases.mysql import table as layout
from keybench.databases.mysql.pages import UnreadablePagesError, leaves
from keybench.databases.mysql.probe import flushed
from keybench.errors import ServerError

if TYPE_CHECKING:
    from keybench.databases.mysql.admin import MySqlAdmin

_INFIMUM, _SUPREMUM = 99, 112
"""Where the system records of a page in row format DYNAMIC begin."""
_TRX_ID_BYTES = 6


class TrxIdRecorder:
    """Reads the table's file once the rows are in."""

    def __init__(self, admin: MySqlAdmin) -> None:
        self._admin = admin

    def before(self, _table: Table) -> None:
        """Nothing to keep: the rows themselves hold it."""

    def after(self, table: Table) -> Arrivals:
        """The transaction of each row, and rows in order of their transactions."""
        rows = self._admin.index(table, layout.CLUSTERED_INDEX)
        try:
            with flushed(self._admin, table) as pages:
                if pages is None:
                    raise ServerError("the order of arrival is in files that keybench reads on its own servers alone.")
                found = transactions(leaves(pages, rows), layout.primary_bytes(table))
        except UnreadablePagesError as error:
            raise ServerError(f"the order of arrival cannot be read: {error}") from error
        keys = self._admin.keys_by_row(table)
        if len(keys) != len(found):
            raise ServerError(f"the table's file holds {len(found)} rows, the table {len(keys)}.")
        return Arrivals(keys, found, np.sort(found), exact=False)


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
