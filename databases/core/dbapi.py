"""A connection of a DB-API driver, and the session of engines whose drivers bind arrays.

The session sends single-row INSERTs in list order, one transaction a batch. An engine adds its SQL and driver's calls.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import numpy as np

from keybench.databases.contract.roles import Session
from keybench.errors import ServerError
from keybench.model.column import Column
from keybench.model.keys import Keys
from keybench.model.payload import Payload
from keybench.model.table import Table

ANSWER_SECONDS: Final = 60.0
"""How long administration waits for the end of a statement, unless `limit` says otherwise."""
_PING_SECONDS: Final = 10.0


class DbApiConnection:
    """What administration, probes and sessions need of a connection."""

    title: str
    """The database's name in messages."""
    full: tuple[str, ...]
    """Texts in messages that say that a disk, a file or a quota is full."""
    when_full: str
    """What the user should do then: added to such messages."""
    ping = "SELECT 1"
    """A query that the server always answers."""

    def __init__(self, raw: Any, *errors: type[Exception]) -> None:
        """`raw` is the driver's connection, `errors` are the classes of its errors."""
        self.raw = raw
        self._errors = errors

    def limit(self, seconds: float) -> None:
        """From now on a statement waits at most `seconds` for a silent server: ServerError then. Does nothing where the
        engine has no such limit."""

    @staticmethod
    def error_text(error: BaseException) -> str:
        """The message of a driver's error, on one line."""
        return " ".join(str(error).split()) or type(error).__name__

    def cursor(self) -> Any:
        """A new cursor of the driver."""
        return self.raw.cursor()

    def execute(self, cursor: Any, statement: str, values: tuple[object, ...]) -> None:
        """Executes a statement with the values of its parameters."""
        cursor.execute(statement, *values)

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a query, none for other statements; ServerError with the server's message where it refuses."""
        with self.errors(), closing(self.cursor()) as cursor:
            self.execute(cursor, statement, values)
            return [tuple(row) for row in cursor.fetchall()] if cursor.description else []

    def value(self, statement: str, *values: object) -> Any:
        """The first value of a query's first row."""
        return self.rows(statement, *values)[0][0]

    def run(self, statement: str, *values: object) -> int:
        """Runs a statement. Returns the number of rows that it changed."""
        with self.errors(), closing(self.cursor()) as cursor:
            self.execute(cursor, statement, values)
            return int(cursor.rowcount)

    def lost(self) -> bool:
        """Whether the server has ended the connection, or does not answer."""
        self.limit(_PING_SECONDS)
        try:
            self.rows(self.ping)
        except ServerError:
            return True
        self.limit(ANSWER_SECONDS)
        return False

    def commit(self) -> None:
        """Commits the transaction."""
        with self.errors():
            self.raw.commit()

    def rollback(self) -> None:
        """Undoes the transaction; harmless where the server has done so, or has ended the connection."""
        with suppress(*self._errors):
            self.raw.rollback()

    def close(self) -> None:
        """Closes it; harmless where the server has ended it."""
        with suppress(*self._errors):
            self.raw.close()

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turns the driver's errors into ServerError with the server's message."""
        try:
            yield
        except self._errors as error:
            raise self.failure(error) from None

    def failure(self, error: Any) -> ServerError:
        """A driver's error as keybench's, with the next step if something is full."""
        reason = self.error_text(error)
        next_step = f" {self.when_full}" if any(text in reason.lower() for text in self.full) else ""
        return ServerError(f"{self.title}: {reason}{next_step}")


Server = TypeVar("Server", bound=DbApiConnection)
"""An engine's own connection."""

ARRAY_ROWS = 10_000
"""The largest number of rows in one array. It is limited because a driver copies the whole array."""

Row = tuple[object, ...]


@dataclass(frozen=True)
class ArrayBatch:
    """One transaction's rows, in arrays of one driver call each. `arrays` holds the table's rows. If the key is a
    foreign key, `arrays` holds the parent's rows and `children` the child's."""

    arrays: tuple[list[Row], ...]
    rows: int  # the number of rows in `arrays`
    children: tuple[list[Row], ...] = ()


