"""Columns, DDL, keys that the server makes, and how much room rows need, by the arithmetic of `records`.

All columns of trials' tables are NOT NULL, but for texts that may be empty. The statement that creates a user's own
table (`creating`) is written from documentation: no server has run it. There are none for tables that exist.
"""

import re
from collections.abc import Sequence

from keybench.databases.contract.settings import EngineOptions
from keybench.databases.contract.statements import BY_CLIENTS, UNTESTED, KeyedTable, Statement
from keybench.databases.core import ddl as core
from keybench.errors import UsageError
from keybench.generators.core.layout import layout
from keybench.model.column import Column
from keybench.model.keys import Kind
from keybench.model.names import CONTROL, RANDOM
from keybench.model.table import KeyRole, ServerKeys, Table
from keybench.pagemodels.oracle import records

_GUID: frozenset[Kind] = frozenset({"uuid"})

COLUMNS = (
    Column("raw16", "RAW(16)", _GUID, "rfc", native=True),
    Column("raw16-net", "RAW(16)", _GUID, "net"),
    Column("binary16-mssql", "RAW(16)", _GUID, "mssql", stands_in_for="SQL Server uniqueidentifier"),
    Column("char36", "CHAR(36)", _GUID, "rfc", "text", width=36),
    Column("raw", "RAW({width})", frozenset({"bytes"}), "rfc", native=True, width=0),
    Column("char", "CHAR({width})", frozenset({"text"}), "rfc", "text", native=True, width=0),
    Column("number", "NUMBER(19)", frozenset({"int"}), "rfc", "int", native=True, width=8),
)
"""Texts compare by their bytes: NLS_SORT and NLS_COMP are BINARY unless a session changes them."""

STATISTICS = "keybench_statistics"
"""The table in which writers' sessions store their own statistics when they end."""

WIDEST_TEXT = 4000
"""Bytes of the longest text that is stored in its row."""
_BLOCK_BYTES = 8192
_LOCATOR_BYTES = 40  # what a row holds of a longer text, a CLOB: where it is
_MOMENT_BYTES = 9  # a NUMBER of sixteen digits
_REDO_BYTES, _REDO_AND_UNDO, _HEAP_ROOM = 700, 2, 1.25
"""Estimates: bytes of redo of a row; factor for the undo of as many; factor for the free room in a heap's blocks."""


def name(table: Table) -> str:
    """The table's quoted name."""
    return f'"{table.name}"'


def payload_type(payload: int) -> str:
    """The SQL type of payloads of up to that many bytes: those up to 4,000 bytes are stored in the row."""
    return f"VARCHAR2({payload} BYTE)" if payload <= WIDEST_TEXT else "CLOB"


def create(table: Table, options: EngineOptions) -> tuple[str, ...]:
    """The statements that create the table, without its parent. A clustered key is that of an index-organised table.
    Any other has an index beside the heap, the usual case in Oracle. By date, the heap has an index on the moment of
    creation, too."""
    default = f" {table.server_keys.declaration}" if table.server_keys else ""
    columns = ["created NUMBER(19) NOT NULL"] if table.by_date else []
    columns += [f"key {core.sql_type(table.column)}{default} NOT NULL"]
    if table.payload:
        may_be_empty = table.lengths is not None and table.lengths.least == 0  # to Oracle an empty text is NULL
        columns.append(f"payload {payload_type(table.payload)}{'' if may_be_empty else ' NOT NULL'}")
    if table.key == "clustered":
        columns.append(f'CONSTRAINT "{core.index_name(table)}" PRIMARY KEY (key)')
        return (f"CREATE TABLE {name(table)} ({', '.join(columns)}) ORGANIZATION INDEX",)
    unique = "UNIQUE " if is_unique(table, options) else ""
    date_index = (f'CREATE INDEX "{table.name}_created" ON {name(table)} (created)',) if table.by_date else ()
    return (
        f"CREATE TABLE {name(table)} ({', '.join(columns)})",
        f'CREATE {unique}INDEX "{table.name}_key" ON {name(table)} (key)',
        *date_index,
    )


