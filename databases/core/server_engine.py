"""The base class of engines whose databases run on servers: it finds an engine's parts in the modules of its folder.

Those modules import the driver, so each is imported when its part is needed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pkgutil import resolve_name
from typing import Any, Literal, cast

from keybench.databases.contract.engine import Engine
from keybench.databases.contract.existing import Inspector
from keybench.databases.contract.roles import Address, Admin, OwnedSchema, Provision, Session, Settings
from keybench.databases.contract.settings import CacheSize, Profile
from keybench.databases.contract.statements import WritesStatements
from keybench.databases.core.coordination import CoordinationTable
from keybench.databases.hosting.container import KIND
from keybench.databases.hosting.url_server import UrlServer
from keybench.databases.registry import scripts
from keybench.model.table import Table
from keybench.model.url import is_url

Part = Literal[
    "settings", "address_of", "connection", "admin", "session", "owned_schema", "inspector", "container", "local"
]


@dataclass(frozen=True)
class ServerEngine(Engine):
    """An engine with URLs, a coordination table, an inspector, SQL functions and advised statements."""

    parts: Mapping[Part, str] = field(default_factory=dict, kw_only=True)
    """Where each part is in the engine's folder, as `module:class`."""

    def settings(self, profile: Profile, cache: CacheSize) -> Settings:
        """The server settings of a profile and cache size."""
        return cast("Settings", self.part("settings")(profile, cache))

    def address_of(self, url: str, chosen: Mapping[str, str]) -> Address:
        """The address of a URL's server; `chosen` are settings of `settable`. UsageError if it cannot be understood."""
        return cast("Address", self.part("address_of")(url, chosen))

    @property
    def folder(self) -> str:
        """The package of the engine."""
        return type(self).__module__.rpartition(".")[0]

    def part(self, part: Part) -> Any:
        """The class, or function, that makes the part; its module is imported now."""
        return resolve_name(f"{self.folder}.{self.parts[part]}")

    def provision(self, server: str, settings: Settings) -> Provision:
        """A server that keybench starts, or the one at a URL, whose password is moved to the environment at once."""
        if is_url(server):
            return UrlServer(partial(self.part("owned_schema"), self.address_of(server, settings.chosen)))
        if server == KIND:
            return cast("Provision", self.part("container")(settings))
        return cast("Provision", self.part("local")(server, settings))

    def owned_schema(self, url: str) -> OwnedSchema:
        """What keybench owns on the server at a URL."""
        return cast("OwnedSchema", self.part("owned_schema")(self.address_of(url, {})))

    def admin(self, address: Address) -> Admin:
        """A new administrative connection."""
        return cast("Admin", self.part("admin")(address))

    def session(self, address: Address, table: Table) -> Session:
        """A new loading connection."""
        return cast("Session", self.part("session")(address, table))

    def coordination_table(self, address: Address) -> CoordinationTable:
        """A new connection to the coordination table of writers on many machines. EnvironmentMissing where a URL's
        server cannot be reached, else ServerError."""
        return CoordinationTable(self.part("connection")(address), resolve_name(f"{self.folder}.admin:BOARD"))

    def inspects(self, target: str) -> bool:
        """Whether it is the URL of a server of this engine, and the engine has an inspector."""
        return "inspector" in self.parts and self.reached_by(target)

    def inspector(self, target: str) -> Inspector:
        """A read-only connection to the database of a URL."""
        return cast("Inspector", self.part("inspector")(self.address_of(target, {})))

    def functions(self) -> Mapping[str, str]:
        """RT.Comb's functions for SQL Server, in this engine's SQL."""
        return scripts(self.folder)

    def statements(self) -> WritesStatements:
        """The module that writes the statements which users are told to run on their own tables."""
        return cast("WritesStatements", resolve_name(f"{self.folder}.ddl"))
