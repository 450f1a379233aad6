"""YugabyteDB 2025.1 and later (YSQL), by PostgreSQL's protocol.

Written from documentation and source: no cluster has run these modules yet. docs/clusters.md says what was checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

from keybench.databases.contract.engine import Engine
from keybench.databases.contract.options import CacheSize, Profile
from keybench.databases.contract.roles import Address, Admin, OwnedSchema, Provision, Session, Settings
from keybench.databases.core import clusters
from keybench.databases.postgresql import keys
from keybench.databases.postgresql.ddl import COLUMNS
from keybench.databases.yugabytedb import ddl, settings
from keybench.model.column import Column
from keybench.model.metric import Metric
from keybench.model.table import KeyRole, Table

if TYPE_CHECKING:
    from keybench.databases.postgresql.url import Reached

_NO_HEAP = "A table of YugabyteDB lies in the order of its primary key or of a hash: there is no heap beside it."


@dataclass(frozen=True)
class YugabyteDB(Engine):
    """The engine; its driver is imported when a server is started or reached."""

    def settings(self, profile: Profile, cache: CacheSize) -> Settings:
        """The settings of a profile and cache size."""
        return settings.settings_for(profile, cache)

    def missing(self, server: str) -> str:
        """Why a container cannot be started here; empty if it can."""
        return clusters.missing(self, server, "yugabytedb://user@host:5433/database") or (
            "" if find_spec("psycopg") else "YugabyteDB needs a driver: pip install psycopg."
        )

    def provision(self, server: str, settings: Settings) -> Provision:
        """A container, or the cluster at a URL."""
        if "://" in server:
            from keybench.databases.hosting.url_server import UrlServer
            from keybench.databases.postgresql.owned_schema import ClusterSchema
            from keybench.databases.yugabytedb.url import address_of

            return UrlServer(partial(ClusterSchema, address_of(server)))
        from keybench.databases.yugabytedb.container import container_server

        return container_server(settings)

    def admin(self, address: Address) -> Admin:
        """A new administrative connection."""
        from keybench.databases.yugabytedb.admin import YugabyteAdmin

        return YugabyteAdmin(address)

    def session(self, address: Address, table: Table) -> Session:
        """A new loading connection."""
        from keybench.databases.yugabytedb.session import YugabyteSession

        return YugabyteSession(address, table)

    def bytes_per_row(self, column: Column, payload: int, key: KeyRole) -> tuple[float, float]:
        """Estimated bytes a row: (the key's index, all of it on one node)."""
        return ddl.bytes_per_row(column, payload, key)

    def out_of_order(self, table: Table) -> str:
        """By a hash of the key, keys that follow one another do not lie beside one another."""
        return clusters.HASHED if table.settings.get(ddl.SHARDING) != "range" else ""

    @property
    def reached(self) -> Reached:
        """How its servers are reached, and told from PostgreSQL's."""
        from keybench.databases.yugabytedb.url import YUGABYTEDB

        return YUGABYTEDB

    def owned_schema(self, url: str) -> OwnedSchema:
        """The tables of trials, and the schema if keybench made it."""
        from keybench.databases.postgresql.owned_schema import ClusterSchema
        from keybench.databases.yugabytedb.url import address_of

        return ClusterSchema(address_of(url))


ENGINE = YugabyteDB(
    name="yugabytedb",
    title="YugabyteDB",
    columns=COLUMNS,
    servers=("container",),
    url_schemes=("yugabytedb", "yugabyte"),
    drivers=("psycopg",),
    server_keys=keys.OF_CLUSTERS,
    versions={"2025.1": 202501, "2025.2": 202502},
    isolations=("read-committed", "repeatable-read", "serializable"),
    secondary_holds_key=True,
    range_rules=("yugabytedb",),
    caveat=clusters.caveat("YugabyteDB"),
    settable=settings.SETTABLE,
    absent={**clusters.absent("YugabyteDB"), Metric.HEAP_CORRELATION: _NO_HEAP},
    questions=clusters.questions(compressed=True),
)
