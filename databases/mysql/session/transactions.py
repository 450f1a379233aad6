"""Transactions with several statements."""

from __future__ import annotations

from typing import Any

from keybench.databases.mysql import connection
from keybench.model.transactions import Isolation


class Transactions:
    """The part of a session that isolates transactions.

    A deadlock ends the whole transaction, a timeout of a wait only the statement (manual, "InnoDB Error Handling"), so
    `rollback` always asks for the end.
    """

    _connection: connection.Connection
    _title: str
    _method: Any

    def isolate(self, isolation: Isolation | None) -> None:
        """Chooses the level. Rows are sent by statements that leave the transaction open, so not by LOAD DATA."""
        if self._method == "load data":
            self._method = "prepared"
        if isolation:
            level = isolation.replace("-", " ").upper()
            self._statement(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")

    def begin(self) -> None:
        """Begins a transaction."""
        self._statement("START TRANSACTION")

    def commit(self) -> None:
        """Commits it."""
        self._statement("COMMIT")

    def rollback(self) -> None:
        """Ends it."""
        self._statement("ROLLBACK")

    def _statement(self, text: str) -> None:
        with connection.server_errors(self._title):
            self._connection.run(text)
