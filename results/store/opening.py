"""Opens a results database: a SQLite file, or a PostgreSQL URL.

A file is a SQLite database without a write-ahead log, so that a copy of the file is complete. Its only writer holds a
lock on the file itself; readers may come and go. A PostgreSQL database has many writers and needs no lock.
"""

import errno
import os
import sqlite3
import stat
import sys
from pathlib import Path
from typing import Final

from sqlalchemy import URL, Engine, QueuePool, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from keybench.errors import EnvironmentMissing, UsageError, shortened
from keybench.model import parsers, url
from keybench.results.store import tables
from keybench.results.store.storage import ANOTHER, Storage, full

_BUSY = 30.0
"""Seconds to wait while another process has the file locked."""
_UNUSED_BYTE: Final = 1 << 62
"""A byte that no file has and SQLite never locks."""


def open_storage(place: str, *, write: bool, create: bool = True) -> Storage:
    """Opens the file or URL; `Store.open` documents the errors."""
    if not url.is_url(place):
        if ":" in place.rpartition("@")[0] and not os.path.lexists(place):  # as in `user:password@host/database`
            raise UsageError(
                "--results: neither a file that exists nor a URL, and not shown, because it may hold a password: write "
                "a URL as postgresql://USER@HOST:PORT/DATABASE, special characters in user and password as %XX."
            )
        opened = _open_file(Path(place), write=write, create=create)
    else:
        opened = _open_postgresql(_url(place))
    try:
        opened.check()
        up_to_date = opened.prepare(write=write, create=create)
        if write:
            opened.leave_wal()
    except BaseException:
        opened.close()
        raise
    if up_to_date:
        return opened
    # a reader found older tables: a writer migrates them first
    opened.close()
    try:
        open_storage(place, write=True).close()
    except UsageError as error:
        raise UsageError(
            f"{opened.where} was written by an older keybench and must be updated first: {error}"
        ) from None
    return open_storage(place, write=False)


def _url(place: str) -> URL:
    """The URL for SQLAlchemy. Messages show the scheme alone: the rest may hold a piece of a password."""
    scheme = url.scheme(place)
    if scheme.partition("+")[0] not in ("postgresql", "postgres"):
        raise UsageError(
            f"--results {scheme or '…'}://…: results go into a file or into PostgreSQL: give a path, or postgresql://…."
        )
    parts = url.parse(place)
    if parts is None:
        raise UsageError(
            f"--results {scheme}://…: not a database URL; it has the form postgresql://USER@HOST:PORT/DATABASE, with "
            "special characters of a password written as %XX."
        )
    _check_options(parts)
    try:
        parsed = make_url(place)
    except (ArgumentError, ValueError):
        raise UsageError(f"--results {url.shown(place)}: several servers are not supported: give one.") from None
    password = parsed.query.get(url.PASSWORD)  # as in libpq, it replaces the one after the user
    return parsed.set(
        drivername="postgresql+psycopg", password=parsed.password if password is None else str(password)
    ).difference_update_query([url.PASSWORD])


_OPTIONS = frozenset(
    {"application_name", "connect_timeout", "dbname", "gssencmode", "host", "hostaddr", "options", "passfile", "port"}
    | {"require_auth", "service", "sslcert", "sslkey", "sslmode", "sslrootcert", "target_session_attrs", "user"}
)
"""The options of libpq that the URL of a results database may have, beside `password`."""


def _check_options(parts: url.Url) -> None:
    """UsageError for any other option: libpq's own message would show what may be a piece of a password."""
    names = [name for name, _ in parts.options]
    for place, name in enumerate(names):
        if name not in _OPTIONS and name != url.PASSWORD:
            # after a password with an unescaped `&`, the next option's name is the rest of it
            shown = "" if url.PASSWORD in names[:place] else f" {name}"
            raise UsageError(f"--results: unknown option{shown} of the URL. Known: {', '.join(sorted(_OPTIONS))}.")


