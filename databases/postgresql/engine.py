"""PostgreSQL: heap tables with nbtree indexes. The server is one that keybench starts (in a container, from an
installation, or from a wheel) or the user's own."""

from collections.abc import Mapping
from dataclasses import dataclass

from keybench.databases.contract.questions import QuestionLoad
from keybench.databases.contract.roles import Settings
from keybench.databases.core import questions as ask
from keybench.databases.core.server_engine import ServerEngine
from keybench.databases.postgresql import ddl, servers, settings
from keybench.databases.postgresql.settings import configured
from keybench.model.column import Column
from keybench.model.metric import Metric
from keybench.model.table import KeyRole, Table
from keybench.pagemodels.contract import PageModel, SizedByValue, parameters
from keybench.pagemodels.postgresql import records

_SERVER_KEYS = QuestionLoad("keys of the server", "quick", ("server-identity", "server-uuid-v4"), 50_000)
_LOG = "the write-ahead log"


@dataclass(frozen=True)
class PostgreSQL(ServerEngine):
    """The engine. For all key roles its tables are heaps with the key's index beside them: none is clustered."""

    def values_with(self, settings: Settings, chosen: Mapping[str, str]) -> Mapping[str, str]:
        """The server's own settings (`Settings.values`) with those that the user chose."""
        return configured(settings, chosen)

    def missing(self, server: str) -> str:
        """Why this kind of server cannot be started here; empty if it can."""
        return servers.missing(server)

    def bytes_per_row(self, column: Column, payload: int, key: KeyRole) -> tuple[float, float]:
        """Estimated bytes per row: (the key's index when filled in order, everything including log and head room)."""
        return records.bytes_per_row(column, payload, key)

    def page_model(self, table: Table, **changes: float | str) -> PageModel | SizedByValue:
        """The model of the key's nbtree. Its parameters are the fields of the model's `Parameters`."""
        from keybench.pagemodels.postgresql.model import Parameters, page_model

        return page_model(table, parameters(Parameters, {**settings.model_parameters(table), **changes}))


ENGINE = PostgreSQL(
    name="postgresql",
    title="PostgreSQL",
    columns=ddl.COLUMNS,
    servers=("container", "local", "embedded"),
    parts={
        "settings": "settings:for_profile",
        "address_of": "connection:address_of",
        "connection": "connection:AdminConnection",
        "admin": "admin:PostgresAdmin",
        "session": "session:PostgresSession",
        "owned_schema": "admin:Schema",
        "inspector": "inspection:PostgresInspector",
        "container": "servers:container_server",
        "local": "servers:LocalServer",
    },
    url_schemes=("postgresql", "postgres"),
    aliases=("pg",),
    drivers=("psycopg",),
    server_keys=ddl.SERVER_KEYS,
    versions={str(major): major * 10_000 for major in range(13, 19)},
    isolations=("read-committed", "repeatable-read", "serializable"),
    rebuilds=True,
    updates=True,
    updates_add_entries=True,
    default_fill=90,
    settable=settings.SETTABLE,
    absent={Metric.SPLIT_COUNTER: "PostgreSQL counts no page splits: keybench reads them, by kind, from its log."},
    questions=(
        ask.rows_are_there(*ask.IN_ORDER, _SERVER_KEYS, *ask.SEVERAL_WRITERS, ask.BY_DATE, ask.CHILDREN),
        ask.pages(*ask.IN_ORDER),
        ask.density(*ask.IN_ORDER),
        ask.leaf_order(*ask.IN_ORDER),
        ask.kinds_of_splits(*ask.IN_ORDER, *ask.SEVERAL_WRITERS, log=_LOG),
        ask.arrival(*ask.SEVERAL_WRITERS, log=_LOG),
        ask.by_date(ask.BY_DATE, log=_LOG),
        ask.children(ask.CHILDREN, log=_LOG),
        ask.log_holds_rows(ask.ONE_WRITER),
    ),
)