def rebuild(table: Table, fill: int) -> str:
    """The statement that builds the key's index again, with its blocks filled to `fill` %. Oracle rebuilds no primary
    index of an index-organised table (ORA-28650): such a table moves instead."""
    pctfree = f"PCTFREE {100 - int(fill)}"
    if table.key == "clustered":
        return f"ALTER TABLE {name(table)} MOVE {pctfree}"
    return f'ALTER INDEX "{core.index_name(table)}" REBUILD {pctfree}'


def is_unique(table: Table, options: EngineOptions) -> bool:
    """Whether the key's index is declared unique."""
    return table.key == "clustered" or (options["unique"] == "yes" and table.key != "fk")


def insert(table: Table) -> str:
    """The statement that inserts one row, with a parameter named as each column that is sent."""
    columns = core.sent_columns(table)
    binds = ", ".join(f":{column}" for column in columns)
    return f"INSERT INTO {name(table)} ({', '.join(columns)}) VALUES ({binds})"  # noqa: S608  # our own names


def entry_bytes(column: Column, payload: int, key: KeyRole) -> int:
    """Bytes of an entry in a leaf of the key's index, which is the table itself if the key is clustered."""
    width = column.width or core.WIDEST_KEY
    if key == "clustered":
        return records.table_entry(width, payload if payload <= WIDEST_TEXT else _LOCATOR_BYTES)
    return records.nonunique_entry(width) if key == "fk" else records.unique_entry(width)


def bytes_per_row(column: Column, payload: int, key: KeyRole) -> tuple[float, float]:
    """Estimated bytes per row: (the key's index filled in order, everything with half-empty blocks, redo and undo)."""
    index = entry_bytes(column, payload, key) * _BLOCK_BYTES / records.LEAF_BYTES
    heap = _HEAP_ROOM * (records.table_entry(column.width or core.WIDEST_KEY, payload)) if key != "clustered" else 0.0
    if key == "by-date":
        # The moment, in heap and index.
        heap += records.nonunique_entry(_MOMENT_BYTES) * (_HEAP_ROOM + 1 / core.EMPTIEST)
    return index, index / core.EMPTIEST + heap + _REDO_AND_UNDO * (_REDO_BYTES + payload)


SERVER_KEYS = (
    ServerKeys("server-identity", "an identity column, sequence cache of 1,000", "number",
               "rfc", "GENERATED ALWAYS AS IDENTITY (CACHE 1000)", replica=CONTROL),
    ServerKeys("server-sys-guid", "SYS_GUID(): a counter of each session first", "raw16",
               "rfc", "DEFAULT SYS_GUID()", replica="oracle-sys-guid"),
)  # fmt: skip
"""SYS_GUID was seen to ascend in a session on Linux; that is not documented: `engine.QUESTIONS` tests it."""

_DOCS = "https://docs.oracle.com/en/database/oracle/oracle-database/26/sqlrf/"
_UUID = 26  # the first release with UUID()
_OLDEST, _NEWEST = 12, 26


def release_number(version: str) -> int:
    """The release number of a version as people write it: 19 for `19c` and `19.3`; the newest for an empty text.
    UsageError for an unknown version."""
    if not version:
        return _NEWEST
    match = re.fullmatch(r"(\d+)(c|ai|(?:\.\d+)+)?", version)
    if not match or not _OLDEST <= int(match[1]) <= _NEWEST:
        raise UsageError(
            f"Oracle {version!r} is unknown: name a release from {_OLDEST}c to {_NEWEST}ai, for example 19c."
        )
    return int(match[1])


def _quoted(name: str) -> str:
    """A name between quotation marks if it needs them. Oracle's names cannot contain such marks: they are left out."""
    return name if re.fullmatch(r"[a-z][a-z0-9_]*", name) else '"' + name.replace('"', "") + '"'


