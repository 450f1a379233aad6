"""Somebody's own server, reached by a URL: keybench works in a database of its own and changes nothing else."""

from __future__ import annotations

from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from keybench.databases.engine import Address
from keybench.databases.mysql import connection
from keybench.databases.mysql.flavour import Flavour
from keybench.databases.mysql.table import SCHEMA
from keybench.databases.secret import keep
from keybench.errors import EnvironmentMissing, ServerError, UsageError

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
    return Address(flavour.name, "url", given, secret=keep(password) if password else None)


def _split(url: str) -> SplitResult | None:
    """The URL's parts; None where it has none (what urllib says of it would show it)."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts if parts.hostname or "unix_socket=" in parts.query else None


class UrlServer:
    """The server at a URL."""

    def __init__(self, flavour: Flavour, url: str) -> None:
        self._flavour = flavour
        self._address = address_of(flavour, url)
        self._made_database = False

    def start(self) -> Address:
        """Looks whether it answers, and creates the database `keybench` where it is not there."""
        admin = connection.connect(self._address)
        try:
            with connection.server_errors(self._flavour.title):
                if not admin.run(f"SHOW DATABASES LIKE '{SCHEMA}'"):
                    admin.run(f"CREATE DATABASE {SCHEMA}")
                    self._made_database = True
                admin.select_db(SCHEMA)
        except ServerError as error:
            raise EnvironmentMissing(
                f"{self._flavour.title} at {connection.place(self._address)} refuses the database {SCHEMA}: {error}\n"
                f"Let its administrator run: CREATE DATABASE {SCHEMA}; GRANT ALL ON {SCHEMA}.* TO your_user;"
            ) from None
        finally:
            admin.close()
        return self._address

    def stop(self) -> None:
        """Drops the database if `start` created it."""
        if self._made_database:
            self._made_database = False
            admin = connection.connect(self._address)
            try:
                with connection.server_errors(self._flavour.title):
                    admin.run(f"DROP DATABASE IF EXISTS {SCHEMA}")
            finally:
                admin.close()

    def alive(self) -> bool:
        """True: it is not keybench's to watch."""
        return True
