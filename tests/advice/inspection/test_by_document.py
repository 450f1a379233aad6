"""SQL Server, where it was never run: what its inspector makes of answers that documents describe."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest

from keybench.advice.inspection.findings import look
from keybench.advice.inspection.sentences import headline
from keybench.databases.contract.roles import Address
from keybench.databases.mssql import ENGINE as MSSQL
from keybench.databases.mssql import inspection as mssql
from keybench.databases.oracle import ENGINE as ORACLE
from tests.advice.inspection.planted import NOW, instants, made, values

ROWS = 4_000


class Answers:
    """A connection that answers by the beginning of a statement, and writes down what it was sent."""

    def __init__(self, answers: Mapping[str, list[tuple[Any, ...]]]) -> None:
        self.sent: list[str] = []
        self._answers = answers

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        del values
        self.sent.append(statement)
        (found,) = [rows for begin, rows in self._answers.items() if statement.startswith(begin)]
        return found

    def value(self, statement: str, *values: object) -> Any:
        return self.rows(statement, *values)[0][0]

    def limit(self, seconds: float) -> None:
        """Nothing here takes time."""

    def run(self, statement: str) -> int:
        self.sent.append(statement)
        return 0

    def close(self) -> None: ...


def test_sql_server(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [(str(UUID(bytes=value)),) for value in values(made("rt-comb-sql", instants(ROWS)))]  # type: ignore[arg-type]
    server = Answers(
        {
            mssql.STARTED: [("2026-11-01T00:00:00",)],
            mssql.TABLES: [("dbo", "orders", "U ", 1, ROWS, 1_000_000, 2), ("dbo", "seen", "V ", 1, None, None, 0)],
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
    assert "rt-comb-sql" in key.content.groups[0].layouts
    assert key.new_rows.where == "end"  # SQL Server compares the end of a GUID first
    assert table.table.children == 2
    assert (key.pages.density, key.pages.full, round(table.gain)) == (68.5, 100.0, round(100 * 8192 * 0.315))
    assert "rt-comb-sql" in headline(table)
    assert all(text.startswith(("SELECT", "SET")) for text in server.sent)


def test_it_is_marked() -> None:
    assert MSSQL.inspects_by_document
    assert MSSQL.inspects("mssql://sa@h/shop")


def test_an_engine_without_an_inspector_inspects_nothing() -> None:
    assert not ORACLE.inspects("oracle://me@h/service")
