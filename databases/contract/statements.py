"""Statements that users are told to run on tables of their own. keybench never runs them: its tests do.

An engine that has any (`Engine.statements`) writes them in its own folder (`ddl.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from keybench.model.column import Column


@dataclass(frozen=True)
class Statement:
    """One statement, or one step that is no statement."""

    sql: str
    """Without a semicolon at its end; empty for a step that applications or people take."""
    note: str = ""
    """What it is for, and what to know of it."""
    confirmed: bool = False
    """Whether keybench's tests run it on a live server of this engine. The others are written from documentation."""
    source: str = ""
    """The page of the documentation that it rests on."""
    locks: str = ""
    """What it locks, and what goes on meanwhile; empty for a new table and for steps that lock nothing."""


UNTESTED: Final = Statement(
    "",
    "keybench has no tested recipe for this step on this database: follow the database's documentation, and try it on "
    "a copy of the table first.",
)
"""In place of statements that would change a table with data, on a database where keybench never ran them."""

STOP: Final = "Stop the application"
START: Final = "Start the application"
"""In the notes of two steps between which no program may use the table. Programs run before, after and between all
other steps: their INSERTs of old and new rows work, and foreign keys hold."""

BY_CLIENTS: Final = "The application makes every key, so the column needs no default."
"""The note of a statement for a table that is `KeyedTable.by_clients`."""


@dataclass(frozen=True)
class KeyedTable:
    """A table of a user whose primary key is the column `id`."""

    name: str
    column: Column
    layout: str
    """Of its keys."""
    version: str = ""
    """Of the server, as people write it; empty for the newest that keybench knows."""
    by_clients: bool = False
    """Whether clients make all keys, also where the server could: no default then."""
    public_id: bool = False
    """Whether a new table has a second, random and unique id for people outside (`Engine.creates_public_ids`)."""


class WritesStatements(Protocol):
    """The statements of one engine. All raise UsageError for a version that they don't know.

    Each method but `creating` and `adding_public_id` returns [UNTESTED] where no server of the engine has run its
    statements, and where no recipe keeps every row and key.
    """

    def creating(self, table: KeyedTable) -> Sequence[Statement]:
        """Creates the table; the server makes keys of the layout, or like them, where it can."""

    def switching(self, table: KeyedTable) -> Sequence[Statement]:
        """New rows of an existing table get keys of the layout of `table`. Old rows keep theirs."""

    def rebuilding(self, table: KeyedTable) -> Sequence[Statement]:
        """The index of the key is built again."""

    def adding_public_id(self, table: KeyedTable) -> Sequence[Statement]:
        """A second, random and unique id beside the integer key of an existing table, for people outside."""

    def converting(self, table: KeyedTable, into: KeyedTable, *, same_keys: bool = False) -> Sequence[Statement]:
        """Every row of `table` gets a new key in place of its old one: with `same_keys`, the old key in the new type.

        The two tables have one name. Rows that come after it have keys of the layout of `into`.
        """
