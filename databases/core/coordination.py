"""A notice board in the benchmark database, on which writers on many machines see where the others are.

It is one table of small integers: a row for each writer of a load, and one for the runner. A writer changes its own row
alone, and reads the least of all: so it works wherever writers reach the database, and needs nothing else between them.
Rows carry the number of their load, so that a writer that was given up for lost finds no row of its own later on.

Engines say how the table is made and how their driver marks parameters (`Dialect`); everything else is here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from keybench.databases.contract import Address

TABLE = "keybench_board"
"""Its name, in the schema or database of the trials."""

COLUMNS = ("load_id", "writer", "stage", "ahead", "sent", "gone")
"""Whole numbers, (load_id, writer) unique. Of the runner's row, whose writer is -1, `stage` counts its signs of life,
and `gone` says that all writers shall stop."""

_RUNNER = -1
_UNCLAIMED = -1
_NAME = re.compile(r":(\w+)")

Values = Mapping[str, int]
Rows = Sequence[tuple[Any, ...]]


@dataclass(frozen=True)
class Dialect:
    """What engines differ in."""

    table: str
    """The qualified, quoted name."""
    create: Sequence[str]
    """Statements that make the table, empty, where there is none."""
    drop: Sequence[str]
    """Statements that remove it, or do nothing where there is none."""
    run: Callable[[str, Values], Rows]
    """Runs a statement with parameters written `:name` and commits it; its rows, and for one that changes rows
    [(how many,)]."""
    close: Callable[[], None]


@dataclass(frozen=True)
class Standing:
    """What the board says at one moment of a load."""

    stage: int
    """The least of all writers'."""
    ahead: int
    """Likewise the least planned row number."""
    beats: int
    """Signs of life that the runner has given."""
    stopped: bool
    """Whether the writers shall stop: the runner or another writer says so, or the load is over."""


class Board:
    """One connection to it, of the runner or of one writer. All methods raise ServerError where the server fails."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect

    def open(self, load: int, writers: int) -> None:
        """Makes the table anew, with a row for each of the load's writers, none of which has begun."""
        for statement in (*self._dialect.drop, *self._dialect.create):
            self._dialect.run(statement, {})
        for writer in range(_RUNNER, writers):
            self._run(
                "INSERT INTO {} (load_id, writer, stage, ahead, sent, gone) "
                "VALUES (:load_id, :writer, :stage, 0, 0, 0)",
                load_id=load, writer=writer, stage=0 if writer == _RUNNER else _UNCLAIMED,
            )  # fmt: skip

    def claim(self, load: int, writer: int) -> bool:
        """Says that the writer has begun; False where it had begun before, or the load is over."""
        return self._run(
            "UPDATE {} SET stage = 0 WHERE load_id = :load_id AND writer = :writer AND stage < 0",
            load_id=load, writer=writer,
        ) == [(1,)]  # fmt: skip

    def post(self, load: int, writer: int, *, stage: int, ahead: int, sent: int) -> None:
        """Where the writer is, and the rows that it has sent so far."""
        self._run(
            "UPDATE {} SET stage = :stage, ahead = :ahead, sent = :sent WHERE load_id = :load_id AND writer = :writer",
            load_id=load, writer=writer, stage=stage, ahead=ahead, sent=sent,
        )  # fmt: skip

    def leave(self, load: int, writer: int) -> None:
        """Says that the writer sends nothing more."""
        self._run("UPDATE {} SET gone = 1 WHERE load_id = :load_id AND writer = :writer", load_id=load, writer=writer)

    def read(self, load: int) -> Standing:
        """How things stand."""
        ((stage, ahead, beats, stopped),) = self._run(
            "SELECT MIN(CASE WHEN writer >= 0 THEN stage END), MIN(CASE WHEN writer >= 0 THEN ahead END), "
            "MAX(CASE WHEN writer < 0 THEN stage END), MAX(CASE WHEN writer < 0 THEN gone END) "
            "FROM {} WHERE load_id = :load_id",
            load_id=load,
        )
        if beats is None or stage is None:
            return Standing(_UNCLAIMED, 0, 0, True)
        return Standing(int(stage), int(ahead), int(beats), bool(stopped))

    def beat(self, load: int) -> None:
        """The runner's sign of life."""
        self._run("UPDATE {} SET stage = stage + 1 WHERE load_id = :load_id AND writer < 0", load_id=load)

    def stop(self, load: int) -> None:
        """Has all writers stop before their next transaction."""
        self._run("UPDATE {} SET gone = 1 WHERE load_id = :load_id AND writer < 0", load_id=load)

    def sent(self, load: int) -> int:
        """Rows that all writers together have said to have sent."""
        ((rows,),) = self._run("SELECT SUM(sent) FROM {} WHERE load_id = :load_id AND writer >= 0", load_id=load)
        return int(rows or 0)

    def working(self, load: int) -> frozenset[int]:
        """Writers that have begun and not left."""
        rows = self._run(
            "SELECT writer FROM {} WHERE load_id = :load_id AND writer >= 0 AND stage >= 0 AND gone = 0",
            load_id=load,
        )
        return frozenset(int(writer) for (writer,) in rows)

    def remove(self) -> None:
        """Removes the table."""
        for statement in self._dialect.drop:
            self._dialect.run(statement, {})

    def close(self) -> None:
        """Closes the connection."""
        self._dialect.close()

    def _run(self, statement: str, **values: int) -> list[tuple[Any, ...]]:
        return list(self._dialect.run(statement.format(self._dialect.table), values))


def positional(statement: str, values: Values, mark: str) -> tuple[str, list[int]]:
    """The statement with `mark` for each parameter, and their values in that order, for drivers that know no names."""
    return _NAME.sub(mark, statement), [values[name] for name in _NAME.findall(statement)]


@runtime_checkable
class HasBoard(Protocol):
    """An Engine whose servers can be reached from other machines and hold a board."""

    def board(self, address: Address) -> Board:
        """A new connection to the board of that server."""
        ...
