"""Connections to a server by its address, and the server's errors as keybench's own."""

import socket
import ssl
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import pymysql
from pymysql.protocol import OKPacketWrapper

from keybench.databases.contract.roles import Address
from keybench.databases.core.dbapi import ANSWER_SECONDS, DbApiConnection
from keybench.databases.hosting.secret import from_url
from keybench.databases.hosting.url_server import UrlForm, unreachable, with_next_step
from keybench.databases.mysql.ddl import SCHEMA
from keybench.databases.mysql.flavour import MARIADB, Flavour, flavour_named, flavour_of, require
from keybench.errors import Aborted, DeadlockVictim, ServerError, UsageError

CONNECT_SECONDS = 5

COM_STMT_PREPARE: Final = 0x16
COM_STMT_EXECUTE: Final = 0x17
COM_STMT_BULK_EXECUTE: Final = 0xFA
"""Commands for prepared statements (MariaDB's knowledge base, "Client/Server Protocol"); MySQL lacks the last, which
takes arrays of values."""
_HANDSHAKE_BYTES = 32
"""Shortest answer of a client to the server's greeting: capabilities, longest packet, character set, reserved bytes."""

_NOT_THE_DRIVERS = frozenset({"data", "container"})
"""Parameters of an address that are not the driver's: a private server's data directory, or its container."""


class Connection(pymysql.Connection):  # type: ignore[misc]  # the driver comes without types
    """The driver's connection with two more ways to send rows: prepared statements, and arrays of values."""

    _read_timeout: float | None
    _logged_in = False

    def reach(self) -> None:
        """Connects. The driver alone would leave the socket open where nothing answers, and would wait for ever for a
        server that accepts the connection and stays silent."""
        wire = None  # None: the driver connects by TCP
        if self.unix_socket:
            wire = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                wire.settimeout(CONNECT_SECONDS)
                wire.connect(self.unix_socket)
            except BaseException:
                wire.close()
                raise
            self._secure = True  # a socket file is private: passwords may be sent as they are over TLS
        self._read_timeout = CONNECT_SECONDS
        self.connect(wire)
        self._read_timeout = None
        self._logged_in = True

    def limit(self, seconds: float) -> None:
        """From now on the driver waits at most `seconds` for the server, and then closes the connection."""
        self._read_timeout = seconds

    def write_packet(self, payload: bytes) -> None:
        """Sends a packet. The driver's login packet is changed to tell MariaDB that this client sends arrays."""
        if not self._logged_in and len(payload) >= _HANDSHAKE_BYTES and flavour_of(self.server_version) is MARIADB:
            payload = with_array_support(payload)
        super().write_packet(payload)

    def prepare_statement(self, text: bytes) -> bytes:
        """Prepares a statement for `run_arrays` or `run_prepared`. Returns its number in the protocol's four bytes."""
        self._execute_command(COM_STMT_PREPARE, text)
        answer = self._read_packet().get_all_data()  # a status byte, the number, then two counts
        columns, parameters = struct.unpack_from("<HH", answer, 5)
        for count in (parameters, columns):
            for _ in range(count + 1 if count else 0):  # their definitions, then an end packet
                self._read_packet()
        return bytes(answer[1:5])

    def run_arrays(self, statement: bytes, packet: bytes) -> int:
        """Runs a prepared statement once for each row of values in the packet. Returns the number of rows stored."""
        self._execute_command(COM_STMT_BULK_EXECUTE, statement + packet)
        return int(OKPacketWrapper(self._read_packet()).affected_rows)

    def run_prepared(self, statement: bytes, values: bytes) -> int:
        """Runs a prepared statement once with these values. Returns the number of rows stored."""
        self._execute_command(COM_STMT_EXECUTE, statement + values)
        return int(OKPacketWrapper(self._read_packet()).affected_rows)

    def plain_socket(self) -> int | None:
        """The socket's number; None if the connection is encrypted."""
        return None if isinstance(self._sock, ssl.SSLSocket) else int(self._sock.fileno())

    def close_lost(self) -> pymysql.err.OperationalError:
        """Closes a connection that the server has ended. Returns the driver's error for that, to be raised."""
        self._force_close()
        return pymysql.err.OperationalError(2013, "Lost connection to MySQL server during query")

    def run(self, statement: bytes | str) -> int:
        """Runs a statement. Returns the number of rows that it read or changed."""
        return int(self.query(statement))


def with_array_support(handshake: bytes) -> bytes:
    """A client's answer to the server's greeting, with the capability to send arrays added. MariaDB has capabilities
    beyond MySQL's 32 bits. It reads them from bytes 28 to 31, the last four of the reserved ones, if the client clears
    the lowest bit of the first four, which stands for MySQL."""
    (flags,) = struct.unpack_from("<I", handshake)
    arrays = 1 << 2  # MARIADB_CLIENT_STMT_BULK_OPERATIONS
    return struct.pack("<I", flags & ~1) + handshake[4:28] + struct.pack("<I", arrays) + handshake[32:]


