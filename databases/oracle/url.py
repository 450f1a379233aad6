"""Somebody's own server, reached by a URL: keybench works in the user's own schema, with tables of its own names."""

from __future__ import annotations

from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from keybench.databases.contract import Address
from keybench.databases.hosting.secret import of_url
from keybench.databases.oracle import connection
from keybench.databases.oracle.connection import Connection
from keybench.databases.oracle.ddl import BOARD, LOCK, STATISTICS
from keybench.databases.oracle.options import NAMES, options
from keybench.databases.oracle.owned_schema import GRANTS
from keybench.errors import EnvironmentMissing, ServerError, UsageError

_PORT = "1521"
TABLES = (
    "SELECT t.table_name FROM user_tables t WHERE EXISTS (SELECT 1 FROM user_tab_columns c "
    "WHERE c.table_name = t.table_name AND c.column_name = 'KEY') AND NOT EXISTS (SELECT 1 FROM user_tab_columns c "
    "WHERE c.table_name = t.table_name AND c.column_name NOT IN ('KEY', 'PAYLOAD', 'CREATED')) "
    "AND t.table_name LIKE 'keybench%' ORDER BY t.table_name"
)
"""Trials' tables by name and shape: names in lower case are keybench's own habit."""
MAKE_LOCK = f"CREATE TABLE IF NOT EXISTS {LOCK} (held NUMBER)"
TAKE_LOCK = f"LOCK TABLE {LOCK} IN EXCLUSIVE MODE NOWAIT"
_BUSY = "ORA-00054"


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


def take(using: Connection) -> bool:
    """Says that a run uses the schema, while the connection is open and commits nothing; False where one does."""
    using.run(MAKE_LOCK)
    try:
        using.run(TAKE_LOCK)
    except ServerError as error:
        if _BUSY in str(error):
            return False
        raise
    return True


def found(using: Connection) -> list[str]:
    """The trials' tables in the schema."""
    return [str(name) for (name,) in using.rows(TABLES)]


def remove(using: Connection) -> list[str]:
    """Drops the trials' tables, and gives the lock up with its table; what was dropped."""
    names = found(using)
    for name in names:
        using.run(f'DROP TABLE "{name}" PURGE')
    for own in (STATISTICS, BOARD, LOCK):
        using.run(f"DROP TABLE IF EXISTS {own} PURGE")
    return [f"table {name}" for name in names]


class UrlServer:
    """The server at a URL. From `start` to `stop` a connection holds a lock that keeps a second run out."""

    def __init__(self, url: str) -> None:
        self._address = address_of(url)
        self._using: Connection | None = None

    def start(self) -> Address:
        """Looks whether it answers and nobody else is using it."""
        place = connection.place(self._address)
        using = connection.connect(self._address)
        try:
            if not take(using):
                raise EnvironmentMissing(
                    f"Oracle at {place}: another run of keybench is using it, and both would use the same tables.\n"
                    "Wait until that run has ended, or choose another user."
                )
        except ServerError as error:
            using.close()
            raise EnvironmentMissing(
                f"Oracle at {place} refuses keybench a table of its own: {error}\n"
                f"Let its administrator run: {'; '.join(GRANTS)};"
            ) from None
        except BaseException:
            using.close()
            raise
        self._using = using
        return self._address

    def stop(self) -> None:
        """Removes the trials' tables."""
        if self._using is None:
            return
        using, self._using = self._using, None
        try:
            remove(using)
        finally:
            using.close()

    def alive(self) -> bool:
        """True: it is not keybench's to watch."""
        return True


class UrlLeftovers:
    """What a killed run left in the schema of a URL's user."""

    def __init__(self, url: str) -> None:
        """EnvironmentMissing where the server cannot be reached."""
        address = address_of(url)
        self.place = f"Oracle at {connection.place(address)}"
        self._connection = connection.connect(address)
        self._free = take(self._connection)

    def in_use(self) -> bool:
        """Whether a run uses it at this moment; if none does, none begins to before `remove`."""
        return not self._free

    def found(self) -> list[str]:
        """What `remove` would remove, for people to read."""
        return [f"table {name}" for name in found(self._connection)]

    def remove(self) -> list[str]:
        """Removes it; what was removed. Nothing while a run uses it."""
        return remove(self._connection) if self._free else []

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()
