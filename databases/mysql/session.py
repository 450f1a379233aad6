"""A writer's connection: each transaction's rows packed beforehand, and sent in the fastest way that the server takes.

MariaDB takes arrays of values for one INSERT. MySQL has no such arrays: it gets prepared INSERTs of many rows. A
transaction of one row is a prepared INSERT, on both. `Admin.settings` reports the way.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from keybench.databases.contract.roles import Address, Session
from keybench.databases.core.exchange import AVAILABLE, Exchange, UnusualAnswer
from keybench.databases.core.packing import FamilyBatch, Varying, texts
from keybench.databases.mysql import connection, ddl, wire
from keybench.databases.mysql.flavour import flavour_named
from keybench.databases.mysql.wire import Moments, Packets
from keybench.errors import ServerError
from keybench.model.keys import Bytes, Keys
from keybench.model.payload import Payload
from keybench.model.table import Table
from keybench.model.transactions import Isolation

_NO_MOMENTS: Moments = np.empty(0, np.int64)


class MySqlSession(Session):
    """One writer's connection to one table, and to its parent."""

    def __init__(self, address: Address, table: Table) -> None:
        flavour = flavour_named(address.engine)
        self._table, self._title, self._way = table, flavour.title, flavour.way
        self._connection = connection.connect(address)
        self._inserts: dict[tuple[str, int], bytes] = {}  # numbers of prepared INSERTs, by table and count of rows
        self._analysed = False

    def prepare(self, keys: Keys, payload: Payload, start: int, rows_per_tx: int) -> Sequence[object]:
        """Batches of `rows_per_tx` rows; where that is one, they are `Requests`."""
        n, children = len(keys), self._table.children
        payloads, moments = texts(payload, start, n), payload.moments(start, n)
        if not self._table.parent:
            return self._batches(keys, payloads, moments, rows_per_tx)
        parent_batches = self._pack(self._table.parent, keys, payloads, _NO_MOMENTS, rows_per_tx)
        parents = np.repeat(np.arange(n), children)  # the parent's row of each child
        child_batches = self._pack(self._table, keys[parents], payloads[parents], _NO_MOMENTS, rows_per_tx * children)
        return list(map(FamilyBatch, parent_batches, child_batches))

    def prepare_without_keys(self, payload: Payload, start: int, rows: int, rows_per_tx: int) -> Sequence[object]:
        """Batches of rows whose keys the server makes; where each has one row, they are `Requests`."""
        return self._batches(None, texts(payload, start, rows), _NO_MOMENTS, rows_per_tx)

    def _batches(
        self, keys: Keys | None, payloads: Bytes | Varying, moments: Moments, rows_per_tx: int
    ) -> Sequence[object]:
        """Batches of the rows of a table without a parent: `Requests` for one row a transaction, else packets. `keys`
        are None if the server makes them."""
        if rows_per_tx == 1 and len(payloads):
            with connection.server_errors(self._title):
                return wire.requests(self._insert_number(self._table, 1), self._table, keys, payloads, moments)
        return self._pack(self._table, keys, payloads, moments, rows_per_tx)

    def _pack(
        self, table: Table, keys: Keys | None, payloads: Bytes | Varying, moments: Moments, rows_per_tx: int
    ) -> Sequence[Packets]:
        """Batches of the rows of one table. Their statements are prepared here, outside the timed window."""
        batches = wire.pack(self._way, table, keys, payloads, moments, rows_per_tx)
        with connection.server_errors(self._title):
            for rows in {rows for batch in batches for rows, _ in batch.packets}:
                self._insert_number(table, rows)  # prepares it the first time
        return batches

    def exchange(self) -> Exchange | None:
        """The loop for transactions of one row; None if the connection is encrypted."""
        socket = self._connection.plain_socket() if AVAILABLE else None
        return None if socket is None else Exchange(socket, wire.STORED, self._read)

    def _read(self, answer: UnusualAnswer) -> int:
        """The number of rows stored, by an answer that the loop does not know. ServerError if the row is refused."""
        with connection.server_errors(self._title):
            try:
                return wire.read(answer)
            except OSError:
                raise self._connection.close_lost() from None

    def send(self, batch: object) -> int:
        """Sends one transaction. Returns the number of rows that the server says it stored, without children."""
        with connection.server_errors(self._title):
            if isinstance(batch, memoryview):
                return self._connection.run_prepared(self._insert_number(self._table, 1), wire.values_of(batch))
            if isinstance(batch, FamilyBatch):
                return self._in_transaction(partial(self._send_both, batch))
            assert isinstance(batch, Packets)
            insert = partial(self._insert, self._table, batch)
            return (
                insert() if len(batch.packets) == 1 else self._in_transaction(insert)
            )  # a single statement commits by itself

    def _in_transaction(self, work: Callable[[], int]) -> int:
        """Does `work` in one transaction, all of it or nothing. Returns the number of rows that it returns."""
        self._connection.run("BEGIN")
        try:
            rows = work()
        except BaseException:
            if self._connection.open:
                self._connection.run("ROLLBACK")
            raise
        self._connection.run("COMMIT")
        return rows

    def _send_both(self, batch: FamilyBatch[Packets]) -> int:
        """The rows of the parent table and their children. ServerError if their numbers do not agree."""
        assert self._table.parent
        parents = self._insert(self._table.parent, batch.parents)
        children = self._insert(self._table, batch.children)
        if children != parents * self._table.children:
            raise ServerError(f"{self._title}: {parents} rows were stored with {children} children. Report this.")
        return parents

    def _insert(self, table: Table, batch: Packets) -> int:
        """Sends one table's packets. Returns the number of rows stored."""
        run = self._connection.run_arrays if self._way == "arrays" else self._connection.run_prepared
        return sum(run(self._insert_number(table, rows), packet) for rows, packet in batch.packets)

    def _insert_number(self, table: Table, rows: int) -> bytes:
        """The number of the INSERT of that many rows, which is prepared the first time."""
        number = self._inserts.get((table.name, rows))
        if number is None:
            number = self._inserts[table.name, rows] = self._connection.prepare_statement(wire.insert(table, rows))
        return number

    def isolate(self, isolation: Isolation | None) -> None:
        """Chooses the level; None leaves the server's."""
        if isolation:
            level = isolation.replace("-", " ").upper()
            self._statement(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")

    def begin(self) -> None:
        """Begins a transaction."""
        self._statement("START TRANSACTION")

    def commit(self) -> None:
        """Commits it."""
        self._statement("COMMIT")

    def rollback(self) -> None:
        """Ends the transaction: after a deadlock the server has done so, but after a wait that took too long it has
        undone the statement alone (manual, "InnoDB Error Handling")."""
        self._statement("ROLLBACK")

    def _statement(self, text: str) -> None:
        with connection.server_errors(self._title):
            self._connection.run(text)

    def prepare_keys(self, keys: Keys) -> Sequence[object]:
        """The keys as literals. The first time, the optimiser's statistics are gathered."""
        if not self._analysed:
            self._statement(f"ANALYZE TABLE {ddl.name(self._table)}")
            self._analysed = True
        return wire.literals(self._table.column, keys)

    def find(self, key: object) -> int:
        """Reads one row."""
        return self._select(b"SELECT %s FROM %s WHERE `key` = %s", key)

    def between(self, low: object, high: object) -> int:
        """Reads a range of rows."""
        return self._select(b"SELECT %s FROM %s WHERE `key` BETWEEN %s AND %s", low, high)

    def delete(self, keys: Sequence[object]) -> int:
        """Deletes the rows in one statement."""
        if not len(keys):
            return 0
        listed = b",".join(key for key in keys if isinstance(key, bytes))
        with connection.server_errors(self._title):
            return self._connection.run(
                b"DELETE FROM %s WHERE `key` IN (%s)" % (ddl.name(self._table).encode(), listed)
            )

    def update(self, keys: Sequence[object], texts: Sequence[str]) -> int:
        """Updates rows one by one, in one transaction."""
        table = ddl.name(self._table).encode()
        changes = [b"payload = '%s'" % text.encode() for text in texts] or [b"status = status + 1"] * len(keys)

        def update_all() -> int:
            statements = (
                b"UPDATE %s SET %s WHERE `key` = %s" % (table, change, key)
                for change, key in zip(changes, keys, strict=True)
            )
            return sum(map(self._connection.run, statements))

        with connection.server_errors(self._title):
            return self._in_transaction(update_all)

    def first(self, rows: int) -> int:
        """Reads the first rows in the order of the key, through its index."""
        index = ddl.index_name(self._table).encode()
        return self._select(b"SELECT %s FROM %s FORCE INDEX (`" + index + b"`) ORDER BY `key` LIMIT %s", b"%d" % rows)

    def close(self) -> None:
        """Closes the connection; harmless where the server has ended it."""
        if self._connection.open:
            self._connection.close()

    def _select(self, statement: bytes, *values: object) -> int:
        """Runs a query whose first two `%s` are the columns and the table. Returns the number of rows."""
        names = ddl.columns(self._table).encode(), ddl.name(self._table).encode()
        with connection.server_errors(self._title):
            return self._connection.run(statement % (*names, *values))