def _declaration(table: KeyedTable) -> tuple[str, str]:
    """(the key column's clause by which the server makes keys: DEFAULT … or GENERATED …, a note for the user). The
    clause is empty if the server makes no such keys."""
    version = release_number(table.version)
    server_keys = None if table.by_clients else core.server_made(SERVER_KEYS, table.layout, table.column, version)
    if server_keys:
        if "IDENTITY" in server_keys.declaration:
            return server_keys.declaration, "The server numbers the rows."
        note = "SYS_GUID() is no UUID of any version, and the next key can be guessed. Its order is not documented."
        return server_keys.declaration, note
    makes_uuids = table.layout == RANDOM and table.column.name == "raw16" and version >= _UUID
    if makes_uuids and not table.by_clients:
        return "DEFAULT UUID()", f"{core.SERVER_MAKES} UUID() is new in 26ai."
    note = BY_CLIENTS if table.by_clients else core.NO_FUNCTION
    if table.column.name == "raw16":
        note += " From .NET, send big-endian bytes: a Guid bound as it is arrives with its first eight bytes swapped."
    return "", note


def creating(table: KeyedTable) -> Sequence[Statement]:
    """The statement that creates a user's table, a heap, with the key's index beside it."""
    declaration, note = _declaration(table)
    column = " ".join(filter(None, ["id", core.sql_type(table.column), declaration, "NOT NULL"]))
    sql = (
        f"CREATE TABLE {_quoted(table.name)} (\n  {column},\n  created_at TIMESTAMP(3) DEFAULT SYSTIMESTAMP NOT NULL,\n"
        f"  CONSTRAINT {_quoted(f'{table.name}_pkey')} PRIMARY KEY (id)\n)"
    )
    if layout(table.layout).suits(table.column):  # keys ascend: all inserts meet in the last block
        note += " Where many sessions, or several instances, queue for the last block, partition the index by hash."
    return [Statement(sql, note, source=f"{_DOCS}CREATE-TABLE.html")]


def switching(table: KeyedTable) -> Sequence[Statement]:
    """One step that is no statement: what the application does, or that no Oracle has run a change of a default."""
    return [core.step_instead_of_default(table, *_declaration(table)) or UNTESTED]


def rebuilding(_table: KeyedTable) -> Sequence[Statement]:
    """No statement: no Oracle has run one that rebuilds a user's index."""
    return [UNTESTED]


def converting(_table: KeyedTable, _into: KeyedTable, *, same_keys: bool = False) -> Sequence[Statement]:  # noqa: ARG001
    """No statement: no Oracle has run those that would convert a user's keys."""
    return [UNTESTED]


def adding_public_id(table: KeyedTable) -> Sequence[Statement]:
    """The statements that add a random UUID: new rows get it from a default, old rows in ranges of the key. Releases
    without UUID() have only SYS_GUID() for a default, whose next value can be guessed."""
    if table.column.form != "int" or release_number(table.version) < _UUID:
        return [UNTESTED]
    name, index, check = (_quoted(table.name + ending) for ending in ("", "_public_id", "_public_id_set"))
    alter, brief = f"ALTER TABLE {name}", "The table, for a moment, after running transactions: set DDL_LOCK_TIMEOUT."
    online = "Reads and writes go on."
    steps = (
        (f"{alter} ADD (public_id RAW(16))", core.PUBLIC_ID, "ALTER-TABLE", brief),
        (f"{alter} MODIFY (public_id DEFAULT UUID())", "UUID() is new in 26ai.", "ALTER-TABLE", brief),
        (core.fill_public_ids(name, "UUID()"), f"{core.NEXT_RANGES} Commit after each.", "UPDATE", "Its rows."),
        (f"CREATE UNIQUE INDEX {index} ON {name} (public_id) ONLINE", "", "CREATE-INDEX", online),
        (f"{alter} ADD CONSTRAINT {check}\n  CHECK (public_id IS NOT NULL) ENABLE NOVALIDATE", "", "constraint", brief),
        (f"{alter} MODIFY CONSTRAINT {check} VALIDATE", "Reads the whole table once.", "constraint", online),
    )
    return [Statement(sql, note, source=f"{_DOCS}{page}.html", locks=locks) for sql, note, page, locks in steps]
