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
from keybench.databases.core.coordination import COLUMNS
from keybench.databases.hosting.url_server import LOCK_SECONDS
from keybench.databases.postgresql import connection, versions
from keybench.databases.postgresql.ddl import SCHEMA
from keybench.databases.postgresql.url import require
from keybench.errors import ServerError

IN_USE = int.from_bytes(b"keytrial")
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
_MADE_HERE = """
SELECT count(*) = 1 FROM pg_namespace
WHERE nspname = %s AND obj_description(oid, 'pg_namespace') = %s AND pg_has_role(nspowner, 'USAGE')
"""


class Schema:
    """The schema `keybench` in the database of a URL (`contract.OwnedSchema`)."""

    advice = f"Let its administrator run: CREATE SCHEMA {SCHEMA} AUTHORIZATION your_user;"

    def __init__(self, address: Address) -> None:
        """Raises EnvironmentMissing if the server cannot be reached."""
        self.address = address
        self._title = connection.title(address)
        self.place = f"{self._title} at {connection.place(address)}"
        self._connection = connection.connect(address)
        if address.server == "url":
            try:
                with connection.server_errors(self._title):
                    version = self._connection.execute("SELECT version()").fetchone()
                require(address.engine, str(version[0]) if version else "")
            except BaseException:
                self._connection.close()
                raise

    def acquire(self) -> bool:
        """Takes the lock, unless another run has it."""
        own = self._connection
        with connection.server_errors(self._title):
            if own.info.server_version >= versions.IDLE_SESSION_TIMEOUT:
                own.execute("SET idle_session_timeout = 0")  # the connection is idle while the run works
            try:
                with own.transaction():
                    own.execute(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
                    own.execute("SELECT pg_advisory_lock(%s)", [IN_USE])  # the session holds it
            except psycopg.errors.LockNotAvailable:
                return False
        return True

    def create(self) -> None:
        """Creates the schema if it does not exist, with a comment that says that keybench made it."""
        own = self._connection
        with connection.server_errors(self._title), own.transaction():
            if own.execute("SELECT to_regnamespace(%s) IS NULL", [SCHEMA]).fetchone() == (True,):
                own.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(SCHEMA)))
                own.execute(sql.SQL("COMMENT ON SCHEMA {} IS {}").format(sql.Identifier(SCHEMA), sql.Literal(COMMENT)))

    def in_use(self) -> bool:
        """Whether a run with another connection uses it at this moment."""
        with connection.server_errors(self._title), self._connection.transaction():
            return self._locked_out()

    def contents(self) -> Sequence[str]:
        """What `remove` would remove, as text for people."""
        with connection.server_errors(self._title):
            lines = [f"table {SCHEMA}.{name}, {size}" for name, size in self._tables()]
            if self._made_here():
                lines.append(f"schema {SCHEMA}, unless something else is in it")
        return lines

    def remove(self) -> Sequence[str]:
        """Drops the trials' tables. Also drops the schema if keybench made it and nothing else is in it.

        Removes nothing while a run uses the server. Raises ServerError, and changes nothing, if somebody else's object
        depends on a table.
        """
        try:
            return self._remove()
        except ServerError as error:
            raise ServerError(
                f"{error}\nNothing was changed on {self.place}: see to that object, then clean again."
            ) from None

    def lost(self) -> bool:
        """Whether the server has ended the connection."""
        if not self._connection.closed:
            try:
                self._connection.execute("SELECT 1")
            except psycopg.Error:
                return True
        return self._connection.closed

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()

    def _locked_out(self) -> bool:
        """Whether a run uses the server. If none does, no run can start before this transaction ends."""
        return self._connection.execute("SELECT pg_try_advisory_xact_lock(%s)", [IN_USE]).fetchone() != (True,)

    def _tables(self) -> list[tuple[str, str]]:
        return [(str(name), str(size)) for name, size in self._connection.execute(_TABLES, [SCHEMA, list(COLUMNS)])]

    def _made_here(self) -> bool:
        return self._connection.execute(_MADE_HERE, [SCHEMA, COMMENT]).fetchone() == (True,)

    def _remove(self) -> list[str]:
        own, removed = self._connection, list[str]()
        with connection.server_errors(self._title), own.transaction():
            if self._locked_out():
                return []
            own.execute(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
            for name, _ in self._tables():
                own.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(SCHEMA, name)))
                removed.append(f"table {SCHEMA}.{name}")
            if self._made_here():
                try:
                    with own.transaction():  # a savepoint: the schema stays where something else is in it
                        own.execute(sql.SQL("DROP SCHEMA {}").format(sql.Identifier(SCHEMA)))
                    removed.append(f"schema {SCHEMA}")
                except psycopg.errors.DependentObjectsStillExist:
                    pass
        return removed
