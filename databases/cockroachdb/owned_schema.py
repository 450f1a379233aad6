"""The schema of trials in the database of a URL: creates it, uses it, and removes what keybench put there.

A trial's table has a comment that says so, as the schema has if keybench made it. CockroachDB's advisory locks lock
nothing (cockroachdb/cockroach#13546), so the lock of a run is its session: while a run works, one of its connections
calls itself `keybench run`, and of two such sessions the older one has the lock. The cluster ends it when the run dies.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import psycopg
from psycopg import sql

from keybench.databases.cockroachdb.ddl import MARK, SCHEMA
from keybench.databases.hosting.url_server import LOCK_SECONDS
from keybench.databases.postgresql import connection
from keybench.databases.postgresql.owned_schema import COMMENT
from keybench.databases.postgresql.owned_schema import Schema as PostgresSchema
from keybench.errors import ServerError

RUN = "keybench run"

_OTHERS = (
    "SELECT count(*) FROM [SHOW CLUSTER SESSIONS] WHERE application_name = %s AND session_id <> %s "
    "AND status <> 'CLOSED'"
)
_OLDER = (
    " AND (session_start, session_id) < "
    "(SELECT session_start, session_id FROM [SHOW CLUSTER SESSIONS] WHERE session_id = %s)"
)
_TABLES = """
SELECT relname, obj_description(c.oid, 'pg_class') FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
WHERE nspname = %s AND relkind = 'r' AND pg_get_userbyid(relowner) = current_user
  AND obj_description(c.oid, 'pg_class') = %s
ORDER BY relname
"""
_MADE_HERE = """
SELECT count(*) FROM pg_namespace
WHERE nspname = %s AND obj_description(oid, 'pg_namespace') = %s AND pg_get_userbyid(nspowner) = current_user
"""


class Schema(PostgresSchema):
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

    def create(self) -> None:
        """Creates the schema if it does not exist, with a comment that says that keybench made it."""
        own = self._connection
        with connection.server_errors(self._title):
            there = own.execute("SELECT count(*) FROM pg_namespace WHERE nspname = %s", [SCHEMA]).fetchone()
            if there == (0,):
                own.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(SCHEMA)))
                own.execute(sql.SQL("COMMENT ON SCHEMA {} IS {}").format(sql.Identifier(SCHEMA), sql.Literal(COMMENT)))

    def in_use(self) -> bool:
        """Whether a run with another connection uses it at this moment."""
        with connection.server_errors(self._title):
            return self._sessions(_OTHERS) > 0

    def remove(self) -> Sequence[str]:
        """Drops the trials' tables. Also drops the schema if keybench made it and nothing else is in it.

        Removes nothing while another run uses the server. There is no transaction around it: CockroachDB commits each
        change of a schema by itself.
        """
        own, removed = self._connection, list[str]()
        try:
            with connection.server_errors(self._title):
                if self._sessions(_OTHERS):
                    return []
                for name, _ in self._tables():
                    own.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(SCHEMA, name)))
                    removed.append(f"table {SCHEMA}.{name}")
                if self._made_here():
                    try:
                        own.execute(sql.SQL("DROP SCHEMA {}").format(sql.Identifier(SCHEMA)))
                        removed.append(f"schema {SCHEMA}")
                    except psycopg.errors.DependentObjectsStillExist:
                        pass
        except ServerError as error:
            done = f"Removed before that: {', '.join(removed)}." if removed else "Nothing was changed."
            raise ServerError(f"{error}\n{done} See to that object on {self.place}, then clean again.") from None
        return removed

    def _session_id(self) -> str:
        found = self._connection.execute("SHOW session_id").fetchone()
        assert found
        return str(found[0])

    def _sessions(self, statement: str, *more: str) -> int:
        found = self._connection.execute(sql.SQL(statement), [RUN, self._session_id(), *more]).fetchone()
        assert found
        return int(found[0])

    def _tables(self) -> list[tuple[str, str]]:
        return [(str(name), str(mark)) for name, mark in self._connection.execute(_TABLES, [SCHEMA, MARK])]

    def _made_here(self) -> bool:
        return self._connection.execute(_MADE_HERE, [SCHEMA, COMMENT]).fetchone() == (1,)