def _open_postgresql(address: URL) -> Storage:
    """The database at the address; nothing is connected yet. Raises EnvironmentMissing without a driver."""
    # Without its options: a mistyped one may hold the password.
    where = address.set(drivername="postgresql", query={}).render_as_string(hide_password=True)
    try:
        engine = create_engine(address, pool_pre_ping=True, connect_args={"connect_timeout": 10})
    except (NoSuchModuleError, ImportError) as error:
        raise EnvironmentMissing(f"no PostgreSQL driver ({error}): pip install 'psycopg[binary]'.") from None
    except (ArgumentError, ValueError):  # SQLAlchemy reads some options itself
        raise UsageError(f"--results {where}: an option of the URL has a wrong value: a port is a number.") from None
    return Storage(engine, where, tables.POSTGRESQL_SCHEMA)


def _open_file(path: Path, *, write: bool, create: bool) -> Storage:
    """The file, locked if it is to be written. Raises the errors that `Store.open` documents."""
    try:
        status: os.stat_result | None = path.stat()
    except FileNotFoundError:
        status = None
    except (OSError, ValueError) as error:  # no right to look, a name that is too long, a NUL
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"{shortened(str(path))} cannot be opened ({reason}): {ANOTHER}.") from None
    if status and stat.S_ISDIR(status.st_mode):
        raise UsageError(f"{path} is a folder: {ANOTHER}.")
    if not status and not (write and create):
        raise UsageError(f"no results database {path}: measure with `keybench run`, or {ANOTHER}.")
    if status and not status.st_size and write and not create:  # SQLite would write its first page
        raise UsageError(f"{path} holds no results yet: measure with `keybench run`.")
    if not write:
        return Storage(_file_engine(path, write=False), str(path), schema=None)
    descriptor = _locked(path)
    return Storage(_file_engine(path, write=True), str(path), schema=None, close=lambda: os.close(descriptor))


def _file_engine(path: Path, *, write: bool) -> Engine:
    """SQLAlchemy's engine for the file."""
    # A reader, too, opens the file for writing if it may: it must roll back what a killed writer left unfinished.
    uri = f"{path.absolute().as_uri()}?mode=rw"

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(uri, uri=True, timeout=_BUSY, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA query_only = {'OFF' if write else 'ON'}")
        return connection

    # One connection stays open: where locks belong to the process (`_try_lock`), closing it would release the lock.
    engine = create_engine(
        "sqlite://",
        creator=connect,
        poolclass=QueuePool,
        pool_size=1,
        max_overflow=0,
        json_deserializer=parsers.from_json,
    )
    # sqlite3 begins transactions late, and does not begin one for CREATE TABLE, so they are begun here.
    event.listen(
        engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
    )
    return engine


def _locked(path: Path) -> int:
    """Locks the file, which is created if it is missing, and returns the descriptor that holds the lock. Raises
    UsageError if another run is writing, or the file is not writable."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except FileNotFoundError:
        raise UsageError(f"{path}: the folder {path.parent} does not exist: make it, or {ANOTHER}.") from None
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise full(str(path)) from None
        raise UsageError(f"{path} cannot be written ({error.strerror}): {ANOTHER}.") from None
    try:
        _try_lock(descriptor)
    except OSError:
        os.close(descriptor)
        raise UsageError(f"another run is writing to {path}: wait for it, or {ANOTHER}.") from None
    return descriptor


def _try_lock(descriptor: int) -> None:
    """Locks without waiting; OSError if another process has the lock.

    On Linux this lock is independent of the byte ranges that SQLite locks. Elsewhere both locks are of the same kind,
    so a byte that SQLite does not use is locked. We have never run this on macOS or Windows.
    """
    if sys.platform == "win32":
        import msvcrt

        os.lseek(descriptor, _UNUSED_BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        if sys.platform == "linux":
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _UNUSED_BYTE)
