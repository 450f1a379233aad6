"""For programs that use a layout and measure nothing: `new("uuid-v7")`, `timestamp`, `extract_shard`, `for_database`.

`new` is safe with threads (a process has one locked source for each layout), after a fork (a child starts new sources,
with its own process id and entropy), and when the clock steps back: layouts that are unique by their time see the
highest reading until the clock has passed it. The operating system gives the key of the AES entropy.

The sources are the only global state of this package.
"""

import os
import re
import sys
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from threading import Lock
from typing import Any, Final

import numpy as np

from keybench.errors import UsageError, unknown_name
from keybench.generators.core.clock import Clock, SystemClock, Ticks, as_datetime
from keybench.generators.core.entropy import AesEntropy, Entropy
from keybench.generators.core.layout import Layout, NothingToRead, Sharded, layout, layouts
from keybench.generators.core.process import Process
from keybench.model.keys import Bytes, Keys

Key = uuid.UUID | int | str | bytes
Source = Callable[[], Key]

AHEAD: Final = 256
"""Keys made ahead, where they do not hold the time of the call."""

_sources: Final[dict[tuple[str, int | None], Source]] = {}
_inherited: Final[set[tuple[str, int | None]]] = set()
"""Layouts with the worker numbers that the process which forked this one had used."""
_starting = Lock()


def new(name: str, *, worker: int | None = None, shard: int | None = None) -> Key:
    """A new key of that layout: uuid.UUID, int, str or bytes, by the layout's kind.

    `worker` is the number of this process, for layouts whose keys are not unique without one; no two processes may have
    the same number. Other layouts ignore it. `shard` is the shard in this key, for layouts whose keys hold one; without
    it, it is 0. `extract_shard` reads it from the key.
    Raises UsageError for an unknown name, for a worker number that is missing, too large, or another process's, and for
    a shard that does not fit or that keys of the layout do not hold.
    """
    key = (_sources.get((name, worker)) or _started(name, worker))()
    if shard is None:
        return key
    sharded = _sharded(name)
    if shard.bit_length() > 63:
        raise UsageError(f"shard {shard} does not fit {name} keys: choose a smaller one.")
    return objects(sharded.with_shards(_keys(key), np.array([shard], np.int64)))[0]


def extract_shard(key: uuid.UUID | str, name: str = "hotguid") -> int:
    """The shard in a key of that layout, such as `new(name, shard=7)` made. A key of another layout gives any number.

    Raises UsageError for an unknown name, for a layout whose keys hold no shard, and for a text that is no GUID.
    """
    sharded = _sharded(name)
    return int(sharded.shards(_keys(_guid(key)))[0])


def timestamp(key: Key, name: str) -> datetime:
    """The time in a key of that layout, in UTC, rounded down to the microsecond. GUIDs may also be text.

    Raises UsageError for an unknown name, for a key that is none of the layout, for layouts whose keys hold no time,
    and for years that datetime does not have.
    """
    known, ticks = layout(name), None
    keys = _keys(_guid(key) if known.kind == "uuid" and isinstance(key, str) else key)
    with suppress(NothingToRead):
        ticks = known.decode(keys).ticks
    if ticks is None:
        raise UsageError(f"{known.name} keys hold no time: name the layout that made the key.")
    return as_datetime(int(ticks[0]))


def _sharded(name: str) -> Sharded:
    known = layout(name)
    if isinstance(known, Sharded):
        return known
    names = ", ".join(sorted({each.name for each in layouts().values() if isinstance(each, Sharded)}))
    raise UsageError(f"{name} keys hold no shard: choose one of {names}.")


def _guid(key: uuid.UUID | str) -> uuid.UUID:
    try:
        return key if isinstance(key, uuid.UUID) else uuid.UUID(key)
    except ValueError:
        raise UsageError(f"{str(key)[:80]!r} is no GUID: a GUID has 32 hexadecimal digits.") from None


def _started(name: str, worker: int | None) -> Source:
    """The source for a layout and a worker number, started unless another thread has done so."""
    known = layout(name)
    process = _process(known, worker)
    with _starting:
        if (name, worker) not in _sources:
            _sources[name, worker] = source(known, process, SystemClock(), AesEntropy.system())
        return _sources[name, worker]


