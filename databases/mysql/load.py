"""A writer's connection: one LOAD DATA LOCAL a transaction, its rows packed beforehand; INSERTs where that is barred.

A server that does not permit LOAD DATA LOCAL (`local_infile`, off by default in MySQL) gets INSERTs: MariaDB arrays of
values for one statement, MySQL statements of many rows. `Admin.settings` says which; `make bench` compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal

from keybench.databases.engine import Address, Table
from keybench.databases.mysql import arrays, connection, rows
from keybench.databases.mysql import table as layout
from keybench.databases.mysql.flavour import MARIADB, flavour, spoken
from keybench.databases.payload import Payload
from keybench.generators.byteorder import Bytes, Keys

Path = Literal["load data", "arrays", "insert"]

_PACKED: Mapping[Path, Callable[[Table, Keys, Bytes, int], Sequence[object]]] = {
    "load data": rows.loads,
    "arrays": arrays.packed,
    "insert": rows.inserts,
}
_PACKED_WITHOUT_KEYS: Mapping[Path, Callable[[Table, Bytes, int], Sequence[object]]] = {
    "load data": rows.loads_without_keys,
    "arrays": arrays.packed_without_keys,
    "insert": rows.inserts_without_keys,
}


def default_path(own: connection.Connection) -> Path:
    """The faster path that this server permits."""
    with own.cursor() as cursor:
        cursor.execute("SELECT @@GLOBAL.local_infile")
        permitted = cursor.fetchone()
    if permitted == (1,):
        return "load data"
    return "arrays" if spoken(own.get_server_info()) is MARIADB else "insert"


class MySqlSession:
    """One writer's connection to one table."""

    def __init__(self, address: Address, table: Table, path: Path | None = None) -> None:
        self._table = table
        self._title = flavour(address.engine).title
        self._connection = connection.connect(address)
        with connection.server_errors(self._title):
            self.path: Path = path or default_path(self._connection)
        self._load = rows.load_statement(table)
        self._arrays = b""
        self._analysed = False

    def prepare(self, keys: Keys, payload: Payload, start: int, rows_per_tx: int) -> Sequence[object]:
        """Batches of `rows_per_tx` rows, as the path takes them. From here on LOAD DATA is committed by `send`, once
        it is known that no row was left out."""
        self._begin()
        pack = _PACKED[self.path]
        return pack(self._table, keys, payload.rows(start, len(keys)), rows_per_tx)

    def prepare_without_keys(self, payload: Payload, start: int, rows: int, rows_per_tx: int) -> Sequence[object]:
        """The same of rows whose keys the server makes."""
        self._begin()
        texts = payload.rows(start, rows)
        return _PACKED_WITHOUT_KEYS[self.path](self._table, texts, rows_per_tx)

    def _begin(self) -> None:
        with connection.server_errors(self._title):
            if self.path == "load data":
                self._connection.autocommit(False)
            elif self.path == "arrays" and not self._arrays:
                self._arrays = self._connection.statement(arrays.statement(self._table))

    def send(self, batch: object) -> int:
        """One transaction; the rows that the server says it stored."""
        with connection.server_errors(self._title):
            if isinstance(batch, rows.Loaded):
                return self._send_loaded(batch)
            if isinstance(batch, arrays.Arrays):
                return self._send_in_parts(batch.packets, partial(self._connection.run_arrays, self._arrays))
            assert isinstance(batch, rows.Inserted)
            return self._send_in_parts(batch.statements, self._connection.run)

    def _send_loaded(self, batch: rows.Loaded) -> int:
        try:
            stored = self._connection.load(self._load, batch.data)
        except BaseException:
            if self._connection.open:
                self._connection.run("ROLLBACK")
            raise
        self._connection.run("COMMIT")
        return stored

    def _send_in_parts(self, parts: Sequence[bytes], run: Callable[[bytes], int]) -> int:
        if len(parts) == 1:
            return run(parts[0])
        self._connection.run("BEGIN")
        try:
            stored = sum(run(part) for part in parts)
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
