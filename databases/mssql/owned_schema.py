"""The database or schema of trials on a user's server: creating it, using it, and removing what keybench made there.

Where the URL names a database, keybench works there in a schema of its own and changes nothing else. Where it names
none, keybench creates a database. What keybench made has an extended property that says so, and is removed at the end.
While a run uses the database it holds an application lock, which the server itself releases when the run dies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from keybench.databases.contract.roles import Address
from keybench.databases.core.coordination import TABLE as COORDINATION_TABLE
from keybench.databases.mssql import connection, database
from keybench.databases.mssql.database import MARK, PROPERTY
from keybench.databases.mssql.ddl import SCHEMA
from keybench.databases.mssql.settings import options
from keybench.errors import ServerError

_LOCK = "keybench"


class DatabaseOrSchema:
    """The database `keybench` on the server of a URL, or the schema in the database that it names
    (`contract.OwnedSchema`)."""

    advice = "Let its administrator make a database for you, as its owner, and name it in the URL."

    def __init__(self, address: Address) -> None:
        """Connects to the database; where keybench has yet to create it, to master.

        EnvironmentMissing where the server, or a database that the URL names, cannot be reached.
        """
        named = address.parameters.get("database")
        self.address = replace(address, parameters={**address.parameters, "database": named or SCHEMA})
        self.place = f"SQL Server at {connection.place(address)}"
        self._there = True
        self._connection = connection.connect(self.address, named or "master")
        if named is None:
            try:
                self._there = database.is_there(self._connection, SCHEMA)
            except BaseException:
                self.close()
                raise
            if self._there:
                self._reconnect()

    def acquire(self) -> bool:
        """Takes the lock, which is the database's: so it creates the database first where it is not there."""
        if not self._there:
            database.create(self._connection, options(self.address.parameters), "DISABLED")
            self._there = True
            self._reconnect()
        return self._lock()

    def create(self) -> None:
        """Creates the schema where it is not there, marked."""
        database.create_schema(self._connection)

    def in_use(self) -> bool:
        """Whether a run uses it at this moment; if none does, none begins to before `close`."""
        return self._there and not self._lock()

    def contents(self) -> Sequence[str]:
        """What `remove` would remove, one line for each thing."""
        if not self._there:
            return []
        lines = [f"table {SCHEMA}.{name}, {size >> 10} KiB" for name, size in self._tables()]
        if self._made_database():
            return [*lines, f"database {self.address.parameters['database']}"]
        if self._made_schema():
            lines.append(f"schema {SCHEMA}, unless something else is in it")
        return lines

    def remove(self) -> Sequence[str]:
        """Drops the database where keybench made it; else the trials' tables, and the schema where keybench made it and
        nothing else is in it. Nothing while another run uses it."""
        if not self._there or not self._lock():
            return []
        removed = self._remove_tables()
        if not self._made_database():
            return removed
        self._connection.close()  # nobody may be in a database that is dropped
        name = self.address.parameters["database"]
        master = connection.connect(self.address, "master")
        try:
            database.drop(master, name)
        finally:
            master.close()
        return [*removed, f"database {name}"]

    def lost(self) -> bool:
        """Whether the server has ended the connection."""
        try:
            self._connection.rows("SELECT 1")
        except ServerError:
            return True
        return False

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()

    def _reconnect(self) -> None:
        self._connection.close()
        self._connection = connection.connect(self.address)

    def _lock(self) -> bool:
        """Takes the lock of a run, once more where this connection has it already; False where another has it."""
        result = self._connection.rows(
            "SET NOCOUNT ON; DECLARE @taken int; EXEC @taken = sp_getapplock @Resource = ?, @LockMode = N'Exclusive', "
            "@LockOwner = N'Session', @LockTimeout = 0; SELECT @taken",
            _LOCK,
        )
        return int(result[0][0]) >= 0

    def _made_database(self) -> bool:
        """Whether keybench made the database."""
        return _marked(
            self._connection.rows(
                "SELECT CAST(value AS nvarchar(100)) FROM sys.extended_properties WHERE class = 0 AND name = ?",
                PROPERTY,
            )
        )

    def _made_schema(self) -> bool:
        """Whether the schema is there and keybench made it."""
        return _marked(
            self._connection.rows(
                "SELECT CAST(value AS nvarchar(100)) FROM sys.extended_properties "
                "WHERE class = 3 AND name = ? AND major_id = SCHEMA_ID(?)",
                PROPERTY,
                SCHEMA,
            )
        )

    def _tables(self) -> list[tuple[str, int]]:
        """The trials' tables in the schema, and their bytes. They are known by their columns: key, and perhaps created,
        payload and row_id; the coordination table by its name."""
        rows = self._connection.rows(
            "SELECT t.name, 8192 * (SELECT SUM(s.reserved_page_count) FROM sys.dm_db_partition_stats s "
            "WHERE s.object_id = t.object_id) FROM sys.tables t WHERE t.schema_id = SCHEMA_ID(?) "
            "AND (t.name = ? OR EXISTS "
            "(SELECT 1 FROM sys.columns c WHERE c.object_id = t.object_id AND c.name = N'key') "
            "AND NOT EXISTS (SELECT 1 FROM sys.columns c WHERE c.object_id = t.object_id "
            "AND c.name NOT IN (N'key', N'payload', N'row_id', N'created'))) ORDER BY t.name",
            SCHEMA,
            COORDINATION_TABLE,
        )
        return [(str(name), int(size or 0)) for name, size in rows]

    def _remove_tables(self) -> list[str]:
        """Drops the trials' tables and, where keybench made it and nothing else is in it, the schema."""
        removed = []
        for name, _ in self._tables():
            self._connection.run(f"DROP TABLE [{SCHEMA}].[{name}]")
            removed.append(f"table {SCHEMA}.{name}")
        if self._made_schema():
            try:
                self._connection.run(f"DROP SCHEMA [{SCHEMA}]")
            except ServerError:  # other things are in it
                return removed
            removed.append(f"schema {SCHEMA}")
        return removed


def _marked(values: Sequence[tuple[object, ...]]) -> bool:
    return [value for (value,) in values] == [MARK]
