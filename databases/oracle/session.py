"""A writer's connection: array-bound INSERTs of single rows in the order of the list, one transaction a batch.

The hint APPEND_VALUES is not used: direct path bypasses the buffer cache and merges the index at the end, so that the
splits that the order of the keys causes would not happen (docs/internals/oracle.md §5).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from keybench.databases.contract.roles import Address
from keybench.databases.core.dbapi import ArraySession, Row
from keybench.databases.core.ddl import sent_columns
from keybench.databases.oracle import connection, ddl, probes
from keybench.databases.oracle.connection import OracleConnection
from keybench.errors import ServerError
from keybench.model.table import Table


class OracleSession(ArraySession[OracleConnection]):
    """One writer's connection to one table."""

    def __init__(self, address: Address, table: Table) -> None:
        super().__init__(table, connection.connect(address), [ddl.insert(each) for each in table.family])
        self._cursor: Any = self._connection.raw.cursor()
        driver = self._connection.module
        types = {"int": driver.DB_TYPE_NUMBER, "text": table.column.width}  # the driver takes a width as a text's type
        self._key_type: object = types.get(table.column.form, driver.DB_TYPE_RAW)
        payload_type = table.payload if table.payload <= ddl.WIDEST_TEXT else driver.DB_TYPE_CLOB
        of_columns = {"created": driver.DB_TYPE_NUMBER, "key": self._key_type, "payload": payload_type}
        self._types = [of_columns[column] for column in sent_columns(table)]
        """Of an INSERT's parameters. Without them the driver inspects each value and resizes buffers."""
        self._before: Mapping[str, int] | None = None  # None: not asked for yet; empty: not permitted

    def ready(self) -> None:
        """Notes the session's statistics before its first row; none where it may not read them, as the probe says."""
        if self._before is None:
            try:
                self._before = probes.session_statistics(self._connection)
            except ServerError:
                self._before = {}

    def insert(self, statement: str, rows: list[Row]) -> int:
        """Executes the statement once for each row, in order, in one call. Returns the number of rows stored."""
        return self._connection.many(self._cursor, statement, rows, self._types)

    def analyse(self) -> None:
        """Gathers the optimiser's statistics of the table."""
        self._connection.run(
            "BEGIN DBMS_STATS.GATHER_TABLE_STATS(USER, :name, cascade => TRUE); END;", {"name": ddl.name(self._table)}
        )

    def find(self, key: object) -> int:
        """Reads the row of that key. Returns the number of rows found."""
        return self._read("key = :low", {"low": key})

    def between(self, low: object, high: object) -> int:
        """Reads all rows with low ≤ key ≤ high. Returns the number of rows found."""
        return self._read("key BETWEEN :low AND :high", {"low": low, "high": high})

    def delete(self, keys: Sequence[object]) -> int:
        """Deletes the rows of these keys in one transaction, by one call. Returns the number of rows deleted."""
        if not len(keys):
            return 0
        statement = f"DELETE FROM {ddl.name(self._table)} WHERE key = :key"  # noqa: S608  # our own names
        with self.undone_on_error():
            deleted = self._connection.many(self._cursor, statement, [(key,) for key in keys], [self._key_type])
            self._connection.commit()
        return deleted

    def close(self) -> None:
        """Stores the session's statistics for the probe, and closes the connection."""
        try:
            if self._before:
                probes.store_statistics(self._connection, self._before)
        except ServerError:  # the server has ended it: whoever sent rows over it knows already
            pass
        finally:
            super().close()

    def _read(self, condition: str, bounds: Mapping[str, object]) -> int:
        """Reads the rows whose keys meet a condition with these parameters. Returns their number."""
        columns = "key, payload" if self._table.payload else "key"
        statement = f"SELECT {columns} FROM {ddl.name(self._table)} WHERE {condition}"  # noqa: S608  # our own names
        return len(self._connection.rows(statement, bounds))
