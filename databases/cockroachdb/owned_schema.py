"""The schema of trials in the database of a URL.

CockroachDB's advisory locks lock nothing (cockroachdb/cockroach#13546), so the lock of a run is its session: while a
run works, one of its connections calls itself `keybench run`. A run takes that name, then looks whether another session
has it, and gives it back if so: of two that begin at once, at most one keeps it. The cluster ends the session when the
run dies.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import SystemRandom

from psycopg import sql

from keybench.databases.hosting.url_server import LOCK_SECONDS
from keybench.databases.postgresql import connection
from keybench.databases.postgresql.owned_schema import ClusterSchema

RUN = "keybench run"

_OTHERS = (
    "SELECT count(*) FROM [SHOW CLUSTER SESSIONS] WHERE application_name = %s AND session_id <> %s "
    "AND status <> 'CLOSED'"
)


class Schema(ClusterSchema):
    """The schema `keybench` in the database of a URL (`contract.OwnedSchema`)."""

    def acquire(self) -> bool:
        """Takes the lock, unless another run has it."""
        with connection.server_errors(self._title):
            self._connection.execute("SET idle_session_timeout = 0")  # the connection is idle while the run works
            deadline = time.monotonic() + LOCK_SECONDS
            while True:
                self._call_itself(RUN)
                if not self._locked_out():
                    return True
                self._call_itself(connection.APPLICATION)
                if time.monotonic() > deadline:
                    return False
                time.sleep(SystemRandom().uniform(0.05, 0.2))  # or two would meet again and again

    def in_use(self) -> bool:
        """Whether a run with another connection uses it at this moment."""
        with connection.server_errors(self._title):
            return self._locked_out()

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        """Whether no other run uses the server; then none can begin before this ends."""
        before = self._connection.execute("SHOW application_name").fetchone()
        assert before
        self._call_itself(RUN)
        try:
            yield not self._locked_out()
        finally:
            if not self._connection.closed:
                self._call_itself(str(before[0]))

    def _call_itself(self, name: str) -> None:
        self._connection.execute(sql.SQL("SET application_name = {}").format(sql.Literal(name)))

    def _locked_out(self) -> bool:
        own = self._connection.execute("SHOW session_id").fetchone()
        assert own
        return self._connection.execute(_OTHERS, [RUN, own[0]]).fetchone() != (0,)