def _process(known: Layout, worker: int | None) -> Process:
    """This process for the layout; UsageError if its keys could not be unique."""
    name, description, process = known.name, known.description, Process.current()
    if description.uniqueness == "plan":
        raise UsageError(
            f"{name} keys are made of row numbers or names from a plan, and a single key has none: let the "
            f"database number the rows, or use a layout that needs no plan, such as uuid-v7."
        )
    if description.uniqueness in {"random", "process"}:
        return process
    if worker is None:
        raise UsageError(
            f"{name} keys of two processes on one machine can be equal: give each process a number of its own, as "
            f"in new({name!r}, worker=0)."
        )
    most = description.worker_ids or sys.maxsize
    if not 0 <= worker < most:
        raise UsageError(f"worker {worker} does not fit {name} keys: choose one from 0 to {most - 1}.")
    if (name, worker) in _inherited:
        raise UsageError(
            f"worker {worker} of {name} is the number of the process that forked this one: give this one another."
        )
    if description.uniqueness == "machine":
        return replace(process, machine=f"{process.machine}/{worker}")
    return replace(process, index=worker, of=most)


def source(known: Layout, process: Process, clock: Clock, entropy: Entropy) -> Source:
    """A source of single keys with any clock and entropy. Safe with threads; a fork must not share it."""
    if known.description.uniqueness != "random":
        clock = MonotonicClock(clock)
    stream = known.stream(process, clock, entropy)
    size = 1 if known.reads_clock == "each key" else AHEAD
    ready: list[Key] = []
    lock = Lock()

    def key() -> Key:
        with lock:
            if not ready:
                ready.extend(reversed(objects(stream.take(size))))
            return ready.pop()

    return key


def objects(keys: Keys) -> list[Key]:
    """A few keys as Python objects: uuid.UUID, int, str or bytes."""
    if keys.kind == "int":
        return list(keys.data.tolist())
    rows = [row.tobytes() for row in keys.data]
    if keys.kind == "uuid":
        return [uuid.UUID(bytes=row) for row in rows]
    return [row.decode("ascii") for row in rows] if keys.kind == "text" else list(rows)


def _keys(key: Key) -> Keys:
    """One key as an array: the reverse of `objects`."""
    if isinstance(key, int):
        if not -(1 << 63) <= key < 1 << 63:
            raise UsageError(
                f"{key} has more than 64 bits, so it is no key of any layout: give the key as it was made."
            )
        return Keys(np.array([key], np.int64), "int")
    if isinstance(key, uuid.UUID):
        return Keys(_row(key.bytes), "uuid")
    return Keys(_row(key.encode("ascii", "replace")), "text") if isinstance(key, str) else Keys(_row(key), "bytes")


def _row(data: bytes) -> Bytes:
    return np.frombuffer(data, np.uint8).reshape(1, -1)


class MonotonicClock(Clock):
    """A clock over another one that never goes back: while that one is behind, it shows the highest reading."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._highest = -(1 << 63), 0

    def read_fine(self, n: int) -> tuple[Ticks, Ticks]:
        """n readings, none below any before."""
        ticks, odd = (
            np.concatenate([[highest], read])
            for highest, read in zip(self._highest, self._clock.read_fine(n), strict=True)
        )
        highest = np.maximum.accumulate(ticks)
        # The odd nanoseconds go up within each tick. Nanoseconds since the year 1 would not fit 64 bits.
        steps = np.cumsum(np.diff(highest, prepend=highest[0]) != 0)
        odd = np.maximum.accumulate(steps << 7 | np.where(ticks == highest, odd, 0)) & 127
        self._highest = int(highest[-1]), int(odd[-1])
        return highest[1:], odd[1:]

    def now(self) -> int:
        """The clock's tick, or the highest reading."""
        return max(self._clock.now(), self._highest[0])


def _forget() -> None:
    """In a forked child: forgets the parent's sources, which must not be used again."""
    global _starting
    _inherited.update(_sources)
    _sources.clear()
    _starting = Lock()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_forget)


