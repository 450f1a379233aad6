"""The administrative connection: creates, reads back and measures a trial's table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg import pq

from keybench.databases.cockroachdb import ddl, probes, settings
from keybench.databases.contract.roles import Probe
from keybench.databases.postgresql.connection import Queries
from keybench.errors import ServerError
from keybench.model.table import Table

_SLICE = 100_000


class CockroachAdmin(Queries):
    """One administrative connection, in autocommit."""

    def versions(self) -> Mapping[str, str]:
        """Versions of server, driver and client library. `server_version` is that of PostgreSQL's protocol."""
        number = pq.version()
        return {
            "cockroachdb": str(self.value("SELECT version()")),
            "psycopg": psycopg.__version__,
            "libpq": f"{number // 10_000}.{number % 10_000}",
        }

    def settings(self) -> Mapping[str, str]:
        """The cluster settings of `settings.RECORDED` that this version has, and the zone configuration of new tables.

        What this user may not read is named with the server's reason.
        """
        wanted = "SELECT variable, value FROM [SHOW ALL CLUSTER SETTINGS] WHERE variable = ANY(%s) ORDER BY 1"
        try:
            found = {str(name): str(value) for name, value in self.rows(wanted, [list(settings.RECORDED)])}
        except ServerError as error:
            found = {"cluster settings": str(error)}
        try:
            zone = self.rows("SELECT raw_config_sql FROM [SHOW ZONE CONFIGURATION FROM RANGE default]")
        except ServerError as error:
            return {**found, "zone": str(error)}
        return {**found, "zone": " ".join(str(text) for (text,) in zone)}

    def create(self, table: Table) -> None:
        """Drops the table and its parent, and creates both, empty."""
        self.drop(table)
        for each in table.family:
            for statement in ddl.create(each):
                self.rows(statement)

    def drop(self, table: Table) -> None:
        """Drops the table and its parent if they exist."""
        for each in table.family:
            self.rows(f"DROP TABLE IF EXISTS {ddl.name(each)}")

    def probes(self) -> Sequence[Probe]:
        """All probes."""
        return probes.probes(self, self)

    def stored_keys(self, table: Table) -> Iterator[NDArray[np.uint8] | NDArray[np.int64]]:
        """The keys, in one query."""
        held = self._keys(table)
        for first in range(0, len(held), _SLICE):
            yield held[first : first + _SLICE]

    def ordered_keys(self, table: Table) -> NDArray[np.uint8] | NDArray[np.int64]:
        """All keys, sorted by the server."""
        return self._keys(table, "key")

    def arrived_keys(self, table: Table) -> NDArray[np.uint8] | NDArray[np.int64] | None:
        """All keys by the hidden column `rowid`, or by date; None for a table in the order of its key."""
        if table.key == "clustered":
            return None
        return self._keys(table, "created" if table.by_date else "rowid")

    def index_bytes(self, table: Table) -> int:
        """Size of the key's index."""
        return probes.index_bytes(self, table)

    def settle(self, table: Table) -> None:
        """Nothing: deleted rows stay until their time in the zone configuration (`gc.ttlseconds`) is over."""

    def _keys(self, table: Table, order: str = "") -> NDArray[np.uint8] | NDArray[np.int64]:
        by = f" ORDER BY {order}" if order else ""
        return self.keys(table, f"SELECT key FROM {ddl.name(table)}{by}")  # noqa: S608  # our own names
