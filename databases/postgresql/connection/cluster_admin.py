"""The administrative connection to a cluster that speaks PostgreSQL's protocol, and has no pages and checkpoints."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg import pq

from keybench.databases.contract.roles import Probe
from keybench.databases.postgresql import ddl
from keybench.databases.postgresql.connection import Queries
from keybench.model.table import Table

_SLICE = 100_000


class ClusterAdmin(Queries, ABC):
    """One administrative connection, in autocommit."""

    @abstractmethod
    def statements(self, table: Table) -> Sequence[str]:
        """What creates the table, without its parent."""

    @abstractmethod
    def settings(self) -> Mapping[str, str]:
        """The settings that can affect results, as the cluster reports them."""

    @abstractmethod
    def probes(self) -> Sequence[Probe]:
        """All probes. If a probe cannot read something on this cluster, its readings say so."""

    @abstractmethod
    def index_bytes(self, table: Table) -> int:
        """Size of the key's index."""

    def versions(self) -> Mapping[str, str]:
        """Versions of server, driver and client library. `server_version` is that of PostgreSQL's protocol."""
        number = pq.version()
        return {
            self.address.engine: str(self.value("SELECT version()")),
            "psycopg": psycopg.__version__,
            "libpq": f"{number // 10_000}.{number % 10_000}",
        }

    def create(self, table: Table) -> None:
        """Drops the table and its parent, and creates both, empty."""
        self.drop(table)
        for each in table.family:
            for statement in self.statements(each):
                self.rows(statement)

    def drop(self, table: Table) -> None:
        """Drops the table and its parent if they exist."""
        for each in table.family:
            self.rows(f"DROP TABLE IF EXISTS {ddl.name(each)}")

    def stored_keys(self, table: Table) -> Iterator[NDArray[np.uint8] | NDArray[np.int64]]:
        """The keys, in one query."""
        held = self.keys_by(table)
        for first in range(0, len(held), _SLICE):
            yield held[first : first + _SLICE]

    def settle(self, table: Table) -> None:
        """Nothing: deleted rows stay until the cluster merges its files, after a time that is one of its settings."""

    def keys_by(self, table: Table, order: str = "") -> NDArray[np.uint8] | NDArray[np.int64]:
        """All keys, in that order of the server's if one is given."""
        by = f" ORDER BY {order}" if order else ""
        return self.keys(table, f"SELECT key FROM {ddl.name(table)}{by}")  # noqa: S608  # our own names
