"""The schema of trials in the database of a URL.

CockroachDB's advisory locks lock nothing (cockroachdb/cockroach#13546), so the lock of a run is its session: while a
run works, one of its connections calls itself `keybench run`, and of two such sessions the older one has the lock. The
cluster ends it when the run dies.
"""

from __future__ import annotations

import time

from psycopg import sql

from keybench.databases.hosting.url_server import LOCK_SECONDS
from keybench.databases.postgresql import connection
from keybench.databases.postgresql.owned_schema import ClusterSchema

RUN = "keybench run"

_OTHERS = (
    "SELECT count(*) FROM [SHOW CLUSTER SESSIONS] WHERE application_name = %s AND session_id <> %s "
    "AND status <> 'CLOSED'"
)
_OLDER = (
    " AND (session_start, session_id) < "
    "(SELECT session_start, session_id FROM [SHOW CLUSTER SESSIONS] WHERE session_id = %s)"
)


class Schema(ClusterSchema):
    """The schema `keybench` in the database of a URL (`contract.OwnedSchema`)."""

    def acquire(self) -> bool:
        """Takes the lock, unless another run has it."""
        with connection.server_errors(self._title):
            self._connection.execute("SET idle_session_timeout = 0")  # the connection is idle while the run works
            self._connection.execute(sql.SQL("SET application_name = {}").format(sql.Literal(RUN)))
            deadline = time.monotonic() + LOCK_SECONDS
            while self._sessions(_OTHERS + _OLDER, self._session_id()):
                if time.monotonic() > deadline:
                    return False
                time.sleep(0.1)
        return True

    def in_use(self) -> bool:
        """Whether a run with another connection uses it at this moment."""
        with connection.server_errors(self._title):
            return self._locked_out()

    def _locked_out(self) -> bool:
        return self._sessions(_OTHERS) > 0

    def _session_id(self) -> str:
        found = self._connection.execute("SHOW session_id").fetchone()
        assert found
        return str(found[0])

    def _sessions(self, statement: str, *more: str) -> int:
        found = self._connection.execute(sql.SQL(statement), [RUN, self._session_id(), *more]).fetchone()
        assert found
        return int(found[0])
