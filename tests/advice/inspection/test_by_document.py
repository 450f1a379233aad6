"""SQL Server and Oracle, which were never run: what their inspectors make of answers that documents describe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from keybench.advice.inspection.findings import look
from keybench.advice.inspection.sentences import headline
from keybench.databases.contract.roles import Address
from keybench.databases.mssql import ENGINE as MSSQL
from keybench.databases.mssql import inspection as mssql
from keybench.databases.oracle import ENGINE as ORACLE
from keybench.databases.oracle import inspection as oracle
from tests.advice.inspection.planted import NOW, instants, made, values

ROWS = 4_000


class Answers:
    """A connection that answers by the beginning of a statement, and writes down what it was sent."""

    def __init__(self, answers: Mapping[str, list[tuple[Any, ...]]]) -> None:
        self.raw = SimpleNamespace(version="23.9", call_timeout=0)
        self.sent: list[str] = []
        self._answers = answers

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        del values
        self.sent.append(statement)
        (found,) = [rows for begin, rows in self._answers.items() if statement.startswith(begin)]
        return found

    def value(self, statement: str, *values: object) -> Any:
        return self.rows(statement, *values)[0][0]

    def run(self, statement: str) -> int:
        self.sent.append(statement)
        return 0

    def rollback(self) -> None: ...

    def close(self) -> None: ...


def test_sql_server(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [(str(UUID(bytes=value)),) for value in values(made("rt-comb-sql", instants(ROWS)))]  # type: ignore[arg-type]
    server = Answers(
        {
            mssql.STARTED: [("2026-11-01T00:00:00",)],
            mssql.TABLES: [("dbo", "orders", "U ", 1, ROWS, 1_000_000), ("dbo", "seen", "V ", 1, None, None)],
            mssql.FOREIGN: [],
            mssql.INDEXES: [(1, "PK_orders", True, True, 1, False, 0, "id", "uniqueidentifier", 16)],
            mssql.INSERTED: [(ROWS,)],
            mssql.USED: [(100,)],
            mssql.PHYSICAL: [(90, 68.5, 12.0)],
            "SELECT TOP": keys,
            "SELECT SERVERPROPERTY": [("16.0",)],
        }
    )
    monkeypatch.setattr(mssql, "connect", lambda _: server)
    (table,) = look(mssql.MssqlInspector(Address("mssql", "url", {})), "", NOW, 60).tables
    (key,) = table.indexes
    assert key.content
    assert "rt-comb-sql" in key.content.groups[0].layouts
    assert key.ascends is True  # SQL Server compares the end of a GUID first
    assert (key.pages.density, key.pages.full, round(table.gain)) == (68.5, 100.0, round(100 * 8192 * 0.315))
    assert "rt-comb-sql" in headline(table)
    assert all(text.startswith(("SELECT", "SET")) for text in server.sent)


def test_oracle(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Answers(
        {
            oracle.TABLES: [("SHOP", "ORDERS", ROWS, 60, 120, "NO", "TABLE")],
            oracle.FOREIGN: [],
            oracle.INDEXES: [("ORDERS_PK", "UNIQUE", "NORMAL", 20, ROWS, "ID", "RAW", 16, 1)],
            oracle.INSERTED: [(100, "2026-11-01T00:00:00")],
            'SELECT "ID"': [(value,) for value in values(made("uuid-v4", instants(ROWS)))],
        }
    )
    monkeypatch.setattr(oracle, "connect", lambda _: server)
    (table,) = look(oracle.OracleInspector(Address("oracle", "url", {})), "", NOW, 60).tables
    (key,) = table.indexes
    assert key.content
    assert key.content.groups[0].layouts == ("uuid-v4",)
    assert key.pages.density == pytest.approx(100 * ROWS * 29 / (20 * 8000))
    assert all(text.startswith(("SELECT", "SET TRANSACTION READ ONLY")) for text in server.sent)


def test_both_are_marked() -> None:
    assert all(on.inspects_by_document for on in (MSSQL, ORACLE))
    assert MSSQL.inspects("mssql://sa@h/shop")
    assert ORACLE.inspects("oracle://me@h/service")


def test_an_engine_without_an_inspector_inspects_nothing() -> None:
    parts = {part: place for part, place in ORACLE.parts.items() if part != "inspector"}
    assert not replace(ORACLE, parts=parts).inspects("oracle://me@h/service")
