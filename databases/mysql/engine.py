"""The engine of MySQL and MariaDB: its columns, servers and connections."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self, TypeVar

from keybench.databases.contract.existing import Inspector
from keybench.databases.contract.questions import QuestionLoad
from keybench.databases.contract.roles import OwnedSchema, Settings
from keybench.databases.contract.statements import WritesStatements
from keybench.databases.core import questions as ask
from keybench.databases.core.server_engine import Part, ServerEngine
from keybench.databases.mysql import servers, settings
from keybench.databases.mysql.flavour import MARIADB, MYSQL, Flavour, OtherFlavour, version_number
from keybench.databases.mysql.settings import configured, model_parameters
from keybench.databases.registry import scripts
from keybench.model.column import Column
from keybench.model.table import KeyRole, Table
from keybench.pagemodels.contract import PageModel, SizedByValue, parameters
from keybench.pagemodels.innodb import records

Connected = TypeVar("Connected")

_NO_KINDS = (
    "InnoDB's one counter mixes appends with all other splits: only a page model of its b-tree can tell them apart."
)
_NO_IMAGES = "InnoDB logs no whole pages: it writes them to its doublewrite buffer."

_SERVER_KEYS = QuestionLoad("keys of the server", "quick", ("server-identity",), 50_000)
_QUESTIONS = (
    ask.rows_are_there(*ask.IN_ORDER, _SERVER_KEYS, *ask.SEVERAL_WRITERS),
    ask.pages(*ask.IN_ORDER),
    ask.density(*ask.IN_ORDER),
    ask.leaf_order(*ask.IN_ORDER),
    ask.split_counter(ask.ONE_WRITER),
    ask.arrival(*ask.SEVERAL_WRITERS, log="the redo log"),
    ask.log_holds_rows(ask.ONE_WRITER),
)


@dataclass(frozen=True)
class MySqlEngine(ServerEngine):
    """The engine of one flavour. A clustered key is the primary key, so the table is the key's b-tree. A nonclustered
    key has a unique secondary index beside an integer primary key in order of arrival; by date, beside a primary key of
    moment and key. A foreign key has a secondary index beside the integer primary key, too, but not a unique one."""

    flavour: Flavour = field(default=MARIADB, kw_only=True)

    @classmethod
    def for_flavour(cls, flavour: Flavour) -> Self:
        """The engine of that flavour."""
        return cls(
            name=flavour.name,
            title=flavour.title,
            columns=flavour.columns,
            servers=("container", "local"),
            parts={
                "settings": "settings:for_profile",
                "address_of": "connection:address_of",
                "connection": "connection:Queries",
                "admin": "admin:MySqlAdmin",
                "session": "session:MySqlSession",
                "owned_schema": "admin:Database",
                "container": "servers:container_server",
                "local": "servers:LocalServer",
                "inspector": "inspection:MySqlInspector",
            },
            url_schemes=flavour.url_schemes,
            aliases=flavour.aliases,
            drivers=("pymysql",),
            server_keys=flavour.server_keys,
            versions={text: version_number(f"{text}.99") for text in flavour.versions},  # the newest of each
            secondary_holds_key=True,
            isolations=("read-committed", "repeatable-read", "serializable"),
            rebuilds=True,
            updates=True,
            settable=settings.SETTABLE,
            absent=dict.fromkeys(ask.KINDS, _NO_KINDS) | dict.fromkeys(ask.IMAGES, _NO_IMAGES),
            flavour=flavour,
            questions=_QUESTIONS,
        )

    def values_with(self, settings: Settings, chosen: Mapping[str, str]) -> Mapping[str, str]:
        """The server's own settings (`Settings.values`) with those that the user chose."""
        return configured(settings, chosen)

    def missing(self, server: str) -> str:
        """Why this kind of private server cannot be started here; empty where it can."""
        return servers.missing(self.flavour, server)

    def part(self, part: Part) -> Any:
        """The class, or function, that makes the part; it knows the flavour."""
        factory = super().part(part)
        return partial(factory, self.flavour) if part in ("settings", "address_of", "container", "local") else factory

    def inspector(self, target: str) -> Inspector:
        """A read-only connection to the server of a URL."""
        from keybench.databases.mysql.connection import any_database
        from keybench.databases.mysql.inspection import MySqlInspector

        return self._either_flavour(lambda flavour: MySqlInspector(*any_database(flavour, target)))

    def owned_schema(self, url: str) -> OwnedSchema:
        """Tables of trials, and the database if keybench made it."""
        from keybench.databases.mysql.admin import Database
        from keybench.databases.mysql.connection import address_of

        return self._either_flavour(lambda flavour: Database(address_of(flavour, url, {})))

    def _either_flavour(self, connect: Callable[[Flavour], Connected]) -> Connected:
        """What `connect` returns for this flavour; for the other one if the server is of that. (Servers of both
        have mysql:// URLs.)"""
        try:
            return connect(self.flavour)
        except OtherFlavour as other:
            return connect(other.actual)

    def bytes_per_row(self, column: Column, payload: int, key: KeyRole) -> tuple[float, float]:
        """Estimated bytes a row: (the key's index filled in order, everything with log and head room)."""
        return records.bytes_per_row(column, payload, key)

    def page_model(self, table: Table, **changes: float | str) -> PageModel | SizedByValue:
        """The index that holds the key: clustered, or secondary beside a table by row id or date. Its parameters are
        the fields of the model's `Parameters`; the table's settings give the defaults."""
        from keybench.pagemodels.innodb.cost import page_model
        from keybench.pagemodels.innodb.model import Parameters

        chosen = parameters(Parameters, {**model_parameters(table), **changes})
        return page_model(table, chosen, mysql=self.flavour is MYSQL)

    def functions(self) -> Mapping[str, str]:
        """RT.Comb's functions for SQL Server, written for both flavours, and those of this flavour alone."""
        return {**super().functions(), **scripts(f"keybench.databases.{self.name}")}

    def statements(self) -> WritesStatements:
        """What users are told to run."""
        from keybench.databases.mysql.ddl import Advised

        return Advised(self.flavour)
