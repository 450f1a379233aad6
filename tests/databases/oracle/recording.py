"""A connection to Oracle that writes down what is sent."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import oracledb

from tests.databases import recording
from tests.databases.recording import Calls, Rows, check


class Record(Calls):
    def module(self) -> SimpleNamespace:
        """What stands for the driver's module."""
        types = {name: value for name, value in vars(oracledb).items() if name.startswith(("DB_TYPE_", "AUTH_MODE_"))}
        return SimpleNamespace(connect=self.connect, Error=oracledb.Error, __version__=oracledb.__version__, **types)

    def connect(self, **named: Any) -> RecordingConnection:
        inspect.signature(oracledb.connect).bind(**named)
        self.connected.append(named)
        return RecordingConnection(self)


class RecordingCursor(recording.RecordingCursor):
    kind = oracledb.Cursor
    arraysize = 100
    rowcount = 0

    def execute(self, statement: str, values: dict[str, object] | None = None) -> None:
        check(oracledb.Cursor, "execute", statement, values)
        binds = {name for name in values or {} if f":{name}" in statement}
        assert binds == set(values or {}), statement
        self._answer(("execute", statement, values))
        self.rowcount = 1

    def executemany(self, statement: str, rows: Rows) -> None:
        check(oracledb.Cursor, "executemany", statement, rows)
        assert {len(row) for row in rows} == {statement.count(":")}
        self._answer(("executemany", statement, list(rows)))
        self.rowcount = len(rows)

    def setinputsizes(self, *sizes: object) -> None:
        check(oracledb.Cursor, "setinputsizes", *sizes)
        assert all(isinstance(size, int | oracledb.DbType) for size in sizes)
        self._record.calls.append(("setinputsizes", sizes))

    def fetchmany(self, size: int) -> Rows:
        check(oracledb.Cursor, "fetchmany", size)
        rows, self._rows = self._rows[:size], self._rows[size:]
        return rows

    def _answer(self, call: tuple[Any, ...]) -> None:
        self._record.calls.append(call)
        if text := self._record.refusal(call[1]):
            raise oracledb.DatabaseError(f"{text}\nHelp: https://docs.oracle.com/error-help/db/x/")
        self._rows = list(self._record.answer(call[1]))
        self.description = ("column",) if call[1].startswith("SELECT") else None


class RecordingConnection(recording.RecordingConnection):
    kind, cursor_type = oracledb.Connection, RecordingCursor
