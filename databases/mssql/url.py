"""The address of a user's own server, from its URL."""

from __future__ import annotations

from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from keybench.databases.contract import Address
from keybench.databases.hosting.secret import of_url
from keybench.databases.mssql.options import NAMES, Options, options
from keybench.errors import UsageError

_PORT = "1433"
_NOT_OURS = "master", "model", "msdb", "tempdb"
"""Databases of the server's own. In tempdb, testcontainers' default, pages and log are handled differently."""


def address_of(url: str) -> Address:
    """The address of a mssql:// URL, its password replaced by a reference, with the options of query and environment.

    UsageError, without the URL, where it cannot be understood, has an unknown option or names a server's database.
    """
    parts = _split(url)
    if parts is None:
        raise UsageError(
            "the SQL Server URL cannot be understood: write mssql://user@host:1433/database, special characters in "
            "user and password as %XX."
        )
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    password = given.pop("password", None)
    if password is None:
        password = unquote(parts.password or "")
    if unknown := sorted(set(given) - NAMES):
        raise UsageError(f"SQL Server URL: unknown option {unknown[0]}. Known: {', '.join(sorted(NAMES))}.")
    named = unquote(parts.path.strip("/"))
    if named.lower() in _NOT_OURS:
        raise UsageError(
            f"SQL Server URL: {named} is the server's own database: name another, or none, and keybench makes one."
        )
    chosen = options(given)
    if named and chosen.row_versioning != "off":
        raise UsageError(
            f"SQL Server URL: row_versioning is a setting of the whole database {named}, which is not changed: "
            "name no database, and keybench makes one."
        )
    parameters = {**chosen.parameters(), "host": parts.hostname or "", "port": str(parts.port or _PORT)}
    if named:
        parameters["database"] = named
    if parts.username:
        parameters["user"] = unquote(parts.username)
    return Address("mssql", "url", parameters, secret=of_url(password))


def options_of(url: str) -> Options:
    """What a URL's query, or else the environment, chooses; UsageError for what is none of the choices."""
    parts = _split(url)
    return options(dict(parse_qsl(parts.query)) if parts else {})


def _split(url: str) -> SplitResult | None:
    """The URL's parts; None where it has none (what urllib says of it would show it)."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts if parts.hostname else None
