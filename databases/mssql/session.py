"""A writer's connection: array-bound INSERTs of single rows in the order of the list, one transaction a batch.

Sets of rows in one statement (VALUES lists, table-valued parameters, JSON) are not used: the server may sort them by
the clustered key, so that the page splits of random keys would not happen (docs/internals/mssql.md §4).

Bulk copy, which does sort, is a load path of its own. Each transaction is one call. A separate client inside
mssql-python makes a connection of its own for it, so it belongs to no transaction of this session: the server commits
it by itself as one batch, or undoes it. The driver counts the rows that it sent and the server none: no error means
that all were stored.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from keybench.databases.contract.roles import Address
from keybench.databases.core.dbapi import ArraySession, Row, cut
from keybench.databases.core.ddl import sent_columns
from keybench.databases.mssql import connection, ddl
from keybench.databases.mssql.connection import MssqlConnection
from keybench.model.keys import Keys
from keybench.model.payload import Payload
from keybench.model.table import Table

_LIST_KEYS = 2_000  # longest list of keys in a statement, which takes at most 2,100 parameters

_WITHOUT_COUNTS, _WITH_COUNTS = "SET NOCOUNT ON", "SET NOCOUNT OFF"
"""For arrays, the server would send a row count for each row, which the client has to fetch; deletions need theirs."""


@dataclass(frozen=True)
class BulkRows:
    """One transaction's rows for one bulk copy."""

    rows: list[Row]


class MssqlSession(ArraySession[MssqlConnection]):
    """One writer's connection to one table."""

    def __init__(self, address: Address, table: Table) -> None:
        self._sizes = ddl.parameter_sizes(table)
        super().__init__(table, connection.connect(address), [ddl.insert(each) for each in table.family])
        self._cursor = self._connection.cursor()

    def bound(self, keys: Keys) -> list[object]:
        """The keys as the driver binds them: UUIDs for uniqueidentifier."""
        if self._table.column.name == "uniqueidentifier":
            return [UUID(bytes=key) for key in cut(keys.data.tobytes(), 16)]
        return super().bound(keys)

    def ready(self) -> None:
        """Opens a transaction without row counts."""
        self._connection.run(_WITHOUT_COUNTS)
        self._connection.begin()

    def prepare_in_bulk(self, keys: Keys, payload: Payload, start: int, rows_per_tx: int) -> Sequence[BulkRows]:
        """Batches of `rows_per_tx` rows for bulk copy."""
        rows = self.rows_of(self.bound(keys), len(keys), payload, start)
        return [BulkRows(rows[first : first + rows_per_tx]) for first in range(0, len(rows), rows_per_tx)]

    def send(self, batch: object) -> int:
        """Sends one transaction, or one bulk copy. Returns the number of rows stored, without children."""
        if isinstance(batch, BulkRows):
            return self._connection.copy(self._cursor, ddl.name(self._table), sent_columns(self._table), batch.rows)
        return super().send(batch)

    def insert(self, statement: str, rows: list[Row]) -> int:
        """Executes the statement once a row, in order, in one call; drivers give no count for an array."""
        self._connection.insert(self._cursor, statement, rows, self._sizes)
        return len(rows)

    def analyse(self) -> None:
        """Gathers statistics, back in autocommit and with row counts."""
        self._connection.end()
        self._connection.run(_WITH_COUNTS)
        self._connection.run(f"UPDATE STATISTICS {ddl.name(self._table)}")

    def find(self, key: object) -> int:
        """Reads the row of that key. Returns the number of rows found."""
        return self._read(f"= {ddl.parameter(self._table.column)}", key)

    def between(self, low: object, high: object) -> int:
        """Reads all rows with low ≤ key ≤ high. Returns the number of rows found."""
        parameter = ddl.parameter(self._table.column)
        return self._read(f"BETWEEN {parameter} AND {parameter}", low, high)

    def delete(self, keys: Sequence[object]) -> int:
        """Deletes the rows of these keys in one transaction of few statements. Returns the number of rows deleted."""
        parameter, deleted = ddl.parameter(self._table.column), 0
        self._connection.begin()
        with self.undone_on_error():
            for first in range(0, len(keys), _LIST_KEYS):
                part = keys[first : first + _LIST_KEYS]
                parameters = ", ".join([parameter] * len(part))
                statement = f"DELETE FROM {ddl.name(self._table)} WHERE [key] IN ({parameters})"  # noqa: S608  # our names
                deleted += self._connection.run(statement, *part)
            self._connection.end()
        return deleted

    def _read(self, condition: str, *bounds: object) -> int:
        """Reads the rows whose keys meet a condition with these parameters. Returns their number."""
        columns = "[key], payload" if self._table.payload else "[key]"
        statement = f"SELECT {columns} FROM {ddl.name(self._table)} WHERE [key] {condition}"  # noqa: S608  # our own names
        return len(self._connection.rows(statement, *bounds))
