"""The address of a server from its URL, connections to it, and the server's errors as keybench's own."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Conninfo

from keybench.databases.contract.roles import Address
from keybench.databases.core.dbapi import ANSWER_SECONDS, DbApiConnection
from keybench.databases.hosting.secret import from_url
from keybench.databases.hosting.url_server import unreachable, with_next_step
from keybench.databases.postgresql import ddl
from keybench.errors import EnvironmentMissing, KeybenchError, ServerError, UsageError
from keybench.model import url
from keybench.model.column import EncodedKeys
from keybench.model.table import Table

CONNECT_SECONDS = 5
APPLICATION = "keybench"

_NOT_THE_DRIVERS = frozenset({"data", "programs", "container"})
"""Parameters of an address that the client library does not know: a private server's data directory and programs, or
its container."""


def conninfo(address: Address) -> str:
    """The connection string. It includes the password if there is one, so it must never be shown."""
    parameters = {"connect_timeout": str(CONNECT_SECONDS), "application_name": APPLICATION}
    parameters |= {name: value for name, value in address.parameters.items() if name not in _NOT_THE_DRIVERS}
    if address.secret:
        parameters["password"] = address.secret.reveal()
    return make_conninfo("", **{**parameters, "client_encoding": "UTF8"})  # whatever the URL says


def place(address: Address) -> str:
    """Where the server is, for messages, without user and password."""
    host, port = address.parameters.get("host", "localhost"), address.parameters.get("port", "5432")
    return host if host.startswith("/") else f"{host}:{port}"


def _unreachable(address: Address, message: str) -> KeybenchError:
    reason = " ".join(message.split())
    return unreachable(address, "PostgreSQL", place(address), reason, "host, port, user, password and database")


@contextmanager
def server_errors() -> Iterator[None]:
    """Turns the driver's errors into ServerError with the server's message."""
    try:
        yield
    except psycopg.Error as error:
        raise _server_error(error) from None


def _server_error(error: psycopg.Error) -> ServerError:
    """The driver's error as keybench's: the server's message, detail and hint, else the driver's text."""
    parts = [error.diag.message_primary, error.diag.message_detail, error.diag.message_hint]
    message = ". ".join(part for part in parts if part) or " ".join(str(error).split()) or type(error).__name__
    return ServerError(f"PostgreSQL: {with_next_step(message)}")


class _Connection(psycopg.Connection[Any]):
    """A connection that is closed if a statement takes longer than `seconds`; libpq would wait for ever."""

    seconds = ANSWER_SECONDS

    def wait(self, gen: Any, *arguments: Any, **named: Any) -> Any:
        """Works as the driver's. Its loop resumes the generator at short intervals, even if nothing has come."""
        return super().wait(self._limited(gen), *arguments, **named)

    def _limited(self, gen: Any) -> Any:
        """The driver's generator, until the deadline: yields what `gen` waits for, and sends it what is ready."""
        deadline = time.monotonic() + self.seconds
        try:
            state = next(gen)
            while True:
                ready = yield state
                if not ready and time.monotonic() > deadline:
                    self.pgconn.finish()
                    raise psycopg.OperationalError(f"no answer within {self.seconds:g} s")
                state = gen.send(ready)
        except StopIteration as end:
            return end.value


def connect(address: Address) -> _Connection:
    """A connection in autocommit. Raises EnvironmentMissing if a URL's server cannot be reached, and ServerError for
    other servers."""
    info = conninfo(address)
    try:
        return _Connection.connect(info, autocommit=True)
    except (psycopg.Error, ValueError) as error:  # ValueError: a host that is no name of a host
        problem = _unreachable(address, str(error))
    raise problem  # outside the handler, so that no error in the chain shows the connection string


def connect_raw(address: Address) -> pq.abc.PGconn:
    """A blocking connection of the client library itself, which costs the client the least work per statement."""
    raw = pq.PGconn.connect(conninfo(address).encode())
    if raw.status != pq.ConnStatus.OK:
        message = raw.get_error_message()
        raw.finish()
        raise _unreachable(address, message)
    return raw


def create_database(admin: psycopg.Connection) -> None:
    """Creates the database of trials with a usual collation: ICU's English if the server has ICU. The collation affects
    only columns that name no collation (`char36-default`)."""
    icu = admin.execute("SELECT count(*) FROM pg_collation WHERE collname = 'en-US-x-icu'").fetchone() == (1,)
    if icu and admin.info.server_version >= ddl.ICU_DATABASES:
        admin.execute(
            f"CREATE DATABASE {ddl.USER} TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C'"
        )
    else:
        admin.execute(f"CREATE DATABASE {ddl.USER} TEMPLATE template0")


def key_array(table: Table, data: NDArray[np.uint8]) -> EncodedKeys:
    """Keys as `Column.encode` gives them, from their binary form: uint8 (n, width)."""
    if table.column.form == "int":
        return np.ascontiguousarray(data).view(f">i{table.column.width}").ravel().astype(np.int64)
    return data


