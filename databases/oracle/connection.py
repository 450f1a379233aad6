"""Connections to a server by its address, and the server's errors as keybench's own.

python-oracledb's thin mode needs no client libraries.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from keybench.databases.contract.roles import Address
from keybench.databases.hosting.unreachable import unreachable
from keybench.errors import EnvironmentMissing, ServerError

LOGIN_SECONDS = 5.0

_LOGIN = "keybench-login"

FULL = " Make room on the server's disk, or let the tablespace grow, or use fewer --rows."
_FULL = ("ORA-01653", "ORA-01654", "ORA-01688", "ORA-01536", "ORA-12954", "ORA-30036")
"""No extent for a table or an index, quota, the 12 GB of Oracle Free, undo."""


class Connection:
    """A DB-API connection; only `commit` and `load` commit."""

    def __init__(self, raw: Any, module: Any) -> None:
        self.raw = raw
        self.module = module

    def rows(self, statement: str, values: Mapping[str, object] | None = None) -> list[tuple[Any, ...]]:
        """The rows of a query; ServerError with the server's message where it refuses."""
        with self.errors(), self.raw.cursor() as cursor:
            cursor.arraysize = 10_000
            cursor.execute(statement, dict(values or {}))
            return list(cursor.fetchall()) if cursor.description else []

    def value(self, statement: str, values: Mapping[str, object] | None = None) -> Any:
        """The one value of a query."""
        return self.rows(statement, values)[0][0]

    def pieces(self, statement: str, size: int) -> Iterator[list[tuple[Any, ...]]]:
        """The rows of a query, `size` at a time."""
        with self.errors(), self.raw.cursor() as cursor:
            cursor.arraysize = size
            cursor.execute(statement, {})
            while rows := cursor.fetchmany(size):
                yield rows

    def run(self, statement: str, values: Mapping[str, object] | None = None) -> int:
        """Runs a statement; the rows that it changed."""
        with self.errors(), self.raw.cursor() as cursor:
            cursor.execute(statement, dict(values or {}))
            return int(cursor.rowcount)

    def many(self, cursor: Any, statement: str, rows: Sequence[Sequence[object]], sizes: Sequence[object]) -> int:
        """Executes the statement once a row, in order, in one call; the rows changed in total."""
        with self.errors():
            cursor.setinputsizes(*sizes)
            cursor.executemany(statement, rows)
            return int(cursor.rowcount)

    def load(self, schema: str, table: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Loads the rows by direct path and commits, or loads none. As in SQL, unquoted names become upper case."""
        with self.errors():
            self.raw.direct_path_load(schema, table, list(columns), rows)

    def commit(self) -> None:
        """Commits."""
        with self.errors():
            self.raw.commit()

    def rollback(self) -> None:
        """Undoes the transaction; harmless where the server has ended the connection."""
        try:
            self.raw.rollback()
        except self.module.Error:
            return

    def close(self) -> None:
        """Closes it; harmless where the server has ended it."""
        try:
            self.raw.close()
        except self.module.Error:
            return

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turns the driver's errors into ServerError with the server's message."""
        try:
            yield
        except self.module.Error as error:
            reason = error_text(error).rstrip(".")
        else:
            return
        raise ServerError(f"Oracle: {reason}{FULL if any(sign in reason for sign in _FULL) else ''}")


def place(address: Address) -> str:
    """Where the server is, for messages: no user, no password."""
    given = address.parameters
    return f"{given.get('host', 'localhost')}:{given.get('port', '1521')}/{given.get('service', 'FREEPDB1')}"


def error_text(error: BaseException) -> str:
    """The message of a driver's error, on one line, without the address of its help page."""
    lines = [line for line in str(error).splitlines() if not line.startswith("Help: ")]
    return " ".join(" ".join(lines).split()) or type(error).__name__


def driver() -> Any:
    """The driver's module; EnvironmentMissing where it is not installed."""
    try:
        return importlib.import_module("oracledb")
    except ImportError:
        raise EnvironmentMissing(missing()) from None


def missing() -> str:
    """The message where the driver is not installed."""
    return "Oracle needs the Python package oracledb: pip install 'keybench[oracle]'."


def connect(address: Address, service: str = "", *, administer: bool = False) -> Connection:
    """A connection, within LOGIN_SECONDS even where the server accepts and stays silent; `administer` as SYSDBA.

    EnvironmentMissing where the driver is missing or a URL's server cannot be reached, else ServerError.
    """
    module, given = driver(), address.parameters
    try:
        raw = _within(
            LOGIN_SECONDS,
            lambda: module.connect(
                user=given.get("user"),
                password=address.secret.reveal() if address.secret else None,
                host=given.get("host", "localhost"),
                port=int(given.get("port", "1521")),
                service_name=service or given.get("service", "FREEPDB1"),
                tcp_connect_timeout=LOGIN_SECONDS,
                retry_count=0,
                program="keybench",
                mode=module.AUTH_MODE_SYSDBA if administer else module.AUTH_MODE_DEFAULT,
            ),
        )
    except (module.Error, OSError) as error:
        to_check = "host, port, service, user and password"
        problem = unreachable(address, "Oracle", place(address), error_text(error), to_check)
    else:
        return Connection(raw, module)
    raise problem


def _within(seconds: float, call: Callable[[], Any]) -> Any:
    """The result of the call; TimeoutError where it takes longer. A connection that comes too late is closed.

    The driver's own timeout covers only the TCP connection: it would wait for ever for a server that stays silent.
    """
    opened: list[Any] = []
    failed: list[Exception] = []
    late = Event()

    def run() -> None:
        try:
            made = call()
        except Exception as error:
            failed.append(error)
            return
        if late.is_set():
            made.close()
        else:
            opened.append(made)

    thread = Thread(target=run, name=_LOGIN, daemon=True)
    thread.start()
    thread.join(seconds)
    if failed:
        raise failed[0]
    if not opened:
        late.set()
        raise TimeoutError(f"no answer within {seconds:g} s")
    return opened[0]
