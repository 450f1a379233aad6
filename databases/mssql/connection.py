"""Connections to a server by its address, and the server's errors as keybench's own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from keybench.databases.contract.roles import Address
from keybench.databases.core.dbapi import DbApiConnection
from keybench.databases.hosting.url_server import unreachable
from keybench.databases.mssql import drivers
from keybench.databases.mssql.drivers import MssqlPython, Sizes, braced
from keybench.databases.mssql.settings import options
from keybench.errors import EnvironmentMissing, KeybenchError

SESSION = "SET XACT_ABORT ON"
"""Run on each new connection: an error in any row of an array then undoes the whole transaction."""

_LAYERS = re.compile(r"^(\[[^]]*\]\s*)+")
_NO_LIBRARIES = "Failed to load the driver"


class MssqlConnection(DbApiConnection):
    """A connection in autocommit, until `begin`."""

    title = "SQL Server"
    full = ("filegroup is full", "is full due to", "not enough space on the disk", "no space left")
    when_full = "Make room on the server's disk (of a container: where Docker keeps its files), or use fewer --rows."

    def __init__(self, raw: Any, driver: MssqlPython) -> None:
        super().__init__(raw, driver.module.Error, RuntimeError)
        self.driver = driver

    def error_text(self, error: BaseException) -> str:
        """The message, without the names of the layers that passed it on."""
        return error_text(error)

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

    def end(self) -> None:
        """Commits, and returns to autocommit."""
        self.commit()
        with self.errors():
            self.raw.autocommit = True


def place(address: Address) -> str:
    """Where the server is, for messages: no user, no password."""
    return f"{address.parameters.get('host', 'localhost')}:{address.parameters.get('port', '1433')}"


def error_text(error: BaseException) -> str:
    """The message of a driver's error, on one line, without the names of the layers that passed it on."""
    text = " ".join(str(error.args[-1] if error.args else "").split())
    return _LAYERS.sub("", text.rpartition("DDBC Error: ")[2]).strip() or text or type(error).__name__


def connection_string(address: Address, database: str) -> str:
    """The connection string. It holds the password where there is one: never show it."""
    parameters = address.parameters
    chosen = options(parameters)
    login = {"UID": parameters["user"]} if "user" in parameters else {"Trusted_Connection": "yes"}
    if address.secret:
        login["PWD"] = address.secret.reveal()
    values = {
        "SERVER": f"{parameters.get('host', 'localhost')},{parameters.get('port', '1433')}",
        "DATABASE": database,
        **login,
        "Encrypt": chosen["encrypt"],
        "TrustServerCertificate": chosen["trust_certificate"],
        "ConnectRetryCount": "0",  # a lost connection is an error, never silently another one
    }
    return ";".join(f"{name}={braced(value)}" for name, value in values.items())


def connect(address: Address, database: str = "") -> MssqlConnection:
    """A connection in autocommit to that database, else to the address's own, within `drivers.LOGIN_SECONDS`.

    EnvironmentMissing where the driver is missing or a URL's server cannot be reached, else ServerError.
    """
    chosen = options(address.parameters)
    driver = drivers.load(chosen)
    text = connection_string(address, database or address.parameters.get("database", "master"))
    reason = ""
    try:
        raw = driver.connect(text, chosen)
    except (driver.module.Error, RuntimeError) as error:
        reason = error_text(error)
    if reason:  # outside the handler, so that no error in the chain shows the connection string
        raise _unreachable(address, reason)
    connection = MssqlConnection(raw, driver)
    try:
        connection.run(SESSION)
    except BaseException:
        connection.close()
        raise
    return connection


def _unreachable(address: Address, reason: str) -> KeybenchError:
    if _NO_LIBRARIES in reason:
        return EnvironmentMissing(
            "mssql-python cannot load its ODBC driver: install the system libraries that it needs (apt-get install "
            "libltdl7 libkrb5-3 libgssapi-krb5-2), or pip install pyodbc and choose it by KEYBENCH_MSSQL_DRIVER=pyodbc."
        )
    return unreachable(address, "SQL Server", place(address), reason, "host, port, user, password and database")
