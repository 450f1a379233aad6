"""What an engine tells of a database that exists: its tables, their indexes, and samples of their keys.

`keybench inspect` asks for it (`Engine.inspector`). An inspector only reads, by all means that its server has
for that, and reads a bounded number of pages of each table, whatever the table's size.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, TypeAlias
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from keybench.errors import UsageError
from keybench.model.column import Column, EncodedKeys
from keybench.model.keys import Order
from keybench.pagemodels.contract import IndexState, ServerPages

Form = Literal["uuid", "bytes", "text", "int", "number"]
"""How the server gives the values of a column: 16 bytes in RFC order, bytes as they are stored, text, integers, or (for
moments and other numbers, which are no keys but have an order) floats."""

Values: TypeAlias = Sequence[bytes] | Sequence[str] | NDArray[np.int64] | NDArray[np.float64]

Role = Literal["primary key", "unique", "foreign key"]

PAGES = 200  # the number of pages of a table, or of positions in an index, at which keys are sampled
INDEX_PAGES = 2_000
"""Pages of an index of which the fill is measured: density is then known to about 0.4 points."""
STATEMENT_SECONDS, LOCK_SECONDS = 10, 1  # how long an inspector's statement may take, and wait for a lock
_BITS: Final = (1 << 64) - 1  # all bits of a 64-bit number
SILENT_SECONDS = 5
"""How long after the server should have ended a statement the client no longer waits for it."""

ROWS_HIDDEN = "row security hides rows from this user"


@dataclass(frozen=True)
class TableHere:
    """A table of the database."""

    schema: str
    name: str
    kind: Literal["table", "view", "partitioned table", "other"] = "table"
    part_of: str = ""
    """Full name of the partitioned table that it is a partition of."""
    rows: float | None = None
    """None where nobody counted; never exact unless `rows_from` says so."""
    rows_from: str = ""
    """Where `rows` comes from."""
    bytes: int | None = None
    """Of the table with its indexes."""
    children: int = 0
    """Foreign keys that refer to it."""
    row_bytes: float | None = None
    """Bytes of a row's columns, the key among them; an estimate."""
    inserted: int | None = None
    """Rows inserted since the server's statistics began."""
    since: str = ""
    """When they began, as ISO 8601; empty if nobody knows."""
    refused: str = ""
    """Why its keys cannot be read, as a sentence; else empty."""

    @property
    def full_name(self) -> str:
        """With its schema where it has one."""
        return f"{self.schema}.{self.name}" if self.schema else self.name


@dataclass(frozen=True)
class ColumnHere:
    """A column of a key."""

    name: str
    sql_type: str
    form: Form | None
    """None if keybench can do nothing with values of that type, or may not read them."""
    order: Order = "rfc"
    """The byte order in which the column sorts GUIDs."""
    most: int | None = None
    """The greatest value of an integer type; None for other types."""

    @property
    def width(self) -> int:
        """Bytes of an integer type; 0 for other types."""
        return 0 if self.most is None else (self.most.bit_length() + 7) // 8


@dataclass(frozen=True)
class IndexHere:
    """A primary key, unique index or foreign key of a table."""

    name: str
    """Empty for a foreign key without an index."""
    key: tuple[ColumnHere, ...]
    """At least one column."""
    roles: tuple[Role, ...]
    is_table: bool = False
    """Whether the table's rows are in it: a clustered index."""
    note: str = ""
    """What else a reader must know, as a sentence: a partial index, for example."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(column.name for column in self.key)


@dataclass(frozen=True)
class PagesHere:
    """The size and fill of an index. Figures that nobody can give are None, and `missing` says why."""

    bytes: int | None = None
    leaf_pages: float | None = None
    density: float | None = None
    """Used share of the leaf pages in %, by the engine's own definition."""
    backward: float | None = None
    """Share in % of the leaves whose next one lies before them in the file."""
    full: float = 100.0
    """The density that ascending keys would have there."""
    halves: bool = False
    """Whether ascending keys between older ones leave pages half empty."""
    origin: Literal["measured", "sampled", "estimated", ""] = ""
    """All pages; a sample of them; computed from sizes and widths; nothing."""
    error: float | None = None
    """Half the width of the density's 95 % interval, in points; None where it is not known."""
    missing: str = ""
    pages_read: int = 0


@dataclass(frozen=True, eq=False)
class SampleHere:
    """Keys of an index. All arrays have the shape (n,)."""

    values: Values
    """Of the index's first column."""
    arrival: NDArray[np.float64] | None = None
    """Where each row is in the order in which rows arrived, on any scale; None if the server does not show that."""
    arrival_from: str = ""
    """What shows it: `position in the table` …"""
    after_the_one_before: NDArray[np.bool_] | None = None
    """Whether each row probably arrived right after the one before it in the sample."""
    weights: NDArray[np.float64] | None = None
    """How many rows each key stands for, on any scale; None: all the same."""
    pages_read: int = 0
    """The pages that were read at most."""
    others: tuple[Values | None, ...] = ()
    """Of its other columns, in their order; None for one whose `form` is None."""
    highest: int | None = None
    """The greatest value of a single integer column, if the server was asked."""

    @property
    def columns(self) -> tuple[Values | None, ...]:
        """Of all columns."""
        return (self.values, *self.others)


