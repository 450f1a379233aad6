"""The settings of servers that keybench starts, the options of SQL Server beyond a run's own, and URLs.

All other settings have the server's defaults. An option comes from `--set NAME=VALUE` (those in `SETTABLE`), else a
URL's query. All of them are recorded with a result.
"""

from collections.abc import Mapping

import psutil

from keybench.databases.contract.roles import Address, Settings
from keybench.databases.contract.settings import CacheSize, Profile, Setting
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
    """The statements that set them on a server of ours, on a connection to master."""
    return (
        "EXEC sys.sp_configure N'show advanced options', 1",
        "RECONFIGURE",
        f"EXEC sys.sp_configure N'max server memory (MB)', {settings.values['max_server_memory_mb']}",
        "EXEC sys.sp_configure N'max degree of parallelism', 1",
        "RECONFIGURE",
    )


SETTABLE = (
    Setting(
        "row_versioning",
        "row versions of the database: each kind adds 14 bytes to a row",
        "off",
        "server",
        ("off", "rcsi", "snapshot", "adr"),
    ),
)
_CONNECTING = (
    Setting("encrypt", "as ODBC has it", "yes", "server", ("yes", "no")),
    Setting("trust_certificate", "as ODBC has it", "yes", "server", ("yes", "no")),
)
_OPTIONS = (*SETTABLE, *_CONNECTING)


def options(parameters: Mapping[str, str]) -> dict[str, str]:
    """The value of each option by name: that in `parameters` (a URL's query or an address's), else the default.

    UsageError for a value that is none of the choices.
    """
    return {option.name: option.read(parameters.get(option.name, option.default), "SQL Server") for option in _OPTIONS}


def versioning(database: Mapping[str, object]) -> str:
    """A database's row versioning, from its settings as `MssqlAdmin` names them; the first kind if it has several."""
    if database["read_committed_snapshot"]:
        return "rcsi"
    if database["snapshot_isolation"] != "OFF":
        return "snapshot"
    return "adr" if database["accelerated_database_recovery"] else "off"


_FORM = UrlForm("SQL Server", "mssql://user@host:1433", frozenset(option.name for option in _OPTIONS))
_PORT = "1433"


def address_of(url: str, preferred: Mapping[str, str]) -> Address:
    """The address of a mssql:// URL, its password replaced by a reference, with the options of its query.

    Options in `preferred` come before those of the URL. UsageError, which does not show the URL, where it cannot be
    understood, has an unknown option or names a database.
    """
    parts = _FORM.parse(url)
    if parts.path:
        raise UsageError("SQL Server URL: leave out the database: keybench makes one of its own, called keybench.")
    parameters = {**options({**parts.options, **preferred}), "host": parts.host, "port": parts.port or _PORT}
    parameters |= {"user": parts.user} if parts.user else {}
    return Address("mssql", "url", parameters, secret=from_url(parts.password))
