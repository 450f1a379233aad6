"""The database of trials on a user's own server: creating it, using it, and removing what keybench put there.

It may also hold the results database, so a trial's table is identified by its comment. MySQL's databases have no
comments: one that keybench made holds an empty table whose comment says so. While a run uses the server it holds a
named lock, which the server itself releases when the run dies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pymysql

from keybench.databases.contract.roles import Address
from keybench.databases.core.coordination import COLUMNS, TABLE, CoordinationTable, Dialect, Rows, Values, positional
from keybench.databases.hosting.url_server import LOCK_SECONDS
from keybench.databases.mysql.connection import Queries, place, server_errors
from keybench.databases.mysql.ddl import COMMENT, SCHEMA
from keybench.errors import ServerError

LOCK = "keybench"
MARK = "made_by_keybench"
"""The table whose comment says that keybench made the database."""
MARK_COMMENT = "keybench made this database, and removes it"

_BOARD = f"`{SCHEMA}`.`{TABLE}`"
_CREATE_BOARD = (
    f"CREATE TABLE IF NOT EXISTS {_BOARD} ({', '.join(f'{column} bigint NOT NULL' for column in COLUMNS)}, "
    f"PRIMARY KEY ({', '.join(COLUMNS[:2])})) ENGINE = MEMORY COMMENT = '{COMMENT}'"
)
"""The coordination table is in memory: InnoDB does not log its changes."""

_IDLE_SECONDS = 31_536_000
_TABLES = (
    "SELECT table_name, coalesce(data_length + index_length, 0) FROM information_schema.tables "
    "WHERE table_schema = %s AND table_type = 'BASE TABLE' AND table_comment = %s ORDER BY table_name"
)
_CONTENTS = (
    "SELECT table_name FROM information_schema.tables WHERE table_schema = %s UNION ALL "
    "SELECT routine_name FROM information_schema.routines WHERE routine_schema = %s UNION ALL "
    "SELECT event_name FROM information_schema.events WHERE event_schema = %s"
)


class Database:
    """The database `keybench` on the server of a URL (`contract.OwnedSchema`)."""

    advice = f"Let its administrator run: CREATE DATABASE {SCHEMA}; GRANT ALL ON {SCHEMA}.* TO your_user;"

    def __init__(self, address: Address) -> None:
        """EnvironmentMissing where the server cannot be reached or is the other flavour."""
        self._server = Queries(address)
        self.address = address
        self.place = f"{self._server.flavour.title} at {place(address)}"

    def acquire(self) -> bool:
        """Takes the lock, unless another run has it."""
        self._server.rows(f"SET SESSION wait_timeout = {_IDLE_SECONDS}")  # the connection idles while the run works
        return self._lock(LOCK_SECONDS)

    def create(self) -> None:
        """Creates the database and its mark where it is not there, and makes it the connection's default database."""
        if not self._server.rows(f"SHOW DATABASES LIKE '{SCHEMA}'"):
            self._server.rows(f"CREATE DATABASE {SCHEMA}")
            self._server.rows(f"CREATE TABLE {SCHEMA}.{MARK} (nothing int) COMMENT = '{MARK_COMMENT}'")
        with server_errors(self._server.flavour.title):
            self._server.connection.select_db(SCHEMA)

    def in_use(self) -> bool:
        """Whether another connection's run uses it at this moment."""
        if not self._lock(0):
            return True
        self._unlock()
        return False

    def contents(self) -> Sequence[str]:
        """What `remove` would remove, one line for each thing."""
        lines = [f"table {SCHEMA}.{name}, {int(size) / 1e6:.1f} MB" for name, size in self._tables(COMMENT)]
        if self._tables(MARK_COMMENT):
            lines.append(f"database {SCHEMA}, unless something else is in it")
        return lines

    def remove(self) -> Sequence[str]:
        """Drops the trials' tables and, where keybench made it and nothing else is in it, the database.

        Nothing while a run uses the server. ServerError where another object, such as a foreign key, refers to a table.
        """
        if not self._lock(0):
            return []
        removed = []
        try:
            for name, _ in self._tables(COMMENT):
                self._server.rows(f"DROP TABLE {SCHEMA}.{_quoted(name)}")
                removed.append(f"table {SCHEMA}.{name}")
            if self._tables(MARK_COMMENT) and [name for (name,) in self._server.rows(_CONTENTS, [SCHEMA] * 3)] == [
                MARK
            ]:
                self._server.rows(f"DROP DATABASE {SCHEMA}")
                removed.append(f"database {SCHEMA}")
        except ServerError as error:
            done = f"Removed before: {', '.join(removed)}" if removed else f"Nothing was changed on {self.place}"
            raise ServerError(f"{error}\n{done}: see to that object, then clean again.") from None
        finally:
            self._unlock()
        return removed

    def lost(self) -> bool:
        """Whether the server has ended the connection."""
        try:
            self._server.connection.ping(reconnect=False)
        except (pymysql.Error, OSError):
            return True
        return False

    def close(self) -> None:
        """Closes the connection."""
        self._server.close()

    def _tables(self, comment: str) -> list[tuple[Any, ...]]:
        return self._server.rows(_TABLES, [SCHEMA, comment])

    def _lock(self, seconds: int) -> bool:
        """Takes the lock, again where this connection holds it already; False where another holds it."""
        return self._server.rows("SELECT GET_LOCK(%s, %s)", [LOCK, seconds]) == [(1,)]

    def _unlock(self) -> None:
        if self._server.connection.open:
            self._server.rows("SELECT RELEASE_LOCK(%s)", [LOCK])


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def coordination_table(address: Address) -> CoordinationTable:
    """A new connection; EnvironmentMissing where a URL's server cannot be reached, else ServerError."""
    server = Queries(address)

    def run(statement: str, values: Values) -> Rows:
        text, parameters = positional(statement, values, "%s")
        rows, count = server.run(text, parameters)
        return rows if text.startswith("SELECT") else [(count,)]

    return CoordinationTable(Dialect(_BOARD, (_CREATE_BOARD,), (f"DROP TABLE IF EXISTS {_BOARD}",), run, server.close))
