"""The settings of servers that keybench starts, the options of SQL Server beyond a run's own, and URLs.

All other settings have the server's defaults. An option comes from `--set NAME=VALUE` (those in `SETTABLE`), else a
URL's query, else the environment (KEYBENCH_MSSQL_FILL_FACTOR …). All of them are recorded with a result.
"""

from collections.abc import Mapping

import psutil

from keybench.databases.contract.roles import Address, Settings
from keybench.databases.contract.settings import CacheSize, EngineOptions, Profile, Setting, option_values
from keybench.databases.hosting.secret import from_url
from keybench.databases.hosting.url_server import UrlForm
from keybench.errors import UsageError

MB = 1 << 20

MEMORY_MB: dict[CacheSize, int] = {"default": 2048, "small": 1024}
"""`max server memory`. SQL Server has no setting for the page cache alone; most of this memory is page cache."""

PROFILES: dict[Profile, str] = {"durable": "DISABLED", "fast": "FORCED"}
"""Delayed durability of the database: `FORCED` acknowledges commits before the log is on disk."""


def for_profile(profile: Profile, cache: CacheSize) -> Settings:
    """The settings of a profile and cache size on this machine; never more than half of its memory."""
    half = psutil.virtual_memory().total // 2 // MB
    megabytes = max(512, min(MEMORY_MB[cache], half))
    values = {"max_server_memory_mb": str(megabytes), "delayed_durability": PROFILES[profile]}
    return Settings(profile, megabytes * MB, values)


def statements(settings: Settings) -> tuple[str, ...]:
    """The statements that make these settings on a server that keybench starts, on a connection to master."""
    return (
        "EXEC sys.sp_configure N'show advanced options', 1",
        "RECONFIGURE",
        f"EXEC sys.sp_configure N'max server memory (MB)', {settings.values['max_server_memory_mb']}",
        "EXEC sys.sp_configure N'max degree of parallelism', 1",
        "RECONFIGURE",
    )


SETTABLE = (
    Setting("row_versioning", "row versions of the database: each kind adds 14 bytes to a row",
            "off", "server", ("off", "rcsi", "snapshot", "adr")),
    Setting("beneath", "what is beneath a nonclustered key", "heap", "table", ("heap", "clustered")),
    Setting("fill_factor", "FILLFACTOR of the key's index: only rebuilds use it",
            "100", "table", numbers=range(1, 101)),
    Setting("pad_index", "PAD_INDEX: rebuilds leave free space above the leaves too", "off", "table", ("off", "on")),
    Setting("before_2012", "page model: rules of a server older than 2012", "off", "table", ("off", "on")),
    Setting("sequential_key", "OPTIMIZE_FOR_SEQUENTIAL_KEY of the key's index", "off", "table", ("off", "on")),
)  # fmt: skip
_CONNECTING = (
    Setting("encrypt", "as ODBC has it", "yes", "server", ("yes", "no")),
    Setting("trust_certificate", "as ODBC has it", "yes", "server", ("yes", "no")),
)
NAMES = frozenset(setting.name for setting in (*SETTABLE, *_CONNECTING))


def options(parameters: Mapping[str, str]) -> EngineOptions:
    """The options in `parameters` (a URL's query or an address's), else the environment's, else the defaults.
    UsageError for a value that is none of the choices."""
    return option_values("mssql", "SQL Server", (*SETTABLE, *_CONNECTING), parameters)


def versioning(database: Mapping[str, object]) -> str:
    """A database's row versioning, from its settings as `MssqlAdmin` names them; the first kind if it has several."""
    if database["read_committed_snapshot"]:
        return "rcsi"
    if database["snapshot_isolation"] != "OFF":
        return "snapshot"
    return "adr" if database["accelerated_database_recovery"] else "off"


def model_parameters(settings: Mapping[str, str]) -> dict[str, str | bool]:
    """The page model's parameters for a table with these settings, else those of the environment."""
    chosen = options(settings)
    return {
        "beneath": "bigint" if chosen["beneath"] == "clustered" else "heap",
        "row_versions": chosen["row_versioning"] != "off",
        "pad_index": chosen["pad_index"] == "on",
        "before_2012": chosen["before_2012"] == "on",
    }


_FORM = UrlForm("SQL Server", "mssql://user@host:1433/database", NAMES)
_PORT = "1433"
_SYSTEM_DATABASES = "master", "model", "msdb", "tempdb"
"""Databases of the server's own. In tempdb, pages and log are handled differently."""


def address_of(url: str, preferred: Mapping[str, str]) -> Address:
    """The address of a mssql:// URL, its password replaced by a reference. Options in `preferred` come before those of
    the URL's query, and these before the environment's. UsageError, which does not show the URL, if it cannot be
    understood, has an unknown option or names a system database."""
    parts = _FORM.parse(url)
    if parts.path.lower() in _SYSTEM_DATABASES:
        raise UsageError(
            f"SQL Server URL: {parts.path} is the server's own database: name another, or none, and keybench makes one."
        )
    if parts.path and options(parts.options)["row_versioning"] != "off":
        raise UsageError(
            f"SQL Server URL: row_versioning is a setting of the whole database {parts.path}, which is not changed: "
            "name no database, and keybench makes one."
        )
    # The row versioning of a database that is there is read, and compared with what was asked for.
    allowed = {name: value for name, value in preferred.items() if not (parts.path and name == "row_versioning")}
    parameters = {**options({**parts.options, **allowed}), "host": parts.host, "port": parts.port or _PORT}
    parameters |= {name: value for name, value in (("database", parts.path), ("user", parts.user)) if value}
    return Address("mssql", "url", parameters, secret=from_url(parts.password))
