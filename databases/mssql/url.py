"""Somebody's own server, reached by a URL: keybench works in a database or schema of its own, changes nothing else."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from keybench.databases.contract import Address
from keybench.databases.hosting.secret import of_url
from keybench.databases.mssql import connection
from keybench.databases.mssql import owned_schema as database
from keybench.databases.mssql.connection import Connection
from keybench.databases.mssql.ddl import SCHEMA
from keybench.databases.mssql.options import NAMES, Options, options
from keybench.errors import EnvironmentMissing, ServerError, UsageError

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


class UrlServer:
    """The server at a URL. From `start` to `stop` a connection holds a lock that keeps a second run out."""

    def __init__(self, url: str) -> None:
        self._address = address_of(url)
        self._using: Connection | None = None

    def start(self) -> Address:
        """Looks whether it answers, and makes the database, or in a database that was named the schema."""
        place = connection.place(self._address)
        given = self._address.parameters
        try:
            if "database" not in given:
                self._make_database()
                self._address = replace(self._address, parameters={**given, "database": SCHEMA})
            self._using = connection.connect(self._address)
            if not database.use(self._using):
                raise EnvironmentMissing(
                    f"SQL Server at {place}: another run of keybench is using it, and both would use the same tables.\n"
                    "Wait until that run has ended, or name another database in the URL."
                )
            database.make_schema(self._using)
        except ServerError as error:
            self._let_go()
            raise EnvironmentMissing(
                f"SQL Server at {place} refuses the schema {SCHEMA}: {error}\n"
                f"Let its administrator make a database for you, as its owner, and name it in the URL."
            ) from None
        except BaseException:
            self._let_go()
            raise
        return self._address

    def _make_database(self) -> None:
        admin = connection.connect(self._address, "master")
        try:
            if not database.is_there(admin, SCHEMA):
                database.create(admin, options(self._address.parameters), "DISABLED")
        finally:
            admin.close()

    def stop(self) -> None:
        """Removes what keybench made: its database; else the trials' tables and its schema."""
        if self._using is None:
            return
        try:
            remove(self._using, self._address)
        finally:
            self._let_go()

    def _let_go(self) -> None:
        if self._using:
            self._using.close()
            self._using = None

    def alive(self) -> bool:
        """True: it is not keybench's to watch."""
        return True


def remove(using: Connection, address: Address) -> list[str]:
    """Removes what keybench made in the database that `using` is connected to; what was removed."""
    removed = database.remove(using)
    if not database.made_database(using):
        return removed
    using.close()  # nobody may be in a database that is dropped
    admin = connection.connect(address, "master")
    try:
        database.drop(admin, address.parameters["database"])
    finally:
        admin.close()
    return [*removed, f"database {address.parameters['database']}"]


class UrlLeftovers:
    """What a killed run left on the server at a URL."""

    def __init__(self, url: str) -> None:
        """EnvironmentMissing where the server, or a database of ours there, cannot be reached."""
        address = address_of(url)
        self._address = replace(
            address, parameters={**address.parameters, "database": address.parameters.get("database", SCHEMA)}
        )
        self.place = f"SQL Server at {connection.place(address)}"
        self._connection = connection.connect(self._address)
        self._free = database.use(self._connection)

    def in_use(self) -> bool:
        """Whether a run uses it at this moment; if none does, none begins to before `close`."""
        return not self._free

    def found(self) -> list[str]:
        """What `remove` would remove, for people to read."""
        found = [f"table {SCHEMA}.{name}, {size >> 10} KiB" for name, size in database.tables(self._connection)]
        if database.made_database(self._connection):
            return [*found, f"database {self._address.parameters['database']}"]
        if database.made_schema(self._connection):
            found.append(f"schema {SCHEMA}, unless something else is in it")
        return found

    def remove(self) -> list[str]:
        """Removes it; what was removed. Nothing while a run uses it."""
        return remove(self._connection, self._address) if self._free else []

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()
