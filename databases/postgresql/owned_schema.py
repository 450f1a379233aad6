"""The schema of trials on a user's own server: creates it, uses it, and removes what keybench put there.

The results database can be in the same schema. So a trial's table is recognised by its shape: it has the column `key`,
perhaps `created` before and `payload` after it (or the columns of the coordination table), autovacuum is off, and this
user owns it. A schema that keybench made has a comment that says so. While a run uses the server, it holds an advisory
lock, which the server releases when the run dies.
"""

from __future__ import annotations

from collections.abc import Sequence

import psycopg
from psycopg import sql

from keybench.databases.contract.roles import Address
from keybench.databases.core.coordination import COLUMNS, TABLE, CoordinationTable, Dialect, Rows, Values, positional
from keybench.databases.hosting.url_server import LOCK_SECONDS
from keybench.databases.postgresql import connection, ddl
from keybench.databases.postgresql.connection import require_postgresql
from keybench.databases.postgresql.ddl import SCHEMA
from keybench.errors import ServerError

LOCK = int.from_bytes(b"keytrial")
"""Key of the advisory lock that a run holds. Advisory locks belong to one database, as schemas do."""
COMMENT = "made by keybench, which removes it"

_TABLES = """
SELECT relname, pg_size_pretty(pg_total_relation_size(c.oid)) FROM pg_class c
WHERE relnamespace = to_regnamespace(%s) AND relkind = 'r' AND pg_has_role(relowner, 'USAGE')
  AND 'autovacuum_enabled=false' = ANY (reloptions)
  AND (SELECT array_agg(attname::text ORDER BY attnum) FROM pg_attribute
       WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) IN
       (ARRAY['key'], ARRAY['key', 'payload'], ARRAY['created', 'key'], ARRAY['created', 'key', 'payload'], %s)
ORDER BY relname
"""
_IS_MARKED = """
SELECT count(*) = 1 FROM pg_namespace
WHERE nspname = %s AND obj_description(oid, 'pg_namespace') = %s AND pg_has_role(nspowner, 'USAGE')
"""


class Schema:
    """The schema `keybench` in the database of a URL (`contract.OwnedSchema`)."""

    advice = f"Let its administrator run: CREATE SCHEMA {SCHEMA} AUTHORIZATION your_user;"

    def __init__(self, address: Address) -> None:
        """Raises EnvironmentMissing if the server cannot be reached, or is no PostgreSQL."""
        self.address = address
        self.place = f"PostgreSQL at {connection.place(address)}"
        self._connection = connection.connect(address)
        try:
            with connection.server_errors():
                ((version,),) = self._connection.execute("SELECT version()").fetchall()
            require_postgresql(version)
        except BaseException:
            self._connection.close()
            raise

    def acquire(self) -> bool:
        """Takes the lock, unless another run has it."""
        with connection.server_errors():
            if self._connection.info.server_version >= ddl.IDLE_SESSION_TIMEOUT:
                self._connection.execute("SET idle_session_timeout = 0")  # the connection is idle while the run works
            try:
                with self._connection.transaction():
                    self._connection.execute(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
                    self._connection.execute("SELECT pg_advisory_lock(%s)", [LOCK])  # the session holds it
            except psycopg.errors.LockNotAvailable:
                return False
        return True

    def create(self) -> None:
        """Creates the schema if it does not exist, with a comment that says that keybench made it."""
        with connection.server_errors(), self._connection.transaction():
            if self._connection.execute("SELECT to_regnamespace(%s) IS NULL", [SCHEMA]).fetchone() == (True,):
                self._connection.execute(f"CREATE SCHEMA {SCHEMA}")
                self._connection.execute(f"COMMENT ON SCHEMA {SCHEMA} IS '{COMMENT}'")

    def in_use(self) -> bool:
        """Whether a run with another connection uses it at this moment."""
        with connection.server_errors(), self._connection.transaction():
            return self._locked_out()

    def contents(self) -> Sequence[str]:
        """What `remove` would remove, as text for people."""
        with connection.server_errors():
            lines = [f"table {SCHEMA}.{name}, {size}" for name, size in self._tables()]
            if self._is_marked():
                lines.append(f"schema {SCHEMA}, unless something else is in it")
        return lines

    def remove(self) -> Sequence[str]:
        """Drops the trials' tables. Also drops the schema if keybench made it and nothing else is in it.

        Removes nothing while a run uses the server. Raises ServerError, and changes nothing, if somebody else's object
        depends on a table.
        """
        try:
            with connection.server_errors(), self._connection.transaction():
                return [] if self._locked_out() else self._drop_all()
        except ServerError as error:
            raise ServerError(
                f"{error}\nNothing was changed on {self.place}: see to that object, then clean again."
            ) from None

    def lost(self) -> bool:
        """Whether the server has ended the connection."""
        try:
            self._connection.execute("SELECT 1")
        except psycopg.Error:
            return True
        return False

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()

    def _locked_out(self) -> bool:
        """Whether a run uses the server. If none does, no run can start before this transaction ends."""
        return self._connection.execute("SELECT pg_try_advisory_xact_lock(%s)", [LOCK]).fetchone() != (True,)

    def _tables(self) -> list[tuple[str, str]]:
        """Name and size of the trials' tables."""
        return [(str(name), str(size)) for name, size in self._connection.execute(_TABLES, [SCHEMA, list(COLUMNS)])]

    def _is_marked(self) -> bool:
        """Whether keybench made the schema."""
        return self._connection.execute(_IS_MARKED, [SCHEMA, COMMENT]).fetchone() == (True,)

    def _drop_all(self) -> list[str]:
        removed = []
        self._connection.execute(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
        for name, _ in self._tables():
            self._connection.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(SCHEMA, name)))
            removed.append(f"table {SCHEMA}.{name}")
        if self._is_marked():
            try:
                with self._connection.transaction():  # a savepoint: the schema stays where something else is in it
                    self._connection.execute(f"DROP SCHEMA {SCHEMA}")
                removed.append(f"schema {SCHEMA}")
            except psycopg.errors.DependentObjectsStillExist:
                pass
        return removed


_BOARD = f"{SCHEMA}.{TABLE}"
_CREATE_BOARD = (
    f"CREATE UNLOGGED TABLE IF NOT EXISTS {_BOARD} ({', '.join(f'{column} bigint NOT NULL' for column in COLUMNS)}, "
    f"PRIMARY KEY ({', '.join(COLUMNS[:2])})) WITH (fillfactor = 10, autovacuum_enabled = false)"
)
"""Unlogged, so that its changes do not wait for the disk. The fill factor leaves room for new versions of the rows."""


def coordination_table(address: Address) -> CoordinationTable:
    """A new connection to the coordination table.

    Raises EnvironmentMissing if a URL's server cannot be reached, and ServerError for other servers.
    """
    server = connection.connect(address)
    with connection.server_errors():
        server.execute("SET synchronous_commit = off; SET client_min_messages = warning")

    def run(statement: str, values: Values) -> Rows:
        text, parameters = positional(statement, values, "%s")
        with connection.server_errors():
            cursor = server.execute(sql.SQL(text), parameters or None)
            return cursor.fetchall() if cursor.description else [(cursor.rowcount,)]

    return CoordinationTable(Dialect(_BOARD, (_CREATE_BOARD,), (f"DROP TABLE IF EXISTS {_BOARD}",), run, server.close))
