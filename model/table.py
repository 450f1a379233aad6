"""The tables of trials: what they look like on every engine, whatever its SQL.

The key has one of four roles. `clustered`: the table lies in key order where the engine can do that. `nonclustered`:
the key has a unique index beside a table in order of arrival. `by-date`: rows say when they were created, the table
lies in that order where the engine can do that, and the key has a unique index beside it. `fk`: the key is a foreign
key; an index that is not unique repeats it for each of a child table's rows, and its parent table has it once.
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
    """A layout that only a server of one engine makes: rows are sent without keys, which carry the server's clock."""

    name: str
    """`server-…`, as layouts are named."""
    summary: str
    column: str
    """Name of the column that holds them."""
    order: Order
    """The byte order in which the keys of one session ascend; `none` where in none."""
    declaration: str
    """What stands behind the column's type where the table is created."""
    since: int = 0
    """The least version of the server that makes them, as the engine numbers its versions."""


@dataclass(frozen=True)
class Table:
    """The table of one trial: one key column, one text column of `payload` characters (none where 0).

    By date, `created` stands before them: microseconds since 1970, an integer of 8 bytes.
    """

    name: str
    column: Column
    payload: int
    key: KeyRole = "clustered"
    made: ServerKeys | None = None
    """The keys that the server makes, where it does; a payload is needed then."""
    children: int = 1
    """Rows of each key, of a table whose key is a foreign key; they are sent with their parent, in one transaction."""
    child: str = ""
    """Of a parent, the name of its child table, which it is made, loaded and dropped with."""
    rows: bool = False
    """Whether probes look at where the rows lie, or what stands for it, and not at the key's index; only by date."""

    @property
    def dated(self) -> bool:
        """Whether rows say when they were created."""
        return self.key == "by-date"

    @property
    def parent(self) -> Table | None:
        """The table with each key once, of one whose key is a foreign key; its rows have the same payload."""
        if self.key != "fk":
            return None
        return replace(self, name=f"{self.name}_parent", key="clustered", children=1, child=self.name)

    @property
    def family(self) -> tuple[Table, ...]:
        """The tables that are made, loaded and dropped together, the parent first."""
        return (self.parent, self) if self.parent else (self,)

    @property
    def other_indexes(self) -> Mapping[Subject, Table]:
        """The indexes beside the key's, by the subject of their readings: a parent table's, or the rows by date."""
        if self.parent:
            return {PARENT: self.parent}
        return {CLUSTERED: replace(self, rows=True)} if self.dated and not self.rows else {}
