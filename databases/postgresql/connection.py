"""Connections to a server by its address, and the server's errors as keybench's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import pq
from psycopg.conninfo import make_conninfo

from keybench.databases.contract import Address
from keybench.databases.hosting.full_disk import with_next_step
from keybench.errors import EnvironmentMissing, ServerError

CONNECT_SECONDS = 5
APPLICATION = "keybench"

OWN = frozenset({"data", "programs", "container"})
"""Parameters of an address that are not the client library's: a private server's data directory and programs,
or its container."""


def conninfo(address: Address) -> str:
    """The connection string, with the password where there is one: never to be shown."""
    given = {name: value for name, value in address.parameters.items() if name not in OWN}
    password = {"password": address.secret.reveal()} if address.secret else {}
    defaults = {"connect_timeout": str(CONNECT_SECONDS), "application_name": APPLICATION}
    return make_conninfo("", **{**defaults, **given, **password, "client_encoding": "UTF8"})


def place(address: Address) -> str:
    """Where the server is, for messages: no user, no password."""
    host, port = address.parameters.get("host", "localhost"), address.parameters.get("port", "5432")
    return host if host.startswith("/") else f"{host}:{port}"


def _unreachable(address: Address, said: str) -> EnvironmentMissing | ServerError:
    secret = address.secret.reveal() if address.secret else ""
    reason = " ".join((said.replace(secret, "***") if secret else said).split())
    if address.server == "url":
        return EnvironmentMissing(
            f"PostgreSQL at {place(address)} cannot be reached: {reason}\n"
            "Check host, port, user, password and database in the URL, and that the server is up."
        )
    return ServerError(f"the private PostgreSQL server does not answer: {reason}")


@contextmanager
def server_errors() -> Iterator[None]:
    """Turns the driver's errors into ServerError with the server's message."""
    try:
        yield
    except psycopg.Error as error:
        parts = [error.diag.message_primary, error.diag.message_detail, error.diag.message_hint]
        said = ". ".join(part for part in parts if part) or " ".join(str(error).split()) or type(error).__name__
        raise ServerError(f"PostgreSQL: {with_next_step(said)}") from None


def connect(address: Address) -> psycopg.Connection:
    """A connection in autocommit. EnvironmentMissing where a URL's server cannot be reached, else ServerError."""
    info = conninfo(address)
    try:
        return psycopg.connect(info, autocommit=True)
    except psycopg.Error as error:
        problem = _unreachable(address, str(error))
    raise problem


def connect_raw(address: Address) -> pq.abc.PGconn:
    """A blocking connection of the client library itself: the least work on the client's side a statement."""
    raw = pq.PGconn.connect(conninfo(address).encode())
    if raw.status != pq.ConnStatus.OK:
        said = raw.get_error_message()
        raw.finish()
        raise _unreachable(address, said)
    return raw
