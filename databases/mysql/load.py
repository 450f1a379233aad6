"""A writer's connection: one LOAD DATA LOCAL a transaction, its rows packed beforehand; INSERTs where that is barred.

LOAD DATA is the faster of the two: 0.55 to 0.63 of the INSERTs' time on 100,000 rows (`make bench`). A server that does
not permit it (`local_infile`, off by default in MySQL) gets INSERT statements of many rows; `Admin.settings` says which
it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from keybench.databases.engine import Address, Table
from keybench.databases.mysql import connection, rows
from keybench.databases.mysql import table as layout
from keybench.databases.mysql.flavour import flavour
from keybench.databases.mysql.rows import inserts_without_keys, loads_without_keys
from keybench.databases.payload import Payload
from keybench.errors import ServerError
from keybench.generators.byteorder import Keys

Path = Literal["load data", "insert"]


def default_path(own: connection.Connection) -> Path:
    """The faster path that this server permits."""
    with own.cursor() as cursor:
        cursor.execute("SELECT @@GLOBAL.local_infile")
        permitted = cursor.fetchone()
    return "load data" if permitted == (1,) else "insert"


class MySqlSession:
    """One writer's connection to one table."""

    def __init__(self, address: Address, table: Table, path: Path | None = None) -> None:
        self._table = table
        self._title = flavour(address.engine).title
        self._connection = connection.connect(address)
        with connection.server_errors(self._title):
            self.path: Path = path or default_path(self._connection)
        self._loads = [rows.load_statement(each) for each in table.family]
        self._analysed = False

    def prepare(self, keys: Keys, payload: Payload, start: int, rows_per_tx: int) -> Sequence[object]:
        """Batches of `rows_per_tx` rows, as the path takes them. From here on LOAD DATA is committed by `send`, once
        it is known that no row was left out."""
        self._begin()
        pack = rows.loads if self.path == "load data" else rows.inserts
        n, each = len(keys), self._table.children
        texts, moments = payload.rows(start, n), payload.moments(start, n)
        if not self._table.parent:
            return pack(self._table, keys, texts, rows_per_tx, moments)
        parents = pack(self._table.parent, keys, texts, rows_per_tx)
        again = np.repeat(np.arange(n), each)
        children = pack(self._table, keys[again], texts[again], rows_per_tx * each)
        return list(map(rows.Family, parents, children))

    def prepare_without_keys(self, payload: Payload, start: int, rows: int, rows_per_tx: int) -> Sequence[object]:
        """The same of rows whose keys the server makes."""
        self._begin()
        texts = payload.rows(start, rows)
        if self.path == "load data":
            return loads_without_keys(texts, rows_per_tx)
        return inserts_without_keys(self._table, texts, rows_per_tx)

    def _begin(self) -> None:
        if self.path == "load data":
            with connection.server_errors(self._title):
                self._connection.autocommit(False)

    def send(self, batch: object) -> int:
        """One transaction; the rows that the server says it stored, without children."""
        with connection.server_errors(self._title):
            if isinstance(batch, rows.Loaded):
                return self._send_loaded(batch)
            if isinstance(batch, rows.Family):
                return self._send_family(batch)
            assert isinstance(batch, rows.Inserted)
            if len(batch.statements) == 1:
                return self._connection.run(batch.statements[0])
            return self._send_in_parts(batch.statements)

    def _send_family(self, batch: rows.Family) -> int:
        self._connection.run("BEGIN")
        try:
            parents, children = map(self._send_part, self._loads, (batch.parents, batch.children))
        except BaseException:
            if self._connection.open:
                self._connection.run("ROLLBACK")
            raise
        self._connection.run("COMMIT")
        if children != parents * self._table.children:
            raise ServerError(f"{self._title}: {parents} rows were stored with {children} children. Report this.")
        return parents

    def _send_part(self, load: bytes, batch: rows.Loaded | rows.Inserted) -> int:
        if isinstance(batch, rows.Loaded):
            return self._connection.load(load, batch.data)
        return sum(self._connection.run(statement) for statement in batch.statements)

    def _send_loaded(self, batch: rows.Loaded) -> int:
        try:
            stored = self._connection.load(self._loads[0], batch.data)
        except BaseException:
            if self._connection.open:
                self._connection.run("ROLLBACK")
            raise
        self._connection.run("COMMIT")
        return stored

    def _send_in_parts(self, statements: Sequence[bytes]) -> int:
        self._connection.run("BEGIN")
        try:
            stored = sum(self._connection.run(statement) for statement in statements)
        except BaseException:
            if self._connection.open:
                self._connection.run("ROLLBACK")
            raise
        self._connection.run("COMMIT")
        return stored

    def prepare_keys(self, keys: Keys) -> Sequence[object]:
        """The keys as literals. The first time, the optimiser's statistics are gathered."""
        if not self._analysed:
            with connection.server_errors(self._title):
                self._connection.autocommit(True)
                self._connection.run(f"ANALYZE TABLE {layout.name(self._table)}")
            self._analysed = True
        return [literal.tobytes() for literal in rows.literals(self._table.column, keys)]

    def find(self, key: object) -> int:
        """Reads one row."""
        return self._run(b"SELECT %s FROM %s WHERE `key` = %s", key)

    def between(self, low: object, high: object) -> int:
        """Reads a range of rows."""
        return self._run(b"SELECT %s FROM %s WHERE `key` BETWEEN %s AND %s", low, high)

    def delete(self, keys: Sequence[object]) -> int:
        """Deletes the rows in one statement."""
        if not len(keys):
            return 0
        listed = b",".join(key for key in keys if isinstance(key, bytes))
        with connection.server_errors(self._title):
            return self._connection.run(
                b"DELETE FROM %s WHERE `key` IN (%s)" % (layout.name(self._table).encode(), listed)
            )

    def close(self) -> None:
        """Closes the connection; harmless where the server has ended it."""
        if self._connection.open:
            self._connection.close()

    def _run(self, statement: bytes, *values: object) -> int:
        names = layout.columns(self._table).encode(), layout.name(self._table).encode()
        with connection.server_errors(self._title):
            return self._connection.run(statement % (*names, *values))
