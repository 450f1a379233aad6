"""Opens a results database: a SQLite file, or a PostgreSQL URL.

A file is a SQLite database without a write-ahead log, so that a copy of the file is complete. Its only writer holds a
lock on the file itself; readers may come and go. A PostgreSQL database has many writers and needs no lock.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path

from sqlalchemy import URL, Engine, QueuePool, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from keybench.errors import EnvironmentMissing, KeybenchError, UsageError
from keybench.results.store import tables
from keybench.results.store.error_texts import ANOTHER
from keybench.results.store.locking import lock
from keybench.results.store.storage import Storage, do_nothing

_BUSY_SECONDS = 30.0


def open_storage(place: str, *, write: bool) -> Storage:
    """Opens the file or URL; `Store.open` documents the errors."""
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
        raise UsageError(
            f"{opened.where} was written by an older keybench and must be updated first: {error}"
        ) from None
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
    return Storage(engine, where, tables.POSTGRESQL_SCHEMA, do_nothing)


def _open_file(path: Path, *, write: bool) -> Storage:
    if path.is_dir():
        raise UsageError(f"{path} is a folder: {ANOTHER}.")
    if not write:
        if not path.exists():
            raise UsageError(f"no results database {path}: measure with `keybench run`, or {ANOTHER}.")
        return Storage(_file_engine(path, write=False), str(path), None, do_nothing)
    descriptor = _locked(path)
    return Storage(_file_engine(path, write=True), str(path), None, lambda: os.close(descriptor))


def _file_engine(path: Path, *, write: bool, busy: float = _BUSY_SECONDS) -> Engine:
    # A reader, too, opens the file for writing if it may: it must roll back what a killed writer left unfinished.
    uri = f"{path.absolute().as_uri()}?mode=rw"

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(uri, uri=True, timeout=busy, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA query_only = {'OFF' if write else 'ON'}")
        return connection

    # One connection stays open: where locks belong to the process (`locking`), closing it would release the lock.
    engine = create_engine("sqlite://", creator=connect, poolclass=QueuePool, pool_size=1, max_overflow=0)
    # sqlite3 begins transactions late, and does not begin one for CREATE TABLE, so they are begun here.
    event.listen(
        engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
    )
    return engine


def _locked(path: Path) -> int:
    """The descriptor that holds the file's lock; UsageError if another run is writing or the file is not writable."""
    try:
        descriptor = lock(path)
    except FileNotFoundError:
        raise UsageError(f"{path}: the folder {path.parent} does not exist: make it, or {ANOTHER}.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror}): {ANOTHER}.") from None
    if descriptor is None:
        by = _writer(path)
        raise UsageError(
            f"another run is writing to {path}{f' (process {by})' if by else ''}: wait for it, or {ANOTHER}."
        )
    return descriptor


def _writer(path: Path) -> str | None:
    """The process that holds the lock, as it recorded itself."""
    engine = _file_engine(path, write=False, busy=1.0)
    opened = Storage(engine, str(path), None, do_nothing)
    try:
        with suppress(KeybenchError), opened.transaction() as connection:
            return opened.noted(connection, "writer")
    finally:
        opened.close()
    return None
