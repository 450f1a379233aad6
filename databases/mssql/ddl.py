"""Columns, DDL, keys that the server makes, and how much room rows need, by the arithmetic of `records`.

All columns of trials' tables are NOT NULL. The statements for users' own tables (`creating` …) are written from
documentation: no server has run them.
"""

import re
from collections.abc import Sequence
from functools import partial

from keybench.databases.contract.settings import EngineOptions
from keybench.databases.contract.statements import BY_CLIENTS, UNTESTED, KeyedTable, Statement
from keybench.databases.core import ddl as core
from keybench.errors import UsageError
from keybench.generators.core.layout import layout
from keybench.model.column import Column
from keybench.model.keys import Kind
from keybench.model.names import CONTROL, RANDOM
from keybench.model.table import KeyRole, ServerKeys, Table
from keybench.pagemodels.mssql import records

MAKE = "Microsoft SQL Server"
"""How SQL Server itself begins to say what it is (@@VERSION); others speak its protocol too."""
SCHEMA = "keybench"
"""The one schema that keybench works in, and the database that it makes where a URL names none."""

_GUID: frozenset[Kind] = frozenset({"uuid"})
_BINARY_ORDER = "COLLATE Latin1_General_100_BIN2"

COLUMNS = (
    Column("uniqueidentifier", "uniqueidentifier", _GUID, "mssql", native=True),
    Column("binary16", "binary(16)", _GUID, "rfc"),
    Column("binary16-net", "binary(16)", _GUID, "net"),
    Column("binary16-mssql", "binary(16)", _GUID, "mssql", stands_in_for="SQL Server uniqueidentifier"),
    Column("char36", f"char(36) {_BINARY_ORDER}", _GUID, "rfc", "text", width=36),
    Column("binary", "binary({width})", frozenset({"bytes"}), "rfc", native=True, width=0),
    Column("char", f"char({{width}}) {_BINARY_ORDER}", frozenset({"text"}), "rfc", "text", native=True, width=0),
    Column("bigint", "bigint", frozenset({"int"}), "rfc", "int", native=True, width=8),
    Column("int", "int", frozenset({"int"}), "rfc", "int", native=True, width=4),
)

PAGE_BYTES = 8192
_WIDEST_CHAR = 8000
_POINTER = 16  # bytes of the pointer to a value that is stored outside the row
_BIGINT = ("BIGINT", 19)  # the type of a parameter (`parameter_sizes`): its name, and its decimal digits
_LOG_BYTES = 450
"""Log records of a row with its share of splits (measured by P. Randal: 328 bytes without, some 6,000 a split)."""
_LOG_ROOM = 2.5  # factor for the room that the log keeps free beside its records


def name(table: Table) -> str:
    """The table's qualified, quoted name."""
    return f"[{SCHEMA}].[{table.name}]"


def parameter(column: Column) -> str:
    """A key's parameter in a query, cast to the column's type: for a driver's text, the index would not be used."""
    return f"CAST(? AS {core.sql_type(column).partition(' ')[0]})"


def payload_type(table: Table) -> str:
    """The payload's SQL type: char where texts have one length, so that all rows have one size; varchar where lengths
    differ; varchar(max) where texts do not fit in a row."""
    if table.payload > _WIDEST_CHAR:
        return "varchar(max)"
    return f"{'varchar' if table.lengths else 'char'}({table.payload})"


def create(table: Table, options: EngineOptions) -> str:
    """The statement that creates the table, without its parent. A clustered key is the order of the table's rows. Under
    any other key, rows lie in a heap, or (option `beneath`) in order of arrival, by a bigint. A table by date lies in
    order of its rows' creation, then of the key. UsageError for two IDENTITY columns in one table, which SQL Server
    does not allow."""
    default = f" {table.server_keys.declaration}" if table.server_keys else ""
    columns = [f"[key] {core.sql_type(table.column)}{default} NOT NULL"]
    if table.payload:
        columns.append(f"payload {payload_type(table)} {_BINARY_ORDER} NOT NULL")
    constraint = "PRIMARY KEY CLUSTERED" if table.key == "clustered" else "PRIMARY KEY NONCLUSTERED"
    beneath = []  # the clustered index under a key that is not clustered itself
    if table.by_date:
        columns.insert(0, "created bigint NOT NULL")
        beneath = [f"CONSTRAINT [{table.name}_created] UNIQUE CLUSTERED (created, [key])"]
    elif table.key != "clustered" and options["beneath"] == "clustered":
        if "IDENTITY" in default:
            raise UsageError(
                "a nonclustered server-identity would be the table's second IDENTITY column: "
                "leave KEYBENCH_MSSQL_BENEATH at heap."
            )
        columns.insert(0, "row_id bigint IDENTITY NOT NULL")
        beneath = [f"CONSTRAINT [{table.name}_row] PRIMARY KEY CLUSTERED (row_id)"]
        constraint = "UNIQUE NONCLUSTERED"
    index = core.index_name(table)
    key_index = f"INDEX [{index}] NONCLUSTERED" if table.key == "fk" else f"CONSTRAINT [{index}] {constraint}"
    fill, sequential = options["fill_factor"], options["sequential_key"].upper()
    index_options = f"FILLFACTOR = {fill}, OPTIMIZE_FOR_SEQUENTIAL_KEY = {sequential}"
    definitions = [*columns, *beneath, f"{key_index} ([key]) WITH ({index_options})"]
    return f"CREATE TABLE {name(table)} ({', '.join(definitions)})"


