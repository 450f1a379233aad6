"""A writer's connection: each transaction's rows packed beforehand, and sent in the fastest way that the server takes.

MariaDB takes arrays of values for one INSERT, in 0.7 to 0.8 of the time of LOAD DATA LOCAL (`make bench` compares all
methods). MySQL has no such arrays: it gets LOAD DATA LOCAL, or prepared INSERTs of many rows where it does not permit
that (`local_infile`, off by default). `Admin.settings` reports which method was used.

A transaction of one row is a prepared INSERT, on both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from keybench.databases.contract.roles import Address, Session
from keybench.databases.core.exchange import AVAILABLE, Exchange, UnusualAnswer
from keybench.databases.core.packing import Varying, texts
from keybench.databases.mysql import connection, ddl
from keybench.databases.mysql.flavour import MARIADB, flavour_named, flavour_of
from keybench.databases.mysql.session import load_data, packets
from keybench.databases.mysql.session.load_data import Loaded, Moments
from keybench.databases.mysql.session.packets import Packets
from keybench.errors import ServerError
from keybench.model.keys import Bytes, Keys
from keybench.model.payload import Payload
from keybench.model.table import Table
from keybench.model.transactions import Isolation

SendMethod = Literal["load data", "arrays", "prepared"]

_NO_MOMENTS: Moments = np.empty(0, np.int64)


@dataclass(frozen=True)
class ParentsAndChildren:
    """One transaction's rows of a parent table and of its child table."""

    parents: Loaded | Packets
    children: Loaded | Packets


def default_method(to: connection.Connection) -> SendMethod:
    """The fastest method that this server accepts."""
    if flavour_of(to.get_server_info()) is MARIADB:
        return "arrays"
    with to.cursor() as cursor:
        cursor.execute("SELECT @@GLOBAL.local_infile")
        permitted = cursor.fetchone()
    return "load data" if permitted == (1,) else "prepared"


