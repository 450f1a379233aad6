"""A connection of a DB-API driver, whose errors become keybench's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from keybench.databases.core.probes import WaitSamples
from keybench.errors import ServerError
from keybench.model.reading import Reading


class DbApiConnection:
    """What administration, probes and sessions need of a connection."""

    title: str
    """The database's name in messages."""
    full: tuple[str, ...]
    """Texts in messages that say that a disk, a file or a quota is full."""
    when_full: str
    """The next step then."""

    def __init__(self, raw: Any, *errors: type[Exception]) -> None:
        """`errors` are the driver's."""
        self.raw = raw
        self._errors = errors

    def error_text(self, error: BaseException) -> str:
        """The message of a driver's error, on one line."""
        return " ".join(str(error).split()) or type(error).__name__

    def cursor(self) -> Any:
        """A new cursor of the driver."""
        return self.raw.cursor()

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a query; ServerError with the server's message where it refuses."""
        with self.errors(), closing(self.cursor()) as cursor:
            cursor.execute(statement, *values)
            return [tuple(row) for row in cursor.fetchall()] if cursor.description else []

    def value(self, statement: str, *values: object) -> Any:
        """The one value of a query."""
        return self.rows(statement, *values)[0][0]

    def run(self, statement: str, *values: object) -> int:
        """Runs a statement; the rows that it changed."""
        with self.errors(), closing(self.cursor()) as cursor:
            cursor.execute(statement, *values)
            return int(cursor.rowcount)

    def lost(self, query: str) -> bool:
        """Whether the server has ended the connection, which a query shows that it always answers."""
        try:
            self.rows(query)
        except ServerError:
            return True
        return False

    def commit(self) -> None:
        """Commits the transaction."""
        with self.errors():
            self.raw.commit()

    def rollback(self) -> None:
        """Undoes the transaction; harmless where the server has done so, or has ended the connection."""
        try:
            self.raw.rollback()
        except self._errors:
            return

    def close(self) -> None:
        """Closes it; harmless where the server has ended it."""
        try:
            self.raw.close()
        except self._errors:
            return

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turns the driver's errors into ServerError with the server's message."""
        try:
            yield
        except self._errors as error:
            reason = self.error_text(error)
            is_full = any(text in reason.lower() for text in self.full)
            raise ServerError(f"{self.title}: {reason}{f' {self.when_full}' if is_full else ''}") from None


class SessionWaits:
    """Samples the waits of the sessions that begin after it, by a connection of its own (`contract.WaitSampler`)."""

    def __init__(self, connection: DbApiConnection, standing: str, waits: str) -> None:
        """`standing` asks for the numbers of all sessions, `waits` for (kind of wait, sessions) without {standing}.

        ServerError if this user may not ask.
        """
        self._connection = connection
        self._samples = WaitSamples()
        try:
            numbers = ", ".join(str(int(number)) for (number,) in connection.rows(standing)) or "0"
        except BaseException:
            connection.close()
            raise
        self._statement = waits.format(standing=numbers)

    def sample(self) -> None:
        """Counts the sessions by what they wait for."""
        self._samples.add((name, number) for name, number in self._connection.rows(self._statement))

    def readings(self) -> Iterable[Reading]:
        """The share of each kind of wait."""
        return self._samples.shares()

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()
