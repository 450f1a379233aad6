"""Connections to a server by its address, and the server's errors as keybench's own."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pymysql
from pymysql.constants import COMMAND
from pymysql.protocol import OKPacketWrapper

from keybench.databases.contract import Address
from keybench.databases.hosting.full_disk import with_next_step
from keybench.databases.mysql.flavour import MARIADB, flavour, require, spoken
from keybench.databases.mysql.sending import arrays
from keybench.errors import EnvironmentMissing, KeybenchError, ServerError

CONNECT_SECONDS = 5
_PACKET_BYTES = (1 << 24) - 2
"""The protocol's longest packet that is not the first part of a longer one."""

_HANDSHAKE_BYTES = 32
"""Of what a client answers to the greeting at least: abilities, longest packet, character set, reserved bytes."""

OWN = frozenset({"data", "container"})
"""Parameters of an address that are not the driver's: a private server's data directory, or its container."""


class Connection(pymysql.Connection):  # type: ignore[misc]  # the driver comes without types
    """The driver's connection, and two ways to send rows that it lacks: LOAD DATA from memory, arrays of values."""

    _read_timeout: float | None
    _logged_in = False

    def reach(self) -> None:
        """Connects. The driver itself would leave the socket open where nothing answers, and wait for ever where what
        answers says nothing."""
        own = None
        if self.unix_socket:
            own = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                own.settimeout(CONNECT_SECONDS)
                own.connect(self.unix_socket)
            except BaseException:
                own.close()
                raise
            self._secure = True  # nobody listens in: passwords may go as they do over TLS
        self._read_timeout = CONNECT_SECONDS
        self.connect(own)
        self._read_timeout = None
        self._logged_in = True

    def write_packet(self, payload: bytes) -> None:
        """Sends a packet; the first ones, with which the driver logs in, tell MariaDB that arrays may come."""
        if not self._logged_in and len(payload) >= _HANDSHAKE_BYTES and spoken(self.server_version) is MARIADB:
            payload = arrays.announced(payload)
        super().write_packet(payload)

    def statement(self, text: bytes) -> bytes:
        """The number, as the protocol writes it, of a statement made ready for `run_arrays`."""
        self._execute_command(arrays.COM_STMT_PREPARE, text)
        made = self._read_packet().get_all_data()
        columns, places = struct.unpack_from("<HH", made, 5)
        for count in (places, columns):
            for _ in range(count + 1 if count else 0):  # what they are, then an end
                self._read_packet()
        return bytes(made[1:5])

    def run_arrays(self, statement: bytes, packet: bytes) -> int:
        """Runs a statement once for each row of values; how many it stored."""
        self._execute_command(arrays.COM_STMT_BULK_EXECUTE, statement + packet)
        return int(OKPacketWrapper(self._read_packet()).affected_rows)

    def load(self, statement: bytes, rows: bytes) -> int:
        """Runs a LOAD DATA LOCAL statement on these bytes; the rows that it stored.

        The server asks for the file that the statement names; what is sent is `rows`, in as few packets as can be. With
        LOCAL it skips or changes what it cannot store and only warns: the first warning is raised here.
        """
        self._execute_command(COMMAND.COM_QUERY, statement)
        asked = self._read_packet()
        if not asked.is_load_local_packet():
            raise pymysql.err.InternalError(0, "the server did not ask for the rows of LOAD DATA LOCAL")
        for at in range(0, len(rows), _PACKET_BYTES):
            self.write_packet(rows[at : at + _PACKET_BYTES])
        self.write_packet(b"")
        done = OKPacketWrapper(self._read_packet())
        if done.warning_count:
            with self.cursor() as cursor:
                cursor.execute("SHOW WARNINGS LIMIT 1")
                raise pymysql.err.DataError(*cursor.fetchone()[1:])
        return int(done.affected_rows)

    def run(self, statement: bytes | str) -> int:
        """Runs a statement; the rows that it read or changed."""
        return int(self.query(statement))


def place(address: Address) -> str:
    """Where the server is, for messages: no user, no password."""
    given = address.parameters
    return given.get("unix_socket") or f"{given.get('host', 'localhost')}:{given.get('port', '3306')}"


def said(error: Exception) -> str:
    """The message of a driver's error, on one line."""
    return " ".join(str(error.args[-1] if error.args else "").split()) or type(error).__name__


@contextmanager
def server_errors(title: str) -> Iterator[None]:
    """Turns the driver's errors into ServerError with the server's message."""
    try:
        yield
    except (pymysql.Error, OSError) as error:
        reason = said(error)
    else:
        return
    raise ServerError(f"{title}: {with_next_step(reason)}")


def _unreachable(address: Address, reason: str) -> KeybenchError:
    title = flavour(address.engine).title
    secret = address.secret.reveal() if address.secret else ""
    shown = reason.replace(secret, "***") if secret else reason
    if address.server != "url":
        return ServerError(f"the private {title} server does not answer: {shown}")
    return EnvironmentMissing(
        f"{title} at {place(address)} cannot be reached: {shown}\n"
        "Check host, port, user and password in the URL, and that the server is up."
    )


def connect(address: Address) -> Connection:
    """A connection in autocommit. EnvironmentMissing where a URL's server cannot be reached or is the other flavour,
    else ServerError."""
    given: dict[str, Any] = {name: value for name, value in address.parameters.items() if name not in OWN}
    if "port" in given:
        given["port"] = int(given["port"])
    if "data" in address.parameters:
        given["ssl_disabled"] = True  # a private server's own socket; reading the system's certificates takes 20 ms
    of = flavour(address.engine)
    try:
        connection = Connection(
            **given,
            defer_connect=True,
            password=address.secret.reveal() if address.secret else "",
            charset="utf8mb4",
            autocommit=True,
            local_infile=True,
            connect_timeout=CONNECT_SECONDS,
            program_name="keybench",
        )
        connection.reach()
    except (pymysql.Error, OSError, RuntimeError) as error:  # RuntimeError: a kind of login that needs more packages
        problem = _unreachable(address, said(error))
    else:
        try:
            require(of, connection.get_server_info())
            with server_errors(of.title):
                for statement in of.session:
                    connection.run(statement)
        except BaseException:
            connection.close()
            raise
        return connection
    raise problem
