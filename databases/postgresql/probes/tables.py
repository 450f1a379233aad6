"""The key's index in the catalogue, and the sizes of index and table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from keybench.databases.contract.roles import Probe
from keybench.databases.core.probes import measured
from keybench.databases.postgresql import ddl
from keybench.databases.postgresql.connection import Queries
from keybench.errors import ServerError
from keybench.model.metric import Metric
from keybench.model.reading import Reading
from keybench.model.table import Table


class UnreadableError(Exception):
    """Something cannot be read on this server; the message says why and what would allow it."""


@dataclass(frozen=True)
class Files:
    """A private server's files."""

    data: Path
    programs: Path


def files_of(server: Queries) -> Files | None:
    """The files of a private server; None if keybench cannot read them (a URL, a container)."""
    given = server.address.parameters
    return Files(Path(given["data"]), Path(given["programs"])) if "data" in given else None


def index_oid(server: Queries, table: Table) -> int:
    """Object id of the measured index. Raises ServerError if there is no such table."""
    statement = "SELECT indexrelid FROM pg_index WHERE indrelid = to_regclass(%s) AND indisprimary = %s"
    if not (oids := server.rows(statement, [ddl.name(table), ddl.is_primary(table)])):
        raise ServerError(f"PostgreSQL: there is no table {ddl.name(table)}.")
    return int(oids[0][0])


def index_bytes(server: Queries, table: Table) -> int:
    """Size of the key's index, in bytes."""
    return int(server.value("SELECT pg_relation_size(%s::oid)", index_oid(server, table)))


class SizesProbe(Probe):
    """Sizes of the key's index, and of the table with everything that belongs to it."""

    supplies: Sequence[Metric] = (Metric.INDEX_BYTES, Metric.TABLE_BYTES)

    def __init__(self, server: Queries) -> None:
        self._server = server

    def after(self, table: Table) -> Iterable[Reading]:
        """Both sizes in bytes."""
        total = self._server.value("SELECT pg_total_relation_size(%s::regclass)", ddl.name(table))
        return measured(self.supplies, (index_bytes(self._server, table), total))
