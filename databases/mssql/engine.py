"""SQL Server 2022 and later: clustered tables, nonclustered keys, heaps.

Written from documentation and source: no SQL Server has run these modules yet. Each trial therefore checks the open
questions and reports the answers (`checks`). SQL Server's ordering can be measured without it: the column
`binary16-mssql` of other engines sorts as uniqueidentifier does.
"""

from __future__ import annotations

from collections.abc import Mapping

from keybench.databases.contract.options import CacheSize, Profile
from keybench.databases.contract.roles import Address, Settings
from keybench.databases.core.server_engine import ServerEngine
from keybench.databases.hosting.docker_daemon import missing as without_containers
from keybench.databases.mssql import checks, container, ddl, drivers, keys, settings
from keybench.databases.registry import choices_without_docker
from keybench.model.column import Column
from keybench.model.load_path import Transport
from keybench.model.metric import Metric
from keybench.model.table import KeyRole, Table
from keybench.pagemodels.contract import PageModel, SizedByValue, parameters

_NO_KINDS = (
    "SQL Server's log tells splits that move rows from appends, but not edge splits from interior ones: they are "
    "counted together."
)
_NO_CACHE = "keybench does not read SQL Server's counters of physical reads and writes: nothing here could check them."
_NO_IMAGES = "SQL Server logs no whole pages when it first changes them."


def _alternatives() -> str:
    return (
        "give the URL of a server of yours, --server mssql://user@host, or choose a database that needs no Docker "
        f"({choices_without_docker()}); its column binary16-mssql sorts as SQL Server does."
    )


class SqlServer(ServerEngine):
    """The engine; its driver is imported when a server is started or reached."""

    def settings(self, profile: Profile, cache: CacheSize) -> Settings:
        """The settings of a profile and cache size."""
        return settings.for_profile(profile, cache)

    def missing(self, server: str) -> str:
        """Why a container cannot be started here; empty where it can."""
        if server not in self.servers:
            return f"SQL Server has no server kind {server}: {_alternatives()}"
        return without_containers("SQL Server", _alternatives()) or container.missing() or drivers.missing()

    def refuses(self, path: Transport, server: str) -> str:
        """Why rows cannot take that path; bulk copy is mssql-python's alone."""
        if path != "bulk":
            return super().refuses(path, server)
        from keybench.databases.mssql.url import options_of

        return drivers.without_bulk(options_of(server) if "://" in server else settings.options({}))

    def address_of(self, url: str, chosen: Mapping[str, str]) -> Address:
        """The address of a mssql:// URL."""
        from keybench.databases.mssql.url import address_of

        return address_of(url, chosen)

    def bytes_per_row(self, column: Column, payload: int, key: KeyRole) -> tuple[float, float]:
        """Estimated bytes a row: the key's index filled in order, and all of it with log and head room."""
        return ddl.bytes_per_row(column, payload, key, settings.options({}))

    def page_model(self, table: Table, **changes: float | str) -> PageModel | SizedByValue:
        """The index or heap that holds the key; the model's `Parameters` are the parameters.

        The table's settings, else the environment's options, give the defaults of three: what is beneath a nonclustered
        key, row versions, and PAD_INDEX.
        """
        from keybench.pagemodels.mssql.model import Parameters, page_model

        return page_model(table, parameters(Parameters, {**settings.model_parameters(table.settings), **changes}))


ENGINE = SqlServer(
    name="mssql",
    title="SQL Server",
    columns=ddl.COLUMNS,
    servers=("container",),
    paths=("rows", "bulk"),
    page_bytes=ddl.PAGE_BYTES,
    parts={
        "admin": "admin:MssqlAdmin",
        "session": "session:MssqlSession",
        "owned_schema": "owned_schema:DatabaseOrSchema",
        "inspector": "probes.inspection:MssqlInspector",
        "container": "container:container_server",
    },
    inspects_by_document=True,
    url_schemes=("mssql", "sqlserver"),
    drivers=("mssql_python", "pyodbc"),
    server_keys=keys.SERVER_KEYS,
    versions={"2017": 14, "2019": 15, "2022": 16, "2025": 17},
    secondary_holds_key=True,
    rebuilds=True,
    settable=settings.SETTABLE,
    caveat=checks.CAVEAT,
    questions=checks.QUESTIONS,
    model_variants=checks.VARIANTS,
    absent={
        Metric.EDGE_SPLITS: _NO_KINDS,
        Metric.INTERIOR_SPLITS: _NO_KINDS,
        Metric.LEAF_FRAGMENTATION: "what SQL Server calls fragmentation counts pages that are not adjacent: see there.",
        Metric.LOG_PAGE_IMAGES: _NO_IMAGES,
        Metric.LOG_PAGE_IMAGE_BYTES: _NO_IMAGES,
        Metric.PAGES_READ: _NO_CACHE,
        Metric.PAGES_WRITTEN: _NO_CACHE,
    },
)
