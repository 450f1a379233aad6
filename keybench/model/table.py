"""The table of a trial, independent of the engine's SQL.

The key has one of four roles. `clustered`: the table is in key order if the engine can do that. `nonclustered`: the
key has a unique index beside a table in order of arrival. `by-date`: rows have a time of creation, the table is in that
order if the engine can do that, and the key has a unique index beside it. `fk`: the key is a foreign key. Its index is
not unique and contains the key once for each row of a child table; the parent table contains the key once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from keybench.model.column import Column
from keybench.model.keys import Order
from keybench.model.payload import PayloadLengths
from keybench.model.subject import CLUSTERED, PARENT, Subject

KeyRole = Literal["clustered", "nonclustered", "by-date", "fk"]
"""The role of the key in its table."""


def is_key_and_payload(role: KeyRole) -> bool:
    """Whether a table with that role of the key is a single table of two columns: the key and its payload."""
    return role in ("clustered", "nonclustered")


@dataclass(frozen=True)
class ServerKeys:
    """A layout whose keys only the servers of one engine make, by their clock. Rows are sent without keys."""

    name: str
    """`server-…`, as layouts are named."""
    summary: str
    column: str
    """Name of the column that holds the keys."""
    order: Order
    """The byte order in which the keys of one session ascend; `none` if they do not ascend."""
    declaration: str
    """The SQL after the column's type in CREATE TABLE."""
    min_version: int = 0
    """The oldest server version that makes these keys, as the engine numbers its versions."""
    replica: str = ""
    """The layout by which a client makes such keys, for where there is no server; empty if there is none."""


@dataclass(frozen=True)
class Table:
    """The table of one trial: one key column, and one text column of at most `payload` characters (no column if 0).

    A table by date has another column before these, `created`: microseconds since 1970, an integer of 8 bytes.
    """

    name: str
    column: Column
    payload: int
    key: KeyRole = "clustered"
    server_keys: ServerKeys | None = None
    """The layout, if the server makes the keys. Such a table needs a payload."""
    children: int = 1
    """Rows per key, if the key is a foreign key. They are sent with their parent, in one transaction."""
    child: str = ""
    """For a parent table, the name of its child table. The two are created, loaded and dropped together."""
    settings: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Settings of the engine that are known, by name: those that the user chose, and those that the server has."""
    lengths: PayloadLengths | None = None
    """How many characters each row has; None if all have `payload`."""
    status: bool = False
    """Whether rows have a third column, `status`: 4 bytes, 0 at first, with an index of its own, not unique."""
    longest: int = 0
    """How many characters updates may give the payload; 0 if none gives more than `payload`."""
    measures_rows: bool = False
    """Whether probes measure the index that holds the rows themselves instead of the key's index; only by date."""

    @property
    def by_date(self) -> bool:
        """Whether rows have a time of creation."""
        return self.key == "by-date"

    @property
    def parent(self) -> Table | None:
        """If the key is a foreign key, the table that has each key once. Its rows have the same payload."""
        if self.key != "fk":
            return None
        return replace(self, name=f"{self.name}_parent", key="clustered", children=1, child=self.name)

    @property
    def family(self) -> tuple[Table, ...]:
        """The tables that are created, loaded and dropped together, the parent first."""
        return (self.parent, self) if self.parent else (self,)

    @property
    def other_indexes(self) -> Mapping[Subject, Table]:
        """The other measured indexes besides the key's, by subject: the parent's index, or the rows by date."""
        if self.parent:
            return {PARENT: self.parent}
        return {CLUSTERED: replace(self, measures_rows=True)} if self.by_date and not self.measures_rows else {}
