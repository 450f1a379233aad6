"""The two drivers, each imported when a connection is made: mssql-python, which brings its ODBC driver, and pyodbc.

Both implement the DB-API with `?` parameters, and both bind arrays: a list of rows is one call, which executes the
statement once a row, in the order of the list. Neither turns the rows into one set-based statement, which the server
could sort. mssql-python can bulk copy, too, which does sort.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from keybench.databases.contract.settings import EngineOptions
from keybench.errors import EnvironmentMissing, UsageError

LOGIN_SECONDS = 5

_LTDL = "libltdl.so.7"
"""The system library that Microsoft's driver in mssql-python's companion wheel needs; its other provider does not."""
_WITHOUT_LIBRARIES = "mssql-odbc"

_NO_BULK = (
    "pyodbc cannot bulk copy to SQL Server: pip install mssql-python, and leave the driver at auto "
    '(KEYBENCH_MSSQL_DRIVER), or choose a scenario whose path is "rows".'
)

Sizes = Sequence[tuple[str, int]]
"""The SQL type and size of each parameter, by ODBC's names without `SQL_`."""


class MssqlPython:
    """mssql-python. It gets the parameters' types; otherwise it would inspect every value to choose one."""

    name = "mssql-python"
    module: Any

    def __init__(self) -> None:
        self.module = importlib.import_module("mssql_python")
        self.module.pooling(enabled=False)  # a pooled connection would keep using a database that has to be dropped
        if sys.platform == "linux" and not _loads(_LTDL) and self.module.native_provider != _WITHOUT_LIBRARIES:
            self.module.native_provider = _WITHOUT_LIBRARIES

    def connect(self, text: str, options: EngineOptions) -> Any:  # noqa: ARG002 (it knows its own ODBC driver)
        """A DB-API connection in autocommit; `text` is the connection string, without a driver's name."""
        return self.module.connect(text, autocommit=True, timeout=LOGIN_SECONDS)

    def cursor(self, connection: Any) -> Any:
        """A cursor whose `executemany` binds arrays."""
        return connection.cursor()

    def insert(self, cursor: Any, statement: str, rows: Sequence[tuple[object, ...]], sizes: Sizes) -> None:
        """Executes the statement once a row, in order, in one call. Each call forgets the sizes."""
        cursor.setinputsizes([(getattr(self.module, f"SQL_{kind}"), size, 0) for kind, size in sizes])
        cursor.executemany(statement, rows)

    def copy(self, cursor: Any, table: str, columns: Sequence[str], rows: Sequence[tuple[object, ...]]) -> int:
        """Loads the rows as one batch by bulk copy, over a connection of its own; the rows that the driver sent.

        The driver's default timeout is 30 s."""
        core: Any = importlib.import_module("mssql_py_core")  # the client, whose errors are not mssql-python's
        try:
            result = cursor.bulkcopy(table, rows, batch_size=0, timeout=0, column_mappings=list(columns))
        except core.Error as error:
            raise RuntimeError(str(error)) from None
        return int(result["rows_copied"])

    def versions(self) -> dict[str, str]:
        """Versions of the software between keybench and the server."""
        packages = {name: version(name) for name in ("mssql-python", "mssql-python-odbc")}
        return {**packages, "odbc_provider": str(self.module.native_provider)}


class PyOdbc(MssqlPython):
    """pyodbc with `fast_executemany`; it asks the server for the parameters' types."""

    name = "pyodbc"

    def __init__(self) -> None:
        try:
            self.module = importlib.import_module("pyodbc")
        except ImportError as error:
            raise EnvironmentMissing(
                f"pyodbc cannot be loaded ({' '.join(str(error).split())}): install the system's ODBC library "
                "(apt-get install libodbc2; dnf install unixODBC; brew install unixodbc), or pip install mssql-python."
            ) from None
        self.module.pooling = False

    def connect(self, text: str, options: EngineOptions) -> Any:
        """See `MssqlPython`."""
        driver = braced(options["odbc_driver"] or self.odbc_driver())
        return self.module.connect(f"DRIVER={driver};{text}", autocommit=True, timeout=LOGIN_SECONDS)

    def odbc_driver(self) -> str:
        """The name of Microsoft's newest ODBC driver that is installed."""
        if installed := [name for name in self.module.drivers() if name.startswith("ODBC Driver ")]:
            return str(max(installed))
        raise EnvironmentMissing(
            "pyodbc finds no ODBC driver for SQL Server: install Microsoft's (https://aka.ms/odbc18), or name one by "
            "KEYBENCH_MSSQL_ODBC_DRIVER."
        )

    def cursor(self, connection: Any) -> Any:
        """See `MssqlPython`."""
        cursor = connection.cursor()
        cursor.fast_executemany = True
        return cursor

    def insert(self, cursor: Any, statement: str, rows: Sequence[tuple[object, ...]], sizes: Sizes) -> None:  # noqa: ARG002
        """See `MssqlPython`."""
        cursor.executemany(statement, rows)

    def copy(self, cursor: Any, table: str, columns: Sequence[str], rows: Sequence[tuple[object, ...]]) -> int:  # noqa: ARG002
        """UsageError: pyodbc has none."""
        raise UsageError(_NO_BULK)

    def versions(self) -> dict[str, str]:
        """The driver."""
        return {"pyodbc": version("pyodbc")}


def installed() -> tuple[str, ...]:
    """The drivers whose packages are there, the preferred one first."""
    packages = {"mssql-python": "mssql_python", "pyodbc": "pyodbc"}
    return tuple(name for name, package in packages.items() if find_spec(package))


def missing() -> str:
    """Why no driver can be used; empty where one is installed."""
    if installed():
        return ""
    return "SQL Server needs a driver: pip install 'keybench[mssql]' (mssql-python, with Microsoft's ODBC driver)."


def without_bulk(options: EngineOptions) -> str:
    """Why the driver that `load` would take cannot bulk copy; empty where it can, or where there is no driver."""
    return _NO_BULK if _chosen(options) == PyOdbc.name else ""


def _chosen(options: EngineOptions) -> str:
    names = installed()
    return names[0] if options["driver"] == "auto" and names else options["driver"]


def load(options: EngineOptions) -> MssqlPython:
    """The driver that was chosen, else the preferred one that is installed; EnvironmentMissing where there is none."""
    name = _chosen(options)
    if name not in installed():
        raise EnvironmentMissing(
            missing() if name == "auto" else f"the driver {name} is not installed: pip install {name}."
        )
    return MssqlPython() if name == MssqlPython.name else PyOdbc()


def braced(value: str) -> str:
    """A value of a connection string, quoted for any characters in it."""
    return "{" + value.replace("}", "}}") + "}"


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True