def values_of(
    rows: Sequence[Sequence[Any]], key: Sequence[ColumnHere], begin: int = 0
) -> tuple[Values, tuple[Values | None, ...]]:
    """(values of a key's first column, those of its others), as `SampleHere` has them. `rows` are a driver's; in each
    row, the key's columns begin at the index `begin`."""
    first, *others = (_values([row[i] for row in rows], column.form) for i, column in enumerate(key, begin))
    return [] if first is None else first, tuple(others)  # None: a column without a form


def _values(values: list[Any], form: Form | None) -> Values | None:
    """A column's values in that form; None without one."""
    if form == "int":
        # An unsigned number of 2^63 or more becomes the negative number with the same 64 bits.
        return np.array([int(value) & _BITS for value in values], np.uint64).view(np.int64)
    if form == "number":
        return np.array(values, np.float64)
    if form == "uuid":
        return [UUID(str(value)).bytes for value in values]
    return values if form else None


Allow: TypeAlias = Callable[[int, str], None]
"""Is called before a whole index is read, with its bytes and a sentence that says how that is done and what it needs;
raises UsageError to refuse."""


@dataclass(frozen=True, eq=False)
class WholeIndex:
    """All pages of an index, and what its page model needs to go on from them."""

    pages: ServerPages
    keys: EncodedKeys
    """Of all rows in key order, as the column stores them: uint8 (n, width) or int64 (n,)."""
    empty: Callable[[NDArray[np.int64], NDArray[np.int64], EncodedKeys], IndexState]
    """Makes the page model's empty index. Arguments: the ranks of these keys, ascending; the ranks of the keys to come,
    in order of arrival; the keys to come."""
    fill: int
    """The fill factor of a rebuild, in %."""


@dataclass(frozen=True)
class About:
    """The database, for the first lines of the answer."""

    engine: str
    version: str
    """As the server states it."""
    title: str
    """Engine and version, for people."""
    promises: tuple[str, ...]
    """How it is made sure that nothing is written and little is read: one sentence each."""
    caveats: tuple[str, ...] = field(default=())
    """What this user cannot know, one sentence each."""


class Inspector(Protocol):
    """A read-only connection to a database that exists."""

    def about(self) -> About:
        """The server and what will be done on it. Reads no table."""

    def tables(self) -> Sequence[TableHere]:
        """All tables and views but the system's, the largest first, with what costs little to know."""

    def details(self, table: TableHere) -> TableHere:
        """The table with its rows, their bytes, and its growth, as far as they are known."""

    def indexes(self, table: TableHere) -> Sequence[IndexHere]:
        """Its primary key, unique indexes and foreign keys."""

    def sample(self, table: TableHere, index: IndexHere) -> SampleHere:
        """Keys of the index. ServerError if the server refuses."""

    def pages(self, table: TableHere, index: IndexHere, sample: SampleHere) -> PagesHere:
        """The size and fill of the index. ServerError if the server refuses."""

    def whole(self, table: TableHere, index: IndexHere, column: Column, allow: Allow) -> WholeIndex:
        """All pages of the index on that column, which has the width of its keys. UsageError or EnvironmentMissing
        where they cannot be read, and where no page model knows them."""
        del table, index, column, allow
        raise UsageError("keybench reads no whole index of this database: --next is for the others.")

    def close(self) -> None:
        """Closes the connection."""


def first_row_and_columns(
    rows: Iterable[Sequence[Any]], name: int, column: int
) -> dict[str, tuple[Sequence[Any], tuple[str, ...]]]:
    """(first row, columns) of each index or foreign key, by its name, from a query with a row for each column. `name`
    and `column` are the indices, in a row, of the index's name and of the column's."""
    groups: dict[str, tuple[Sequence[Any], tuple[str, ...]]] = {}
    for row in rows:
        first_row, columns = groups.get(str(row[name]), (row, ()))
        groups[str(row[name])] = first_row, (*columns, str(row[column]))
    return groups


def key_roles(
    columns: Sequence[str], foreign: Iterable[Sequence[str]], *, primary: bool, unique: bool
) -> tuple[Role, ...]:
    """The roles of an index on `columns`. `foreign` has the columns of each foreign key of the table. An index that
    begins with the columns of one has the role `foreign key`, too."""
    roles: list[Role] = ["primary key" if primary else "unique"] if primary or unique else []
    if any(columns[: len(key)] == key for key in foreign):
        roles.append("foreign key")
    return tuple(roles)
