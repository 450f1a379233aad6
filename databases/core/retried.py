"""A scenario's transactions with several statements: look up, insert, commit.

They are sent again if the server rolls them back in favour of others.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keybench.databases.contract.roles import Session
from keybench.errors import Aborted, DeadlockVictim, ServerError
from keybench.model.keys import Keys
from keybench.model.payload import Payload
from keybench.model.transactions import TransactionStyle

MOST_TRIES: Final = 10_000  # a transaction that fails this often will never succeed


@dataclass(frozen=True)
class Work:
    """One transaction: keys to look up, then rows to insert."""

    keys: Sequence[object]
    batch: object


@dataclass(frozen=True, eq=False)
class Rollbacks:
    """How often the server rolled back the transactions of a load."""

    retries: NDArray[np.int64]
    """(transactions,): how often each one was tried again."""
    deadlocks: int
    """How many of these were victims of deadlocks."""


@dataclass
class RetriedTransactions:
    """A session whose batches are sent as transactions of a style. A transaction that is rolled back is sent again at
    once, with the same rows."""

    session: Session
    style: TransactionStyle
    deadlocks: int = 0
    retries: list[int] = field(default_factory=list)
    """How often each transaction was sent again before it was committed."""

    def prepare(self, keys: Keys, payload: Payload, start: int, rows_per_tx: int) -> Sequence[object]:
        """The session's batches, each with the keys that it looks up first: `Work`."""
        batches = self.session.prepare(keys, payload, start, rows_per_tx)
        parameters = self.session.prepare_keys(keys) if self.style.look_up else ()
        works = []
        for first, batch in zip(range(0, len(keys), rows_per_tx), batches, strict=True):
            rows = self.style.looked_up(first, first + rows_per_tx)
            works.append(Work([parameters[row] for row in rows if row < len(keys)], batch))  # the last may be shorter
        return works

    def send(self, batch: object) -> int:
        """Sends one transaction until the server has committed it. Returns the rows that it acknowledged. ServerError
        if the server never commits it."""
        assert isinstance(batch, Work)
        for retries in range(MOST_TRIES):
            try:
                rows = self._send_once(batch)
            except Aborted as error:
                self.deadlocks += isinstance(error, DeadlockVictim)
                self.session.rollback()
            else:
                self.retries.append(retries)
                return rows
        raise ServerError(f"a transaction was rolled back {MOST_TRIES:,} times: use fewer writers.")

    def _send_once(self, work: Work) -> int:
        """Sends the transaction. Aborted if the server rolls it back."""
        self.session.begin()
        for key in work.keys:
            self.session.find(key)
        rows = self.session.send(work.batch)
        self.session.commit()
        return rows

    @property
    def rollbacks(self) -> Rollbacks:
        """How often transactions were rolled back so far."""
        return Rollbacks(np.array(self.retries, np.int64), self.deadlocks)


def in_transactions(session: Session, style: TransactionStyle) -> RetriedTransactions:
    """The session with transactions of that style, at its isolation level. Only for engines with isolation levels."""
    session.isolate(style.isolation)
    return RetriedTransactions(session, style)


def together(all_writers: Sequence[Rollbacks | None]) -> Rollbacks | None:
    """The rollbacks of all writers in one; None if no writer can tell."""
    known = [each for each in all_writers if each]
    if not known:
        return None
    return Rollbacks(np.concatenate([each.retries for each in known]), sum(each.deadlocks for each in known))
