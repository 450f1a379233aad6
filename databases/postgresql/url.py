"""The address of a user's own server, from its URL."""

from __future__ import annotations

import psycopg
from psycopg.conninfo import conninfo_to_dict

from keybench.databases.contract.roles import Address
from keybench.databases.hosting.secret import from_url
from keybench.errors import UsageError


def address_of(url: str) -> Address:
    """The address of a postgresql:// URL, with a reference in place of its password.

    Raises UsageError, which does not show the URL, if it cannot be understood or holds another kind of secret.
    """
    try:
        given = {name: str(value) for name, value in conninfo_to_dict(url).items()}
    except psycopg.Error:
        given = {}
    if not given:
        raise UsageError(
            "the PostgreSQL URL cannot be understood: write postgresql://user@host:5432/database, "
            "special characters in a password as %XX."
        )
    if "sslpassword" in given:
        raise UsageError("sslpassword in a URL is not supported: use a client key without one, or a service file.")
    password = given.pop("password", "")
    return Address("postgresql", "url", given, secret=from_url(password))
