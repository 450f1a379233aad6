"""A DB-API connection that writes down what is sent, and checks that the real drivers would take each call.

It is no database. It answers nothing but what a test puts into `answers`, by the beginning of a statement.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import mssql_py_core
import mssql_python
from mssql_python.connection import Connection as RealConnection
from mssql_python.cursor import Cursor as RealCursor

from keybench.databases.mssql.drivers import MssqlPython, PyOdbc

Rows = Sequence[Sequence[object]]


class ServerSaysNo(mssql_python.Error):
    """A refusal that a test has the server raise."""

    def __init__(self, text: str) -> None:
        super().__init__("Operation failed", f"[Microsoft][SQL Server]{text}")


@dataclass
class Record:
    """What was called, in order: ("execute", statement, values), ("executemany", statement, rows), ("commit",) …"""

    driver: str
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    answers: dict[str, Rows] = field(default_factory=dict)
    refuse: dict[str, str] = field(default_factory=dict)
    connected: list[tuple[tuple[Any, ...], dict[str, Any]]] = field(default_factory=list)

    def statements(self) -> list[str]:
        """All statements."""
        return [call[1] for call in self.calls if call[0] in {"execute", "executemany"}]

    def names(self) -> list[str]:
        """What was called, without its arguments."""
        return [call[0] for call in self.calls]

    def check(self, kind: str, method: str, *arguments: object) -> None:
        """Fails where mssql-python's method would not take these arguments."""
        inspect.signature(getattr(RealCursor if kind == "Cursor" else RealConnection, method)).bind(None, *arguments)

    def connect(self, *arguments: Any, **named: Any) -> RecordingConnection:
        """As the driver's module has it."""
        inspect.signature(mssql_python.connect).bind(*arguments, **named)
        self.connected.append((arguments, named))
        return RecordingConnection(self)

    def module(self) -> SimpleNamespace:
        """What stands for the driver's module."""
        types = {name: value for name, value in vars(mssql_python).items() if name.startswith("SQL_")}
        return SimpleNamespace(
            connect=self.connect, Error=mssql_python.Error, drivers=list, native_provider="x", **types
        )


class RecordingCursor:
    """A cursor."""

    rowcount = 1

    def __init__(self, record: Record) -> None:
        self._record = record
        self._found: Rows = ()
        self.description: object = None
        self.fast_executemany = False

    def execute(self, statement: str, *values: object) -> None:
        self._record.check("Cursor", "execute", statement, *values)
        self._record.calls.append(("execute", statement, values))
        self._answer(statement)

    def executemany(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        self._record.check("Cursor", "executemany", statement, rows)
        assert self._record.driver != PyOdbc.name or self.fast_executemany
        self._record.calls.append(("executemany", statement, list(rows)))
        self._answer(statement)

    def bulkcopy(self, table_name: str, data: Rows, **named: object) -> dict[str, object]:
        assert self._record.driver == MssqlPython.name  # pyodbc has none
        inspect.signature(RealCursor.bulkcopy).bind(None, table_name, data, **named)
        RealCursor._bulkcopy_core_and_validate(table_name, named["batch_size"], named["timeout"])
        assert all(type(row) is tuple for row in data)
        self._record.calls.append(("bulkcopy", table_name, list(data), named))
        if text := self._record.refuse.get("bulkcopy"):
            raise mssql_py_core.OperationalError(text)
        return {"rows_copied": len(data), "batch_count": 1, "elapsed_time": 0.1}

    def setinputsizes(self, sizes: Sequence[tuple[int, int, int]]) -> None:
        self._record.check("Cursor", "setinputsizes", sizes)
        self._record.calls.append(("setinputsizes", sizes))

    def fetchall(self) -> Rows:
        self._record.check("Cursor", "fetchall")
        return self._found

    def close(self) -> None:
        self._record.check("Cursor", "close")

    def _answer(self, statement: str) -> None:
        for beginning, text in self._record.refuse.items():
            if statement.startswith(beginning):
                raise ServerSaysNo(text)
        known = [rows for beginning, rows in self._record.answers.items() if statement.startswith(beginning)]
        self._found = known[0] if known else ()
        self.description = () if statement.startswith(("SELECT", "SET NOCOUNT")) else None
        self.description = (("column",),) if self.description is not None else None


class RecordingConnection:
    """A connection, in autocommit or not."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._autocommit = True

    @property
    def autocommit(self) -> bool:
        return self._autocommit

    @autocommit.setter
    def autocommit(self, value: bool) -> None:
        assert isinstance(getattr(RealConnection, "autocommit", None), property)
        self._autocommit = value
        self._record.calls.append(("autocommit", value))

    def cursor(self) -> RecordingCursor:
        self._record.check("Connection", "cursor")
        return RecordingCursor(self._record)

    def commit(self) -> None:
        self._record.check("Connection", "commit")
        self._record.calls.append(("commit",))

    def rollback(self) -> None:
        self._record.check("Connection", "rollback")
        self._record.calls.append(("rollback",))

    def close(self) -> None:
        self._record.check("Connection", "close")
        self._record.calls.append(("close",))


class RecordingMssqlPython(MssqlPython):
    """The adapter's own code for mssql-python, over the record."""

    def __init__(self, record: Record) -> None:
        self.module = record.module()


class RecordingPyOdbc(PyOdbc):
    """The adapter's own code for pyodbc, over the record."""

    def __init__(self, record: Record) -> None:
        self.module = record.module()

    def odbc_driver(self) -> str:
        return "ODBC Driver 18 for SQL Server"
