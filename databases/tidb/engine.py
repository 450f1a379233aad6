"""TiDB 7.5 and later, by MySQL's protocol.

Written from documentation and source: no cluster has run these modules yet. docs/clusters.md says what was checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

from keybench.databases.contract.engine import Engine
from keybench.databases.contract.options import CacheSize, Profile
from keybench.databases.contract.roles import Address, Admin, OwnedSchema, Provision, Session, Settings
from keybench.databases.core import clusters
from keybench.databases.mysql.flavour import Flavour
from keybench.databases.tidb import ddl, settings
from keybench.errors import UsageError
from keybench.model.column import Column
from keybench.model.table import KeyRole, Table

TIDB: Final = Flavour(
    name="tidb",
    title="TiDB",
    columns=ddl.COLUMNS,
    url_schemes=("tidb",),
    versions=("7.5", "8.1", "8.5"),
    port="4000",
    mark="tidb",
)
_NO_SERVER: Final = (
    "keybench starts no TiDB, because a cluster needs PD and TiKV beside it: give the URL of one, --server "
    "tidb://user@host:4000 (`tiup playground` starts one for tests)."
)


@dataclass(frozen=True)
class TiDB(Engine):
    """The engine; its driver is imported when a server is reached."""

    @property
    def flavour(self) -> Flavour:
        """What the modules of MySQL's protocol must know."""
        return TIDB

    def settings(self, profile: Profile, cache: CacheSize) -> Settings:
        """The profile: there is no server of keybench's to set up."""
        return settings.settings_for(profile, cache)

    def missing(self, server: str) -> str:
        """Why keybench cannot start one: it never does."""
        return f"TiDB has no server kind {server}: {_NO_SERVER}" if server else _NO_SERVER

    def provision(self, server: str, settings: Settings) -> Provision:  # noqa: ARG002 (nothing to set up)
        """The cluster at a URL."""
        if "://" not in server:
            raise UsageError(self.missing(server))
        from keybench.databases.hosting.url_server import UrlServer
        from keybench.databases.mysql.owned_schema import Database
        from keybench.databases.mysql.url import address_of

        return UrlServer(partial(Database, address_of(TIDB, server)))

    def admin(self, address: Address) -> Admin:
        """A new administrative connection."""
        from keybench.databases.tidb.admin import TidbAdmin

        return TidbAdmin(address)

    def session(self, address: Address, table: Table) -> Session:
        """A new loading connection."""
        from keybench.databases.tidb.session import TidbSession

        return TidbSession(address, table)

    def bytes_per_row(self, column: Column, payload: int, key: KeyRole) -> tuple[float, float]:
        """Estimated bytes a row: (the key's index, all of it in one replica)."""
        return ddl.bytes_per_row(column, payload, key)

    def owned_schema(self, url: str) -> OwnedSchema:
        """Tables of trials, and the database if keybench made it."""
        from keybench.databases.mysql.owned_schema import Database
        from keybench.databases.mysql.url import address_of

        return Database(address_of(TIDB, url))


ENGINE = TiDB(
    name="tidb",
    title="TiDB",
    columns=ddl.COLUMNS,
    servers=(),
    url_schemes=TIDB.url_schemes,
    drivers=("pymysql",),
    server_keys=ddl.MADE,
    versions={"7.5": 705, "8.1": 801, "8.5": 805},
    isolations=("read-committed", "repeatable-read"),
    secondary_holds_key=True,
    range_rules=("tidb", "tidb-8.3"),
    caveat=clusters.caveat("TiDB"),
    absent=clusters.absent("TiDB"),
    questions=clusters.questions(),
)
