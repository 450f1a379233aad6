"""The two drivers, each imported when a connection is made: mssql-python, which brings its ODBC driver, and pyodbc.

Both speak the DB-API with `?` parameters, and both bind an array: a list of rows goes as one call, each row executed by
itself, in the order of the list. Neither path turns rows into one set-based statement, which the server could sort.
"""

from __future__ import annotations

import ctypes
import importlib
import sys
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from keybench.databases.mssql.options import Options
from keybench.errors import EnvironmentMissing

LOGIN_SECONDS = 5

_LTDL = "libltdl.so.7"
"""What Microsoft's driver in mssql-python's companion wheel needs of the system; its other provider does not."""
_WITHOUT_LIBRARIES = "mssql-odbc"
_COMPANION = "mssql_python_odbc"

Sizes = Sequence[tuple[str, int]]
"""The SQL type and size of each parameter, by ODBC's names without `SQL_`."""


class Driver(Protocol):
    """One driver, loaded."""

    name: str
    module: Any

    def connect(self, parts: str, options: Options) -> Any:
        """A DB-API connection in autocommit; `parts` is the connection string, without a driver's name."""
        ...

    def cursor_for(self, connection: Any, sizes: Sizes) -> Any:
        """A cursor whose `executemany` binds arrays."""
        ...

    def insert(self, cursor: Any, statement: str, rows: Sequence[tuple[object, ...]], sizes: Sizes) -> None:
        """Executes the statement once a row, in order, in one call."""
        ...

    def versions(self) -> dict[str, str]:
        """Versions of what is between keybench and the server."""
        ...


class MssqlPython:
    """mssql-python. It is told the parameters' types, or it would look at every value and choose by what it finds."""

    name = "mssql-python"

    def __init__(self) -> None:
        module: Any = importlib.import_module("mssql_python")
        self.module = module
        self.module.pooling(enabled=False)  # a pooled connection would go on using a database that is to be dropped
        if sys.platform == "linux" and not _loads(_LTDL) and self.module.native_provider != _WITHOUT_LIBRARIES:
            self.module.native_provider = _WITHOUT_LIBRARIES

    def connect(self, parts: str, options: Options) -> Any:  # noqa: ARG002 (it knows its own ODBC driver)
        """As the protocol says."""
        return self.module.connect(parts, autocommit=True, timeout=LOGIN_SECONDS)

    def cursor_for(self, connection: Any, sizes: Sizes) -> Any:  # noqa: ARG002 (told anew for each call)
        """As the protocol says."""
        return connection.cursor()

    def insert(self, cursor: Any, statement: str, rows: Sequence[tuple[object, ...]], sizes: Sizes) -> None:
        """As the protocol says. Each call forgets the sizes."""
        cursor.setinputsizes([(getattr(self.module, f"SQL_{kind}"), size, 0) for kind, size in sizes])
        cursor.executemany(statement, rows)

    def versions(self) -> dict[str, str]:
        """Driver and ODBC provider."""
        return {
            "mssql-python": version("mssql-python"),
            "mssql-python-odbc": version("mssql-python-odbc"),
            "odbc_provider": str(self.module.native_provider),
        }


class PyOdbc:
    """pyodbc with `fast_executemany`; it asks the server for the parameters' types by itself."""

    name = "pyodbc"

    def __init__(self) -> None:
        try:
            module: Any = importlib.import_module("pyodbc")
            self.module = module
        except ImportError as error:
            raise EnvironmentMissing(
                f"pyodbc cannot be loaded ({' '.join(str(error).split())}): install the system's ODBC library "
                "(apt-get install libodbc2; dnf install unixODBC; brew install unixodbc), or pip install mssql-python."
            ) from None
        self.module.pooling = False

    def connect(self, parts: str, options: Options) -> Any:
        """As the protocol says."""
        return self.module.connect(
            f"DRIVER={braced(self.odbc_driver(options))};{parts}", autocommit=True, timeout=LOGIN_SECONDS
        )

    def odbc_driver(self, options: Options) -> str:
        """Name or path of Microsoft's ODBC driver: as chosen, as installed, or of mssql-python's companion wheel."""
        if options.odbc_driver:
            return options.odbc_driver
        installed = [name for name in self.module.drivers() if name.startswith("ODBC Driver ")]
        if installed:
            return str(max(installed))
        if found := _companion():
            return str(found)
        raise EnvironmentMissing(
            "pyodbc finds no ODBC driver for SQL Server: install Microsoft's (https://aka.ms/odbc18), or "
            "pip install mssql-python-odbc, or name one by KEYBENCH_MSSQL_ODBC_DRIVER."
        )

    def cursor_for(self, connection: Any, sizes: Sizes) -> Any:  # noqa: ARG002 (the server describes them)
        """As the protocol says."""
        cursor = connection.cursor()
        cursor.fast_executemany = True
        return cursor

    def insert(self, cursor: Any, statement: str, rows: Sequence[tuple[object, ...]], sizes: Sizes) -> None:  # noqa: ARG002
        """As the protocol says."""
        cursor.executemany(statement, rows)

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


def load(options: Options) -> Driver:
    """The driver that was chosen, else the preferred one that is installed; EnvironmentMissing where there is none."""
    there = installed()
    name = there[0] if options.driver == "auto" and there else options.driver
    if name not in there:
        raise EnvironmentMissing(
            missing() if name == "auto" else f"the driver {name} is not installed: pip install {name}."
        )
    return MssqlPython() if name == MssqlPython.name else PyOdbc()


def braced(value: str) -> str:
    """A value of a connection string, whatever characters are in it."""
    return "{" + value.replace("}", "}}") + "}"


def _companion() -> Path | None:
    """The ODBC driver in mssql-python's companion wheel, which fits Debian and Ubuntu first."""
    spec = find_spec(_COMPANION)
    for folder in spec.submodule_search_locations or () if spec else ():
        for system in ("debian_ubuntu", "rhel"):
            if found := sorted((Path(folder) / "libs" / "linux" / system).glob("*/lib/libmsodbcsql-*")):
                return found[-1]
    return None


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True
