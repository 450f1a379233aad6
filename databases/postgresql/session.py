"""A writer's connection. Each transaction is one COPY, whose text is prepared in advance.

A transaction of one row is a prepared INSERT, as applications have it: COPY of one row takes twice as long. Reads,
deletions and these rows are in binary.
"""

from collections.abc import Sequence

import numpy as np
from psycopg import pq

from keybench.databases.contract.roles import Address, Session
from keybench.databases.core.dbapi import cut
from keybench.databases.core.exchange import AVAILABLE, Exchange, UnusualAnswer
from keybench.databases.core.packing import FamilyBatch, beside, binary, texts
from keybench.databases.hosting.url_server import with_next_step
from keybench.databases.postgresql import connection, ddl, wire
from keybench.databases.postgresql.wire import CopyBatch, key_text, moment_text, pack
from keybench.errors import Aborted, DeadlockVictim, ServerError
from keybench.model.keys import Keys
from keybench.model.payload import Payload
from keybench.model.table import Table
from keybench.model.transactions import Isolation

_BINARY = pq.Format.BINARY

# The type numbers of the elements of `= ANY($1)`. They are fixed in the system catalogue (pg_type.dat).
_TYPE_NUMBERS = {"uuid": 2950, "bytea": 17, "text": 25, "character(36)": 1042, "bigint": 20, "integer": 23, "int4": 23}

_ABORTS = {b"40001": Aborted, b"40P01": DeadlockVictim}
"""serialization_failure and deadlock_detected (manual, "PostgreSQL Error Codes")."""


def _copy(table: Table) -> bytes:
    columns = "payload" if table.server_keys else ddl.columns(table)
    return f"COPY {ddl.name(table)} ({columns}) FROM STDIN".encode()


