"""A DB-API connection that writes down what is sent, and checks that python-oracledb would take each call.

It is no database. It answers nothing but what a test puts into `answers`, by the beginning of a statement.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import oracledb

Rows = Sequence[Sequence[object]]


@dataclass
class Record:
    """What was called, in order: ("execute", statement, values), ("executemany", statement, rows), ("commit",) …"""

    calls: list[tuple[Any, ...]] = field(default_factory=list)
    answers: dict[str, Rows] = field(default_factory=dict)
    refuse: dict[str, str] = field(default_factory=dict)
    connected: list[dict[str, Any]] = field(default_factory=list)

    def statements(self) -> list[str]:
        return [call[1] for call in self.calls if call[0] in {"execute", "executemany"}]

    def names(self) -> list[str]:
        return [call[0] for call in self.calls]

    def module(self) -> SimpleNamespace:
        """What stands for the driver's module."""
        types = {name: value for name, value in vars(oracledb).items() if name.startswith(("DB_TYPE_", "AUTH_MODE_"))}
        return SimpleNamespace(connect=self.connect, Error=oracledb.Error, __version__=oracledb.__version__, **types)

    def connect(self, **named: Any) -> RecordingConnection:
        inspect.signature(oracledb.connect).bind(**named)
        self.connected.append(named)
        return RecordingConnection(self)


def check(kind: type, method: str, *arguments: object) -> None:
    inspect.signature(getattr(kind, method)).bind(None, *arguments)


class RecordingCursor:
    arraysize = 100

    def __init__(self, record: Record) -> None:
        self._record = record
        self._found: list[Sequence[object]] = []
        self.description: object = None
        self.rowcount = 0

    def close(self) -> None:
        check(oracledb.Cursor, "close")

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

    def fetchall(self) -> Rows:
        return self._found

    def fetchmany(self, size: int) -> Rows:
        check(oracledb.Cursor, "fetchmany", size)
        found, self._found = self._found[:size], self._found[size:]
        return found

    def _answer(self, call: tuple[Any, ...]) -> None:
        self._record.calls.append(call)
        for beginning, text in self._record.refuse.items():
            if call[1].startswith(beginning):
                raise oracledb.DatabaseError(f"{text}\nHelp: https://docs.oracle.com/error-help/db/x/")
        known = [rows for beginning, rows in self._record.answers.items() if call[1].startswith(beginning)]
        self._found = list(known[0]) if known else []
        self.description = ("column",) if call[1].startswith("SELECT") else None


class RecordingConnection:
    def __init__(self, record: Record) -> None:
        self._record = record

    def cursor(self) -> RecordingCursor:
        check(oracledb.Connection, "cursor")
        return RecordingCursor(self._record)

    def direct_path_load(self, *arguments: object) -> None:
        check(oracledb.Connection, "direct_path_load", *arguments)
        schema, table, columns, rows = arguments
        assert isinstance(schema, str)
        assert isinstance(table, str)
        assert isinstance(columns, list)
        assert isinstance(rows, list)  # the driver takes lists and data frames
        assert {len(row) for row in rows} == {len(columns)}
        self._record.calls.append(("direct_path_load", schema, table, columns, list(rows)))
        if text := self._record.refuse.get("direct_path_load"):
            raise oracledb.DatabaseError(text)

    def commit(self) -> None:
        check(oracledb.Connection, "commit")
        self._record.calls.append(("commit",))

    def rollback(self) -> None:
        check(oracledb.Connection, "rollback")
        self._record.calls.append(("rollback",))

    def close(self) -> None:
        check(oracledb.Connection, "close")
        self._record.calls.append(("close",))
