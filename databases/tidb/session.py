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

    sends = MySqlSession

    def __init__(self, address: Address, table: Table) -> None:
        super().__init__(address, table)
        self._method = "prepared"
