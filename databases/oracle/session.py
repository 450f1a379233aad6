"""A writer's connection: array-bound INSERTs of single rows in the order of the list, one transaction a batch.

The hint APPEND_VALUES is not used: direct path goes past the buffer cache, and the index is merged at the end, so that
the splits of the keys' order would not happen.

`direct_path_load` is a load path of its own, `bulk`. Each transaction is one call, which the server commits by itself,
or undoes; it locks the table, and waits for others that do. The server counts no rows back: no error means all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keybench.databases.contract import Address
from keybench.databases.oracle import connection, statistics
from keybench.databases.oracle import ddl as layout
from keybench.errors import ServerError
from keybench.model.column import Column
from keybench.model.keys import Keys
from keybench.model.payload import Payload
from keybench.model.table import Table

ARRAY_ROWS = 10_000
"""Longest array: the driver makes one message of it."""

SCHEMA = "SELECT SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA') FROM dual"
"""As the dictionary has it, however the user's name was written."""

Row = tuple[object, ...]


@dataclass(frozen=True)
class Batch:
    """One transaction's rows, in arrays that a call takes, those of the parent table first."""

    arrays: tuple[list[Row], ...]
    rows: int
    children: tuple[list[Row], ...] = ()


@dataclass(frozen=True)
class BulkBatch:
    """One transaction's rows, for one direct path load."""

    rows: list[Row]


def values(column: Column, keys: Keys) -> list[object]:
    """The keys as the driver binds them: bytes in the column's order, text, integers."""
    encoded = column.encode(keys)
    if column.form == "int":
        return list(encoded.tolist())
    data, width = encoded.tobytes(), encoded.shape[1]
    pieces = [data[at : at + width] for at in range(0, len(data), width)]
    return [piece.decode("ascii") for piece in pieces] if column.form == "text" else list(pieces)


def _rows(keys: list[object] | None, n: int, payload: Payload, start: int, *, dated: bool = False) -> list[Row]:
    """n rows of moment, key and text; without those that are not sent."""
    texts = payload.texts if payload.width else ()
    beside = [texts[at % len(texts)] for at in range(start, start + n)] if texts else None
    moments: list[object] | None = payload.moments(start, n).tolist() if dated else None
    return list(zip(*(part for part in (moments, keys, beside) if part is not None), strict=True))


def _arrays(rows: list[Row]) -> tuple[list[Row], ...]:
    return tuple(rows[at : at + ARRAY_ROWS] for at in range(0, len(rows), ARRAY_ROWS))


class OracleSession:
    """One writer's connection to one table."""

    def __init__(self, address: Address, table: Table) -> None:
        self._table = table
        self._inserts = [layout.insert(each) for each in table.family]
        self._connection = connection.connect(address)
        self._cursor: Any = self._connection.raw.cursor()
        self._key_type = self._type()
        self._begin: Mapping[str, int] | None = None
        self._analysed = False
        self._schema = ""

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
        created = [module.DB_TYPE_NUMBER] if self._table.dated else []
        return text if self._table.made else [*created, self._key_type, *text]

    def prepare(self, keys: Keys, payload: Payload, start: int, rows_per_tx: int) -> Sequence[Batch]:
        """Batches of `rows_per_tx` rows as the driver takes them."""
        return self._batches(values(self._table.column, keys), len(keys), payload, start, rows_per_tx)

    def prepare_without_keys(self, payload: Payload, start: int, rows: int, rows_per_tx: int) -> Sequence[Batch]:
        """Batches of rows whose keys the server makes."""
        return self._batches(None, rows, payload, start, rows_per_tx)

    def prepare_in_bulk(self, keys: Keys, payload: Payload, start: int, rows_per_tx: int) -> Sequence[BulkBatch]:
        """Batches of `rows_per_tx` rows for direct path loads; asks first whose schema it is."""
        self._note()
        self._schema = str(self._connection.value(SCHEMA))
        rows = _rows(values(self._table.column, keys), len(keys), payload, start)
        return [BulkBatch(rows[first : first + rows_per_tx]) for first in range(0, len(rows), rows_per_tx)]

    def _batches(
        self, keys: list[object] | None, n: int, payload: Payload, start: int, rows_per_tx: int
    ) -> list[Batch]:
        self._note()
        rows = _rows(keys, n, payload, start, dated=self._table.dated)
        each = self._table.children if self._table.parent else 0
        transactions = (rows[first : first + rows_per_tx] for first in range(0, n, rows_per_tx))
        return [
            Batch(_arrays(some), len(some), _arrays([row for row in some for _ in range(each)]))
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
        """One transaction; the rows that the server says it stored, without children."""
        if isinstance(batch, BulkBatch):
            self._connection.load(self._schema, layout.name(self._table), layout.plain_columns(self._table), batch.rows)
            return len(batch.rows)
        assert isinstance(batch, Batch)
        try:
            stored, *children = (
                sum(self._connection.many(self._cursor, insert, rows, self._sizes()) for rows in arrays)
                for insert, arrays in zip(self._inserts, (batch.arrays, batch.children), strict=False)
            )
            if any(of != stored * self._table.children for of in children):
                raise ServerError(f"Oracle: {stored} rows were stored with {children[0]} children. Report this.")
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