_JHTODD: Final = {
    "mssql": "jhtodd-end",
    "sqlserver": "jhtodd-end",
    "mysql": "jhtodd-string",
    "mariadb": "uuid-v7",
    "postgresql": "jhtodd-string",
    "postgres": "jhtodd-string",
    "oracle": "jhtodd-binary",
    "sqlite": "jhtodd-string",
}
"""The layout for each dialect: the milliseconds go where the database's usual column for GUIDs compares first.

This is the rule of the article on jhtodd's SequentialGuid. SQL Server sorts by the end, MySQL and PostgreSQL as the
text does, Oracle's RAW(16) by the bytes that .NET's clients bind, and so does SQLite with BinaryGUID=True in the URL.
MariaDB's uuid refuses a quarter of jhtodd's GUIDs and sorts version 7 as text.
"""

_BINARY_GUID: Final = re.compile(r"[?&;,]\s*binaryguid\s*=\s*(true|yes|on|1)\s*(?=[&;,#]|$)", re.IGNORECASE)

_DRIVERS: Final = {
    **dict.fromkeys(("sqlite3", "apsw"), "sqlite"),
    **dict.fromkeys(("psycopg", "psycopg2", "pg8000", "asyncpg"), "postgresql"),
    **dict.fromkeys(("pymysql", "MySQLdb", "mysql", "mariadb"), "mysql"),
    **dict.fromkeys(("oracledb", "cx_Oracle"), "oracle"),
    **dict.fromkeys(("mssql_python", "pymssql", "pytds"), "mssql"),
}
"""The dialect that a driver's package serves. Those of MySQL serve MariaDB too."""

_DBMS_NAME: Final = 17
"""SQL_DBMS_NAME of ODBC's SQLGetInfo."""


def for_database(database: object) -> Layout:
    """The layout for a database: a URL (SQLAlchemy's, as text or object, or JDBC's), a dialect's name, an engine,
    connection or session of SQLAlchemy, or a connection of a DB-API driver.

    `for_database("postgresql+psycopg://me@db/shop").name` is `jhtodd-string`. Raises UsageError for an unknown dialect
    or object; the message shows only the dialect or the object's class, never the rest of the URL.
    """
    text = _text_of(database).strip()
    dialect = re.split(r"[+:]", text.lower().removeprefix("jdbc:"), maxsplit=1)[0]
    if not re.fullmatch(r"[a-z][a-z0-9_-]*", dialect):
        raise UsageError(
            "name a database by a dialect, such as postgresql, or by a URL, such as postgresql://me@db/shop."
        )
    if dialect not in _JHTODD:
        raise unknown_name("dialect", dialect, _JHTODD)
    return layout("jhtodd-binary" if dialect == "sqlite" and _BINARY_GUID.search(text) else _JHTODD[dialect])


def _text_of(database: object) -> str:
    """A URL or a dialect's name."""
    packages = {cls.__module__.partition(".")[0] for cls in type(database).__mro__}
    if isinstance(database, str):
        return database
    if "sqlalchemy" in packages:
        return _of_sqlalchemy(database)
    if "pyodbc" in packages:
        name = str(database.getinfo(_DBMS_NAME)).casefold()  # type: ignore[attr-defined]
        return "mssql" if name == "microsoft sql server" else name
    for package in packages & set(_DRIVERS):
        dialect = _DRIVERS[package]
        return "mariadb" if dialect == "mysql" and _is_mariadb(database) else dialect
    cls = type(database)
    raise UsageError(
        f"{cls.__module__}.{cls.__qualname__} names no database that is known here: give a URL, a dialect such as "
        "postgresql, an engine of SQLAlchemy, or a connection of a DB-API driver."
    )


def _of_sqlalchemy(database: Any) -> str:
    """An engine, connection or session has a dialect; a pooled connection has the driver's; a URL is one."""
    if (driver := getattr(database, "driver_connection", None)) is not None:
        return _text_of(driver)
    if callable(bind := getattr(database, "get_bind", None)):
        return _of_sqlalchemy(bind())
    dialect = getattr(database, "dialect", None)
    if dialect is None:
        return str(database)
    if dialect.name == "mysql" and getattr(dialect, "is_mariadb", False):  # known from the first connection on
        return "mariadb"
    url = getattr(database, "url", None) or database.engine.url
    return str(url) if dialect.name == "sqlite" else str(dialect.name)


def _is_mariadb(connection: Any) -> bool:
    """By the version that the server sent when it was connected to: `11.8.2-MariaDB`."""
    version = getattr(connection, "server_info", None) or getattr(connection, "get_server_info", "")
    return "mariadb" in str(version() if callable(version) else version).casefold()
