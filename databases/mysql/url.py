"""The address of a user's own server, from its URL."""

from __future__ import annotations

from keybench.databases.contract.roles import Address
from keybench.databases.hosting.secret import from_url
from keybench.databases.hosting.url_server import UrlForm
from keybench.databases.mysql.ddl import SCHEMA
from keybench.databases.mysql.flavour import Flavour
from keybench.errors import UsageError

_PORT = "3306"
_OPTIONS = frozenset({"unix_socket", "ssl_ca", "ssl_cert", "ssl_key", "ssl_verify_cert", "ssl_verify_identity"})


def address_of(flavour: Flavour, url: str) -> Address:
    """The address of a mysql:// or mariadb:// URL, its password replaced by a reference.

    UsageError, without the URL, where it cannot be understood or names a database or an unknown option.
    """
    address, path = any_database(flavour, url)
    if path not in {"", SCHEMA}:
        raise UsageError(
            f"{flavour.title} URL: keybench works in a database of its own, {SCHEMA}: leave the one in the URL out."
        )
    return address


def any_database(flavour: Flavour, url: str) -> tuple[Address, str]:
    """The same, and the database that the URL names, whichever it is; empty if it names none."""
    parts = UrlForm(flavour.title, f"{flavour.url_schemes[0]}://user@host:{_PORT}", _OPTIONS).parse(url)
    parameters = dict(parts.options)
    if "unix_socket" not in parts.options:
        parameters |= {"host": parts.host or "localhost", "port": parts.port or _PORT}
    if parts.user:
        parameters["user"] = parts.user
    return Address(flavour.name, "url", parameters, secret=from_url(parts.password)), parts.path