class ArraySession(Session, Generic[Server]):
    """One writer's connection to one table, and to its parent."""

    def __init__(self, table: Table, connection: Server, inserts: Sequence[str]) -> None:
        """`inserts` are the statements that insert one row, the parent table's first."""
        self._table = table
        self._connection = connection
        self._inserts = inserts
        self._analysed = False

    @abstractmethod
    def ready(self) -> None:
        """Makes the connection ready for inserts. Called before each preparation of batches."""

    @abstractmethod
    def insert(self, statement: str, rows: list[Row]) -> int:
        """Executes the statement once for each row, in order, in one call. Returns the number of rows stored. A driver
        that gives no count raises an error for any row (ServerError): then all rows that were sent are stored."""

    @abstractmethod
    def analyse(self) -> None:
        """Gathers the optimiser's statistics of the table and makes the connection ready for reads and deletions."""

    def bound(self, keys: Keys) -> list[object]:
        """The keys as the driver binds them."""
        return native_keys(self._table.column, keys)

    def prepare(self, keys: Keys, payload: Payload, start: int, rows_per_tx: int) -> Sequence[ArrayBatch]:
        """Batches of `rows_per_tx` rows as the driver takes them."""
        return self._batches(self.bound(keys), len(keys), payload, start, rows_per_tx)

    def prepare_without_keys(self, payload: Payload, start: int, rows: int, rows_per_tx: int) -> Sequence[ArrayBatch]:
        """Batches of rows whose keys the server makes."""
        return self._batches(None, rows, payload, start, rows_per_tx)

    def _batches(
        self, keys: list[object] | None, n: int, payload: Payload, start: int, rows_per_tx: int
    ) -> list[ArrayBatch]:
        """Batches of n rows; `keys` are None where the server makes them."""
        self.ready()
        rows = self.rows_of(keys, n, payload, start)
        children = self._table.children if self._table.parent else 0  # of each row
        transactions = (rows[first : first + rows_per_tx] for first in range(0, n, rows_per_tx))
        return [
            ArrayBatch(_arrays(batch), len(batch), _arrays([row for row in batch for _ in range(children)]))
            for batch in transactions
        ]

    def rows_of(self, keys: list[object] | None, n: int, payload: Payload, start: int) -> list[Row]:
        """n rows to send: time of creation (only by date), key (unless the server makes it), text (if there is any)."""
        moments: list[object] | None = payload.moments(start, n).tolist() if self._table.by_date else None
        texts = payload.row_texts(start, n) if payload.width else None
        columns = [column for column in (moments, keys, texts) if column is not None]
        return list(zip(*columns, strict=True))

    def send(self, batch: object) -> int:
        """Sends one transaction. Returns the number of rows stored, without children."""
        assert isinstance(batch, ArrayBatch)
        with self.undone_on_error():
            # `_inserts` has one statement, or two if the table has a parent; `stored` then has two counts
            stored = [
                sum(self.insert(statement, rows) for rows in arrays)
                for statement, arrays in zip(self._inserts, (batch.arrays, batch.children), strict=False)
            ]
            if len(stored) > 1 and stored[1] != stored[0] * self._table.children:
                problem = f"{stored[0]} rows were stored with {stored[1]} children. Report this."
                raise ServerError(f"{self._connection.title}: {problem}")
            self._connection.commit()
        return stored[0]

    @contextmanager
    def undone_on_error(self) -> Iterator[None]:
        """Rolls the transaction back if the block raises."""
        try:
            yield
        except BaseException:
            self._connection.rollback()
            raise

    def prepare_keys(self, keys: Keys) -> Sequence[object]:
        """The keys as parameters. The first call gathers the optimiser's statistics."""
        if not self._analysed:
            self.analyse()
            self._analysed = True
        return self.bound(keys)

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()


def native_keys(column: Column, keys: Keys) -> list[Any]:
    """Keys as Python objects: bytes in the column's order, text, or integers, by the column's form."""
    encoded = np.ascontiguousarray(column.encode(keys))
    if column.form == "int":
        values: list[Any] = encoded.tolist()
    elif column.form == "text":
        values = encoded.view(f"S{encoded.shape[1]}").ravel().astype(np.str_).tolist()
    else:  # as numpy's `void`, which keeps trailing zero bytes
        values = encoded.view(f"V{encoded.shape[1]}").ravel().tolist()
    return values


def cut(data: bytes, width: int) -> list[bytes]:
    """The data, cut into pieces of `width` bytes."""
    return [data[begin : begin + width] for begin in range(0, len(data), width)]


def _arrays(rows: list[Row]) -> tuple[list[Row], ...]:
    """The rows, cut into arrays of at most ARRAY_ROWS."""
    return tuple(rows[begin : begin + ARRAY_ROWS] for begin in range(0, len(rows), ARRAY_ROWS))
