"""Where a results database lies: opened, checked, locked against a second writer, its errors explained.

A file is SQLite without write-ahead log, so that a copy of it is complete. Its one writer holds a lock on the file
itself; readers come and go meanwhile. A PostgreSQL URL has many writers and needs no lock.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, QueuePool, create_engine, event, func, inspect, make_url, select
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, NoSuchModuleError
from sqlalchemy.schema import CreateSchema

import keybench
from keybench.errors import EnvironmentMissing, KeybenchError, UsageError
from keybench.results.store import migrations, tables

_ANOTHER = "give --results another file"
_BUSY_SECONDS = 30.0
_FAR = 1 << 62
"""A byte that no file has and SQLite never locks."""

_ADVISORY = 0x6B657962


class Storage:
    """An open results database; `where` names it in messages, without a password."""

    def __init__(self, engine: Engine, where: str, schema: str | None, close: Callable[[], None]) -> None:
        self._engine = engine.execution_options(schema_translate_map={None: schema})
        self._close = close
        self._schema = schema
        self.where = where

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """One transaction; what the database refuses is a KeybenchError and leaves nothing behind.

        IntegrityError passes through.
        """
        try:
            with self._engine.begin() as connection:
                yield connection
        except IntegrityError:  # a caller's mistake, not the database's state
            raise
        except DBAPIError as error:
            raise _explained(error, self.where) from None

    def leave_wal(self) -> None:
        """Takes a SQLite file out of write-ahead mode, in which somebody's tool may have left it."""
        if self._schema is None:
            with self._engine.connect() as connection:
                connection.exec_driver_sql("COMMIT")
                connection.exec_driver_sql("PRAGMA journal_mode = DELETE")
                connection.exec_driver_sql("BEGIN")

    def close(self) -> None:
        """Closes the connections, then gives up the lock; harmless when called twice."""
        self._engine.dispose()
        self._close, close = _nothing, self._close
        close()

    def prepare(self, *, write: bool) -> bool:
        """Checks the version; with `write` makes the tables where there are none and migrates older ones.

        False where a reader found an older version, which a writer has to migrate first. Raises UsageError where the
        database is somebody else's, empty for a reader, or of a newer keybench.
        """
        with self.transaction() as connection:
            if write and self._schema is not None:
                connection.execute(select(func.pg_advisory_xact_lock(_ADVISORY)))
                connection.execute(CreateSchema(self._schema, if_not_exists=True))
            names = inspect(connection).get_table_names(schema=self._schema)
            if not names and write:
                tables.metadata.create_all(connection)
                self._note(connection, "schema", str(migrations.SCHEMA_VERSION))
            elif not names:
                raise UsageError(f"{self.where} holds no results yet: measure with `keybench run`.")
            elif not {"meta", "run", "trial"} <= set(names):
                raise self._foreign()
            found = self._version(connection)
            if found > migrations.SCHEMA_VERSION:
                raise UsageError(
                    f"{self.where} has schema version {found}, keybench {keybench.__version__} knows versions up to "
                    f"{migrations.SCHEMA_VERSION}: update keybench, or {_ANOTHER}."
                )
            if write:
                self._migrate(connection, found)
                self._note(connection, "schema", str(migrations.SCHEMA_VERSION))
                self._note(connection, "writer", str(os.getpid()))
        return write or found == migrations.SCHEMA_VERSION

    def _migrate(self, connection: Connection, version: int) -> None:
        try:
            for migrate in migrations.MIGRATIONS[version - 1 :]:
                migrate(connection)
        except ValueError as error:
            raise UsageError(f"{self.where} cannot be updated ({error}): {_ANOTHER}.") from None

    def _version(self, connection: Connection) -> int:
        found = self.noted(connection, "schema")
        if found is None or not found.isdecimal() or int(found) < 1:
            raise self._foreign()
        return int(found)

    def _foreign(self) -> UsageError:
        return UsageError(f"{self.where} is a database, but not one of keybench's results: {_ANOTHER}.")

    def _note(self, connection: Connection, key: str, value: str) -> None:
        connection.execute(tables.meta.delete().where(tables.meta.c.key == key))
        connection.execute(tables.meta.insert().values(key=key, value=value))

    def noted(self, connection: Connection, key: str) -> str | None:
        """One value of the meta table."""
        return connection.execute(select(tables.meta.c.value).where(tables.meta.c.key == key)).scalar()


def _nothing() -> None:
    """What a reader gives up."""


def open_storage(place: str, *, write: bool) -> Storage:
    """Opens the file or URL; `Store.open` documents what can go wrong."""
    if "://" not in place:
        opened = _open_file(Path(place), write=write)
    else:
        url = _url(place)
        if url.get_backend_name() == "sqlite":
            opened = _open_file(_sqlite_path(url), write=write)
        else:
            opened = _open_postgresql(url)
    try:
        current = opened.prepare(write=write)
        if write:
            opened.leave_wal()
    except BaseException:
        opened.close()
        raise
    if current:
        return opened
    opened.close()
    try:
        open_storage(place, write=True).close()
    except UsageError as error:
        raise UsageError(f"{opened.where} is of an older keybench and has to be updated first: {error}") from None
    return open_storage(place, write=False)


