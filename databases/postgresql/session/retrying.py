"""The session for clusters that speak PostgreSQL's protocol: a batch that the cluster rolls back is sent again."""

from __future__ import annotations

from typing import Final

from psycopg import pq

from keybench.databases.contract.roles import Address
from keybench.databases.core.retried import RetriesBatches
from keybench.databases.postgresql import connection
from keybench.databases.postgresql.session import PostgresSession
from keybench.model.table import Table

_UNKNOWN: Final = frozenset({b"42704", b"0A000"})
"""undefined_object, with which a server refuses a setting that it has not, and feature_not_supported (manual,
"PostgreSQL Error Codes"; CockroachDB and YugabyteDB have the same codes)."""


class RetryingSession(RetriesBatches, PostgresSession):
    """One writer's connection to one table. `send` is tried again at SQLSTATE 40001 and 40P01."""

    sends = PostgresSession
    _by_index = b""
    settings: tuple[bytes, ...] = ()
    """Statements at the start of each connection; a server that does not know one of them goes without."""

    def __init__(self, address: Address, table: Table) -> None:
        super().__init__(address, table)
        for statement in self.settings:
            self._set(statement)

    def _set(self, statement: bytes) -> None:
        """Changes a setting, if the server has it. ServerError if it has, and refuses the change."""
        with connection.server_errors(self._title):
            done = self._raw.exec_(statement)
            if done.error_field(pq.DiagnosticField.SQLSTATE) not in _UNKNOWN:
                self._expect(done, pq.ExecStatus.COMMAND_OK)
