"""A connection to SQL Server that writes down what is sent."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import mssql_python
from mssql_python.connection import Connection as RealConnection
from mssql_python.cursor import Cursor as RealCursor

from tests.databases import recording
from tests.databases.recording import Calls, Rows, check


class ServerSaysNo(mssql_python.Error):
    """A refusal that a test has the server raise."""

    def __init__(self, text: str) -> None:
        super().__init__("Operation failed", f"[Microsoft][SQL Server]{text}")


@dataclass
class Record(Calls):
    bulk_error: BaseException | None = None
    empty_results: int = 0
    """Results without columns that come before the rows of each query."""

    def connect(self, *arguments: Any, **named: Any) -> RecordingConnection:
        """As the driver's module has it."""
        inspect.signature(mssql_python.connect).bind(*arguments, **named)
        self.connected.append((arguments, named))
        return RecordingConnection(self)

    def module(self) -> SimpleNamespace:
        """What stands for the driver's module."""
        types = {name: value for name, value in vars(mssql_python).items() if name.startswith("SQL_")}
        return SimpleNamespace(connect=self.connect, Error=mssql_python.Error, native_provider="x", **types)


class RecordingCursor(recording.RecordingCursor):
    kind = RealCursor
    rowcount = 1

    def execute(self, statement: str, *values: object) -> None:
        check(RealCursor, "execute", statement, *values)
        self._record.calls.append(("execute", statement, values))
        self._answer(statement)

    def executemany(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        check(RealCursor, "executemany", statement, rows)
        self._record.calls.append(("executemany", statement, list(rows)))
        self._answer(statement)

    def bulkcopy(self, table_name: str, data: Rows, **named: object) -> dict[str, object]:
        inspect.signature(RealCursor.bulkcopy).bind(None, table_name, data, **named)
        RealCursor._bulkcopy_core_and_validate(table_name, named["batch_size"], named["timeout"])
        assert all(type(row) is tuple for row in data)
        self._record.calls.append(("bulkcopy", table_name, list(data), named))
        if error := self._record.bulk_error:
            raise error
        return {"rows_copied": len(data), "batch_count": 1, "elapsed_time": 0.1}

    def setinputsizes(self, sizes: Sequence[tuple[int, int, int]]) -> None:
        check(RealCursor, "setinputsizes", sizes)
        self._record.calls.append(("setinputsizes", sizes))

    def _answer(self, statement: str) -> None:
        if text := self._record.refusal(statement):
            raise ServerSaysNo(text)
        self.description, self._rows = None, []
        self._results: list[tuple[object, list[Sequence[object]]]] = [(None, [])] * self._record.empty_results
        if statement.startswith(("SELECT", "SET NOCOUNT")):
            self._results.append(((("column",),), list(self._record.answer(statement))))
        self.nextset()

    def nextset(self) -> bool:
        """Goes to the next result; only the last one of a query has columns."""
        check(RealCursor, "nextset")
        if not self._results:
            return False
        self.description, self._rows = self._results.pop(0)
        return True


class RecordingConnection(recording.RecordingConnection):
    kind, cursor_type = RealConnection, RecordingCursor
    _autocommit = True

    @property
    def autocommit(self) -> bool:
        return self._autocommit

    @autocommit.setter
    def autocommit(self, value: bool) -> None:
        assert isinstance(getattr(RealConnection, "autocommit", None), property)
        self._autocommit = value
        self._record.calls.append(("autocommit", value))