class AdminConnection(DbApiConnection):
    """One administrative connection, in autocommit, which administration and probes share."""

    def __init__(self, address: Address) -> None:
        super().__init__(connect(address), psycopg.Error)
        self.address = address
        self.version: int = self.raw.info.server_version
        """The server's version as libpq numbers it: 180004."""

    def limit(self, seconds: float) -> None:
        """Lets no statement from now on take longer."""
        self.raw.seconds = seconds

    @cached_property
    def page_bytes(self) -> int:
        """The size of a page."""
        return int(self.value("SELECT current_setting('block_size')"))

    @property
    def is_private(self) -> bool:
        """Whether keybench started the server. Then nobody else uses it."""
        return self.address.server != "url"

    @property
    def data_folder(self) -> Path | None:
        """The data directory of a private server; None if keybench cannot read it (a URL's, a container's)."""
        data = self.address.parameters.get("data")
        return Path(data) if data else None

    def execute(self, cursor: Any, statement: str, values: tuple[object, ...]) -> None:
        """Executes a statement with the values of its parameters; without values, `%` in it stands for itself."""
        cursor.execute(statement, values or None)

    def failure(self, error: Any) -> ServerError:
        """A driver's error as keybench's."""
        return _server_error(error)

    def binary(self, statement: str, *values: object) -> bytes:
        """The one value of a query, sent as bytes; empty if it is null."""
        with server_errors():
            return self.raw.execute(statement, values or None, binary=True).fetchone()[0] or b""

    def checkpoint(self) -> bool:
        """Makes a checkpoint, which writes everything to the files. Returns False if this user may not."""
        permitted = "current_setting('is_superuser') = 'on'"
        if self.version >= ddl.CHECKPOINT_ROLE:
            permitted += " OR pg_has_role('pg_checkpoint', 'USAGE')"
        if not self.value("SELECT " + permitted):
            return False
        self.rows("CHECKPOINT")
        return True

    def index_oid(self, table: Table) -> int:
        """Object id of the measured index. Raises ServerError if there is no such table."""
        statement = "SELECT indexrelid FROM pg_index WHERE indrelid = to_regclass(%s) AND indisprimary = %s"
        if not (oids := self.rows(statement, ddl.name(table), ddl.is_primary(table))):
            raise ServerError(f"PostgreSQL: there is no table {ddl.name(table)}.")
        return int(oids[0][0])

    def index_bytes(self, table: Table) -> int:
        """Size of the key's index, in bytes."""
        return int(self.value("SELECT pg_relation_size(%s::oid)", self.index_oid(table)))

    def extension(self, name: str) -> str:
        """The quoted schema of an installed extension; empty if it is not installed."""
        schemas = self.rows(
            "SELECT quote_ident(nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
            "WHERE extname = %s",
            name,
        )
        return str(schemas[0][0]) if schemas else ""


_KEYS: Final = frozenset({"scram_client_key", "scram_server_key"})  # secrets that libpq does not mark as such
_ALIASES: Final = frozenset({"ssl"})
"""libpq takes `ssl=true` for `sslmode=require` (its fe-connect.c, conninfo_uri_parse_params)."""
_OTHERS: Final = {"cockroachdb": "CockroachDB", "-yb-": "YugabyteDB"}
"""Systems that speak PostgreSQL's protocol, by what their answer to `SELECT version()` contains in small letters."""


def require_postgresql(version: str) -> None:
    """EnvironmentMissing if the answer to `SELECT version()` is another system's: its figures need another name."""
    for mark, title in _OTHERS.items():
        if mark in version.lower():
            short = version.partition(" (")[0].partition(" on ")[0]  # without the machine and the compiler
            raise EnvironmentMissing(
                f"this server is {title} ({short}), not PostgreSQL, and keybench has no adapter of it: give the URL of "
                "a PostgreSQL."
            )


def address_of(text: str, _chosen: Mapping[str, str]) -> Address:
    """The address of a postgresql:// URL, with a reference in place of its password; no chosen setting changes it.
    Raises UsageError, which does not show the URL, if it cannot be understood or holds another kind of secret."""
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
    # All options of libpq, and whether it marks each as a secret.
    is_secret = {option.keyword.decode(): option.dispchar == b"*" for option in Conninfo.get_defaults()}
    after_password = False
    for name, _ in parts.options:
        if name not in is_secret and name not in _ALIASES:
            # It may be a piece of the password, after an & that was not written as %26.
            shown = "" if after_password else f" {name}"
            raise UsageError(
                f"PostgreSQL URL: unknown option{shown}. Known: host, port, dbname, user, password, sslmode and the "
                "other connection parameters of libpq."
            )
        if name == url.PASSWORD:
            after_password = True
        elif is_secret.get(name) or name in _KEYS:
            raise UsageError(f"{name} in a URL is not supported: use a service file.")
