"""What a session offers whose transactions have several statements and may be rolled back in favour of others."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from keybench.errors import ServerError
from keybench.model.transactions import Isolation


class Aborted(ServerError):
    """The server rolled the transaction back in favour of another one. It may succeed if it is tried again."""


class DeadlockVictim(Aborted):
    """The server ended a deadlock so."""


@runtime_checkable
class IsolatesTransactions(Protocol):
    """A session of an engine with `Engine.isolations`. Between `begin` and `commit`, `send` and `find` are parts of one
    transaction.

    Each of the methods, and `send` and `find`, raises `Aborted` if the server rolls the transaction back in favour of
    another one.
    """

    def isolate(self, isolation: Isolation | None) -> None:
        """Gives all transactions from now on that isolation level; None: the server's default. Called once, before
        `prepare`."""
        ...

    def begin(self) -> None:
        """Begins a transaction."""
        ...

    def commit(self) -> None:
        """Commits it. If this returns, the rows are acknowledged."""
        ...

    def rollback(self) -> None:
        """Ends the transaction after `Aborted`; does nothing if the server has ended it."""
        ...
