"""The layer below the records of an open results database: transactions, the schema version, migrations."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from sqlalchemy import Connection, Engine, func, inspect, select
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.schema import CreateSchema

import keybench
from keybench.errors import UsageError
from keybench.results.store import damage, migrations, salvage, tables
from keybench.results.store.error_texts import ANOTHER, explained

_ADVISORY_LOCK: Final = 0x6B657962
"""Held while a writer creates or migrates the tables of a PostgreSQL database."""


class Storage:
    """An open results database; `where` names it in messages, without a password."""

    def __init__(self, engine: Engine, where: str, schema: str | None, close: Callable[[], None]) -> None:
        self._engine = engine.execution_options(schema_translate_map={None: schema})
        self._close = close
        self._schema = schema
        self.where = where

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """One transaction. If the database refuses, a KeybenchError is raised and nothing changes.

        IntegrityError passes through: it is the caller's mistake and says nothing about the database's state.
        """
        try:
            with self._engine.begin() as connection:
                yield connection
        except IntegrityError:
            raise
        except DBAPIError as error:
            raise explained(error, self.where) from None
        except UnicodeDecodeError as error:  # SQLite's own message holds a damaged name
            raise damage.Unreadable(self.where, f"a name in it is no text: {error.reason}") from None

    def check(self, *, write: bool) -> None:
        """Raises UsageError if the pages of a SQLite file do not fit together: to read such a file may never end.

        Before writing, rows must also belong to one another: new rows could get the numbers of lost ones.
        """
        if self._schema is not None:
            return
        with self.transaction() as connection:
            found = str(connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()).splitlines()[-1]
            if found == "ok" and write:
                orphan = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
                found = f"row {orphan[1]} of {orphan[0]} belongs to no {orphan[2]}" if orphan else "ok"
            if found != "ok":
                raise damage.damaged(self.where, "a part of it", found, salvage.readable_in_time(connection))

    def leave_wal(self) -> None:
        """Takes a SQLite file out of write-ahead mode, in which another tool may have left it."""
        if self._schema is None:
            with self._engine.connect() as connection:
                connection.exec_driver_sql("COMMIT")
                connection.exec_driver_sql("PRAGMA journal_mode = DELETE")
                connection.exec_driver_sql("BEGIN")

    def close(self) -> None:
        """Closes the connections, then releases the lock; may be called twice."""
        self._engine.dispose()
        self._close, close = do_nothing, self._close
        close()

    def prepare(self, *, write: bool, create: bool = True) -> bool:
        """Checks the version; with `write`, migrates older tables, and with `create` too, creates missing ones.

        False if a reader opened an older version, which a writer must migrate first. Raises UsageError if the database
        holds other tables, is empty for a reader, or was written by a newer keybench.
        """
        with self.transaction() as connection:
            if write and create and self._schema is not None:
                connection.execute(select(func.pg_advisory_xact_lock(_ADVISORY_LOCK)))
                connection.execute(CreateSchema(self._schema, if_not_exists=True))
            names = inspect(connection).get_table_names(schema=self._schema)
            if not names and write and create:
                tables.metadata.create_all(connection)
                self._note(connection, "schema", str(migrations.SCHEMA_VERSION))
            elif not names:
                raise UsageError(f"{self.where} holds no results yet: measure with `keybench run`.")
            elif not {"meta", "run", "trial"} <= set(names):
                raise self._foreign()
            version = self._version(connection)
            if version > migrations.SCHEMA_VERSION:
                raise UsageError(
                    f"{self.where} has schema version {version}, keybench {keybench.__version__} knows versions up to "
                    f"{migrations.SCHEMA_VERSION}: update keybench, or {ANOTHER}."
                )
            if write:
                self._migrate(connection, version)
                self._note(connection, "schema", str(migrations.SCHEMA_VERSION))
                self._note(connection, "writer", str(os.getpid()))
        return write or version == migrations.SCHEMA_VERSION

    def _migrate(self, connection: Connection, version: int) -> None:
        try:
            for migrate in migrations.MIGRATIONS[version - 1 :]:
                migrate(connection)
        except ValueError as error:
            raise UsageError(f"{self.where} cannot be updated ({error}): {ANOTHER}.") from None

    def _version(self, connection: Connection) -> int:
        text = self.noted(connection, "schema")
        if not isinstance(text, str) or not text.isdecimal() or len(text) > 9 or int(text) < 1:
            raise self._foreign()
        return int(text)

    def _foreign(self) -> UsageError:
        return UsageError(f"{self.where} is a database, but it does not hold keybench results: {ANOTHER}.")

    def _note(self, connection: Connection, key: str, value: str) -> None:
        connection.execute(tables.meta.delete().where(tables.meta.c.key == key))
        connection.execute(tables.meta.insert().values(key=key, value=value))

    def noted(self, connection: Connection, key: str) -> str | None:
        """One value of the meta table."""
        return connection.execute(select(tables.meta.c.value).where(tables.meta.c.key == key)).scalar()


def do_nothing() -> None:
    """Does nothing: readers hold no lock that must be released."""
