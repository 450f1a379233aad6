"""The administrative connection: creates, reads back, settles and measures a trial's table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from keybench.databases.contract.roles import Address, Admin, Probe
from keybench.databases.core.ddl import index_name
from keybench.databases.core.probes import HeapOrderProbe
from keybench.databases.oracle import connection, ddl, probes
from keybench.databases.oracle.settings import BLOCK_SIZE, options
from keybench.errors import ServerError
from keybench.model.column import Column, EncodedKeys
from keybench.model.table import Table

PARAMETERS = (
    "SELECT name, value FROM v$parameter WHERE name IN ('commit_logging', 'commit_wait', 'db_block_size', "
    "'db_cache_size', 'sga_target', 'pga_aggregate_target', 'nls_comp', 'nls_sort') ORDER BY name"
)
BLOCKS = "SELECT block_size FROM user_tablespaces WHERE tablespace_name = (SELECT default_tablespace FROM user_users)"
LOGS = "SELECT group#, bytes, status FROM v$log ORDER BY group#"
SESSION = "SELECT parameter, value FROM nls_session_parameters WHERE parameter IN ('NLS_COMP', 'NLS_SORT') ORDER BY 1"


class OracleAdmin(Admin):
    """One administrative connection."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.options = options(address.parameters)
        self.connection = connection.connect(address)

    def versions(self) -> Mapping[str, str]:
        """Server and driver."""
        products = self.connection.rows("SELECT product, version_full FROM product_component_version")
        driver = str(self.connection.module.__version__)
        return {"oracle": "; ".join(f"{product} {version}" for product, version in products), "oracledb": driver}

    def settings(self) -> Mapping[str, str]:
        """Of the database where this user may read them, of the session, and the options of the tables."""
        of_database = {str(name): str(value) for name, value in self._allowed(PARAMETERS)}
        logs = ", ".join(f"{int(str(size)) >> 20} MB {status}" for _, size, status in self._allowed(LOGS))
        of_session = {str(name).lower(): str(value) for name, value in self.connection.rows(SESSION)}
        chosen = self.options
        return {**of_database, "redo_logs": logs, **of_session, **chosen, "load_path": "arrays of single-row inserts"}

    def page_settings(self) -> Mapping[str, str]:
        """The options of the tables, and the size of a block in this user's tablespace."""
        blocks = self._allowed(BLOCKS)
        return {**self.options, **({BLOCK_SIZE: str(blocks[0][0])} if blocks else {})}

    def _allowed(self, query: str) -> list[tuple[object, ...]]:
        """The rows of a query that not every user may run; none where this user may not."""
        try:
            return self.connection.rows(query)
        except ServerError:
            return []

    def create(self, table: Table) -> None:
        """Drops the table and its parent and creates them, empty, and the table for the writers' statistics."""
        self.drop(table)
        created = [statement for each in table.family for statement in ddl.create(each, self.options)]
        for statement in (probes.CREATE, *created):
            self.connection.run(statement)

    def drop(self, table: Table) -> None:
        """Drops the table and its parent if they are there, without the recycle bin, and the table for statistics."""
        for each in table.family:
            self.connection.run(f"DROP TABLE IF EXISTS {ddl.name(each)} PURGE")
        self.connection.run(probes.DROP)

    def probes(self) -> Sequence[Probe]:
        """All probes; a probe that cannot read something here says so in its readings."""
        own = (probes.SessionsProbe, probes.StructureProbe, probes.SizesProbe)
        return [*(probe(self.connection) for probe in own), HeapOrderProbe(self)]

    def stored_keys(self, table: Table) -> Iterator[EncodedKeys]:
        """The keys, some ten thousands at a time."""
        for rows in self.connection.pieces(f"SELECT key FROM {ddl.name(table)}"):  # noqa: S608
            yield _keys(table.column, rows)

    def ordered_keys(self, table: Table) -> EncodedKeys:
        """All keys, sorted by the server."""
        return self._sorted_by(table, "key")

    def arrived_keys(self, table: Table) -> EncodedKeys | None:
        """All keys by their places in the heap; None where the table is organised by the key."""
        return None if table.key == "clustered" else self._sorted_by(table, "ROWID")

    def _sorted_by(self, table: Table, order: str) -> EncodedKeys:
        rows = self.connection.rows(f"SELECT key FROM {ddl.name(table)} ORDER BY {order}")  # noqa: S608
        return _keys(table.column, rows)

    def index_bytes(self, table: Table) -> int:
        """Size of the key's index: of the table itself where it is organised by it."""
        sizes = probes.sizes(self.connection, table)
        if index_name(table) not in sizes:
            raise ServerError(f"Oracle: there is no table {ddl.name(table)}.")
        return sizes[index_name(table)]

    def settle(self, table: Table) -> None:
        """Nothing: deleted entries are removed when their block is next written to, never in the background."""

    def rebuild(self, table: Table, fill: int) -> None:
        """ALTER INDEX … REBUILD, or ALTER TABLE … MOVE of an index-organised table, at a PCTFREE of 100 − `fill`."""
        self.connection.run(ddl.rebuild(table, fill))

    def close(self) -> None:
        """Closes the connection."""
        self.connection.close()


def _keys(column: Column, rows: Sequence[tuple[Any, ...]]) -> EncodedKeys:
    """Keys from rows of one value."""
    values = map(itemgetter(0), rows)
    if column.form == "int":
        return np.fromiter(values, np.int64, len(rows))
    data = "".join(values).encode("ascii") if column.form == "text" else b"".join(values)
    return np.frombuffer(data, np.uint8).reshape(len(rows), column.width)
