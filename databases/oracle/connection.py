"""Connections to a server by its address, and the server's errors as keybench's own.

python-oracledb's thin mode needs no client libraries.
"""

import importlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing
from threading import Thread
from typing import Any

from keybench.databases.contract.roles import Address
from keybench.databases.core.dbapi import DbApiConnection
from keybench.databases.hosting.url_server import unreachable
from keybench.errors import EnvironmentMissing

LOGIN_SECONDS = 5.0
MISSING = "Oracle needs the Python package oracledb: pip install 'keybench[oracle]'."


class OracleConnection(DbApiConnection):
    """A connection on which only `commit` commits."""

    title = "Oracle"
    ping = "SELECT 1 FROM dual"
    full = ("ora-01653", "ora-01654", "ora-01688", "ora-01536", "ora-12954", "ora-30036")
    """No extent for a table or an index, quota, the 12 GB of Oracle Free, undo."""
    when_full = "Make room on the server's disk, or let the tablespace grow, or use fewer --rows."

    def __init__(self, raw: Any, module: Any) -> None:
        super().__init__(raw, module.Error)
        self.module = module

    def limit(self, seconds: float) -> None:
        """Lets no call to the server wait longer."""
        self.raw.call_timeout = round(1000 * seconds)  # milliseconds

    @staticmethod
    def error_text(error: BaseException) -> str:
        """The message of a driver's error, on one line, without the address of its help page."""
        lines = [line for line in str(error).splitlines() if not line.startswith("Help: ")]
        return " ".join(" ".join(lines).split()).rstrip(".") or type(error).__name__

    def cursor(self) -> Any:
        """A cursor that fetches many rows at a time."""
        cursor = self.raw.cursor()
        cursor.arraysize = 10_000
        return cursor

    def pieces(self, statement: str) -> Iterator[list[tuple[Any, ...]]]:
        """The rows of a query, up to 50,000 at a time."""
        with self.errors(), closing(self.cursor()) as cursor:
            cursor.execute(statement)
            while rows := cursor.fetchmany(5 * cursor.arraysize):
                yield rows

    def many(self, cursor: Any, statement: str, rows: Sequence[Sequence[object]], types: Sequence[object]) -> int:
        """Executes the statement for each row in one call; `types` are its parameters' types. Returns rows changed."""
        with self.errors():
            cursor.setinputsizes(*types)
            cursor.executemany(statement, rows)
            return int(cursor.rowcount)


def place(address: Address) -> str:
    """Where the server is, for messages: no user, no password."""
    host, port = address.parameters.get("host", "localhost"), address.parameters.get("port", "1521")
    return f"{host}:{port}/{address.parameters.get('service', 'FREEPDB1')}"


def driver() -> Any:
    """The driver's module; EnvironmentMissing where it is not installed."""
    try:
        return importlib.import_module("oracledb")
    except ImportError:
        raise EnvironmentMissing(MISSING) from None


def connect(address: Address, service: str = "", *, administer: bool = False) -> OracleConnection:
    """A connection, within LOGIN_SECONDS; `administer` as SYSDBA. EnvironmentMissing where the driver is missing or a
    URL's server cannot be reached, else ServerError."""
    module, parameters = driver(), address.parameters
    try:
        raw = _answer_in_time(
            module.connect,
            user=parameters.get("user"),
            password=address.secret.reveal() if address.secret else None,
            host=parameters.get("host", "localhost"),
            port=int(parameters.get("port", "1521")),
            service_name=service or parameters.get("service", "FREEPDB1"),
            tcp_connect_timeout=LOGIN_SECONDS,
            retry_count=0,
            program="keybench",
            mode=module.AUTH_MODE_SYSDBA if administer else module.AUTH_MODE_DEFAULT,
        )
    except (module.Error, OSError) as error:
        reason, to_check = OracleConnection.error_text(error), "host, port, service, user and password"
        raise unreachable(address, "Oracle", place(address), reason, to_check) from None
    return OracleConnection(raw, module)


def _answer_in_time(connect: Callable[..., Any], **parameters: Any) -> Any:
    """The new connection; TimeoutError if it takes longer than LOGIN_SECONDS, and it is closed if it comes later. The
    driver's own timeout covers only the TCP connection: it would wait for ever for a server that stays silent."""
    answer: Future[Any] = Future()

    def log_in() -> None:
        """Connects, in a thread of its own, and hands the connection or the error over."""
        try:
            answer.set_result(connect(**parameters))
        except BaseException as error:
            answer.set_exception(error)

    Thread(target=log_in, name="keybench-login", daemon=True).start()
    try:
        return answer.result(LOGIN_SECONDS)
    except TimeoutError:
        answer.add_done_callback(lambda late: None if late.exception() else late.result().close())
        raise TimeoutError(f"no answer within {LOGIN_SECONDS:g} s") from None
