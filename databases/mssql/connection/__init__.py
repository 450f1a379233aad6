"""Connections to a server by its address, and the server's errors as keybench's own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from keybench.databases.contract.roles import Address
from keybench.databases.hosting.unreachable import unreachable
from keybench.databases.mssql.connection import drivers
from keybench.databases.mssql.connection.drivers import Driver, Sizes, braced
from keybench.databases.mssql.settings import options
from keybench.errors import EnvironmentMissing, KeybenchError, ServerError

SESSION = "SET XACT_ABORT ON"
"""Run on each new connection: an error in any row of an array then undoes the whole transaction."""

FULL = " Make room on the server's disk (of a container: where Docker keeps its files), or use fewer --rows."
"""The next step, added to a message about a full disk."""
_FULL = ("filegroup is full", "is full due to", "not enough space on the disk", "no space left")

_LAYERS = re.compile(r"^(\[[^]]*\]\s*)+")
_NO_LIBRARIES = "Failed to load the driver"


class Connection:
    """A DB-API connection in autocommit, until `begin`."""

    def __init__(self, raw: Any, driver: Driver) -> None:
        self.raw = raw
        self.driver = driver

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a query; ServerError with the server's message where it refuses."""
        with self.errors(), self._cursor() as cursor:
            cursor.execute(statement, *values)
            return [tuple(row) for row in cursor.fetchall()] if cursor.description else []

    def value(self, statement: str, *values: object) -> Any:
        """The one value of a query."""
        return self.rows(statement, *values)[0][0]

    def run(self, statement: str, *values: object) -> int:
        """Runs a statement; the rows that it changed."""
        with self.errors(), self._cursor() as cursor:
            cursor.execute(statement, *values)
            return int(cursor.rowcount)

    def insert(self, cursor: Any, statement: str, rows: Sequence[tuple[object, ...]], sizes: Sizes) -> None:
        """Executes the statement once a row, in order."""
        with self.errors():
            self.driver.insert(cursor, statement, rows, sizes)

    def copy(self, cursor: Any, table: str, columns: Sequence[str], rows: Sequence[tuple[object, ...]]) -> int:
        """Loads the rows by bulk copy, all or none, outside this connection's transaction; the rows sent."""
        with self.errors():
            return self.driver.copy(cursor, table, columns, rows)

    def begin(self) -> None:
        """From here on statements belong to a transaction, until `commit` or `rollback` begins the next."""
        with self.errors():
            self.raw.autocommit = False

    def commit(self) -> None:
        """Commits."""
        with self.errors():
            self.raw.commit()

    def end(self) -> None:
        """Commits, and returns to autocommit."""
        self.commit()
        with self.errors():
            self.raw.autocommit = True

    def rollback(self) -> None:
        """Undoes the transaction; harmless where the server has done so, or has ended the connection."""
        try:
            self.raw.rollback()
        except (self.driver.module.Error, RuntimeError):
            return

    def close(self) -> None:
        """Closes it; harmless where the server has ended it."""
        try:
            self.raw.close()
        except (self.driver.module.Error, RuntimeError):
            return

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turns the driver's errors into ServerError with the server's message."""
        try:
            yield
        except (self.driver.module.Error, RuntimeError) as error:
            reason = error_text(error)
        else:
            return
        full = any(sign in reason.lower() for sign in _FULL)
        raise ServerError(f"SQL Server: {reason}{FULL if full else ''}")

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        cursor = self.raw.cursor()
        try:
            yield cursor
        finally:
            cursor.close()


def place(address: Address) -> str:
    """Where the server is, for messages: no user, no password."""
    return f"{address.parameters.get('host', 'localhost')}:{address.parameters.get('port', '1433')}"


def error_text(error: BaseException) -> str:
    """The message of a driver's error, on one line, without the names of the layers that passed it on."""
    text = " ".join(str(error.args[-1] if error.args else "").split())
    return _LAYERS.sub("", text.rpartition("DDBC Error: ")[2]).strip() or text or type(error).__name__


def connection_string(address: Address, database: str) -> str:
    """The connection string. It holds the password where there is one: never show it."""
    given = address.parameters
    chosen = options(given)
    login = {"UID": given["user"]} if "user" in given else {"Trusted_Connection": "yes"}
    if address.secret:
        login["PWD"] = address.secret.reveal()
    values = {
        "SERVER": f"{given.get('host', 'localhost')},{given.get('port', '1433')}",
        "DATABASE": database,
        **login,
        "Encrypt": chosen.encrypt,
        "TrustServerCertificate": chosen.trust_certificate,
        "ConnectRetryCount": "0",  # a lost connection is an error, never silently another one
    }
    return ";".join(f"{name}={braced(value)}" for name, value in values.items())


def connect(address: Address, database: str = "") -> Connection:
    """A connection in autocommit to that database, else to the address's own, within `drivers.LOGIN_SECONDS`.

    EnvironmentMissing where the driver is missing or a URL's server cannot be reached, else ServerError.
    """
    chosen = options(address.parameters)
    driver = drivers.load(chosen)
    text = connection_string(address, database or address.parameters.get("database", "master"))
    try:
        connection = Connection(driver.connect(text, chosen), driver)
    except (driver.module.Error, RuntimeError) as error:
        problem = _unreachable(address, error_text(error))
    else:
        try:
            connection.run(SESSION)
        except BaseException:
            connection.close()
            raise
        return connection
    raise problem


def _unreachable(address: Address, reason: str) -> KeybenchError:
    if _NO_LIBRARIES in reason:
        return EnvironmentMissing(
            "mssql-python cannot load its ODBC driver: install the system libraries that it needs (apt-get install "
            "libltdl7 libkrb5-3 libgssapi-krb5-2), or pip install pyodbc and choose it by KEYBENCH_MSSQL_DRIVER=pyodbc."
        )
    to_check = "host, port, user, password and database"
    return unreachable(address, "SQL Server", place(address), reason, to_check)
