"""Columns and tables of SQLite, their SQL, and the keys that SQLite makes.

A `clustered` key is the primary key of a WITHOUT ROWID table, so the table is the key's b-tree. There the column
`integer` is an INTEGER PRIMARY KEY, which is the rowid itself. A `nonclustered` key has a unique index beside a table
in order of arrival (of rowid). There `integer` is an ordinary column like `bigint`. A foreign key is the same, but its
index is not unique. A table by date is WITHOUT ROWID with the primary key (created, key), which is SQLite's closest
equivalent to clustering by date. The key's index then refers to rows by both columns.

The statements for users' own tables are `creating`, `switching`, `rebuilding` and `converting`; the tests run them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from keybench.databases.contract.statements import START, STOP, UNTESTED, KeyedTable, Statement
from keybench.databases.core.ddl import NEXT_RANGES, PUBLIC_ID, fill_public_ids, identifier
from keybench.errors import UsageError
from keybench.generators.core.layout import layout
from keybench.model.column import Column
from keybench.model.keys import Kind
from keybench.model.names import CONTROL
from keybench.model.table import ServerKeys, Table
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
        """Name in dbstat of the measured b-tree: the table, where clustered or to be measured, else the key's index."""
        table_is_tree = self.table.key == "clustered" or self.table.measures_rows
        return self.table.name if table_is_tree else f"{self.table.name}_key"

    @property
    def trees(self) -> tuple[str, ...]:
        """Names of the table's b-trees."""
        names = [self.table.name]
        if self.table.key != "clustered":
            names.append(f"{self.table.name}_key")
        if self.table.status:
            names.append(f"{self.table.name}_status")
        return tuple(names)

    def create(self) -> tuple[str, ...]:
        """The statements that create the table, without its parent."""
        primary = " PRIMARY KEY" if self.table.key == "clustered" else ""
        payload = ", payload TEXT NOT NULL" if self.table.payload else ""
        payload += ", status INTEGER NOT NULL DEFAULT 0" if self.table.status else ""
        ending = " WITHOUT ROWID" if self.table.by_date or (primary and not is_rowid(self.table)) else ""
        created = "created INTEGER NOT NULL, " if self.table.by_date else ""
        primary_of_both = ", PRIMARY KEY (created, key)" if self.table.by_date else ""
        columns = f"{created}key {self.table.column.sql_type} NOT NULL{primary}{payload}{primary_of_both}"
        statements = [f'CREATE TABLE "{self.table.name}" ({columns}){ending}']
        if not primary:
            unique = "" if self.table.key == "fk" else "UNIQUE "
            statements.append(f'CREATE {unique}INDEX "{self.table.name}_key" ON "{self.table.name}" (key)')
        if self.table.status:
            statements.append(f'CREATE INDEX "{self.table.name}_status" ON "{self.table.name}" (status)')
        return tuple(statements)

    @property
    def insert(self) -> str:
        """The INSERT of one row: created (only by date), key (unless SQLite makes it), payload, status 0 (if any)."""
        if self.table.server_keys:
            return f'INSERT INTO "{self.table.name}" (payload) VALUES (?)'  # noqa: S608
        marks = ["?"] * (self.table.by_date + 1 + bool(self.table.payload)) + ["0"] * self.table.status  # True is 1
        return f'INSERT INTO "{self.table.name}" VALUES ({", ".join(marks)})'  # noqa: S608

    def update(self, change: str) -> str:
        """The statement that updates the row of a key. `change` is what stands after SET."""
        return f'UPDATE "{self.table.name}" SET {change} WHERE key = ?'  # noqa: S608

    def where(self, verb: Literal["SELECT *", "DELETE"], condition: str) -> str:
        """The statement that reads or deletes the rows whose keys meet a condition, such as `= ?`."""
        return f'{verb} FROM "{self.table.name}" WHERE key {condition}'

    @property
    def keys(self) -> str:
        """The query for all keys, in any order."""
        return f'SELECT key FROM "{self.table.name}"'  # noqa: S608

    @property
    def arrived_keys(self) -> str:
        """The query for all keys of a table that is not the key's b-tree, in its order: of arrival or by date."""
        return f"{self.keys} ORDER BY {'created, key' if self.table.by_date else 'rowid'}"


SERVER_KEYS = (
    ServerKeys("server-identity", "the rowid: one more than the largest", "integer", "rfc", "", replica=CONTROL),
)


def check(table: Table) -> None:
    """Raises UsageError if SQLite is to make the table's keys and the key is not the rowid: it makes no other keys."""
    if table.server_keys and table.key != "clustered":
        raise UsageError(
            f"SQLite makes {table.server_keys.name} keys only where the key is the table's rowid: "
            'choose a scenario whose table has key = "clustered".'
        )


_DOCS = "https://www.sqlite.org/"


