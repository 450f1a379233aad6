"""A writer's connection: array-bound INSERTs of single rows in the order of the list, one transaction a batch.

Sets of rows in one statement (VALUES lists, table-valued parameters, JSON) are not used: the server may sort them by
the clustered key, so that the page splits of random keys would not happen.

Bulk copy, which does sort, is a load path of its own. Each transaction is one call, which makes its own connection, by
a client of its own inside mssql-python: it belongs to no transaction of this session's, and the server commits it by
itself, as one batch, or undoes it. The driver counts the rows that it sent and the server none: no error means all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from keybench.databases.contract import Address
from keybench.databases.mssql import connection
from keybench.databases.mssql import ddl as layout
from keybench.model.column import Column
from keybench.model.keys import Keys
from keybench.model.payload import Payload
from keybench.model.table import Table

ARRAY_ROWS = 10_000
"""Longest array: the drivers copy the whole of it."""
_LIST_KEYS = 2_000
"""Longest list of keys in a statement, which takes at most 2,100 parameters."""

_QUIET, _COUNTING = "SET NOCOUNT ON", "SET NOCOUNT OFF"
"""While arrays are sent no row counts come back, which else wait to be fetched, one a row; deletions want theirs."""

Row = tuple[object, ...]


@dataclass(frozen=True)
class Batch:
    """One transaction's rows, in arrays that a call takes, those of the parent table first."""

    arrays: tuple[list[Row], ...]
    rows: int
    children: tuple[list[Row], ...] = ()


@dataclass(frozen=True)
class BulkBatch:
    """One transaction's rows, for one bulk copy."""

    rows: list[Row]


def values(column: Column, keys: Keys) -> list[object]:
    """The keys as the driver binds them: UUIDs for uniqueidentifier, bytes, text, integers."""
    if column.name == "uniqueidentifier":
        return [UUID(bytes=key) for key in _cut(keys.data.tobytes(), 16)]
    encoded = column.encode(keys)
    if column.form == "int":
        return list(encoded.tolist())
    pieces = _cut(encoded.tobytes(), encoded.shape[1])
    return [piece.decode("ascii") for piece in pieces] if column.form == "text" else list(pieces)


def _cut(data: bytes, width: int) -> list[bytes]:
    return [data[at : at + width] for at in range(0, len(data), width)]


def _rows(keys: list[object] | None, n: int, payload: Payload, start: int, *, dated: bool = False) -> list[Row]:
    """n rows of moment, key and text; without those that are not sent."""
    texts = payload.texts if payload.width else ()
    beside = [texts[at % len(texts)] for at in range(start, start + n)] if texts else None
    moments: list[object] | None = payload.moments(start, n).tolist() if dated else None
    parts = [part for part in (moments, keys, beside) if part is not None]
    return list(zip(*parts, strict=True))


def _arrays(rows: list[Row]) -> tuple[list[Row], ...]:
    return tuple(rows[at : at + ARRAY_ROWS] for at in range(0, len(rows), ARRAY_ROWS))


class MssqlSession:
    """One writer's connection to one table."""

    def __init__(self, address: Address, table: Table) -> None:
        self._table = table
        self._inserts = [layout.insert(each) for each in table.family]
        self._sizes = layout.parameter_sizes(table)
        self._analysed = False
        self._connection = connection.connect(address)
        self._cursor = self._connection.driver.cursor_for(self._connection.raw, self._sizes)

    def prepare(self, keys: Keys, payload: Payload, start: int, rows_per_tx: int) -> Sequence[Batch]:
        """Batches of `rows_per_tx` rows as the driver takes them."""
        return self._batches(values(self._table.column, keys), payload, start, rows_per_tx)

    def prepare_without_keys(self, payload: Payload, start: int, rows: int, rows_per_tx: int) -> Sequence[Batch]:
        """Batches of rows whose keys the server makes."""
        return self._batches(None, payload, start, rows_per_tx, rows)

    def prepare_in_bulk(self, keys: Keys, payload: Payload, start: int, rows_per_tx: int) -> Sequence[BulkBatch]:
        """Batches of `rows_per_tx` rows for bulk copy."""
        rows = _rows(values(self._table.column, keys), len(keys), payload, start)
        return [BulkBatch(rows[first : first + rows_per_tx]) for first in range(0, len(rows), rows_per_tx)]

    def _batches(
        self, keys: list[object] | None, payload: Payload, start: int, rows_per_tx: int, rows: int = 0
    ) -> list[Batch]:
        n = rows if keys is None else len(keys)
        all_rows = _rows(keys, n, payload, start, dated=self._table.dated)
        each = self._table.children if self._table.parent else 0
        self._connection.run(_QUIET)
        self._connection.begin()
        return [
            Batch(
                _arrays(transaction),
                len(transaction),
                _arrays([row for row in transaction for _ in range(each)]),
            )
            for transaction in (all_rows[first : first + rows_per_tx] for first in range(0, n, rows_per_tx))
        ]

    def send(self, batch: object) -> int:
        """One transaction; its rows, all of which are stored where no error was raised.

        Drivers give no count for an array. An error in any of its rows is raised, and undoes the transaction.
        """
        if isinstance(batch, BulkBatch):
            name, columns = layout.name(self._table), layout.plain_columns(self._table)
            return self._connection.copy(self._cursor, name, columns, batch.rows)
        assert isinstance(batch, Batch)
        try:
            for insert, arrays in zip(self._inserts, (batch.arrays, batch.children), strict=False):
                for rows in arrays:
                    self._connection.insert(self._cursor, insert, rows, self._sizes)
            self._connection.commit()
        except BaseException:
            self._connection.rollback()
            raise
        return batch.rows

    def prepare_keys(self, keys: Keys) -> Sequence[object]:
        """The keys as parameters. The first time, the optimiser's statistics are gathered."""
        if not self._analysed:
            self._connection.end()
            self._connection.run(_COUNTING)
            self._connection.run(f"UPDATE STATISTICS {layout.name(self._table)}")
            self._analysed = True
        return values(self._table.column, keys)

    def find(self, key: object) -> int:
        """Reads one row."""
        return self._read(f"= {layout.parameter(self._table.column)}", key)

    def between(self, low: object, high: object) -> int:
        """Reads a range of rows."""
        bound = layout.parameter(self._table.column)
        return self._read(f"BETWEEN {bound} AND {bound}", low, high)

    def delete(self, keys: Sequence[object]) -> int:
        """Deletes the rows in one transaction, in statements of as many keys as one takes."""
        bound, deleted = layout.parameter(self._table.column), 0
        self._connection.begin()
        try:
            for first in range(0, len(keys), _LIST_KEYS):
                some = keys[first : first + _LIST_KEYS]
                listed = ", ".join([bound] * len(some))
                statement = f"DELETE FROM {layout.name(self._table)} WHERE [key] IN ({listed})"  # noqa: S608  # our own names
                deleted += self._connection.run(statement, *some)
            self._connection.end()
        except BaseException:
            self._connection.rollback()
            raise
        return deleted

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()

    def _read(self, condition: str, *bounds: object) -> int:
        columns = "[key], payload" if self._table.payload else "[key]"
        statement = f"SELECT {columns} FROM {layout.name(self._table)} WHERE [key] {condition}"  # noqa: S608  # our own names
        return len(self._connection.rows(statement, *bounds))