def _url(place: str) -> URL:
    scheme = place.partition("://")[0]
    driver = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}.get(
        scheme.partition("+")[0]
    )
    if driver is None:
        raise UsageError(f"--results {scheme}://…: results go into a file or into PostgreSQL: give one of these.")
    try:
        return make_url(place).set(drivername=driver)
    except (ArgumentError, ValueError):  # their messages may hold a piece of the password
        raise UsageError(
            f"--results {scheme}://…: not a database URL; it has the form postgresql://USER@HOST:PORT/DATABASE, "
            "with special characters of a password written as %XX."
        ) from None


def _sqlite_path(url: URL) -> Path:
    if not url.database or url.database == ":memory:" or url.query:
        raise UsageError("--results sqlite://…: give the path of a file, as in --results results.sqlite.")
    return Path(url.database)


def _open_postgresql(url: URL) -> Storage:
    try:
        engine = create_engine(url, pool_pre_ping=True, connect_args={"connect_timeout": 10})
    except (NoSuchModuleError, ImportError) as error:
        raise EnvironmentMissing(f"no PostgreSQL driver ({error}): pip install 'psycopg[binary]'.") from None
    where = url.set(drivername="postgresql").render_as_string(hide_password=True)
    return Storage(engine, where, tables.POSTGRESQL_SCHEMA, _nothing)


def _open_file(path: Path, *, write: bool) -> Storage:
    if path.is_dir():
        raise UsageError(f"{path} is a folder: {_ANOTHER}.")
    if not write:
        if not path.exists():
            raise UsageError(f"no results database {path}: measure with `keybench run`, or {_ANOTHER}.")
        return Storage(_file_engine(path, write=False), str(path), None, _nothing)
    lock = _lock(path)
    return Storage(_file_engine(path, write=True), str(path), None, lambda: os.close(lock))


def _file_engine(path: Path, *, write: bool, busy: float = _BUSY_SECONDS) -> Engine:
    # A reader opens for writing too, where it may: else it could not undo what a killed writer left half done.
    uri = f"{path.absolute().as_uri()}?mode=rw"

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(uri, uri=True, timeout=busy, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA query_only = {'OFF' if write else 'ON'}")
        return connection

    # One connection, kept: where locks belong to the process (_lock), closing one would give up the lock.
    engine = create_engine("sqlite://", creator=connect, poolclass=QueuePool, pool_size=1, max_overflow=0)
    # sqlite3 begins transactions late and not at all for CREATE TABLE: begin them here.
    event.listen(
        engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
    )
    return engine


def _lock(path: Path) -> int:
    """Creates the file where it is missing and locks it against other writers; the descriptor that holds the lock."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except FileNotFoundError:
        raise UsageError(f"{path}: the folder {path.parent} does not exist: make it, or {_ANOTHER}.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror}): {_ANOTHER}.") from None
    try:
        _try_lock(descriptor)
    except OSError:
        os.close(descriptor)
        by = _writer(path)
        raise UsageError(
            f"another run is writing to {path}{f' (process {by})' if by else ''}: wait for it, or {_ANOTHER}."
        ) from None
    return descriptor


def _try_lock(descriptor: int) -> None:
    """Never waits; OSError where another process has it.

    On Linux the lock is apart from the byte ranges that SQLite locks. Elsewhere both are of one kind, so there it is
    one byte that SQLite leaves alone (never run by us on macOS and Windows).
    """
    if sys.platform == "win32":
        import msvcrt

        os.lseek(descriptor, _FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        if sys.platform == "linux":
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _FAR)


def _writer(path: Path) -> str | None:
    """The process that holds the lock, as it has noted itself."""
    engine = _file_engine(path, write=False, busy=1.0)
    opened = Storage(engine, str(path), None, _nothing)
    try:
        with suppress(KeybenchError), opened.transaction() as connection:
            return opened.noted(connection, "writer")
    finally:
        opened.close()
    return None


def _explained(error: DBAPIError, where: str) -> KeybenchError:
    """The user's error for what a database refused; never holds SQL, parameters or a password."""
    cause: Any = error.orig
    name = getattr(cause, "sqlite_errorname", "") or ""
    state = getattr(cause, "sqlstate", "") or ""
    reason = (str(cause).splitlines() or ["unknown"])[0]
    if name.startswith("SQLITE_FULL") or state == "53100":
        return EnvironmentMissing(
            f"the disk of {where} is full; what was recorded before is safe: free some space, then go on with --resume."
        )
    if name in {"SQLITE_NOTADB", "SQLITE_CORRUPT"} or name.startswith("SQLITE_CORRUPT_"):
        return UsageError(f"{where} is no results database or is damaged ({reason}); it was left as it is: {_ANOTHER}.")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return EnvironmentMissing(f"{where} is in use by another program: close that, then go on with --resume.")
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return UsageError(f"{where} or its folder cannot be written ({reason}): {_ANOTHER}.")
    if name.startswith("SQLITE_IOERR"):
        return EnvironmentMissing(f"{where} cannot be read or written ({reason}): check its disk, then try again.")
    if not name and (error.connection_invalidated or not state or state.startswith(("08", "28", "57P"))):
        return EnvironmentMissing(
            f"the results database {where} does not answer ({reason}): check the URL and the server."
        )
    return UsageError(f"the results database {where} refused ({reason}): check the user's rights, or {_ANOTHER}.")
