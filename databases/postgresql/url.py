"""The address of a user's own server, from its URL."""

from __future__ import annotations

from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Conninfo

from keybench.databases.contract.roles import Address
from keybench.databases.hosting.secret import from_url
from keybench.errors import UsageError
from keybench.model import url

_KEYS: Final = frozenset({"scram_client_key", "scram_server_key"})
_ALIASES: Final = frozenset({"ssl"})
"""libpq takes `ssl=true` for `sslmode=require` (its fe-connect.c, conninfo_uri_parse_params)."""


def address_of(text: str) -> Address:
    """The address of a postgresql:// URL, with a reference in place of its password.

    Raises UsageError, which does not show the URL, if it cannot be understood or holds another kind of secret.
    """
    parts = url.parse(text)
    try:
        given = {name: str(value) for name, value in conninfo_to_dict(text).items()} if parts else {}
    except (psycopg.Error, ValueError):
        given = {}
    if parts:
        _check_options(parts)
    if not given:
        raise UsageError(
            "the PostgreSQL URL cannot be understood: write postgresql://user@host:5432/database, "
            "special characters in a password as %XX."
        )
    password = given.pop(url.PASSWORD, "")
    return Address("postgresql", "url", given, secret=from_url(password))


def _check_options(parts: url.Url) -> None:
    """UsageError for an option that libpq does not know, and for one that it marks as a secret."""
    known = {option.keyword.decode(): option.dispchar == b"*" for option in Conninfo.get_defaults()}
    names = [name for name, _ in parts.options]
    for place, name in enumerate(names):
        if name not in known and name not in _ALIASES:
            named = "" if url.PASSWORD in names[:place] else f" {name}"
            raise UsageError(
                f"PostgreSQL URL: unknown option{named}. Known: host, port, dbname, user, password, sslmode and the "
                "other connection parameters of libpq."
            )
        if name != url.PASSWORD and (known.get(name) or name in _KEYS):
            raise UsageError(
                f"{name} in a URL is not supported: use a client key without one, or a service file."
                if name == "sslpassword"
                else f"{name} in a URL is not supported: use a service file."
            )
