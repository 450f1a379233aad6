"""The layer below the records of an open results database: transactions, the schema version, migrations, and what is
said of a database that refuses or is damaged."""

import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy import Connection, Engine, func, inspect, select
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError
from sqlalchemy.schema import CreateSchema

import keybench
from keybench.errors import EnvironmentMissing, KeybenchError, UsageError
from keybench.results.store import tables

ANOTHER: Final = "give --results another file"

DAMAGE: Final = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, zlib.error, SQLAlchemyError)
"""What reading damaged values raises. RecursionError and MemoryError are turned into ValueError by the parsers."""

_ADVISORY_LOCK: Final = 0x6B657962
"""Held while a writer creates or migrates the tables of a PostgreSQL database."""


class Storage:
    """An open results database; `where` names it in messages, without a password."""

    def __init__(self, engine: Engine, where: str, schema: str | None, close: Callable[[], None] | None = None) -> None:
        """`schema` is that of PostgreSQL's tables, None for a file; `close` releases the lock of a writer."""
        self._engine = engine.execution_options(schema_translate_map={None: schema})
        self._close = close
        self._schema = schema
        self.where = where

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """One transaction. If the database refuses, a KeybenchError is raised and nothing changes. IntegrityError
        passes through: it is the caller's mistake and says nothing about the database's state."""
        try:
            with self._engine.begin() as connection:
                yield connection
        except IntegrityError:
            raise
        except DBAPIError as error:
            raise _explained(error, self.where) from None
        except UnicodeDecodeError as error:  # SQLite's own message holds a damaged name
            raise damaged(self.where, "a part of it", f"a name in it is no text: {error.reason}") from None

    def check(self) -> None:
        """Raises UsageError if the pages of a SQLite file do not fit together: to read such a file may never end."""
        if self._schema is None:
            with self.transaction() as connection:
                # its first line may name the database alone
                verdict = str(connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()).splitlines()[-1]
            if verdict != "ok":
                raise damaged(self.where, "a part of it", verdict)

    def leave_wal(self) -> None:
        """Takes a SQLite file out of write-ahead mode, in which another tool may have left it."""
        if self._schema is None:
            with self._engine.connect() as connection:
                # The mode cannot change inside the transaction that the engine begins, and ends after this block.
                connection.exec_driver_sql("COMMIT")
                connection.exec_driver_sql("PRAGMA journal_mode = DELETE")
                connection.exec_driver_sql("BEGIN")

    def close(self) -> None:
        """Closes the connections, then releases the lock; may be called twice."""
        self._engine.dispose()
        close, self._close = self._close, None
        if close is not None:
            close()

    def prepare(self, *, write: bool, create: bool = True) -> bool:
        """Checks the version; with `write`, migrates older tables, and with `create` too, creates missing ones.

        Returns False if a reader opened an older version, which a writer must migrate first. Raises UsageError if the
        database holds other tables, is empty for a reader, or was written by a newer keybench.
        """
        with self.transaction() as connection:
            if write and create and self._schema is not None:
                connection.execute(select(func.pg_advisory_xact_lock(_ADVISORY_LOCK)))
                connection.execute(CreateSchema(self._schema, if_not_exists=True))
            names = inspect(connection).get_table_names(schema=self._schema)
            if not names and write and create:
                tables.metadata.create_all(connection)
                self._note(connection, "schema", str(tables.SCHEMA_VERSION))
            elif not names:
                raise UsageError(f"{self.where} holds no results yet: measure with `keybench run`.")
            elif not {"meta", "run", "trial"} <= set(names):
                raise self._foreign()
            version = self._version(connection)
            if version > tables.SCHEMA_VERSION:
                raise UsageError(
                    f"{self.where} has schema version {version}, keybench {keybench.__version__} knows versions up to "
                    f"{tables.SCHEMA_VERSION}: update keybench, or {ANOTHER}."
                )
            if write:
                self._migrate(connection, version)
                self._note(connection, "schema", str(tables.SCHEMA_VERSION))
        return write or version == tables.SCHEMA_VERSION

    def _migrate(self, connection: Connection, version: int) -> None:
        """Brings tables of that version up to the newest. Raises UsageError if their content does not allow it."""
        try:
            for migrate in tables.MIGRATIONS[version - 1 :]:
                migrate(connection)
        except ValueError as error:
            raise UsageError(f"{self.where} cannot be updated ({error}): {ANOTHER}.") from None

    def _version(self, connection: Connection) -> int:
        """The version of the stored tables. Raises UsageError if they are not keybench's."""
        text = connection.execute(select(tables.meta.c.value).where(tables.meta.c.key == "schema")).scalar()
        if not isinstance(text, str) or not text.isdecimal() or len(text) > 9 or int(text) < 1:
            raise self._foreign()
        return int(text)

    def _foreign(self) -> UsageError:
        return UsageError(f"{self.where} is a database, but it does not hold keybench results: {ANOTHER}.")

    def _note(self, connection: Connection, key: str, value: str) -> None:
        """Sets one value of the meta table."""
        connection.execute(tables.meta.delete().where(tables.meta.c.key == key))
        connection.execute(tables.meta.insert().values(key=key, value=value))


def full(where: str) -> EnvironmentMissing:
    """The error for a disk that takes no more bytes."""
    return EnvironmentMissing(
        f"the disk of {where} is full; what was recorded before is safe: free some space, then go on with --resume."
    )


def damaged(where: str, place: str, error: object) -> UsageError:
    """The error for what cannot be read; `place` says where it is."""
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    reason = reason.partition(" with text ")[0].rstrip(".")  # SQLite's message would go on with the whole text
    return UsageError(
        f"{where} is damaged: {place} cannot be read ({reason[:300]}). It was left as it is: take it from a copy, or "
        f"{ANOTHER}."
    )


def _explained(error: DBAPIError, where: str) -> KeybenchError:
    """The user's error for an error of SQLite or PostgreSQL; it never contains SQL, parameters or a password."""
    cause: Any = error.orig  # sqlite3's error has a name, psycopg's a code (SQLSTATE)
    name = getattr(cause, "sqlite_errorname", "") or ""
    state = getattr(cause, "sqlstate", "") or ""
    reason = (str(cause).splitlines() or ["unknown"])[0]
    if name.startswith("SQLITE_FULL") or state == "53100":  # disk_full
        return full(where)
    if name in {"SQLITE_NOTADB", "SQLITE_CORRUPT"} or name.startswith("SQLITE_CORRUPT_"):
        return UsageError(f"{where} is no results database or is damaged ({reason}); it was left as it is: {ANOTHER}.")
    if isinstance(cause, sqlite3.Error) and name in {"", "SQLITE_ERROR"}:  # text that is not UTF-8, or no such table
        return damaged(where, "a part of it", reason)
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return EnvironmentMissing(f"{where} is in use by another program: close that, then go on with --resume.")
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return UsageError(f"{where} or its folder cannot be written ({reason}): {ANOTHER}.")
    if name.startswith("SQLITE_IOERR"):
        return EnvironmentMissing(f"{where} cannot be read or written ({reason}): check its disk, then try again.")
    # Classes of SQLSTATE: 08 the connection failed, 28 the login was refused, 57P the server is shutting down.
    unreachable = error.connection_invalidated or not state or state.startswith(("08", "28", "57P"))
    if not name and unreachable:
        return EnvironmentMissing(
            f"the results database {where} does not answer ({reason}): check the URL and the server."
        )
    return UsageError(f"the results database {where} refused ({reason}): check the user's rights, or {ANOTHER}.")
