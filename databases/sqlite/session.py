"""One writer's connection: `executemany` runs a prepared INSERT over a whole batch, one transaction per batch.

`executemany` over `zip` binds and steps in C. It was measured to be as fast as a C program that does the same.
"""

import json
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, cast

import apsw

from keybench.databases.contract.roles import Address, Session
from keybench.databases.core.dbapi import native_keys
from keybench.databases.sqlite.connection import connect, files, page_counts, server_error
from keybench.databases.sqlite.ddl import Statements
from keybench.model.keys import Keys
from keybench.model.payload import Payload
from keybench.model.table import Table


class SqliteSession(Session):
    """Loads, finds and deletes the rows of one table."""

    def __init__(self, address: Address, table: Table) -> None:
        self._table = table
        self._sql = Statements(table)
        self._inserts = [Statements(each).insert for each in table.family]
        self._files = files(address, table.name)
        self._connection = connect(address, self._files.database)
        self._closed = False
        self.entered: float = 0.0  # when the last transaction got the database's lock
        self._counters_file = self._files.new_counters(f"{os.getpid()}-{time.monotonic_ns()}")
        self._counters_file.touch()  # empty until `close`: shows that a session was lost or is still open

    def prepare(self, keys: Keys, payload: Payload, start: int, rows_per_tx: int) -> Sequence[object]:
        """Batches of columns: times of creation (only by date), keys, payload texts (if there is a payload)."""
        columns: list[Sequence[Any]] = [self.prepare_keys(keys)]
        if self._table.by_date:
            columns.insert(0, payload.moments(start, len(keys)).tolist())
        if self._table.payload:
            columns.append(payload.row_texts(start, len(keys)))
        return _batches(columns, len(keys), rows_per_tx)

    def prepare_without_keys(self, payload: Payload, start: int, rows: int, rows_per_tx: int) -> Sequence[object]:
        """Batches of one column, the texts, for rows whose keys SQLite makes."""
        return _batches([payload.row_texts(start, rows)], rows, rows_per_tx)

    def send(self, batch: object) -> int:
        """Inserts one batch, and then its rows' children, in one transaction. Returns the number of rows (parents)."""
        rows = zip(*cast("tuple[Sequence[Any], ...]", batch), strict=True)
        if not self._table.parent:
            return self._transaction((self._sql.insert, rows))
        parents, children_of_each = list(rows), self._table.children
        children = (row for row in parents for _ in range(children_of_each))
        rows_changed = self._transaction(*zip(self._inserts, (parents, children), strict=True))
        return rows_changed // (1 + children_of_each)

    def prepare_keys(self, keys: Keys) -> Sequence[Any]:
        """The keys as SQLite takes them: bytes, str or int."""
        return native_keys(self._table.column, keys)

    def find(self, key: object) -> int:
        """Reads the row of that key. Returns the number of rows found."""
        return self._read(self._sql.where("SELECT *", "= ?"), (key,))

    def between(self, low: object, high: object) -> int:
        """Reads all rows with low ≤ key ≤ high. Returns the number of rows found."""
        return self._read(self._sql.where("SELECT *", "BETWEEN ? AND ?"), (low, high))

    def delete(self, keys: Sequence[object]) -> int:
        """Deletes the rows of these keys in one transaction. Returns the number of rows deleted."""
        return self._transaction((self._sql.where("DELETE", "= ?"), zip(keys)))  # zip: rows of one value

    def update(self, keys: Sequence[object], texts: Sequence[str]) -> int:
        """Updates rows one by one: their payloads, or without texts their status, which grows by 1."""
        if texts:
            return self._transaction((self._sql.update("payload = ?"), zip(texts, keys, strict=True)))
        return self._transaction((self._sql.update("status = status + 1"), zip(keys)))

    def first(self, rows: int) -> int:
        """Reads the first rows."""
        # A condition that all keys meet.
        return self._read(self._sql.where("SELECT *", "IS NOT NULL ORDER BY key LIMIT ?"), (rows,))

    def close(self) -> None:
        """Closes the connection and writes its counters to a file, for the probe in another process."""
        if self._closed:
            return
        self._closed = True
        counts = page_counts(self._connection)
        self._connection.close()
        if not counts["written"]:
            self._counters_file.unlink(missing_ok=True)
        elif self._counters_file.exists():  # else it was dropped with the table
            with suppress(OSError):  # a full disk leaves it empty; that must not hide the error that ended the load
                self._counters_file.write_text(json.dumps(counts), encoding="ascii")

    def _transaction(self, *work: tuple[str, Any]) -> int:
        """Runs statements, each with its rows, as one transaction. Returns the number of rows changed."""
        before = self._connection.total_changes()
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            self.entered = time.perf_counter()
            for statement, rows in work:
                self._connection.executemany(statement, rows)
            self._connection.execute("COMMIT")
        except apsw.Error as error:
            if self._connection.in_transaction:  # some errors have rolled it back already
                self._connection.execute("ROLLBACK")
            raise server_error(error, self._files.folder) from error
        return self._connection.total_changes() - before

    def _read(self, statement: str, parameters: tuple[Any, ...]) -> int:
        try:
            return len(self._connection.execute(statement, parameters).fetchall())
        except apsw.Error as error:
            raise server_error(error, self._files.folder) from error


def _batches(columns: Sequence[Sequence[Any]], rows: int, rows_per_tx: int) -> Sequence[object]:
    """The columns, cut into slices of `rows_per_tx` rows: one tuple of slices for each transaction."""
    begins = range(0, rows, rows_per_tx)
    return [tuple(column[begin : begin + rows_per_tx] for column in columns) for begin in begins]
