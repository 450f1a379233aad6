"""The table of a trial, whatever the engine's SQL.

The key has one of four roles. `clustered`: the table is in key order where the engine can do that. `nonclustered`: the
key has a unique index beside a table in order of arrival. `by-date`: rows have a time of creation, the table is in that
order where the engine can do that, and the key has a unique index beside it. `fk`: the key is a foreign key. Its index
is not unique and has the key once for each row of a child table; the parent table has the key once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from keybench.model.column import Column
from keybench.model.keys import Order
from keybench.model.subject import CLUSTERED, PARENT, Subject

KeyRole = Literal["clustered", "nonclustered", "by-date", "fk"]
"""What the key is to its table."""


def is_key_and_payload(role: KeyRole) -> bool:
    """Whether a table with that role of the key is one table of two columns, the key and its payload."""
    return role in ("clustered", "nonclustered")


@dataclass(frozen=True)
class ServerKeys:
    """A layout that only the servers of one engine make: rows are sent without keys; keys follow the server's clock."""

    name: str
    """`server-…`, as layouts are named."""
    summary: str
    column: str
    """Name of the column that holds them."""
    order: Order
    """The byte order in which the keys of one session ascend; `none` where they do not ascend."""
    declaration: str
    """What follows the column's type in CREATE TABLE."""
    min_version: int = 0
    """The oldest version of the server that makes them, as the engine numbers its versions."""


@dataclass(frozen=True)
class Table:
    """The table of one trial: one key column, one text column of `payload` characters (none where 0).

    By date, it also has a first column `created`: microseconds since 1970, an integer of 8 bytes.
    """

    name: str
    column: Column
    payload: int
    key: KeyRole = "clustered"
    server_keys: ServerKeys | None = None
    """The layout, where the server makes the keys; such a table needs a payload."""
    children: int = 1
    """Rows of each key, where the key is a foreign key; they are sent with their parent, in one transaction."""
    child: str = ""
    """Of a parent table, the name of its child table: the two are created, loaded and dropped together."""
    measures_rows: bool = False
    """Whether probes measure the index in which the rows themselves lie, and not the key's index; by date only."""

    @property
    def by_date(self) -> bool:
        """Whether rows have a time of creation."""
        return self.key == "by-date"

    @property
    def parent(self) -> Table | None:
        """Where the key is a foreign key, the table with each key once; its rows have the same payload."""
        if self.key != "fk":
            return None
        return replace(self, name=f"{self.name}_parent", key="clustered", children=1, child=self.name)

    @property
    def family(self) -> tuple[Table, ...]:
        """The tables that are created, loaded and dropped together, the parent first."""
        return (self.parent, self) if self.parent else (self,)

    @property
    def other_indexes(self) -> Mapping[Subject, Table]:
        """What else is measured besides the key's index, by subject: the parent's index, or the rows by date."""
        if self.parent:
            return {PARENT: self.parent}
        return {CLUSTERED: replace(self, measures_rows=True)} if self.by_date and not self.measures_rows else {}
