"""The tables of trials on a user's server, in the schema of the URL's user, who is given nothing else.

A trial's table is known by its name and shape. While a run uses the schema it holds a lock on a table of its own, which
the server itself releases when the run dies.
"""

from __future__ import annotations

from collections.abc import Sequence

from keybench.databases.contract.roles import Address
from keybench.databases.core.coordination import COLUMNS, TABLE, CoordinationTable, Dialect, Rows, Values
from keybench.databases.oracle import connection
from keybench.databases.oracle.ddl import STATISTICS
from keybench.errors import ServerError

USER = "KEYBENCH"
"""The user of the trials, and their tablespace, on servers that keybench starts."""
GRANTS = (
    f"GRANT CREATE SESSION, CREATE TABLE, CREATE SEQUENCE TO {USER}",
    *(f"GRANT READ ON sys.{view} TO {USER}" for view in ("v_$mystat", "v_$statname", "v_$parameter", "v_$log")),
)
"""On the views V_$…, not on their synonyms; by SYS, or a user with the right to grant them. On a user's own server the
administrator runs them once; nothing else is changed there."""
_LOCK = '"keybench_lock"'
_BOARD = f'"{TABLE}"'
_TABLES = (
    "SELECT t.table_name FROM user_tables t WHERE EXISTS (SELECT 1 FROM user_tab_columns c "
    "WHERE c.table_name = t.table_name AND c.column_name = 'KEY') AND NOT EXISTS (SELECT 1 FROM user_tab_columns c "
    "WHERE c.table_name = t.table_name AND c.column_name NOT IN ('KEY', 'PAYLOAD', 'CREATED')) "
    "AND t.table_name LIKE 'keybench%' ORDER BY t.table_name"
)
"""Trials' tables by name and shape: only keybench has names in lower case."""
_BUSY = "ORA-00054"


class TrialTables:
    """Keybench's tables in the schema of the URL's user (`contract.OwnedSchema`)."""

    advice = f"Let its administrator run: {'; '.join(GRANTS)};"

    def __init__(self, address: Address) -> None:
        """EnvironmentMissing where the server cannot be reached."""
        self.address = address
        self.place = f"Oracle at {connection.place(address)}"
        self._connection = connection.connect(address)
        self._locked = False

    def acquire(self) -> bool:
        """Takes the lock, unless another run has it; this connection holds it as long as it commits nothing."""
        if not self._locked:
            self._connection.run(f"CREATE TABLE IF NOT EXISTS {_LOCK} (held NUMBER)")
            try:
                self._connection.run(f"LOCK TABLE {_LOCK} IN EXCLUSIVE MODE NOWAIT")
            except ServerError as error:
                if _BUSY not in str(error):
                    raise
                return False
            self._locked = True
        return True

    def create(self) -> None:
        """Nothing: the schema is there with its user."""

    def in_use(self) -> bool:
        """Whether a run uses it at this moment; if none does, none begins to before `remove`."""
        return not self.acquire()

    def contents(self) -> Sequence[str]:
        """The trials' tables, one line for each."""
        return [f"table {name}" for name in self._tables()]

    def remove(self) -> Sequence[str]:
        """Drops the trials' tables, and releases the lock with its table. Nothing while another run uses them."""
        if not self.acquire():
            return []
        names = self._tables()
        for name in names:
            self._connection.run(f'DROP TABLE "{name}" PURGE')
        for name in (STATISTICS, _BOARD, _LOCK):
            self._connection.run(f"DROP TABLE IF EXISTS {name} PURGE")
        return [f"table {name}" for name in names]

    def lost(self) -> bool:
        """Whether the server has ended the connection."""
        return self._connection.lost("SELECT 1 FROM dual")

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()

    def _tables(self) -> list[str]:
        return [str(name) for (name,) in self._connection.rows(_TABLES)]


_CREATE_BOARD = (
    f"CREATE TABLE IF NOT EXISTS {_BOARD} ({', '.join(f'{column} NUMBER(19) NOT NULL' for column in COLUMNS)}, "
    f"PRIMARY KEY ({', '.join(COLUMNS[:2])}))"
)


def coordination_table(address: Address) -> CoordinationTable:
    """A new connection; EnvironmentMissing where a URL's server cannot be reached, else ServerError.

    Its commits do not wait for the disk. The redo of the writers' sessions, which is measured, does not contain its
    changes: they have a session of their own.
    """
    server = connection.connect(address)

    def run(statement: str, values: Values) -> Rows:
        if statement.startswith("SELECT"):
            return server.rows(statement, values)
        changed = server.run(statement, values)
        server.run("COMMIT WRITE BATCH NOWAIT")
        return [(changed,)]

    drop = f"DROP TABLE IF EXISTS {_BOARD} PURGE"
    return CoordinationTable(Dialect(_BOARD, (_CREATE_BOARD,), (drop,), run, server.close))
