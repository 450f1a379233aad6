"""Connections to a server by its address, and the server's errors as keybench's own.

The driver is mssql-python, which brings its ODBC driver; it is imported when a connection is made. It binds arrays: a
list of rows is one call, which executes the statement once a row, in the order of the list. It does not turn the rows
into one set-based statement, which the server could sort. Its bulk copy sorts.
"""

import ctypes
import importlib
import re
import sys
from collections.abc import Sequence
from contextlib import closing
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from keybench.databases.contract.roles import Address
from keybench.databases.core.dbapi import DbApiConnection
from keybench.databases.hosting.url_server import unreachable
from keybench.databases.mssql.settings import options
from keybench.errors import EnvironmentMissing, KeybenchError, ServerError

LOGIN_SECONDS = 5

_LTDL = "libltdl.so.7"
"""The system library that mssql-python's default ODBC provider needs: Microsoft's driver, in a companion wheel."""
_PROVIDER_WITHOUT_LTDL = "mssql-odbc"

_BROKEN_BULK = (
    "the bulk copy of mssql-python broke off, and this server may not be one for it: choose a scenario whose path is "
    '"rows"'
)

Sizes = Sequence[tuple[str, int]]
"""The SQL type and size of each parameter, by ODBC's names without `SQL_`."""
_BOUND_TEXT = 4_000
"""Characters up to which mssql-python binds a text in an array. It sends rows with a longer one call by call, and then
takes neither a UUID for a declared type nor a declared text of more than 8,000 characters."""

WAY = f"arrays of single-row inserts; rows with more than {_BOUND_TEXT:,} characters one a call"
"""How rows are sent, for the results."""


def installed() -> bool:
    """Whether the driver's package is there."""
    return find_spec("mssql_python") is not None


def missing() -> str:
    """Why the driver cannot be used; empty if it is installed."""
    if installed():
        return ""
    return "SQL Server needs a driver: pip install 'keybench[mssql]' (mssql-python, with Microsoft's ODBC driver)."


def load() -> Any:
    """The driver's module; EnvironmentMissing if it is not installed."""
    if why_not := missing():
        raise EnvironmentMissing(why_not)
    module: Any = importlib.import_module("mssql_python")
    module.pooling(enabled=False)  # a pooled connection would keep using a database that has to be dropped
    # The default ODBC provider needs libltdl, which not every Linux has: then the provider that needs no libraries.
    if sys.platform == "linux" and not _loads(_LTDL) and module.native_provider != _PROVIDER_WITHOUT_LTDL:
        module.native_provider = _PROVIDER_WITHOUT_LTDL
    return module


def braced(value: str) -> str:
    """A value of a connection string, quoted for any characters in it."""
    return "{" + value.replace("}", "}}") + "}"


def _loads(library: str) -> bool:
    """Whether the system has that library."""
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


SESSION = "SET XACT_ABORT ON"
"""Run on each new connection: an error in any row of an array then undoes the whole transaction."""

_LAYERS = re.compile(r"^(\[[^]]*\]\s*)+")
"""The names, in brackets, of the layers through which a message has come: `[Microsoft][ODBC Driver 18]`."""
_REFUSED = re.compile("Error code 0x2749|Connection refused")  # Microsoft's driver says no more than the number
_NO_LIBRARIES = "Failed to load the driver"  # mssql-python's message if a system library is missing


class MssqlConnection(DbApiConnection):
    """A connection in autocommit, until `begin`."""

    title = "SQL Server"
    full = ("filegroup is full", "is full due to", "not enough space on the disk", "no space left")
    when_full = "Make room on the server's disk (of a container: where Docker keeps its files), or use fewer --rows."

    def __init__(self, raw: Any, module: Any) -> None:
        """`module` is the driver's."""
        super().__init__(raw, module.Error, RuntimeError)
        self._module = module

    def versions(self) -> dict[str, str]:
        """Versions of the software between keybench and the server."""
        packages = {name: version(name) for name in ("mssql-python", "mssql-python-odbc")}
        return {**packages, "odbc_provider": str(self._module.native_provider)}

    def limit(self, seconds: float) -> None:
        """Lets no statement of a cursor that is opened from now on wait longer."""
        self.raw.timeout = round(seconds)

    @staticmethod
    def error_text(error: BaseException) -> str:
        """The message of a driver's error, on one line, without the names of the layers that passed it on."""
        text = " ".join(str(error.args[-1] if error.args else "").split())
        return _LAYERS.sub("", text.rpartition("DDBC Error: ")[2]).strip() or text or type(error).__name__

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of the first result that has columns: messages and row counts may precede it in a batch."""
        with self.errors(), closing(self.cursor()) as cursor:
            self.execute(cursor, statement, values)
            while not cursor.description and cursor.nextset():
                pass
            return [tuple(row) for row in cursor.fetchall()] if cursor.description else []

    def insert(self, cursor: Any, statement: str, rows: Sequence[tuple[object, ...]], sizes: Sizes) -> None:
        """Executes the statement once a row, in order, in one call. The driver gets the types of the parameters, else
        it would inspect every value; each call forgets them."""
        with self.errors():
            if all(size <= _BOUND_TEXT for _, size in sizes):
                cursor.setinputsizes([(getattr(self._module, f"SQL_{kind}"), size, 0) for kind, size in sizes])
            cursor.executemany(statement, rows)

    def copy(self, cursor: Any, table: str, columns: Sequence[str], rows: Sequence[tuple[object, ...]]) -> int:
        """Loads the rows as one batch by bulk copy, all or none, on a connection of its own. Returns the rows sent."""
        core: Any = importlib.import_module("mssql_py_core")  # the client, whose errors are not mssql-python's
        with self.errors():
            try:
                # 0: one batch, and no limit; the driver's default timeout is 30 s
                result = cursor.bulkcopy(table, rows, batch_size=0, timeout=0, column_mappings=list(columns))
            except core.Error as error:
                raise RuntimeError(str(error)) from None
            except BaseException as error:
                if type(error).__name__ != "PanicException":  # a panic of Rust code, which is no Exception
                    raise
                raise RuntimeError(f"{_BROKEN_BULK} ({error}).") from None
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


def without_permission(error: ServerError, permission: str) -> str:
    """The server's message in parentheses, and, if the message is about a permission, which one is needed. Else the
    server does not have the thing at all, and no permission gives it."""
    return f"({error}): {permission} is needed." if "permission" in str(error).lower() else f"({error})."


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
    EnvironmentMissing where the driver is missing or a URL's server cannot be reached, else ServerError."""
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
    if _NO_LIBRARIES in reason:
        return EnvironmentMissing(
            "mssql-python cannot load its ODBC driver: install the system libraries that it needs (apt-get install "
            "libltdl7 libkrb5-3 libgssapi-krb5-2)."
        )
    if _REFUSED.search(reason):
        reason = f"nothing listens there ({reason})"
    return unreachable(address, "SQL Server", place(address), reason, "host, port, user, password and database")
