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
from keybench.databases.postgresql.connection import Queries, key_array
from keybench.model.column import Column
from keybench.model.table import Table

_SLICE_BITS = 16
"""A slice has 2^16 rows."""
_BETWEEN = ","


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
        """The keys in no order, slice by slice: the server joins those of a slice to one value.

        If each key were a row of its own, the client would make one call per row.
        """
        return self._joined(table)

    def settle(self, table: Table) -> None:
        """Nothing: deleted rows stay until the cluster merges its files, after a time that is one of its settings."""

    def keys_by(self, table: Table, order: str) -> NDArray[np.uint8] | NDArray[np.int64]:
        """All keys, in that order of the server's."""
        slices = list(self._joined(table, order))
        none = np.empty((0, max(table.column.width, 1)), np.uint8)
        return np.concatenate(slices) if slices else key_array(table, none)  # type: ignore[return-value]

    def _joined(self, table: Table, order: str = "") -> Iterator[NDArray[np.uint8] | NDArray[np.int64]]:
        """The keys, slice by slice, as text: clusters lack the functions for PostgreSQL's binary form (uuid_send)."""
        column = table.column
        over, inside, last = (f"ORDER BY {order}", " ORDER BY place", " ORDER BY min(place)") if order else ("", "", "")
        hexadecimal = column.form == "bytes" and column.sql_type != "uuid"
        shown = "encode(key, 'hex')" if hexadecimal else "key::text"
        found = self.rows(
            f"SELECT string_agg({shown}, '{_BETWEEN if column.form == 'int' else ''}'{inside}) FROM "  # noqa: S608
            f"(SELECT key, row_number() OVER ({over}) AS place FROM {ddl.name(table)}) AS numbered "
            f"GROUP BY (place - 1) >> {_SLICE_BITS}{last}"
        )
        for (text,) in found:
            yield _keys(column, str(text))


def _keys(column: Column, text: str) -> NDArray[np.uint8] | NDArray[np.int64]:
    """The keys of a joined value, as `Column.encode` gives them."""
    if column.form == "int":
        return np.fromstring(text, np.int64, sep=_BETWEEN)
    data = text.encode("ascii") if column.form == "text" else bytes.fromhex(text.replace("-", ""))
    return np.frombuffer(data, np.uint8).reshape(-1, column.width)
