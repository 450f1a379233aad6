"""Connections to a server by its address, and the server's errors as keybench's own.

The driver is mssql-python, which brings Microsoft's ODBC driver; it is imported when a connection is made. It binds
arrays: a list of rows is one call, which executes the statement once a row, in the order of the list. It does not turn
the rows into one set-based statement, which the server could sort. It can bulk copy, too, which sorts.
"""

import ctypes
import importlib
import re
import sys
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from keybench.databases.contract.roles import Address
from keybench.databases.core.dbapi import DbApiConnection
from keybench.databases.hosting.url_server import unreachable
from keybench.databases.mssql.settings import options
from keybench.errors import EnvironmentMissing, KeybenchError

LOGIN_SECONDS = 5

_LTDL = "libltdl.so.7"
"""The system library that Microsoft's driver in mssql-python's companion wheel needs; its other provider does not."""
_WITHOUT_LIBRARIES = "mssql-odbc"

Sizes = Sequence[tuple[str, int]]
"""The SQL type and size of each parameter, by ODBC's names without `SQL_`."""


def missing() -> str:
    """The message where the driver is not installed; empty where it is."""
    if find_spec("mssql_python"):
        return ""
    return "SQL Server needs a driver: pip install 'keybench[mssql]' (mssql-python, with Microsoft's ODBC driver)."


def load() -> Any:
    """The driver's module, ready to connect; EnvironmentMissing where it is not installed."""
    if reason := missing():
        raise EnvironmentMissing(reason)
    module: Any = importlib.import_module("mssql_python")
    module.pooling(enabled=False)  # a pooled connection would keep using a database that has to be dropped
    if sys.platform == "linux" and not _loads(_LTDL) and module.native_provider != _WITHOUT_LIBRARIES:
        module.native_provider = _WITHOUT_LIBRARIES
    return module


def braced(value: str) -> str:
    """A value of a connection string, quoted for any characters in it."""
    return "{" + value.replace("}", "}}") + "}"


def _loads(library: str) -> bool:
    """Whether the system has the shared library."""
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


SESSION = "SET XACT_ABORT ON"
"""Run on each new connection: an error in any row of an array then undoes the whole transaction."""

_LAYERS = re.compile(r"^(\[[^]]*\]\s*)+")
_NO_LIBRARIES = "Failed to load the driver"


class MssqlConnection(DbApiConnection):
    """A connection in autocommit, until `begin`."""

    title = "SQL Server"
    full = ("filegroup is full", "is full due to", "not enough space on the disk", "no space left")
    when_full = "Make room on the server's disk (of a container: where Docker keeps its files), or use fewer --rows."

    def __init__(self, raw: Any, module: Any) -> None:
        """`raw` is a connection of the driver, `module` the driver."""
        super().__init__(raw, module.Error, RuntimeError)
        self._module = module

    def versions(self) -> dict[str, str]:
        """Versions of the software between keybench and the server."""
        packages = {name: version(name) for name in ("mssql-python", "mssql-python-odbc")}
        return {**packages, "odbc_provider": str(self._module.native_provider)}

    @staticmethod
    def error_text(error: BaseException) -> str:
        """The message of a driver's error, on one line, without the names of the layers that passed it on."""
        text = " ".join(str(error.args[-1] if error.args else "").split())
        return _LAYERS.sub("", text.rpartition("DDBC Error: ")[2]).strip() or text or type(error).__name__

    def insert(self, cursor: Any, statement: str, rows: Sequence[tuple[object, ...]], sizes: Sizes) -> None:
        """Executes the statement once a row, in order, in one call.

        Each call forgets `sizes`, the parameters' types; without them, the driver would inspect every value.
        """
        with self.errors():
            cursor.setinputsizes([(getattr(self._module, f"SQL_{kind}"), size, 0) for kind, size in sizes])
            cursor.executemany(statement, rows)

    def copy(self, cursor: Any, table: str, columns: Sequence[str], rows: Sequence[tuple[object, ...]]) -> int:
        """Loads the rows as one batch by bulk copy, all or none, over a connection of its own; the rows sent.

        Without `timeout=0`, the driver would end it after 30 s.
        """
        core: Any = importlib.import_module("mssql_py_core")  # the client, whose errors are not mssql-python's
        try:
            with self.errors():
                result = cursor.bulkcopy(table, rows, batch_size=0, timeout=0, column_mappings=list(columns))
        except core.Error as error:
            raise self.failure(error) from None
        return int(result["rows_copied"])

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
    """A connection in autocommit to that database, else to the address's own, within `LOGIN_SECONDS`.

    EnvironmentMissing where the driver is missing or a URL's server cannot be reached, else ServerError.
    """
    module = load()
    text = connection_string(address, database or address.parameters.get("database", "master"))
    reason = ""
    try:
        raw = module.connect(text, autocommit=True, timeout=LOGIN_SECONDS)
    except (module.Error, RuntimeError) as error:
        reason = MssqlConnection.error_text(error)
    if reason:  # outside the handler, so that no error in the chain shows the connection string
        raise _unreachable(address, reason)
    connection = MssqlConnection(raw, module)
    try:
        connection.run(SESSION)
    except BaseException:
        connection.close()
        raise
    return connection


def _unreachable(address: Address, reason: str) -> KeybenchError:
    """The error for a failed connection, with the next step."""
    if _NO_LIBRARIES in reason:
        return EnvironmentMissing(
            "mssql-python cannot load its ODBC driver: install the system libraries that it needs (apt-get install "
            "libltdl7 libkrb5-3 libgssapi-krb5-2)."
        )
    return unreachable(address, "SQL Server", place(address), reason, "host, port, user, password and database")
