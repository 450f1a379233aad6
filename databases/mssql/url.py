"""The address of a user's own server, from its URL."""

from __future__ import annotations

from collections.abc import Mapping

from keybench.databases.contract.roles import Address
from keybench.databases.core.engine_options import EngineOptions
from keybench.databases.hosting.secret import from_url
from keybench.databases.hosting.url_parsing import UrlForm
from keybench.databases.mssql.settings import NAMES, options
from keybench.errors import UsageError

_FORM = UrlForm("SQL Server", "mssql://user@host:1433/database", NAMES)
_PORT = "1433"
_SYSTEM_DATABASES = "master", "model", "msdb", "tempdb"
"""Databases of the server's own. In tempdb, testcontainers' default, pages and log are handled differently."""


def address_of(url: str, preferred: Mapping[str, str] | None = None) -> Address:
    """The address of a mssql:// URL, its password replaced by a reference, with the options of query and environment.

    EngineOptions in `preferred` come before both.

    UsageError, without the URL, where it cannot be understood, has an unknown option or names a system database.
    """
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
    preferred = dict(preferred or {})
    if parts.path:  # its row versioning is read, and compared with what was asked for
        preferred.pop("row_versioning", None)
    parameters = {**options({**parts.options, **preferred}), "host": parts.host, "port": parts.port or _PORT}
    parameters |= {name: value for name, value in (("database", parts.path), ("user", parts.user)) if value}
    return Address("mssql", "url", parameters, secret=from_url(parts.password))


def options_of(url: str) -> EngineOptions:
    """The options of a URL's query, else the environment's; UsageError for a value that is none of the choices."""
    return options(_FORM.query(url))
