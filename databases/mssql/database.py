"""Creates the database and the schema of trials. Its files are so large that their growth is not measured."""

from __future__ import annotations

from collections.abc import Mapping

from keybench.databases.mssql.connection import Connection
from keybench.databases.mssql.ddl import SCHEMA
from keybench.databases.mssql.settings import Options

MARK = "made by keybench, which removes it"
PROPERTY = "keybench"
"""The extended property whose value is `MARK`."""

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
"""Statements by row versioning: `off` undoes what the others set. Each of the others adds 14 bytes to a row."""

SIZES: Mapping[str, str] = {"data": "1024MB", "data_growth": "512MB", "log": "2048MB", "log_growth": "512MB"}
"""First sizes of the files, and by how much they grow. A log that grows is filled with zeros while the trial waits."""


def create_statements(database: str, options: Options, delayed_durability: str) -> tuple[str, ...]:
    """The statements that create a database, on a connection to master.

    They name no files, so the server uses its default folders. SIMPLE recovery: the log is kept only while a
    transaction is open; the probe of splits keeps one open.
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
    """Creates the database, marked as keybench's; `connection` is to master."""
    for statement in create_statements(database, options, delayed_durability):
        connection.run(statement)
    connection.run(
        f"EXEC [{database}].sys.sp_addextendedproperty @name = ?, @value = ?", PROPERTY, MARK
    )  # the procedure works in the database that it is called in


def drop(connection: Connection, database: str = SCHEMA) -> None:
    """Drops it, and ends the connections to it; `connection` is to master."""
    connection.run(f"ALTER DATABASE [{database}] SET SINGLE_USER WITH ROLLBACK IMMEDIATE")
    connection.run(f"DROP DATABASE [{database}]")


def create_schema(connection: Connection) -> None:
    """Creates the schema where it is not there, marked as keybench's; `connection` is to the database."""
    if connection.rows("SELECT name FROM sys.schemas WHERE name = ?", SCHEMA):
        return
    connection.run(f"CREATE SCHEMA [{SCHEMA}]")
    connection.run(
        "EXEC sys.sp_addextendedproperty @name = ?, @value = ?, @level0type = N'SCHEMA', @level0name = ?",
        PROPERTY,
        MARK,
        SCHEMA,
    )
