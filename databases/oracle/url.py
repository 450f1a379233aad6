"""The address of a user's own server, from its URL."""

from __future__ import annotations

from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from keybench.databases.contract import Address
from keybench.databases.hosting.secret import of_url
from keybench.databases.oracle.options import NAMES, options
from keybench.errors import UsageError

_PORT = "1521"


def address_of(url: str) -> Address:
    """The address of an oracle:// URL, its password replaced by a reference.

    UsageError, without the URL, where it cannot be understood, has an unknown option or names no service.
    """
    parts = _split(url)
    service = unquote(parts.path.strip("/")) if parts else ""
    if parts is None or not service or not parts.username:
        raise UsageError(
            "the Oracle URL cannot be understood: write oracle://user@host:1521/service, special characters in user "
            "and password as %XX."
        )
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    password = given.pop("password", None)
    if password is None:
        password = unquote(parts.password or "")
    if unknown := sorted(set(given) - NAMES):
        raise UsageError(f"Oracle URL: unknown option {unknown[0]}. Known: {', '.join(sorted(NAMES))}.")
    where = {"host": parts.hostname or "", "port": str(parts.port or _PORT), "service": service}
    user = unquote(parts.username)
    return Address("oracle", "url", {**options(given).parameters(), **where, "user": user}, secret=of_url(password))


def _split(url: str) -> SplitResult | None:
    """The URL's parts; None where it has none (what urllib says of it would show it)."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts if parts.hostname else None
