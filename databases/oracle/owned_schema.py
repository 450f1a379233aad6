"""The tables of trials on a user's server, in the schema of the URL's user, who is given nothing else.

A trial's table is known by its name and shape. While a run uses the schema it holds a lock on a table of its own, which
the server itself releases when the run dies.
"""

from __future__ import annotations

from collections.abc import Sequence

from keybench.databases.contract.roles import Address
from keybench.databases.oracle import connection
from keybench.databases.oracle.ddl import COORDINATION_TABLE, LOCK, STATISTICS
from keybench.databases.oracle.user import GRANTS
from keybench.errors import ServerError

_TABLES = (
    "SELECT t.table_name FROM user_tables t WHERE EXISTS (SELECT 1 FROM user_tab_columns c "
    "WHERE c.table_name = t.table_name AND c.column_name = 'KEY') AND NOT EXISTS (SELECT 1 FROM user_tab_columns c "
    "WHERE c.table_name = t.table_name AND c.column_name NOT IN ('KEY', 'PAYLOAD', 'CREATED')) "
    "AND t.table_name LIKE 'keybench%' ORDER BY t.table_name"
)
"""Trials' tables by name and shape: only keybench has names in lower case."""
_CREATE_LOCK = f"CREATE TABLE IF NOT EXISTS {LOCK} (held NUMBER)"
_TAKE_LOCK = f"LOCK TABLE {LOCK} IN EXCLUSIVE MODE NOWAIT"
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
            self._connection.run(_CREATE_LOCK)
            try:
                self._connection.run(_TAKE_LOCK)
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
        for own in (STATISTICS, COORDINATION_TABLE, LOCK):
            self._connection.run(f"DROP TABLE IF EXISTS {own} PURGE")
        return [f"table {name}" for name in names]

    def lost(self) -> bool:
        """Whether the server has ended the connection."""
        try:
            self._connection.rows("SELECT 1 FROM dual")
        except ServerError:
            return True
        return False

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()

    def _tables(self) -> list[str]:
        return [str(name) for (name,) in self._connection.rows(_TABLES)]
