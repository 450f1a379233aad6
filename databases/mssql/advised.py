"""Statements for users' own tables on SQL Server. Written from documentation: no server has run them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from keybench.databases.contract.statements import BY_CLIENTS, KeyedTable, Statement
from keybench.databases.core.ddl import (
    FILL_CHILDREN,
    FILL_OLD_ROWS,
    NO_FUNCTION,
    SERVER_MAKES,
    server_made,
    sql_type,
    without_default,
)
from keybench.databases.mssql import ddl
from keybench.errors import UsageError
from keybench.generators.core.layout import layout

_DOCS = "https://learn.microsoft.com/sql/t-sql/"
_YEARS = {2012: 11, 2014: 12, 2016: 13, 2017: 14, 2019: 15, 2022: 16, 2025: 17}
_DATEDIFF_BIG = 13
_RESUMABLE = 14
_SEQUENTIAL_KEY = 15
_COMB = (
    "CAST(CAST(NEWID() AS binary(10)) + CAST(DATEDIFF_BIG(MILLISECOND, '19700101', SYSUTCDATETIME()) AS binary(6)) "
    "AS uniqueidentifier)"
)
"""RT.Comb's NewComb."""
_ALTER_INDEX = f"{_DOCS}statements/alter-index-transact-sql"
_ALTER_TABLE = f"{_DOCS}statements/alter-table-transact-sql"
_RENAME = "https://learn.microsoft.com/sql/relational-databases/system-stored-procedures/sp-rename-transact-sql"


def number(version: str) -> int:
    """The major version: 2022 and 16.0 are 16. UsageError for what is none."""
    if not version:
        return max(_YEARS.values())
    match = re.fullmatch(r"(\d+)(\.\d+)*", version)
    major = _YEARS.get(int(match[1]), int(match[1])) if match else 0
    if major not in _YEARS.values():
        raise UsageError(f"SQL Server {version!r} is unknown: name one of {', '.join(map(str, _YEARS))}.")
    return major


def _quoted(name: str) -> str:
    return f"[{name.replace(']', ']]')}]"


def _default(table: KeyedTable) -> tuple[str, str]:
    """(the declaration after the column's type, what to know of it)."""
    version = number(table.version)
    server_keys = None if table.by_clients else server_made(ddl.SERVER_KEYS, table.layout, table.column, version)
    if server_keys:
        note = SERVER_MAKES
        if "NEWSEQUENTIALID" in server_keys.declaration:
            note += " The next key can be guessed; after a restart keys may begin below the old ones."
        elif "IDENTITY" in server_keys.declaration:
            note = "The server numbers the rows."
        return server_keys.declaration, note
    comb = table.layout == "rt-comb-sql" and table.column.name == "uniqueidentifier" and version >= _DATEDIFF_BIG
    if comb and not table.by_clients:
        return (
            f"DEFAULT ({_COMB})",
            "The server makes a COMB where a row brings no key; rows of one statement share one time.",
        )
    note = BY_CLIENTS if table.by_clients else NO_FUNCTION
    if table.column.name == "uniqueidentifier" and layout(table.layout).order == "rfc":
        note += (
            " uniqueidentifier compares the last six bytes first, so that these keys are in no order: take binary(16), "
            "or a layout for SQL Server."
        )
    return "", note


def creating(table: KeyedTable) -> Sequence[Statement]:
    """The table, clustered by its key."""
    declaration, note = _default(table)
    ascends = layout(table.layout).suits(table.column)
    options = " WITH (OPTIMIZE_FOR_SEQUENTIAL_KEY = ON)" if ascends and number(table.version) >= _SEQUENTIAL_KEY else ""
    if options:
        note += " OPTIMIZE_FOR_SEQUENTIAL_KEY keeps many writers from queueing for the last page."
    name, key, default = (_quoted(table.name + ending) for ending in ("", "_pkey", "_id"))
    named = declaration.replace("DEFAULT", f"CONSTRAINT {default} DEFAULT", 1)
    column = " ".join(filter(None, ["id", sql_type(table.column), "NOT NULL", named]))
    sql = (
        f"CREATE TABLE {name} (\n  {column},\n  created_at datetime2(3) NOT NULL DEFAULT SYSUTCDATETIME(),\n"
        f"  CONSTRAINT {key} PRIMARY KEY CLUSTERED (id){options}\n)"
    )
    return [Statement(sql, note, False, f"{_DOCS}statements/create-table-transact-sql")]


