"""Somebody's own server, reached by a URL: keybench works in a schema of its own and changes nothing else."""

from __future__ import annotations

import psycopg
from psycopg.conninfo import conninfo_to_dict

from keybench.databases.engine import Address
from keybench.databases.postgresql import connection, schema
from keybench.databases.postgresql.table import SCHEMA
from keybench.databases.secret import keep
from keybench.errors import EnvironmentMissing, UsageError


def address_of(url: str) -> Address:
    """The address of a postgresql:// URL, its password replaced by a reference.

    UsageError, without the URL, where it cannot be understood or holds a secret of another kind.
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
    return Address("postgresql", "url", given, secret=keep(password) if password else None)


class UrlServer:
    """The server at a URL. From `start` to `stop` a connection is kept that tells others so (`schema.use`)."""

    def __init__(self, url: str) -> None:
        self._address = address_of(url)
        self._using: psycopg.Connection | None = None

    def start(self) -> Address:
        """Looks whether it answers, and creates the schema `keybench` where it is not there."""
        using = connection.connect(self._address)
        try:
            schema.use(using)
            there = using.execute("SELECT to_regnamespace(%s) IS NOT NULL", [SCHEMA]).fetchone() == (True,)
            if not there:
                schema.make_schema(using)
        except psycopg.Error as error:
            using.close()
            reason = error.diag.message_primary or type(error).__name__
            raise EnvironmentMissing(
                f"PostgreSQL at {connection.place(self._address)} refuses the schema {SCHEMA}: {reason}.\n"
                f"Let its owner run: CREATE SCHEMA {SCHEMA} AUTHORIZATION your_user;"
            ) from None
        self._using = using
        return self._address

    def stop(self) -> None:
        """Removes tables of trials and the schema that keybench made, unless another run is still using them."""
        if self._using is None:
            return
        self._using.close()
        self._using = None
        with connection.connect(self._address) as admin:
            schema.remove(admin)

    def alive(self) -> bool:
        """True: it is not keybench's to watch."""
        return True