class MySqlSession(Session):
    """One writer's connection to one table, and to its parent."""

    def __init__(self, address: Address, table: Table, method: SendMethod | None = None) -> None:
        self._table = table
        self._title = flavour_named(address.engine).title
        self._connection = connection.connect(address)
        with connection.server_errors(self._title):
            self._method = method or default_method(self._connection)
        self._chosen = method is not None
        self._prepared: dict[tuple[str, int], bytes] = {}
        self._analysed = False

    def prepare(self, keys: Keys, payload: Payload, start: int, rows_per_tx: int) -> Sequence[object]:
        """Batches of `rows_per_tx` rows, as the method takes them.

        From here on `send` commits LOAD DATA, after it has checked that no row was left out. If no method is chosen and
        each batch is one row, batches are `Requests`.
        """
        n, children = len(keys), self._table.children
        payloads, moments = texts(payload, start, n), payload.moments(start, n)
        if not self._table.parent:
            return self._batches(keys, payloads, moments, rows_per_tx)
        of_parents = self._pack(self._table.parent, keys, payloads, _NO_MOMENTS, rows_per_tx)
        parent_rows = np.repeat(np.arange(n), children)
        of_children = self._pack(
            self._table, keys[parent_rows], payloads[parent_rows], _NO_MOMENTS, rows_per_tx * children
        )
        return list(map(ParentsAndChildren, of_parents, of_children))

    def prepare_without_keys(self, payload: Payload, start: int, rows: int, rows_per_tx: int) -> Sequence[object]:
        """The same for rows whose keys the server makes."""
        return self._batches(None, texts(payload, start, rows), _NO_MOMENTS, rows_per_tx)

    def _batches(
        self, keys: Keys | None, payloads: Bytes | Varying, moments: Moments, rows_per_tx: int
    ) -> Sequence[object]:
        if rows_per_tx == 1 and len(payloads) and not self._chosen:
            with connection.server_errors(self._title):
                self._connection.autocommit(True)
                return packets.requests(self._number(self._table, 1), self._table, keys, payloads, moments)
        return self._pack(self._table, keys, payloads, moments, rows_per_tx)

    def _pack(
        self, table: Table, keys: Keys | None, payloads: Bytes | Varying, moments: Moments, rows_per_tx: int
    ) -> Sequence[Loaded | Packets]:
        """Rows of one table as the method takes them. Statements are prepared here, outside the timed window."""
        with connection.server_errors(self._title):
            if self._method == "load data":
                self._connection.autocommit(False)
                return load_data.pack(table, keys, payloads, moments, rows_per_tx)
            batches = packets.pack(self._method, table, keys, payloads, moments, rows_per_tx)
            for rows in {rows for batch in batches for rows, _ in batch.packets}:
                self._number(table, rows)
            return batches

    def exchange(self) -> Exchange | None:
        """The loop for transactions of one row; None if the connection is encrypted."""
        wire = self._connection.plain_socket() if AVAILABLE else None
        return None if wire is None else Exchange(wire, packets.STORED, self._read)

    def _read(self, answer: UnusualAnswer) -> int:
        with connection.server_errors(self._title):
            try:
                return packets.read(answer)
            except OSError:
                raise self._connection.lost() from None

    def send(self, batch: object) -> int:
        """One transaction; the rows that the server says it stored, without children."""
        with connection.server_errors(self._title):
            if isinstance(batch, memoryview):
                return self._connection.run_prepared(self._number(self._table, 1), packets.values_of(batch))
            if isinstance(batch, ParentsAndChildren):
                return self._whole(partial(self._send_both, batch), begin=True)
            assert isinstance(batch, Loaded | Packets)
            part = partial(self._send_part, self._table, batch)
            if isinstance(batch, Loaded):
                return self._whole(part, begin=False)  # autocommit is off
            return part() if len(batch.packets) == 1 else self._whole(part, begin=True)

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
        assert self._table.parent
        parents = self._send_part(self._table.parent, batch.parents)
        children = self._send_part(self._table, batch.children)
        if children != parents * self._table.children:
            raise ServerError(f"{self._title}: {parents} rows were stored with {children} children. Report this.")
        return parents

    def _send_part(self, table: Table, batch: Loaded | Packets) -> int:
        if isinstance(batch, Loaded):
            return self._connection.load(batch.statement, batch.data)
        run = self._connection.run_arrays if batch.way == "arrays" else self._connection.run_prepared
        return sum(run(self._number(table, rows), packet) for rows, packet in batch.packets)

    def _number(self, table: Table, rows: int) -> bytes:
        """The number of the prepared INSERT of that many rows."""
        number = self._prepared.get((table.name, rows))
        if number is None:
            number = self._prepared[table.name, rows] = self._connection.statement(packets.insert(table, rows))
        return number

    def isolate(self, isolation: Isolation | None) -> None:
        """Chooses the level. Rows are sent by statements that leave the transaction open, so not by LOAD DATA."""
        if self._method == "load data":
            self._method = "prepared"
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
        """Ends it: after a deadlock the server has done so, after a wait that took too long it has undone the statement
        alone (manual, "InnoDB Error Handling")."""
        self._statement("ROLLBACK")

    def _statement(self, text: str) -> None:
        with connection.server_errors(self._title):
            self._connection.run(text)

    def prepare_keys(self, keys: Keys) -> Sequence[object]:
        """The keys as literals. The first time, the optimiser's statistics are gathered."""
        with connection.server_errors(self._title):
            self._connection.autocommit(True)  # LOAD DATA turned it off, and deletions would not be committed
            if not self._analysed:
                self._connection.run(f"ANALYZE TABLE {ddl.name(self._table)}")
                self._analysed = True
        return [literal.tobytes() for literal in load_data.literals(self._table.column, keys)]

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

    def close(self) -> None:
        """Closes the connection; harmless where the server has ended it."""
        if self._connection.open:
            self._connection.close()

    def _select(self, statement: bytes, *values: object) -> int:
        names = ddl.columns(self._table).encode(), ddl.name(self._table).encode()
        with connection.server_errors(self._title):
            return self._connection.run(statement % (*names, *values))
