"""A writer's connection: each transaction's rows packed beforehand, and sent in the fastest way that the server takes.

MariaDB takes arrays of values for one INSERT, in 0.7 to 0.8 of the time of LOAD DATA LOCAL (`make bench` compares all
methods). MySQL has no such arrays: it gets LOAD DATA LOCAL, or prepared INSERTs of many rows where it does not permit
that (`local_infile`, off by default). `Admin.settings` reports which method was used.

A transaction of one row is a prepared INSERT, on both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from keybench.databases.contract.roles import Address, Session
from keybench.databases.core.exchange import AVAILABLE, Answer, Exchange
from keybench.databases.core.packing import Varying, texts
from keybench.databases.mysql import connection, ddl
from keybench.databases.mysql.flavour import MARIADB, flavour_named, flavour_of
from keybench.databases.mysql.session import arrays, prepared, requests, statements, values
from keybench.databases.mysql.session.transactions import Transactions
from keybench.errors import ServerError
from keybench.model.keys import Bytes, Keys
from keybench.model.payload import Payload
from keybench.model.table import Table

SendMethod = Literal["load data", "arrays", "prepared", "insert"]
Batch = statements.Loaded | arrays.Arrays | prepared.Prepared | statements.Inserted

_PACKED: Mapping[SendMethod, Callable[..., Sequence[Batch]]] = {
    "load data": statements.loads,
    "arrays": arrays.packed,
    "prepared": prepared.packed,
    "insert": statements.inserts,
}
_PACKED_WITHOUT_KEYS: Mapping[SendMethod, Callable[[Table, Bytes | Varying, int], Sequence[Batch]]] = {
    "load data": statements.loads_without_keys,
    "arrays": arrays.packed_without_keys,
    "prepared": prepared.packed_without_keys,
    "insert": statements.inserts_without_keys,
}


@dataclass(frozen=True)
class ParentsAndChildren:
    """One transaction's rows of a parent table and of its child table."""

    parents: Batch
    children: Batch


def default_method(to: connection.Connection) -> SendMethod:
    """The fastest method that this server accepts."""
    if flavour_of(to.get_server_info()) is MARIADB:
        return "arrays"
    with to.cursor() as cursor:
        cursor.execute("SELECT @@GLOBAL.local_infile")
        permitted = cursor.fetchone()
    return "load data" if permitted == (1,) else "prepared"