def _checked(version: str) -> None:
    """Raises UsageError for a version that is none of SQLite 3."""
    if version and not re.fullmatch(r"3(\.\d+)*", version):
        raise UsageError(f"SQLite {version!r} is unknown: name a version 3, for example 3.50.")


def _create(table: KeyedTable, name: str) -> Statement:
    """The statement that creates a user's table, under that name."""
    is_integer = table.column.form == "int"
    key = "id INTEGER PRIMARY KEY" if is_integer else f"id {table.column.sql_type} NOT NULL PRIMARY KEY"
    ending = "" if is_integer else " WITHOUT ROWID"
    sql = f"CREATE TABLE {identifier(name)} (\n  {key},\n  created_at INTEGER NOT NULL DEFAULT (unixepoch())\n){ending}"
    if table.layout == CONTROL:
        note = "The key is the rowid, and SQLite makes it where a row brings none."
    elif is_integer:
        note = "The key is the rowid. The application makes it."
    else:
        note = (
            "The application makes the keys: SQLite has no function for them. WITHOUT ROWID, rows lie in the order of "
            "the key, and there is no second tree."
        )
    return _locking(sql, note, "lang_createtable" if is_integer else "withoutrowid", locks="")


def creating(table: KeyedTable) -> Sequence[Statement]:
    """The statement that creates the table in order of its key: an integer is the rowid, with others there is none."""
    _checked(table.version)
    return [_create(table, table.name)]


def switching(table: KeyedTable) -> Sequence[Statement]:
    """No SQL, only the step that the application takes: SQLite has no default that makes such keys."""
    _checked(table.version)
    return [Statement("", f"Deploy the application that makes {table.layout} keys: SQLite makes none.")]


def rebuilding(table: KeyedTable) -> Sequence[Statement]:
    """The statement that writes the whole file again; SQLite cannot rebuild one table alone."""
    _checked(table.version)
    note = "Writes the whole file again, every table with full pages. Needs room for a second file until it ends."
    if layout(table.layout).order == "none":
        note += " Where random keys stay, full pages split soon after it."
    return [_locking("VACUUM", note, "lang_vacuum", "Writers wait until it ends; readers go on in WAL mode.")]


def converting(table: KeyedTable, into: KeyedTable, *, same_keys: bool = False) -> Sequence[Statement]:
    """The steps by which a new table, filled by the application, takes the old one's place while nothing writes."""
    _checked(table.version)
    name, new, old = (identifier(table.name + ending) for ending in ("", "_new", "_old"))
    stop = (
        f"{STOP}, until the last step: rows that come meanwhile would be lost. If anything fails before the tables "
        "change names, drop the new ones; the old ones are as they were."
    )
    fill = (
        f"Read the rows of {name} in the order of their creation, and insert each with "
        f"{'its own key in the new type' if same_keys else 'a new key'} into {new}, in transactions of some thousands. "
        f"Do the same for every child table; its new one refers to {new}."
    )
    rename = f"BEGIN IMMEDIATE;\nALTER TABLE {name} RENAME TO {old};\nALTER TABLE {new} RENAME TO {name};\nCOMMIT"
    start = f"Let the new child tables take the place of the old ones. {START} that knows the new keys. Drop later."
    return [
        Statement("", stop),
        _create(into, f"{table.name}_new"),
        Statement("", fill),
        _locking(rename, "References of child tables follow the names.", "lang_altertable"),
        Statement("", start),
    ]


def adding_public_id(table: KeyedTable) -> Sequence[Statement]:
    """The steps that add 16 random bytes to rows: to new ones by a trigger, to old ones in ranges of the key."""
    _checked(table.version)
    if table.column.form != "int":
        return [UNTESTED]
    name, own_name = identifier(table.name), identifier(f"{table.name}_public_id")  # of trigger and index
    update = f"UPDATE {name} SET public_id = randomblob(16) WHERE id = NEW.id"  # noqa: S608
    trigger = f"CREATE TRIGGER {own_name} AFTER INSERT ON {name}\nWHEN NEW.public_id IS NULL BEGIN\n  {update};\nEND"
    why = "SQLite adds no column with such a default. The trigger makes ids for programs that send none."
    until_end = "Writers wait until it ends."
    return [
        _locking(f"ALTER TABLE {name} ADD COLUMN public_id BLOB", PUBLIC_ID, "lang_altertable"),
        _locking(trigger, why, "lang_createtrigger"),
        _locking(fill_public_ids(name, "randomblob(16)"), NEXT_RANGES, "lang_update", until_end),
        _locking(f"CREATE UNIQUE INDEX {own_name} ON {name} (public_id)", "", "lang_createindex", until_end),
    ]


def _locking(sql: str, note: str, page: str, locks: str = "Writers wait for a moment.") -> Statement:
    """A statement that the tests run; `page` is that of SQLite's documentation."""
    return Statement(sql, note, confirmed=True, source=f"{_DOCS}{page}.html", locks=locks)