class PostgresSession(Session):
    """One writer's connection to one table."""

    def __init__(self, address: Address, table: Table) -> None:
        self._table = table
        self._key_type = _TYPE_NUMBERS[table.column.sql_type.partition(" ")[0]]
        self._copies = [_copy(each) for each in table.family]
        self._statements_prepared = self._insert_prepared = False
        self._begin = b"BEGIN"
        self._raw = connection.connect_raw(address)

    def prepare(
        self, keys: Keys, payload: Payload, start: int, rows_per_tx: int
    ) -> Sequence[CopyBatch | FamilyBatch[CopyBatch] | memoryview]:
        """Batches of `rows_per_tx` rows each: text for COPY, with that of their children if the table has a parent; for
        single rows without children, requests. All batches share one buffer, all children another."""
        payloads = texts(payload, start, len(keys))
        if rows_per_tx == 1 and len(keys) and not self._table.parent:
            self._prepare_insert()
            values = [wire.binary_keys(self._table.column, keys), payloads]
            if self._table.by_date:
                values.insert(0, binary(payload.moments(start, len(keys)), ">i8"))
            return wire.pack_requests(*values)
        text = key_text(self._table.column, keys)
        if self._table.by_date:
            text = beside(moment_text(payload.moments(start, len(keys))), text)
        batches = pack(text, payloads, rows_per_tx)
        if not self._table.parent:
            return batches
        parent_rows = np.repeat(np.arange(len(keys)), self._table.children)  # of each child
        children = pack(text[parent_rows], payloads[parent_rows], rows_per_tx * self._table.children)
        return list(map(FamilyBatch, batches, children))

    def prepare_without_keys(
        self, payload: Payload, start: int, rows: int, rows_per_tx: int
    ) -> Sequence[CopyBatch | memoryview]:
        """Batches of rows whose keys the server makes: text for COPY, or, if a transaction has one row, requests."""
        if rows_per_tx == 1 and rows:
            self._prepare_insert()
            return wire.pack_requests(texts(payload, start, rows))
        return pack(np.empty((rows, 0), np.uint8), texts(payload, start, rows), rows_per_tx)

    def send(self, batch: object) -> int:
        """Sends one request or COPY as a transaction, with children two. Returns the rows stored, without children."""
        if isinstance(batch, memoryview):  # a request
            return self._run(wire.STATEMENT, [*wire.parameters_of(batch)]).command_tuples or 0
        if isinstance(batch, CopyBatch):
            return self._send(self._copies[0], batch)
        assert isinstance(batch, FamilyBatch)
        self._command(b"BEGIN")
        try:
            parents, children = map(self._send, self._copies, (batch.parents, batch.children))
        except BaseException:
            if self._raw.transaction_status != pq.TransactionStatus.UNKNOWN:  # else the connection is gone
                self._command(b"ROLLBACK")
            raise
        self._command(b"COMMIT")
        if children != parents * self._table.children:
            raise ServerError(f"PostgreSQL: {parents} rows were stored with {children} children. Report this.")
        return parents

    def exchange(self) -> Exchange | None:
        """The loop for transactions of one row; None if the connection is encrypted, or on other systems than Linux."""
        if not AVAILABLE or self._raw.ssl_in_use or self._uses_kerberos():
            return None
        return Exchange(self._raw.socket, wire.STORED, self._read)

    def _uses_kerberos(self) -> bool:
        """Whether Kerberos encrypts the connection, which libpq does not tell. It never does so on a socket file."""
        if self._raw.host.startswith(b"/"):
            return False
        encrypted = b"SELECT 1 FROM pg_stat_gssapi WHERE pid = pg_backend_pid() AND encrypted"
        with connection.server_errors():
            return self._expect(self._raw.exec_(encrypted), pq.ExecStatus.TUPLES_OK).ntuples > 0

    def _read(self, answer: UnusualAnswer) -> int:
        """The rows stored, by an answer. ServerError with the server's error, or libpq's if the connection ended."""
        errors: list[str] = []
        try:
            rows = wire.read(answer, errors)
        except OSError:  # libpq notices the end at its next statement
            errors.append(" ".join(self._raw.exec_(b"").get_error_message().split()))
        if errors:
            raise ServerError(f"PostgreSQL: {with_next_step(' '.join(errors))}")
        return rows

    def _command(self, statement: bytes) -> None:
        """Runs a statement without rows; ServerError if the server refuses."""
        with connection.server_errors():
            self._expect(self._raw.exec_(statement), pq.ExecStatus.COMMAND_OK)

    def _send(self, copy: bytes, batch: CopyBatch) -> int:
        """Sends one COPY. Returns the number of rows stored."""
        with connection.server_errors():
            self._expect(self._raw.exec_(copy), pq.ExecStatus.COPY_IN)
            for part in batch.parts:
                self._raw.put_copy_data(part)
            self._raw.put_copy_end()
            done = self._expect(self._raw.get_result(), pq.ExecStatus.COMMAND_OK)
            self._raw.get_result()  # None: the end of the answer
        return done.command_tuples or 0

    def isolate(self, isolation: Isolation | None) -> None:
        """Chooses the level, and keeps look-ups on the index: in a short table the planner prefers to read all of it,
        and a serialisable transaction then locks all of it."""
        self._command(b"SET enable_seqscan = off")
        if isolation:
            self._begin = b"BEGIN ISOLATION LEVEL " + isolation.replace("-", " ").upper().encode()

    def begin(self) -> None:
        """Begins a transaction."""
        self._command(self._begin)

    def commit(self) -> None:
        """Commits the transaction."""
        self._command(b"COMMIT")

    def rollback(self) -> None:
        """Ends the transaction unless the server has done so, as it does when COMMIT fails."""
        while self._raw.get_result() is not None:  # what a failed COPY left
            pass
        if self._raw.transaction_status in (pq.TransactionStatus.INTRANS, pq.TransactionStatus.INERROR):
            self._command(b"ROLLBACK")

    def prepare_keys(self, keys: Keys) -> Sequence[bytes]:
        """The keys in binary. The first call also prepares statements and gathers the planner's statistics."""
        if not self._statements_prepared:
            self._prepare_statements()
        encoded = wire.binary_keys(self._table.column, keys)
        return cut(encoded.tobytes(), encoded.shape[1])

    def find(self, key: object) -> int:
        """Reads one row."""
        return self._run(b"find", [key]).ntuples

    def between(self, low: object, high: object) -> int:
        """Reads a range of rows."""
        return self._run(b"between", [low, high]).ntuples

    def delete(self, keys: Sequence[object]) -> int:
        """Deletes the rows in one statement, the keys as one array."""
        if not len(keys):
            return 0
        joined = b"".join(key for key in keys if isinstance(key, bytes))
        rows = np.frombuffer(joined, np.uint8).reshape(len(keys), -1)
        lengths = np.full((len(rows), 1), rows.shape[1], ">i4").view(np.uint8)
        elements = np.concatenate([lengths, rows], axis=1)
        # An array in binary begins with its dimensions, a flag for nulls, its type, its length and its lowest index.
        head = np.array([1, 0, self._key_type, len(rows), 1], ">i4").tobytes()
        return self._run(b"delete", [head + elements.tobytes()]).command_tuples or 0

    def update(self, keys: Sequence[object], texts: Sequence[str]) -> int:
        """Updates rows one by one: their payloads, or without texts their status (`raise` adds 1 to it)."""
        self._command(b"BEGIN")
        statement, rows = b"raise", [[key] for key in keys]
        if texts:
            statement, rows = b"update", [[text.encode(), key] for text, key in zip(texts, keys, strict=True)]
        done = sum(self._run(statement, values).command_tuples or 0 for values in rows)
        self._command(b"COMMIT")
        return done

    def first(self, rows: int) -> int:
        """Reads the first rows."""
        return self._run(b"first", [rows.to_bytes(8)]).ntuples

    def close(self) -> None:
        """Closes the connection."""
        self._raw.finish()

    def _prepare_insert(self) -> None:
        """Prepares the INSERT of one row, unless it is prepared."""
        if not self._insert_prepared:
            with connection.server_errors():
                done = self._raw.prepare(wire.STATEMENT, wire.insert(self._table))
            self._expect(done, pq.ExecStatus.COMMAND_OK)
        self._insert_prepared = True

    def _prepare_statements(self) -> None:
        """Prepares statements, after ANALYZE: autovacuum, which is off, would have analysed the table before reads."""
        name, columns = ddl.name(self._table), ddl.columns(self._table)
        statements = [
            (b"find", f"SELECT {columns} FROM {name} WHERE key = $1"),  # noqa: S608  # our own names
            (b"between", f"SELECT {columns} FROM {name} WHERE key BETWEEN $1 AND $2"),  # noqa: S608
            (b"first", f"SELECT {columns} FROM {name} ORDER BY key LIMIT $1"),  # noqa: S608
            (b"delete", f"DELETE FROM {name} WHERE key = ANY($1)"),  # noqa: S608
        ]
        if self._table.payload:
            statements.append((b"update", f"UPDATE {name} SET payload = $1 WHERE key = $2"))  # noqa: S608
        if self._table.status:
            statements.append((b"raise", f"UPDATE {name} SET status = status + 1 WHERE key = $1"))  # noqa: S608
        self._command(b"SET enable_sort = off")  # so that `first` reads the index, and does not sort the table
        with connection.server_errors():
            self._expect(self._raw.exec_(f"ANALYZE {name}".encode()), pq.ExecStatus.COMMAND_OK)
            for statement, text in statements:
                self._expect(self._raw.prepare(statement, text.encode()), pq.ExecStatus.COMMAND_OK)
        self._statements_prepared = True

    def _run(self, statement: bytes, values: list[object]) -> pq.abc.PGresult:
        """The result of a prepared statement with these values in binary; ServerError if the server refuses."""
        with connection.server_errors():
            done = self._raw.exec_prepared(statement, values, [_BINARY] * len(values), _BINARY)  # type: ignore[arg-type]
        return self._expect(done, pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK)

    def _expect(self, result: pq.abc.PGresult | None, *statuses: pq.ExecStatus) -> pq.abc.PGresult:
        """The result if it has one of these statuses, else the server's error: `Aborted` if it may be tried again."""
        if result is not None and result.status in statuses:
            return result
        message = result.get_error_message() if result is not None else self._raw.get_error_message()
        state = result.error_field(pq.DiagnosticField.SQLSTATE) if result is not None else None
        raise _ABORTS.get(state or b"", ServerError)(f"PostgreSQL: {with_next_step(' '.join(message.split()))}")
