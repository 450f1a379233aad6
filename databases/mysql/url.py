"""The address of somebody's own server, from its URL."""

from __future__ import annotations

from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from keybench.databases.contract import Address
from keybench.databases.hosting.secret import of_url
from keybench.databases.mysql.ddl import SCHEMA
from keybench.databases.mysql.flavour import Flavour
from keybench.errors import UsageError

_OPTIONS = frozenset({"unix_socket", "ssl_ca", "ssl_cert", "ssl_key", "ssl_verify_cert", "ssl_verify_identity"})
_PORT = "3306"


def address_of(flavour: Flavour, url: str) -> Address:
    """The address of a mysql:// or mariadb:// URL, its password replaced by a reference.

    UsageError, without the URL, where it cannot be understood or names a database or an unknown option.
    """
    scheme = flavour.url_schemes[0]
    parts = _split(url)
    if parts is None:
        raise UsageError(
            f"the {flavour.title} URL cannot be understood: write {scheme}://user@host:3306, special characters in "
            "user and password as %XX."
        )
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    password = options.pop("password", None)
    if password is None:
        password = unquote(parts.password or "")
    if unknown := sorted(set(options) - _OPTIONS):
        raise UsageError(f"{flavour.title} URL: unknown option {unknown[0]}. Known: {', '.join(sorted(_OPTIONS))}.")
    if parts.path.strip("/") not in {"", SCHEMA}:
        raise UsageError(
            f"{flavour.title} URL: keybench works in a database of its own, {SCHEMA}: leave the one in the URL out."
        )
    given = dict(options)
    if "unix_socket" not in options:
        given |= {"host": parts.hostname or "localhost", "port": str(parts.port or _PORT)}
    if parts.username:
        given["user"] = unquote(parts.username)
    return Address(flavour.name, "url", given, secret=of_url(password))


def _split(url: str) -> SplitResult | None:
    """The URL's parts; None where it has none (what urllib says of it would show it)."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts if parts.hostname or "unix_socket=" in parts.query else None