def rebuild(table: Table, fill: int, options: EngineOptions) -> str:
    """The statement that builds the key's index again; the table itself where the key is clustered."""
    index, pad = core.index_name(table), options["pad_index"].upper()
    return f"ALTER INDEX [{index}] ON {name(table)} REBUILD WITH (FILLFACTOR = {fill}, PAD_INDEX = {pad})"


def insert(table: Table) -> str:
    """The statement that inserts one row, with a `?` for each column that is sent."""
    columns = [f"[{column}]" if column == "key" else column for column in core.sent_columns(table)]
    return f"INSERT INTO {name(table)} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608  # our own names


def parameter_sizes(table: Table) -> tuple[tuple[str, int], ...]:
    """Of each parameter of `insert`: its SQL type, by ODBC's name without `SQL_`, and its bytes or decimal digits."""
    column, width = table.column, table.column.width
    if column.name == "uniqueidentifier":
        key = ("GUID", 16)
    elif column.form == "int":
        key = _BIGINT if width == 8 else ("INTEGER", 10)
    else:
        key = ("CHAR" if column.form == "text" else "BINARY", width)
    of_columns = {"created": _BIGINT, "key": key, "payload": ("VARCHAR", table.payload)}
    return tuple(of_columns[name] for name in core.sent_columns(table))


def leaf_row(column: Column, payload: int, key: KeyRole, options: EngineOptions) -> int:
    """Bytes of a row in a leaf of the key's index, without its slot."""
    versions = options["row_versioning"] != "off"
    width = column.width or core.WIDEST_KEY
    if key != "clustered":  # what leads to the row (a RID, a bigint, or the moment of creation) has 8 bytes
        return records.index_row(width, 8, versions=versions)
    return _data_row(width, payload) + (records.VERSION_TAG if versions else 0)


def _data_row(fixed: int, payload: int) -> int:
    """Bytes of a row of the table, with `fixed` bytes of columns beside its payload."""
    if payload > _WIDEST_CHAR:
        return records.data_row(fixed, 2, [_POINTER])  # 2 columns, or 3: the null bitmap has one byte
    return records.data_row(fixed + payload, 2)


def bytes_per_row(column: Column, payload: int, key: KeyRole, options: EngineOptions) -> tuple[float, float]:
    """Estimated bytes per row: (the key's index filled in order, everything with half-empty pages and the log)."""
    index = _share(leaf_row(column, payload, key, options))
    # 8: a bigint beneath the key, or the moment of creation
    beneath = _share(_data_row((column.width or core.WIDEST_KEY) + 8, payload)) if key != "clustered" else 0.0
    beneath /= core.EMPTIEST if key == "by-date" else 1  # writers whose clocks lag split pages of a table by date
    outside = payload if payload > _WIDEST_CHAR else 0
    return index, index / core.EMPTIEST + beneath + outside + _LOG_ROOM * (_LOG_BYTES + payload)


def _share(row: int) -> float:
    """Bytes of a page for each of its rows, if a row has `row` bytes."""
    return PAGE_BYTES / records.rows_a_page(row)


SERVER_KEYS = (
    ServerKeys("server-identity", "the table's IDENTITY", "bigint", "rfc", "IDENTITY", replica=CONTROL),
    ServerKeys("server-newid", "NEWID(): random", "uniqueidentifier", "none", "DEFAULT NEWID()", replica=RANDOM),
    ServerKeys("server-newsequentialid", "NEWSEQUENTIALID(): one counter of the whole server", "uniqueidentifier",
               "mssql", "DEFAULT NEWSEQUENTIALID()", replica="newsequentialid"),
)  # fmt: skip
"""NEWSEQUENTIALID is documented to ascend, but has an implementation of its own on Linux: `QUESTIONS` asks."""