class Queries(DbApiConnection):
    """One connection in autocommit for queries, with the server's errors as ServerError."""

    def __init__(self, address: Address) -> None:
        """EnvironmentMissing where a URL's server cannot be reached or is the other flavour, else ServerError."""
        super().__init__(connect(address), pymysql.Error, OSError)
        self.address = address
        self.flavour = flavour_named(address.engine)
        self.limit(ANSWER_SECONDS)

    def limit(self, seconds: float) -> None:
        """From now on a statement waits at most `seconds` for the next part of its answer."""
        self.raw.limit(seconds)

    @property
    def private(self) -> bool:
        """Whether keybench started the server, so that nobody else works on it."""
        return self.address.server != "url"

    def execute(self, cursor: Any, statement: str, values: tuple[object, ...]) -> None:
        """Executes a statement. A text must have each `%` doubled, because the driver formats it even without values.
        Bytes without values are sent as they are (None)."""
        cursor.execute(statement, values if isinstance(statement, str) else values or None)

    def failure(self, error: Any) -> ServerError:
        """A driver's error as keybench's."""
        return server_error(self.flavour.title, error)

    def status(self, name: str) -> int:
        """A counter of SHOW GLOBAL STATUS; ServerError where the server has none of that name."""
        counters = self.rows("SHOW GLOBAL STATUS LIKE %s", name)
        if not counters:
            raise ServerError(f"{self.flavour.title}: this server counts no {name}.")
        return int(counters[0][1])


def place(address: Address) -> str:
    """Where the server is, for messages: no user, no password."""
    parameters = address.parameters
    return parameters.get("unix_socket") or f"{parameters.get('host', 'localhost')}:{parameters.get('port', '3306')}"


def error_text(error: Exception) -> str:
    """The message of a driver's error, on one line."""
    return " ".join(str(error.args[-1] if error.args else "").split()) or type(error).__name__


_ABORTS: Final = {1213: DeadlockVictim} | dict.fromkeys((1205, 1020), Aborted)
"""ER_LOCK_DEADLOCK, ER_LOCK_WAIT_TIMEOUT, and ER_CHECKREAD, which MariaDB gives with innodb_snapshot_isolation where a
row has changed since the transaction's snapshot (reference of server error codes)."""


def server_error(title: str, error: Exception) -> ServerError:
    """A driver's error with the server's message; `Aborted` if the transaction may be tried again."""
    number = error.args[0] if isinstance(error, pymysql.Error) and error.args else None
    kind = _ABORTS.get(number, ServerError) if isinstance(number, int) else ServerError
    return kind(f"{title}: {with_next_step(error_text(error))}")


@contextmanager
def server_errors(title: str) -> Iterator[None]:
    """Turns the driver's errors into those of `server_error`."""
    try:
        yield
    except (pymysql.Error, OSError) as error:
        raise server_error(title, error) from None


def connect(address: Address) -> Connection:
    """A connection in autocommit. EnvironmentMissing where a URL's server cannot be reached or is the other flavour,
    else ServerError."""
    options: dict[str, Any] = {name: text for name, text in address.parameters.items() if name not in _NOT_THE_DRIVERS}
    if "port" in options:
        options["port"] = int(options["port"])
    if "data" in address.parameters:
        options["ssl_disabled"] = True  # a private server's own socket; reading the system's certificates takes 20 ms
    flavour = flavour_named(address.engine)
    try:
        connection = Connection(
            **options,
            defer_connect=True,
            password=address.secret.reveal() if address.secret else "",
            charset="utf8mb4",
            autocommit=True,
            connect_timeout=CONNECT_SECONDS,
            program_name="keybench",
        )
        connection.reach()
    except (pymysql.Error, OSError, RuntimeError, ValueError) as error:
        # RuntimeError: a login method that needs more packages. ValueError: a host that is no name of a host
        to_check = "host, port, user and password"
        problem = unreachable(address, flavour.title, place(address), error_text(error), to_check)
    else:
        try:
            require(flavour, connection.get_server_info())
            with server_errors(flavour.title):
                for statement in flavour.session:
                    connection.run(statement)
        except BaseException:
            connection.close()
            raise
        return connection
    raise problem  # outside the handler, so that no error in the chain shows the password


_PORT = "3306"
_OPTIONS = frozenset({"unix_socket", "ssl_ca", "ssl_cert", "ssl_key", "ssl_verify_cert", "ssl_verify_identity"})


def address_of(flavour: Flavour, url: str, _chosen: Mapping[str, str]) -> Address:
    """The address of a mysql:// or mariadb:// URL, its password replaced by a reference; no chosen setting changes it.
    UsageError, without the URL, where it cannot be understood or names a database or an unknown option."""
    address, path = any_database(flavour, url)
    if path not in {"", SCHEMA}:
        raise UsageError(
            f"{flavour.title} URL: keybench works in a database of its own, {SCHEMA}: leave the one in the URL out."
        )
    return address


def any_database(flavour: Flavour, url: str) -> tuple[Address, str]:
    """The address of a mysql:// or mariadb:// URL, and the database that it names; empty if it names none."""
    parts = UrlForm(flavour.title, f"{flavour.url_schemes[0]}://user@host:{_PORT}", _OPTIONS).parse(url)
    parameters = dict(parts.options)
    if "unix_socket" not in parts.options:
        parameters |= {"host": parts.host or "localhost", "port": parts.port or _PORT}
    if parts.user:
        parameters["user"] = parts.user
    return Address(flavour.name, "url", parameters, secret=from_url(parts.password)), parts.path
