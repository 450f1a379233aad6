"""The session for clusters that speak PostgreSQL's protocol: a batch that the cluster rolls back is sent again."""

from __future__ import annotations

from contextlib import suppress

from keybench.databases.contract.roles import Address
from keybench.databases.core.retried import RetriesBatches
from keybench.databases.postgresql.session import PostgresSession
from keybench.errors import ServerError
from keybench.model.table import Table


class RetryingSession(RetriesBatches, PostgresSession):
    """One writer's connection to one table. `send` is tried again at SQLSTATE 40001 and 40P01."""

    sends = PostgresSession
    _by_index = b""
    settings: tuple[bytes, ...] = ()
    """Statements at the start of each connection; a server that does not know one of them goes without."""

    def __init__(self, address: Address, table: Table) -> None:
        super().__init__(address, table)
        for statement in self.settings:
            with suppress(ServerError):
                self._command(statement)