_DOCS = "https://learn.microsoft.com/sql/t-sql/"
_MAJOR_BY_YEAR = {2008: 10, 2012: 11, 2014: 12, 2016: 13, 2017: 14, 2019: 15, 2022: 16, 2025: 17}
"""The major version of each year in the product's name."""
_DATEDIFF_BIG, _RESUMABLE, _SEQUENTIAL_KEY = 13, 14, 15  # the major versions that brought these
_COMB = (
    "\n    CAST(CAST(NEWID() AS binary(10)) + CAST(DATEDIFF_BIG(\n      MILLISECOND, '19700101', SYSUTCDATETIME())\n"
    "      AS binary(6)) AS uniqueidentifier)"
)
"""RT.Comb's NewComb."""
_quoted = partial(core.quoted, marks="[]")
_ALTER_INDEX = f"{_DOCS}statements/alter-index-transact-sql"
_ALTER_TABLE = f"{_DOCS}statements/alter-table-transact-sql"


def major_version(version: str) -> int:
    """The major version of a version as people write it: 16 for `2022` and `16.0`; the newest for an empty text.
    UsageError for an unknown version."""
    if not version:
        return max(_MAJOR_BY_YEAR.values())
    match = re.fullmatch(r"(\d+)(\.\d+)*", version)
    first = int(match[1]) if match else 0
    major = _MAJOR_BY_YEAR.get(first, first)
    if major not in _MAJOR_BY_YEAR.values():
        raise UsageError(f"SQL Server {version!r} is unknown: name one of {', '.join(map(str, _MAJOR_BY_YEAR))}.")
    return major


def _declaration(table: KeyedTable) -> tuple[str, str]:
    """(the key column's clause by which the server makes keys: DEFAULT … or IDENTITY, a note for the user). The clause
    is empty if the server makes no such keys."""
    version = major_version(table.version)
    server_keys = None if table.by_clients else core.server_made(SERVER_KEYS, table.layout, table.column, version)
    if server_keys:
        note = core.SERVER_MAKES
        if "NEWSEQUENTIALID" in server_keys.declaration:
            note += " The next key can be guessed; after a restart keys may begin below the old ones."
        elif "IDENTITY" in server_keys.declaration:
            note = "The server numbers the rows."
        return server_keys.declaration, note
    makes_combs = table.layout == "rt-comb-sql" and table.column.name == "uniqueidentifier" and version >= _DATEDIFF_BIG
    if makes_combs and not table.by_clients:
        note = "The server makes a COMB where a row brings no key; rows of one statement share one time."
        return f"DEFAULT ({_COMB})", note
    note = BY_CLIENTS if table.by_clients else core.NO_FUNCTION
    if table.column.name == "uniqueidentifier" and layout(table.layout).order == "rfc":
        note += (
            " uniqueidentifier compares the last six bytes first, so that these keys are in no order: take binary(16), "
            "or a layout for SQL Server."
        )
    return "", note


def creating(table: KeyedTable) -> Sequence[Statement]:
    """The statement that creates a user's table, clustered by its key; a public id has a nonclustered index."""
    declaration, note = _declaration(table)
    ascends = layout(table.layout).suits(table.column)
    sequential = ascends and major_version(table.version) >= _SEQUENTIAL_KEY
    options = "\n    WITH (OPTIMIZE_FOR_SEQUENTIAL_KEY = ON)" if sequential else ""
    if options:
        note += " OPTIMIZE_FOR_SEQUENTIAL_KEY keeps many writers from queueing for the last page."
    name, key, default = (_quoted(table.name + ending) for ending in ("", "_pkey", "_id"))
    named_default = declaration.replace("DEFAULT", f"CONSTRAINT {default} DEFAULT", 1)  # `switching` drops it by name
    column = " ".join(filter(None, ["id", core.sql_type(table.column), "NOT NULL", named_default]))
    if table.public_id:
        public_default, unique = _quoted(f"{table.name}_public_id_default"), _quoted(f"{table.name}_public_id")
        column += f",\n  public_id uniqueidentifier NOT NULL CONSTRAINT {public_default} DEFAULT NEWID()"
        column += f"\n    CONSTRAINT {unique} UNIQUE NONCLUSTERED"
        note += f" {core.PUBLIC_ID} Programs may send one."
    sql = (
        f"CREATE TABLE {name} (\n  {column},\n  created_at datetime2(3) NOT NULL DEFAULT SYSUTCDATETIME(),\n"
        f"  CONSTRAINT {key} PRIMARY KEY CLUSTERED (id){options}\n)"
    )
    return [Statement(sql, note, source=f"{_DOCS}statements/create-table-transact-sql")]


