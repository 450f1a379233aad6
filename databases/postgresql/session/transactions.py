"""Transactions with several statements, and the server's reasons for rolling one back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final

from psycopg import pq

from keybench.databases.contract.transactions import Aborted, DeadlockVictim
from keybench.errors import ServerError
from keybench.model.transactions import Isolation

_ABORTS: Final = {b"40001": Aborted, b"40P01": DeadlockVictim}
"""serialization_failure and deadlock_detected (manual, "PostgreSQL Error Codes")."""


def refusal(result: pq.abc.PGresult | None) -> type[ServerError]:
    """The kind of error that a failed result is."""
    state = result.error_field(pq.DiagnosticField.SQLSTATE) if result is not None else None
    return _ABORTS.get(state or b"", ServerError)


class Transactions(ABC):
    """The part of a session that isolates transactions."""

    _raw: pq.abc.PGconn
    _begin = b"BEGIN"
    _by_index = b"SET enable_seqscan = off"
    """Keeps look-ups on the index; empty for systems that do so by themselves."""

    @abstractmethod
    def _command(self, statement: bytes) -> None: ...

    def isolate(self, isolation: Isolation | None) -> None:
        """Chooses the level, and keeps look-ups on the index: in a short table the planner prefers to read all of it,
        and a serialisable transaction then locks all of it."""
        if self._by_index:
            self._command(self._by_index)
        if isolation:
            self._begin = b"BEGIN ISOLATION LEVEL " + isolation.replace("-", " ").upper().encode()

    def begin(self) -> None:
        """Begins a transaction."""
        self._command(self._begin)

    def commit(self) -> None:
        """Commits it."""
        self._command(b"COMMIT")

    def rollback(self) -> None:
        """Ends it unless the server has done so, as it does when COMMIT fails."""
        while self._raw.get_result() is not None:  # what a failed COPY left
            pass
        if self._raw.transaction_status in (pq.TransactionStatus.INTRANS, pq.TransactionStatus.INERROR):
            self._command(b"ROLLBACK")