class MySqlSession(Transactions, Session):
    """One writer's connection to one table, and to its parent."""

    def __init__(self, address: Address, table: Table, method: SendMethod | None = None) -> None:
        self._table = table
        self._title = flavour_named(address.engine).title
        self._connection = connection.connect(address)
        with connection.server_errors(self._title):
            self._method = method or default_method(self._connection)
        self._chosen = method is not None
        self._statements: list[bytes] = []
        self._prepared: dict[tuple[str, int], bytes] = {}
        self._analysed = False

    def prepare(self, keys: Keys, payload: Payload, start: int, rows_per_tx: int) -> Sequence[object]:
        """Batches of `rows_per_tx` rows, as the method takes them.

        From here on `send` commits LOAD DATA, after it has checked that no row was left out. If no method is chosen and
        each batch is one row, batches are `Requests`.
        """
        n, each = len(keys), self._table.children
        payloads, moments = texts(payload, start, n), payload.moments(start, n)
        if self._one_by_one(n, rows_per_tx):
            return requests.packed(self._insert(), values.of_rows(self._table, keys, payloads, moments, b""))
        self._begin()
        pack = _PACKED[self._method]
        if not self._table.parent:
            return pack(self._table, keys, payloads, rows_per_tx, moments)
        parents = pack(self._table.parent, keys, payloads, rows_per_tx)
        of_parent = np.repeat(np.arange(n), each)
        children = pack(self._table, keys[of_parent], payloads[of_parent], rows_per_tx * each)
        return list(map(ParentsAndChildren, parents, children))

    def prepare_without_keys(self, payload: Payload, start: int, rows: int, rows_per_tx: int) -> Sequence[object]:
        """The same for rows whose keys the server makes."""
        if self._one_by_one(rows, rows_per_tx):
            return requests.packed(self._insert(), values.without_keys(texts(payload, start, rows), b""))
        self._begin()
        return _PACKED_WITHOUT_KEYS[self._method](self._table, texts(payload, start, rows), rows_per_tx)

    def _one_by_one(self, rows: int, rows_per_tx: int) -> bool:
        return rows > 0 and rows_per_tx == 1 and not self._chosen and not self._table.parent

    def _insert(self) -> bytes:
        """The number of the INSERT of one row."""
        with connection.server_errors(self._title):
            self._connection.autocommit(True)
            return self._number(self._table, 1)

    def exchange(self) -> Exchange | None:
        """The loop for transactions of one row; None if the connection is encrypted."""
        wire = self._connection.plain_socket() if AVAILABLE else None
        return None if wire is None else Exchange(wire, requests.STORED, self._read)

    def _read(self, answer: Answer) -> int:
        with connection.server_errors(self._title):
            try:
                return requests.read(answer)
            except OSError:
                raise self._connection.lost() from None

    def _begin(self) -> None:
        """Prepares the method: the statement for each table's batches, the parent's first."""
        if self._statements:
            return
        family = self._table.family
        with connection.server_errors(self._title):
            if self._method == "load data":
                self._connection.autocommit(False)
                self._statements = [statements.load_statement(each) for each in family]
            elif self._method == "arrays":
                self._statements = [self._connection.statement(arrays.statement(each)) for each in family]
            else:
                self._statements = [b"" for _ in family]

    def send(self, batch: object) -> int:
        """One transaction; the rows that the server says it stored, without children."""
        with connection.server_errors(self._title):
            if isinstance(batch, memoryview):
                return self._connection.run_prepared(self._number(self._table, 1), requests.values(batch))
            if isinstance(batch, ParentsAndChildren):
                return self._whole(partial(self._send_both, batch), begin=True)
            assert isinstance(batch, Batch)
            part = partial(self._send_part, self._statements[-1], batch)
            if isinstance(batch, statements.Loaded):
                return self._whole(part, begin=False)  # autocommit is off
            return part() if len(batch.statements) == 1 else self._whole(part, begin=True)

    def _whole(self, part: Callable[[], int], *, begin: bool) -> int:
        """Runs `part` as one transaction, all of it or nothing."""
        if begin:
            self._connection.run("BEGIN")
        try:
            stored = part()
        except BaseException:
            if self._connection.open:
                self._connection.run("ROLLBACK")
            raise
        self._connection.run("COMMIT")
        return stored

    def _send_both(self, batch: ParentsAndChildren) -> int:
        parents, children = map(self._send_part, self._statements, (batch.parents, batch.children))
        if children != parents * self._table.children:
            raise ServerError(f"{self._title}: {parents} rows were stored with {children} children. Report this.")
        return parents

    def _send_part(self, statement: bytes, batch: Batch) -> int:
        if isinstance(batch, statements.Loaded):
            return self._connection.load(statement, batch.data)
        if isinstance(batch, prepared.Prepared):
            return sum(
                self._connection.run_prepared(self._number(batch.table, rows), packet)
                for rows, packet in batch.statements
            )
        run: Any = self._connection.run
        if isinstance(batch, arrays.Arrays):
            run = partial(self._connection.run_arrays, statement)
        return sum(map(run, batch.statements))

    def _number(self, table: Table, rows: int) -> bytes:
        """The number of the prepared INSERT of so many rows."""
        known = self._prepared.get((table.name, rows))
        if known is None:
            known = self._prepared[table.name, rows] = self._connection.statement(prepared.statement(table, rows))
        return known

    def prepare_keys(self, keys: Keys) -> Sequence[object]:
        """The keys as literals. The first time, the optimiser's statistics are gathered."""
        if not self._analysed:
            with connection.server_errors(self._title):
                self._connection.autocommit(True)
                self._connection.run(f"ANALYZE TABLE {ddl.name(self._table)}")
            self._analysed = True
        return [literal.tobytes() for literal in statements.literals(self._table.column, keys)]

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
                b"DELETE FROM %s WHERE `key` IN (%s)" % (ddl.name(self._table).encode(), listed)
            )

    def close(self) -> None:
        """Closes the connection; harmless where the server has ended it."""
        if self._connection.open:
            self._connection.close()

    def _run(self, statement: bytes, *values: object) -> int:
        names = ddl.columns(self._table).encode(), ddl.name(self._table).encode()
        with connection.server_errors(self._title):
            return self._connection.run(statement % (*names, *values))