def switching(table: KeyedTable) -> Sequence[Statement]:
    """A new default in place of the old one."""
    declaration, note = _default(table)
    if step := without_default(table, declaration, note):
        return [step]
    name, default = _quoted(table.name), _quoted(f"{table.name}_id")
    brief = "Sch-M on the table, for a moment: no row is read. Set LOCK_TIMEOUT, so that it never queues long."
    return [
        Statement(
            f"ALTER TABLE {name} DROP CONSTRAINT {default}",
            "If the column has a default today. sys.default_constraints has its name.",
            False,
            _ALTER_TABLE,
            brief,
        ),
        Statement(
            f"ALTER TABLE {name} ADD CONSTRAINT {default} {declaration} FOR id", note, False, _ALTER_TABLE, brief
        ),
    ]


def rebuilding(table: KeyedTable) -> Sequence[Statement]:
    """The clustered index, which is the table."""
    fill = 80 if layout(table.layout).order == "none" else 100
    options = [f"FILLFACTOR = {fill}", "ONLINE = ON"]
    note = "Needs room for a second table until it ends. ONLINE takes the Enterprise edition, or Azure SQL."
    if number(table.version) >= _RESUMABLE:
        options.append("RESUMABLE = ON")
        note += " RESUMABLE can be paused, and goes on after a failure."
    if fill < 100:
        note += " More free room puts the next wave of splits of random keys off, and makes the table larger at once."
    return [
        Statement(
            f"ALTER INDEX {_quoted(f'{table.name}_pkey')} ON {_quoted(table.name)} REBUILD WITH ({', '.join(options)})",
            note,
            False,
            _ALTER_INDEX,
            "Reads and writes go on; for a moment at its beginning S, and at its end Sch-M on the table. Without it, "
            "Sch-M until it ends.",
        ),
        Statement(
            f"ALTER INDEX {_quoted(f'{table.name}_pkey')} ON {_quoted(table.name)} REORGANIZE",
            "Instead, in every edition: it moves rows page by page, in small transactions, and logs each of them.",
            False,
            _ALTER_INDEX,
            "Single pages, for a moment.",
        ),
    ]


def converting(table: KeyedTable, into: KeyedTable) -> Sequence[Statement]:
    """A new key beside the old one, filled in batches; then the table is built again in its order."""
    declaration, note = _default(into)
    name, key, default = (_quoted(table.name + ending) for ending in ("", "_pkey", "_id_new"))
    brief = "Sch-M on the table, for a moment: no row is read."
    long = "Sch-M on the table until it ends: all rows are read."
    online = "With ONLINE (Enterprise edition, Azure SQL), reads and writes go on."
    defaults = []
    if declaration.startswith("DEFAULT"):
        defaults.append((f"ALTER TABLE {name} ADD CONSTRAINT {default} {declaration} FOR id_new", note, brief))
    steps = (
        (f"ALTER TABLE {name} ADD id_new {sql_type(into.column)} NULL", "", brief),
        *defaults,
        (
            "",
            f"{FILL_OLD_ROWS}. {FILL_CHILDREN}. Drop the foreign keys that refer to the old key before the next step, "
            "and add them again after the last.",
            "",
        ),
        (f"ALTER TABLE {name} ALTER COLUMN id_new {sql_type(into.column)} NOT NULL", "", long),
        (f"ALTER TABLE {name} DROP CONSTRAINT {key} WITH (ONLINE = ON)", "The table becomes a heap.", online),
        (
            f"ALTER TABLE {name} ADD CONSTRAINT {key} PRIMARY KEY CLUSTERED (id_new) WITH (ONLINE = ON)",
            "Builds the table and all its indexes again.",
            online,
        ),
        (
            f"EXEC sp_rename '{table.name}.id', 'id_old', 'COLUMN';\n"
            f"EXEC sp_rename '{table.name}.id_new', 'id', 'COLUMN'",
            "Together with the application that knows the new keys. Keep id_old, with an index, as long as anybody may "
            "ask for an old key.",
            brief,
        ),
        (
            f"ALTER TABLE {name} ALTER COLUMN id_old {sql_type(table.column)} NULL",
            "New rows have no old key. Drop the column's DEFAULT first, if there is one; an IDENTITY column stays.",
            brief,
        ),
    )
    return [Statement(sql, text, False, _page(sql), locks) for sql, text, locks in steps]


def _page(sql: str) -> str:
    """The page of the documentation on a step of `converting`."""
    return (_RENAME if sql.startswith("EXEC") else _ALTER_TABLE) if sql else ""
