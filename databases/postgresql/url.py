"""The address of a user's own server, from its URL."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Conninfo

from keybench.databases.contract.roles import Address
from keybench.databases.hosting.secret import from_url
from keybench.errors import EnvironmentMissing, UsageError
from keybench.model import url

_KEYS: Final = frozenset({"scram_client_key", "scram_server_key"})
"""Secrets that libpq does not mark as such."""
_ALIASES: Final = frozenset({"ssl"})
"""libpq takes `ssl=true` for `sslmode=require` (its fe-connect.c, conninfo_uri_parse_params)."""
_OTHERS: Final = {"cockroachdb": "CockroachDB", "-yb-": "YugabyteDB"}
"""Systems that speak PostgreSQL's protocol, by what their answer to `SELECT version()` contains in small letters."""


def require_postgresql(version: str) -> None:
    """EnvironmentMissing if that answer to `SELECT version()` is another system's: its figures need another name."""
    for mark, title in _OTHERS.items():
        if mark in version.lower():
            raise EnvironmentMissing(
                f"this server is {title} ({version.partition(' (')[0].partition(' on ')[0]}), not PostgreSQL, and "
                "keybench has no adapter of it: give the URL of a PostgreSQL."
            )


def address_of(text: str) -> Address:
    """The address of a postgresql:// URL, with a reference in place of its password.

    Raises UsageError, which does not show the URL, if it cannot be understood or holds another kind of secret.
    """
    parts = url.parse(text)
    parameters: dict[str, str] = {}
    if parts:
        with suppress(psycopg.Error, ValueError):  # an unknown option has a message of its own
            parameters = {name: str(value) for name, value in conninfo_to_dict(text).items()}
        _check_options(parts)
    if not parameters:
        raise UsageError(
            "the PostgreSQL URL cannot be understood: write postgresql://user@host:5432/database, special characters "
            "in a password as %XX."
        )
    password = parameters.pop(url.PASSWORD, "")
    return Address("postgresql", "url", parameters, secret=from_url(password))


def _check_options(parts: url.Url) -> None:
    """UsageError for an option that libpq does not know, and for one that it marks as a secret."""
    known = {option.keyword.decode(): option.dispchar == b"*" for option in Conninfo.get_defaults()}
    after_password = False
    for name, _ in parts.options:
        if name not in known and name not in _ALIASES:
            # It may be a piece of the password, after an & that was not written as %26.
            shown = "" if after_password else f" {name}"
            raise UsageError(
                f"PostgreSQL URL: unknown option{shown}. Known: host, port, dbname, user, password, sslmode and the "
                "other connection parameters of libpq."
            )
        if name == url.PASSWORD:
            after_password = True
        elif known.get(name) or name in _KEYS:
            raise UsageError(f"{name} in a URL is not supported: use a service file.")
