"""Columns and tables of SQLite: their SQL, and the files of a table.

A `clustered` key is the primary key of a WITHOUT ROWID table, so the table is the key's b-tree. There the column
`integer` is an INTEGER PRIMARY KEY, which is the rowid itself. A `nonclustered` key has a unique index beside a table
in order of arrival (of rowid). There `integer` is an ordinary column like `bigint`. A foreign key is the same, but its
index is not unique. A table by date is WITHOUT ROWID with the primary key (created, key), which is SQLite's closest
equivalent to clustering by date. The key's index then refers to rows by both columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from keybench.model.column import Column
from keybench.model.keys import Kind
from keybench.model.table import Table
from keybench.pagemodels.sqlite.records import is_rowid

_GUID: frozenset[Kind] = frozenset({"uuid"})
_INT: frozenset[Kind] = frozenset({"int"})

COLUMNS = (
    Column("binary16", "BLOB", _GUID, "rfc", native=True),
    Column("binary16-net", "BLOB", _GUID, "net"),
    Column("binary16-mssql", "BLOB", _GUID, "mssql", stands_in_for="SQL Server uniqueidentifier"),
    Column("char36", "TEXT", _GUID, "rfc", "text", width=36),
    Column("blob", "BLOB", frozenset({"bytes"}), "rfc", native=True, width=0),
    Column("text", "TEXT", frozenset({"text"}), "rfc", "text", native=True, width=0),
    Column("integer", "INTEGER", _INT, "rfc", "int", native=True, width=8),
    Column("bigint", "BIGINT", _INT, "rfc", "int", width=8),
)


@dataclass(frozen=True)
class Statements:
    """The SQL of one table."""

    table: Table

    @property
    def tree(self) -> str:
        """Name in dbstat of the measured b-tree, which holds the key."""
        one = self.table.key == "clustered" or self.table.measures_rows
        return self.table.name if one else f"{self.table.name}_key"

    @property
    def trees(self) -> tuple[str, ...]:
        """Names of the table's b-trees."""
        return (self.table.name,) if self.table.key == "clustered" else (self.table.name, f"{self.table.name}_key")

    def create(self) -> tuple[str, ...]:
        """The statements that create the table, without its parent."""
        primary = " PRIMARY KEY" if self.table.key == "clustered" else ""
        payload = ", payload TEXT NOT NULL" if self.table.payload else ""
        ending = " WITHOUT ROWID" if self.table.by_date or (primary and not is_rowid(self.table)) else ""
        created, both = (
            ("created INTEGER NOT NULL, ", ", PRIMARY KEY (created, key)") if self.table.by_date else ("", "")
        )
        table = (
            f'CREATE TABLE "{self.table.name}" '
            f"({created}key {self.table.column.sql_type} NOT NULL{primary}{payload}{both}){ending}"
        )
        unique = "" if self.table.key == "fk" else "UNIQUE "
        index = f'CREATE {unique}INDEX "{self.table.name}_key" ON "{self.table.name}" (key)'
        return (table,) if primary else (table, index)

    @property
    def insert(self) -> str:
        """Inserts one row: created (only by date), key (unless SQLite makes it), payload (if there is one)."""
        if self.table.server_keys:
            return f'INSERT INTO "{self.table.name}" (payload) VALUES (?)'  # noqa: S608
        marks = ["?"] * (self.table.by_date + 1 + bool(self.table.payload))
        return f'INSERT INTO "{self.table.name}" VALUES ({", ".join(marks)})'  # noqa: S608

    @property
    def find(self) -> str:
        """The whole row of one key."""
        return f'SELECT * FROM "{self.table.name}" WHERE key = ?'  # noqa: S608

    @property
    def between(self) -> str:
        """The whole rows of a range of keys, including both ends."""
        return f'SELECT * FROM "{self.table.name}" WHERE key BETWEEN ? AND ?'  # noqa: S608

    @property
    def delete(self) -> str:
        """Deletes the row of one key."""
        return f'DELETE FROM "{self.table.name}" WHERE key = ?'  # noqa: S608

    @property
    def keys(self) -> str:
        """All keys, in any order."""
        return f'SELECT key FROM "{self.table.name}"'  # noqa: S608

    @property
    def ordered_keys(self) -> str:
        """All keys, sorted by SQLite."""
        return f"{self.keys} ORDER BY key"

    @property
    def arrived_keys(self) -> str:
        """All keys of a table that is not the key's b-tree, in the table's order: of arrival or by date."""
        return f"{self.keys} ORDER BY {'created, key' if self.table.by_date else 'rowid'}"

    @property
    def rowids(self) -> str:
        """The places of all rows in the table, in order of key: rowids, or row numbers in a table by date."""
        place = "row_number() OVER (ORDER BY created, key)" if self.table.by_date else "rowid"
        return f'SELECT {place} FROM "{self.table.name}" ORDER BY key'  # noqa: S608


@dataclass(frozen=True)
class TableFiles:
    """The files of one table. It has a database of its own, so that dropping it leaves no pages in a free list."""

    folder: Path
    table: str

    @property
    def database(self) -> Path:
        """The database file. SQLite puts its `-wal` and `-shm` files beside it."""
        return self.folder / f"{self.table}.sqlite"

    def counters(self) -> list[Path]:
        """The files with the counters of loading connections, one for each (`SqliteSession.close`)."""
        return sorted(self.folder.glob(f"{self.table}.counters-*"))

    def new_counters(self, name: str) -> Path:
        """The file in which a loading connection writes its counters."""
        return self.folder / f"{self.table}.counters-{name}"

    def remove(self) -> None:
        """Removes all of these files that exist."""
        beside = [self.database.with_name(self.database.name + ending) for ending in ("-wal", "-shm", "-journal")]
        for path in (self.database, *beside, *self.counters()):
            path.unlink(missing_ok=True)
