"""The coordination table in the benchmark database. Writers on many machines use it to see each other's progress.

It holds small integers: one row for each writer of a load, and one for the runner. A writer changes only its own row
and reads the minimum of all rows. It works wherever writers reach the database: they need no other connection. Each
row has the number of its load, so a writer that was given up as lost does not find a row of its own later.

An engine says how to create the table and how its driver marks parameters (`Dialect`). Everything else is here.
"""

import re
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from keybench.databases.contract.roles import Address
from keybench.databases.core.dbapi import DbApiConnection
from keybench.databases.core.owned_tables import drop_own

TABLE = "keybench_board"
"""The table's name, in the schema or database of the trials."""

COLUMNS = ("load_id", "writer", "stage", "ahead", "sent", "gone")
"""Integers; (load_id, writer) is unique. `ahead` is the planned row that a writer has reached, `sent` its rows so far,
`gone` 1 if it has finished. In the runner's row, whose writer is -1, `stage` counts its heartbeats, and `gone` tells
all writers to stop."""

_RUNNER = -1  # the runner's number in the column `writer`
_UNCLAIMED = -1  # the stage of a writer that has not begun
_NAME = re.compile(r":(\w+)")


def definitions(integer: str = "bigint", primary_key: str = "PRIMARY KEY") -> str:
    """The columns and the key in a CREATE TABLE, between parentheses; the parameters are the database's words."""
    columns = ", ".join(f"{column} {integer} NOT NULL" for column in COLUMNS)
    return f"({columns}, {primary_key} (load_id, writer))"


@dataclass(frozen=True)
class Dialect:
    """The differences between engines."""

    table: str
    """The qualified, quoted name."""
    create: str
    """The statement that creates the table, empty, if it does not exist."""
    list_query: str
    """The query of `OwnedTables.list_query`."""
    mark: str
    """What the driver takes for a parameter; empty where it takes `:name`."""
    drop: str = "DROP TABLE {}"
    """The statement that drops the table, for `{}`."""
    session: str = ""
    """A statement at the start of each connection."""
    commit: str = ""
    """The statement that commits a change; empty where the connection does so by itself."""


@dataclass(frozen=True)
class WritersState:
    """The contents of the table at one moment of a load."""

    stage: int
    """The minimum over all writers."""
    row: int
    """The minimum planned row number over all writers."""
    heartbeats: int
    """Number of heartbeats of the runner."""
    stopped: bool
    """Whether the writers must stop, because the runner or another writer asks for it, or the load is over."""


class CoordinationTable:
    """The connection of the runner or of one writer to the table. All methods raise ServerError if the server fails."""

    def __init__(self, server: DbApiConnection, dialect: Dialect) -> None:
        self._server, self._dialect = server, dialect
        if dialect.session:
            server.rows(dialect.session)

    def create(self, load: int, writers: int) -> None:
        """Creates the table anew, with one row for each of the load's writers. No writer has begun."""
        self.drop()
        self._run(self._dialect.create)
        for writer in range(_RUNNER, writers):  # with a row of the runner
            self._run(
                "INSERT INTO {} (load_id, writer, stage, ahead, sent, gone) "
                "VALUES (:load_id, :writer, :stage, 0, 0, 0)",
                load_id=load, writer=writer, stage=0 if writer == _RUNNER else _UNCLAIMED,
            )  # fmt: skip

    def claim(self, load: int, writer: int) -> bool:
        """Marks the writer as begun. Returns False if it had begun before or the load is over: no row changed."""
        return self._run(
            "UPDATE {} SET stage = 0 WHERE load_id = :load_id AND writer = :writer AND stage < 0",
            load_id=load, writer=writer,
        ) == [(1,)]  # fmt: skip

    def update(self, load: int, writer: int, *, stage: int, row: int, sent: int) -> None:
        """Stores the writer's stage, the planned row that it has reached, and how many rows it has sent so far."""
        self._run(
            "UPDATE {} SET stage = :stage, ahead = :ahead, sent = :sent WHERE load_id = :load_id AND writer = :writer",
            load_id=load, writer=writer, stage=stage, ahead=row, sent=sent,
        )  # fmt: skip

    def finish(self, load: int, writer: int) -> None:
        """Marks that the writer has finished and sends nothing more."""
        self._run("UPDATE {} SET gone = 1 WHERE load_id = :load_id AND writer = :writer", load_id=load, writer=writer)

    def read(self, load: int) -> WritersState:
        """The state of the load; `stopped` if the table has no rows of it."""
        ((stage, row, heartbeats, stopped),) = self._run(
            "SELECT MIN(CASE WHEN writer >= 0 THEN stage END), MIN(CASE WHEN writer >= 0 THEN ahead END), "
            "MAX(CASE WHEN writer < 0 THEN stage END), MAX(CASE WHEN writer < 0 THEN gone END) "
            "FROM {} WHERE load_id = :load_id",
            load_id=load,
        )
        if heartbeats is None or stage is None:
            return WritersState(stage=_UNCLAIMED, row=0, heartbeats=0, stopped=True)
        return WritersState(int(stage), int(row), int(heartbeats), bool(stopped))

    def heartbeat(self, load: int) -> None:
        """Shows that the runner is alive."""
        self._run("UPDATE {} SET stage = stage + 1 WHERE load_id = :load_id AND writer < 0", load_id=load)

    def stop(self, load: int) -> None:
        """Tells all writers to stop before their next transaction."""
        self._run("UPDATE {} SET gone = 1 WHERE load_id = :load_id AND writer < 0", load_id=load)

    def rows_sent(self, load: int) -> int:
        """The number of rows that all writers together had sent at their last updates."""
        ((rows,),) = self._run("SELECT SUM(sent) FROM {} WHERE load_id = :load_id AND writer >= 0", load_id=load)
        return int(rows or 0)

    def active_writers(self, load: int) -> frozenset[int]:
        """Writers that have begun and not finished."""
        rows = self._run(
            "SELECT writer FROM {} WHERE load_id = :load_id AND writer >= 0 AND stage >= 0 AND gone = 0", load_id=load
        )
        return frozenset(int(writer) for (writer,) in rows)

    def drop(self) -> None:
        """Drops the table if it exists. ServerError if it is somebody else's."""
        drop_own(self._server, self._dialect.list_query, TABLE, self._dialect.drop.format(self._dialect.table))

    def close(self) -> None:
        """Closes the connection."""
        self._server.close()

    def _run(self, statement: str, **values: int) -> list[tuple[Any, ...]]:
        """Runs a statement with parameters written `:name`, and commits it. Returns a query's rows, or [(number of rows
        changed,)]."""
        text = statement.format(self._dialect.table)
        parameters: list[object] = [values]  # for a driver that takes `:name`, else the values in the text's order
        if self._dialect.mark:
            parameters = [values[name] for name in _NAME.findall(text)]
            text = _NAME.sub(self._dialect.mark, text)
        if text.startswith("SELECT"):
            return self._server.rows(text, *parameters)
        changed = self._server.run(text, *parameters)
        if self._dialect.commit:
            self._server.run(self._dialect.commit)
        return [(changed,)]


@runtime_checkable
class HasCoordinationTable(Protocol):
    """An engine whose servers other machines can reach, so that writers there can use a coordination table."""

    def coordination_table(self, address: Address) -> CoordinationTable:
        """A new connection to the coordination table of that server."""
        ...
