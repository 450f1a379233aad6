"""CockroachDB 23.2 and later, by PostgreSQL's protocol.

Written from documentation and source: no cluster has run these modules yet. docs/clusters.md says what was checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

from keybench.databases.cockroachdb import ddl, settings
from keybench.databases.contract.engine import Engine
from keybench.databases.contract.options import CacheSize, Profile
from keybench.databases.contract.roles import Address, Admin, OwnedSchema, Provision, Session, Settings
from keybench.databases.core import clusters
from keybench.databases.postgresql import keys
from keybench.model.column import Column
from keybench.model.table import KeyRole, Table

if TYPE_CHECKING:
    from keybench.databases.postgresql.url import Reached


@dataclass(frozen=True)
class CockroachDB(Engine):
    """The engine; its driver is imported when a server is started or reached."""

    def settings(self, profile: Profile, cache: CacheSize) -> Settings:
        """The settings of a profile and cache size."""
        return settings.settings_for(profile, cache)

    def missing(self, server: str) -> str:
        """Why a container cannot be started here; empty if it can."""
        return clusters.missing(self, server, "cockroachdb://user@host:26257/database") or (
            "" if find_spec("psycopg") else "CockroachDB needs a driver: pip install psycopg."
        )

    def provision(self, server: str, settings: Settings) -> Provision:
        """A container, or the cluster at a URL."""
        if "://" in server:
            from keybench.databases.cockroachdb.owned_schema import Schema
            from keybench.databases.cockroachdb.url import address_of
            from keybench.databases.hosting.url_server import UrlServer

            return UrlServer(partial(Schema, address_of(server)))
        from keybench.databases.cockroachdb.container import container_server

        return container_server(settings)

    def admin(self, address: Address) -> Admin:
        """A new administrative connection."""
        from keybench.databases.cockroachdb.admin import CockroachAdmin

        return CockroachAdmin(address)

    def session(self, address: Address, table: Table) -> Session:
        """A new loading connection."""
        from keybench.databases.cockroachdb.session import CockroachSession

        return CockroachSession(address, table)

    def bytes_per_row(self, column: Column, payload: int, key: KeyRole) -> tuple[float, float]:
        """Estimated bytes a row: (the key's index, all of it on one node)."""
        return ddl.bytes_per_row(column, payload, key)

    def out_of_order(self, table: Table) -> str:
        """By a hash of the key, keys that follow one another do not lie beside one another."""
        return clusters.HASHED if table.settings.get(ddl.SHARDING) == "hash" else ""

    @property
    def reached(self) -> Reached:
        """How its servers are reached, and told from PostgreSQL's."""
        from keybench.databases.cockroachdb.url import COCKROACHDB

        return COCKROACHDB

    def owned_schema(self, url: str) -> OwnedSchema:
        """The tables of trials, and the schema if keybench made it."""
        from keybench.databases.cockroachdb.owned_schema import Schema
        from keybench.databases.cockroachdb.url import address_of

        return Schema(address_of(url))


ENGINE = CockroachDB(
    name="cockroachdb",
    title="CockroachDB",
    columns=ddl.COLUMNS,
    servers=("container",),
    url_schemes=("cockroachdb", "cockroach"),
    drivers=("psycopg",),
    server_keys=keys.OF_CLUSTERS,
    versions={"23.2": 2302, "24.1": 2401, "24.3": 2403, "25.2": 2502, "25.4": 2504},
    isolations=("read-committed", "serializable"),
    secondary_holds_key=True,
    range_rules=("cockroachdb",),
    caveat=clusters.caveat("CockroachDB"),
    settable=settings.SETTABLE,
    absent=clusters.absent("CockroachDB"),
    questions=clusters.questions(),
)
