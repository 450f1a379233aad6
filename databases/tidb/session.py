"""A writer's connection: MySQL's, with prepared INSERTs of many rows, which are sent again if TiDB rolls them back.

LOAD DATA is not used: older versions commit it after each 20,000 rows ("LOAD DATA").
"""

from __future__ import annotations

from keybench.databases.contract.roles import Address
from keybench.databases.core.retried import RetriesBatches
from keybench.databases.mysql.session import MySqlSession
from keybench.model.table import Table


class TidbSession(RetriesBatches, MySqlSession):
    """One writer's connection to one table."""

    def __init__(self, address: Address, table: Table) -> None:
        RetriesBatches.__init__(self)
        MySqlSession.__init__(self, address, table)
        self._method = "prepared"

    def send(self, batch: object) -> int:
        """Sends one batch until TiDB has committed it. Returns the rows that it stored."""
        return self.again(lambda: MySqlSession.send(self, batch), self.rollback)

    def exchange(self) -> None:
        """None: the compiled loop cannot send a row again."""
        return

    def begin(self) -> None:
        """Begins a transaction."""
        super().begin()
        self._inside = True

    def commit(self) -> None:
        """Commits it."""
        super().commit()
        self._inside = False

    def rollback(self) -> None:
        """Ends it."""
        super().rollback()
        self._inside = False
