"""The layout that suits a database, as the article on jhtodd's SequentialGuid asks its reader to choose it.

The rule is the article's: the milliseconds go where the database's usual column for GUIDs compares first.

SQL Server   uniqueidentifier sorts by the end                                            jhtodd-end
MySQL        CHAR(36) and BINARY(16) sort as the text does                                jhtodd-string
PostgreSQL   uuid sorts as the text does                                                  jhtodd-string
Oracle       RAW(16) sorts by the bytes that .NET's clients bind                          jhtodd-binary
SQLite       sorts by the text, with BinaryGUID=True in the URL by .NET's bytes           jhtodd-string, jhtodd-binary
MariaDB      uuid refuses a quarter of jhtodd's GUIDs and sorts version 7 as text         uuid-v7

No connection is made and no driver is imported. The text of a URL tells the database, or the dialect of an engine of
SQLAlchemy, or the module of a connection's class; a connection that is open is asked only where its driver serves
several databases.
"""

from __future__ import annotations

import re
from typing import Any, Final

from keybench.errors import UsageError, unknown_name
from keybench.generators.core.layout import Layout, layout

_DIALECTS: Final = {
    "mssql": "mssql",
    "sqlserver": "mssql",
    "mysql": "mysql",
    "mariadb": "mariadb",
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "oracle": "oracle",
    "sqlite": "sqlite",
}

_LAYOUTS: Final = {
    "mssql": "jhtodd-end",
    "mysql": "jhtodd-string",
    "mariadb": "uuid-v7",
    "postgresql": "jhtodd-string",
    "oracle": "jhtodd-binary",
    "sqlite": "jhtodd-string",
}

_BINARY_GUID: Final = re.compile(r"[?&;,]\s*binaryguid\s*=\s*(true|yes|on|1)\s*(?=[&;,#]|$)", re.IGNORECASE)


_DRIVERS: Final = {
    "sqlite3": "sqlite",
    "apsw": "sqlite",
    "psycopg": "postgresql",
    "psycopg2": "postgresql",
    "pg8000": "postgresql",
    "asyncpg": "postgresql",
    "pymysql": "mysql",
    "MySQLdb": "mysql",
    "mysql": "mysql",
    "mariadb": "mysql",
    "oracledb": "oracle",
    "cx_Oracle": "oracle",
    "mssql_python": "mssql",
    "pymssql": "mssql",
    "pytds": "mssql",
}
"""The dialect that a driver's package serves. Those of MySQL serve MariaDB too."""

_DBMS_NAME: Final = 17
"""SQL_DBMS_NAME of ODBC's SQLGetInfo."""

_DBMS: Final = {"microsoft sql server": "mssql"}
"""Names that drivers of ODBC give to a database, where they are no dialect's name."""


def for_database(database: object) -> Layout:
    """The layout for a database: a URL (SQLAlchemy's, as text or object, or JDBC's), a dialect's name, an engine,
    connection or session of SQLAlchemy, or a connection of a DB-API driver.

    `for_database("postgresql+psycopg://me@db/shop").name` is `jhtodd-string`. Raises UsageError for an unknown dialect
    or object; the message shows only the dialect or the object's class, never the rest of the URL.
    """
    text = _text_of(database).strip()
    dialect = re.split(r"[+:]", text.lower().removeprefix("jdbc:"), maxsplit=1)[0]
    if not re.fullmatch(r"[a-z][a-z0-9_-]*", dialect):
        raise UsageError(
            "name a database by a dialect, such as postgresql, or by a URL, such as postgresql://me@db/shop."
        )
    try:
        known = _DIALECTS[dialect]
    except KeyError:
        raise unknown_name("dialect", dialect, _DIALECTS) from None
    if known == "sqlite" and _BINARY_GUID.search(text):
        return layout("jhtodd-binary")
    return layout(_LAYOUTS[known])


def _text_of(database: object) -> str:
    """A URL or a dialect's name."""
    packages = {cls.__module__.partition(".")[0] for cls in type(database).__mro__}
    if isinstance(database, str):
        return database
    if "sqlalchemy" in packages:
        return _of_sqlalchemy(database)
    if "pyodbc" in packages:
        name = str(database.getinfo(_DBMS_NAME)).casefold()  # type: ignore[attr-defined]
        return _DBMS.get(name, name)
    for package in packages & set(_DRIVERS):
        dialect = _DRIVERS[package]
        return "mariadb" if dialect == "mysql" and _is_mariadb(database) else dialect
    cls = type(database)
    raise UsageError(
        f"{cls.__module__}.{cls.__qualname__} names no database that is known here: give a URL, a dialect such as "
        "postgresql, an engine of SQLAlchemy, or a connection of a DB-API driver."
    )


def _of_sqlalchemy(database: Any) -> str:
    """An engine, connection or session has a dialect; a pooled connection has the driver's; a URL is one."""
    if (driver := getattr(database, "driver_connection", None)) is not None:
        return _text_of(driver)
    if callable(bind := getattr(database, "get_bind", None)):
        return _of_sqlalchemy(bind())
    dialect = getattr(database, "dialect", None)
    if dialect is None:
        return str(database)
    if dialect.name == "mysql" and getattr(dialect, "is_mariadb", False):  # known from the first connection on
        return "mariadb"
    url = getattr(database, "url", None) or database.engine.url
    return str(url) if dialect.name == "sqlite" else str(dialect.name)


def _is_mariadb(connection: Any) -> bool:
    """By the version that the server told when it was connected to: `11.8.2-MariaDB`."""
    told = getattr(connection, "server_info", None) or getattr(connection, "get_server_info", "")
    return "mariadb" in str(told() if callable(told) else told).casefold()
