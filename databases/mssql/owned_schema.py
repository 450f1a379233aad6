"""The database and the schema of trials: made with files large enough that growing them is not what is measured.

Where a URL names a database, keybench works there in a schema of its own and changes nothing else. Where it names none,
keybench makes a database. What keybench made says so in an extended property, and is removed at the end.
"""

from __future__ import annotations

from collections.abc import Mapping

from keybench.databases.core.coordination import TABLE as BOARD
from keybench.databases.mssql.connection import Connection
from keybench.databases.mssql.ddl import SCHEMA
from keybench.databases.mssql.options import Options
from keybench.errors import ServerError

MARK = "made by keybench, which removes it"
_PROPERTY = "keybench"
_LOCK = "keybench"

VERSIONING = {
    "off": (
        "ALTER DATABASE [{0}] SET READ_COMMITTED_SNAPSHOT OFF",
        "ALTER DATABASE [{0}] SET ALLOW_SNAPSHOT_ISOLATION OFF",
        "ALTER DATABASE [{0}] SET ACCELERATED_DATABASE_RECOVERY = OFF",
    ),
    "rcsi": ("ALTER DATABASE [{0}] SET READ_COMMITTED_SNAPSHOT ON",),
    "snapshot": ("ALTER DATABASE [{0}] SET ALLOW_SNAPSHOT_ISOLATION ON",),
    "adr": ("ALTER DATABASE [{0}] SET ACCELERATED_DATABASE_RECOVERY = ON",),
}
"""What gives each row 14 bytes more, and what takes all of that back."""

SIZES: Mapping[str, str] = {"data": "1024MB", "data_growth": "512MB", "log": "2048MB", "log_growth": "512MB"}
"""Of the files at first, and by how much they grow. A log that grows is filled with zeros while the trial waits."""


def create_statements(database: str, options: Options, delayed_durability: str) -> tuple[str, ...]:
    """The statements that make a database, on a connection to master.

    Without names of files the server puts them where it puts all. SIMPLE recovery: the log is only kept as long as a
    transaction is open, which the probe of splits sees to.
    """
    return (
        f"CREATE DATABASE [{database}]",
        f"ALTER DATABASE [{database}] MODIFY FILE "
        f"(NAME = [{database}], SIZE = {SIZES['data']}, FILEGROWTH = {SIZES['data_growth']})",
        f"ALTER DATABASE [{database}] MODIFY FILE "
        f"(NAME = [{database}_log], SIZE = {SIZES['log']}, FILEGROWTH = {SIZES['log_growth']})",
        f"ALTER DATABASE [{database}] SET RECOVERY SIMPLE",
        f"ALTER DATABASE [{database}] SET AUTO_CREATE_STATISTICS ON",
        f"ALTER DATABASE [{database}] SET AUTO_UPDATE_STATISTICS OFF",
        f"ALTER DATABASE [{database}] SET PAGE_VERIFY CHECKSUM",
        f"ALTER DATABASE [{database}] SET DELAYED_DURABILITY = {delayed_durability}",
        *(statement.format(database) for statement in VERSIONING["off"]),
        *(
            statement.format(database)
            for statement in VERSIONING[options.row_versioning]
            if options.row_versioning != "off"
        ),
    )


def is_there(connection: Connection, database: str) -> bool:
    """Whether there is a database of that name."""
    return bool(connection.rows("SELECT name FROM sys.databases WHERE name = ?", database))


def create(connection: Connection, options: Options, delayed_durability: str, database: str = SCHEMA) -> None:
    """Makes the database, marked; `connection` is to master."""
    for statement in create_statements(database, options, delayed_durability):
        connection.run(statement)
    connection.run(
        f"EXEC [{database}].sys.sp_addextendedproperty @name = ?, @value = ?", _PROPERTY, MARK
    )  # the procedure works in the database that it is called in


def drop(connection: Connection, database: str = SCHEMA) -> None:
    """Drops it with whatever connections there still are; `connection` is to master."""
    connection.run(f"ALTER DATABASE [{database}] SET SINGLE_USER WITH ROLLBACK IMMEDIATE")
    connection.run(f"DROP DATABASE [{database}]")


def made_database(connection: Connection) -> bool:
    """Whether keybench made the database that the connection is to."""
    found = connection.rows(
        "SELECT CAST(value AS nvarchar(100)) FROM sys.extended_properties WHERE class = 0 AND name = ?", _PROPERTY
    )
    return [row[0] for row in found] == [MARK]


def make_schema(connection: Connection) -> bool:
    """Makes the schema where it is not there, marked; whether it did."""
    if connection.rows("SELECT name FROM sys.schemas WHERE name = ?", SCHEMA):
        return False
    connection.run(f"CREATE SCHEMA [{SCHEMA}]")
    connection.run(
        "EXEC sys.sp_addextendedproperty @name = ?, @value = ?, @level0type = N'SCHEMA', @level0name = ?",
        _PROPERTY,
        MARK,
        SCHEMA,
    )
    return True


def made_schema(connection: Connection) -> bool:
    """Whether the schema is there and keybench made it."""
    found = connection.rows(
        "SELECT CAST(value AS nvarchar(100)) FROM sys.extended_properties "
        "WHERE class = 3 AND name = ? AND major_id = SCHEMA_ID(?)",
        _PROPERTY,
        SCHEMA,
    )
    return [row[0] for row in found] == [MARK]


def tables(connection: Connection) -> list[tuple[str, int]]:
    """The trials' tables in the schema and their bytes: those of the columns key, perhaps payload and row_id, and the
    writers' board."""
    found = connection.rows(
        "SELECT t.name, 8192 * (SELECT SUM(s.reserved_page_count) FROM sys.dm_db_partition_stats s "
        "WHERE s.object_id = t.object_id) FROM sys.tables t WHERE t.schema_id = SCHEMA_ID(?) "
        "AND (t.name = ? OR EXISTS (SELECT 1 FROM sys.columns c WHERE c.object_id = t.object_id AND c.name = N'key') "
        "AND NOT EXISTS (SELECT 1 FROM sys.columns c WHERE c.object_id = t.object_id "
        "AND c.name NOT IN (N'key', N'payload', N'row_id', N'created'))) ORDER BY t.name",
        SCHEMA,
        BOARD,
    )
    return [(str(name), int(size or 0)) for name, size in found]


def remove(connection: Connection) -> list[str]:
    """Drops the trials' tables and, where keybench made it and nothing else is in it, the schema; what was dropped."""
    removed = []
    for name, _ in tables(connection):
        connection.run(f"DROP TABLE [{SCHEMA}].[{name}]")
        removed.append(f"table {SCHEMA}.{name}")
    if made_schema(connection):
        try:
            connection.run(f"DROP SCHEMA [{SCHEMA}]")
        except ServerError:  # other things are in it
            return removed
        removed.append(f"schema {SCHEMA}")
    return removed


def use(connection: Connection) -> bool:
    """Says that a run uses the database, for as long as the connection is open; False where another one does."""
    taken = connection.rows(
        "SET NOCOUNT ON; DECLARE @taken int; EXEC @taken = sp_getapplock @Resource = ?, @LockMode = N'Exclusive', "
        "@LockOwner = N'Session', @LockTimeout = 0; SELECT @taken",
        _LOCK,
    )
    return int(taken[0][0]) >= 0