def switching(table: KeyedTable) -> Sequence[Statement]:
    """The statements that give the key a new default; where there can be none, the step that people take instead."""
    declaration, note = _declaration(table)
    if step := core.step_instead_of_default(table, declaration, note):
        return [step]
    name, default = _quoted(table.name), _quoted(f"{table.name}_id")
    brief = "Sch-M on the table, for a moment: no row is read. Set LOCK_TIMEOUT, so that it never queues long."
    steps = (
        (f"DROP CONSTRAINT {default}", "If the column has a default today. sys.default_constraints has its name."),
        (f"ADD CONSTRAINT {default} {declaration} FOR id", note),
    )
    return [Statement(f"ALTER TABLE {name} {change}", why, source=_ALTER_TABLE, locks=brief) for change, why in steps]


def rebuilding(table: KeyedTable) -> Sequence[Statement]:
    """The statements that build a user's table again in order of its key, at a fill factor that suits the layout."""
    alter = f"ALTER INDEX {_quoted(table.name + '_pkey')} ON {_quoted(table.name)}"
    fill = 80 if layout(table.layout).order == "none" else 100
    options = [f"FILLFACTOR = {fill}", "ONLINE = ON"]
    note = "Needs room for a second table until it ends. ONLINE takes the Enterprise edition, or Azure SQL."
    if major_version(table.version) >= _RESUMABLE:
        options.append("RESUMABLE = ON")
        note += " RESUMABLE can be paused, and goes on after a failure."
    if fill < 100:
        note += " More free room puts the next wave of splits of random keys off, and makes the table larger at once."
    return [
        Statement(
            f"{alter} REBUILD WITH ({', '.join(options)})",
            note,
            source=_ALTER_INDEX,
            locks="Reads and writes go on; for a moment at its beginning S, and at its end Sch-M on the table. Without "
            "it, Sch-M until it ends.",
        ),
        Statement(
            f"{alter} REORGANIZE",
            "Instead, in every edition: it moves rows page by page, in small transactions, and logs each of them.",
            source=_ALTER_INDEX,
            locks="Single pages, for a moment.",
        ),
    ]


def converting(_table: KeyedTable, _into: KeyedTable, *, same_keys: bool = False) -> Sequence[Statement]:  # noqa: ARG001
    """No statement: no SQL Server has run those that would convert a user's keys."""
    return [UNTESTED]


def adding_public_id(table: KeyedTable) -> Sequence[Statement]:
    """The statements that add a random GUID to rows: to new ones by a default, to old ones in ranges of the key."""
    if table.column.form != "int":
        return [UNTESTED]
    major_version(table.version)  # only for its UsageError
    name, default, index = (_quoted(table.name + ending) for ending in ("", "_public_id_default", "_public_id"))
    add = f"ADD public_id uniqueidentifier NULL\n  CONSTRAINT {default} DEFAULT NEWID()"
    enterprise = "With ONLINE, which takes the Enterprise edition or Azure SQL, reads and writes go on."
    steps = (
        (
            f"ALTER TABLE {name} {add}",
            f"{core.PUBLIC_ID} Old rows have none yet.",
            _ALTER_TABLE,
            "Sch-M, for a moment.",
        ),
        (core.fill_public_ids(name, "NEWID()"), core.NEXT_RANGES, f"{_DOCS}queries/update-transact-sql", "Its rows."),
        (
            f"ALTER TABLE {name} ALTER COLUMN public_id uniqueidentifier NOT NULL\n  WITH (ONLINE = ON)",
            f"Reads the whole table once. {enterprise}",
            _ALTER_TABLE,
            "Without it, Sch-M until it ends.",
        ),
        (
            f"CREATE UNIQUE NONCLUSTERED INDEX {index} ON {name} (public_id)\n  WITH (ONLINE = ON)",
            enterprise,
            f"{_DOCS}statements/create-index-transact-sql",
            "Without it, writes wait until it ends.",
        ),
    )
    return [Statement(sql, note, source=source, locks=locks) for sql, note, source, locks in steps]
