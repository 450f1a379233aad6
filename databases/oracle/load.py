"""A writer's connection: array-bound INSERTs of single rows in the order of the list, one transaction a batch.

Direct path (`direct_path_load`, the hint APPEND_VALUES) is not used: it goes past the buffer cache, and the index is
merged at the end, so that the splits of the keys' order would not happen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keybench.databases.column import Column
from keybench.databases.engine import Address, Table
from keybench.databases.oracle import connection, statistics
from keybench.databases.oracle import table as layout
from keybench.databases.payload import Payload
from keybench.errors import ServerError
from keybench.generators.byteorder import Keys

ARRAY_ROWS = 10_000
"""Longest array: the driver makes one message of it."""

Row = tuple[object, ...]


@dataclass(frozen=True)
class Batch:
    """One transaction's rows, in arrays that a call takes."""

    arrays: tuple[list[Row], ...]
    rows: int


def values(column: Column, keys: Keys) -> list[object]:
    """The keys as the driver binds them: bytes in the column's order, text, integers."""
    encoded = column.encode(keys)
    if column.form == "int":
        return list(encoded.tolist())
    data, width = encoded.tobytes(), encoded.shape[1]
    pieces = [data[at : at + width] for at in range(0, len(data), width)]
    return [piece.decode("ascii") for piece in pieces] if column.form == "text" else list(pieces)


class OracleSession:
    """One writer's connection to one table."""

    def __init__(self, address: Address, table: Table) -> None:
        self._table = table
        self._insert = layout.insert(table)
        self._connection = connection.connect(address)
        self._cursor: Any = self._connection.raw.cursor()
        self._key_type = self._type()
        self._begin: Mapping[str, int] | None = None
        self._analysed = False

    def _type(self) -> object:
        """The type of a key's parameter, or its size where it is text."""
        column, module = self._table.column, self._connection.module
        if column.form == "int":
            return module.DB_TYPE_NUMBER
        return column.width if column.form == "text" else module.DB_TYPE_RAW

    def _sizes(self) -> list[object]:
        """What is bound to the statement: without it the driver looks at each value, and makes room anew for longer."""
        module, payload = self._connection.module, self._table.payload
        text = [] if not payload else [payload if payload <= 4000 else module.DB_TYPE_CLOB]
        return text if self._table.made else [self._key_type, *text]

    def prepare(self, keys: Keys, payload: Payload, start: int, rows_per_tx: int) -> Sequence[Batch]:
        """Batches of `rows_per_tx` rows as the driver takes them."""
        return self._batches(values(self._table.column, keys), len(keys), payload, start, rows_per_tx)

    def prepare_without_keys(self, payload: Payload, start: int, rows: int, rows_per_tx: int) -> Sequence[Batch]:
        """Batches of rows whose keys the server makes."""
        return self._batches(None, rows, payload, start, rows_per_tx)

    def _batches(
        self, keys: list[object] | None, n: int, payload: Payload, start: int, rows_per_tx: int
    ) -> list[Batch]:
        self._note()
        texts = payload.texts if payload.width else ()
        beside = [texts[at % len(texts)] for at in range(start, start + n)] if texts else None
        rows: list[Row] = list(zip(*(part for part in (keys, beside) if part is not None), strict=True))
        transactions = (rows[first : first + rows_per_tx] for first in range(0, n, rows_per_tx))
        return [
            Batch(tuple(some[at : at + ARRAY_ROWS] for at in range(0, len(some), ARRAY_ROWS)), len(some))
            for some in transactions
        ]

    def _note(self) -> None:
        """The session's statistics before its first row; none where it may not read them, which the probe explains."""
        if self._begin is None:
            try:
                self._begin = statistics.own(self._connection)
            except ServerError:
                self._begin = {}

    def send(self, batch: object) -> int:
        """One transaction; the rows that the server says it stored."""
        assert isinstance(batch, Batch)
        try:
            stored = sum(
                self._connection.many(self._cursor, self._insert, rows, self._sizes()) for rows in batch.arrays
            )
            self._connection.commit()
        except BaseException:
            self._connection.rollback()
            raise
        return stored

    def prepare_keys(self, keys: Keys) -> Sequence[object]:
        """The keys as parameters. The first time, the optimiser's statistics are gathered."""
        if not self._analysed:
            self._connection.run(
                "BEGIN DBMS_STATS.GATHER_TABLE_STATS(USER, :name, cascade => TRUE); END;",
                {"name": layout.name(self._table)},
            )
            self._analysed = True
        return values(self._table.column, keys)

    def find(self, key: object) -> int:
        """Reads one row."""
        return self._read("key = :low", {"low": key})

    def between(self, low: object, high: object) -> int:
        """Reads a range of rows."""
        return self._read("key BETWEEN :low AND :high", {"low": low, "high": high})

    def delete(self, keys: Sequence[object]) -> int:
        """Deletes the rows in one transaction, a row at a time, in one call."""
        if not len(keys):
            return 0
        statement = f"DELETE FROM {layout.name(self._table)} WHERE key = :key"  # noqa: S608  # our own names
        try:
            deleted = self._connection.many(self._cursor, statement, [(key,) for key in keys], [self._key_type])
            self._connection.commit()
        except BaseException:
            self._connection.rollback()
            raise
        return deleted

    def close(self) -> None:
        """Leaves the session's statistics where the probe finds them, and closes the connection."""
        try:
            if self._begin:
                statistics.keep(self._connection, self._begin)
        except ServerError:  # the server has ended it: what sent rows over it knows already
            pass
        finally:
            self._connection.close()

    def _read(self, condition: str, bounds: Mapping[str, object]) -> int:
        columns = "key, payload" if self._table.payload else "key"
        statement = f"SELECT {columns} FROM {layout.name(self._table)} WHERE {condition}"  # noqa: S608  # our own names
        return len(self._connection.rows(statement, bounds))
