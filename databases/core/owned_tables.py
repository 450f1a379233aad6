"""What the owned schemas of all engines have in common: what they list, how they drop tables, and their connection."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Final, Generic

from keybench.databases.contract.roles import Address
from keybench.databases.core.dbapi import ANSWER_SECONDS, DbApiConnection, Server
from keybench.errors import ServerError

NAMES: Final = "keybench_"
"""How the names of keybench's tables in a run begin."""


def drop_own(server: DbApiConnection, list_query: str, name: str, statement: str) -> None:
    """Runs the `statement` that drops the table `name`, if there is one. `list_query` is `OwnedTables.list_query`.
    ServerError, and nothing is dropped, if the table is somebody else's."""
    for table, _, has_mark in server.rows(list_query):
        if table == name:
            if not has_mark:
                raise ServerError(f"{name} was not made by keybench, which drops only what it made: rename it.")
            server.run(statement)


class OwnedTables(ABC, Generic[Server]):
    """The trials' tables on a user's server, and the schema or database around them (`contract.OwnedSchema`)."""

    around = ""
    """The schema or database that keybench may have made for them: `schema keybench`; empty if it makes none."""
    list_query: str
    """A query for what has a table's name in the schema or database: (name, size, whether it has keybench's mark)."""
    prefix = "keybench."
    """What comes before a table's name in messages."""

    def __init__(self, address: Address, place: str, server: Server) -> None:
        """`place` is where the server is, for messages."""
        self.address = address
        self.place = place
        self._server = server
        server.limit(ANSWER_SECONDS)

    @abstractmethod
    def tables(self) -> Mapping[str, str]:
        """The size of each of the trials' tables by name, for people; empty where nobody knows it."""

    def foreign(self) -> Sequence[str]:
        """Tables and the like that keybench did not make, under names that its own begin with."""
        tables = self._server.rows(self.list_query)
        return [f"{self.prefix}{name}" for name, _, has_mark in tables if not has_mark and name.startswith(NAMES)]

    def is_marked(self) -> bool:
        """Whether keybench made the schema or database."""
        return False

    def contents(self) -> Sequence[str]:
        """What `remove` would remove, one line for each: tables, then the schema or database if keybench made it."""
        lines = self.table_lines()
        return [*lines, f"{self.around}, unless something else is in it"] if self.is_marked() else lines

    def table_lines(self) -> list[str]:
        """The tables in messages, with their sizes."""
        sizes = self.tables()
        return [f"table {self.prefix}{name}{f', {size}' if size else ''}" for name, size in sizes.items()]

    def lost(self) -> bool:
        """Whether the server has ended the connection."""
        return self._server.lost()

    def close(self) -> None:
        """Closes the connection."""
        self._server.close()
