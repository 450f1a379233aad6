"""The SQL of trials' tables: columns, the statements that create and read them, and keys that the server makes.

Versions are libpq's numbers: 18.4 is 180004. Indexes grow alike from 13 to 18 (docs/internals/versions.md), so the page
model needs no version. The tests run the statements for users' own tables (`creating` …) on PostgreSQL 15 and 18.
"""

import re
from collections.abc import Sequence

from keybench.databases.contract.statements import BY_CLIENTS, UNTESTED, KeyedTable, Statement
from keybench.databases.core import ddl as core
from keybench.databases.postgresql.settings import DEDUPLICATE
from keybench.databases.registry import scripts
from keybench.errors import ServerError, UsageError
from keybench.generators.core.layout import layout
from keybench.model.column import Column
from keybench.model.names import CONTROL, RANDOM
from keybench.model.table import ServerKeys, Table

SCHEMA = "keybench"
"""The one schema that keybench works in."""
COMMENT = "a trial of keybench, which removes it"
"""The comment of a trial's table, by which `keybench clean` recognises it."""
USER = "keybench"
"""The user of trials, and the name of their database, on servers that keybench starts."""

COLUMNS = (
    Column("uuid", "uuid", frozenset({"uuid"}), "rfc", native=True),
    Column("binary16", "bytea", frozenset({"uuid"}), "rfc"),
    Column("binary16-net", "bytea", frozenset({"uuid"}), "net"),
    Column("binary16-mssql", "bytea", frozenset({"uuid"}), "mssql", stands_in_for="SQL Server uniqueidentifier"),
    Column("char36", 'character(36) COLLATE "C"', frozenset({"uuid"}), "rfc", form="text", width=36),
    Column("char36-default", "character(36)", frozenset({"uuid"}), "rfc", form="text", width=36),
    Column("bytea", "bytea", frozenset({"bytes"}), "rfc", native=True, width=0),
    Column("text", 'text COLLATE "C"', frozenset({"text"}), "rfc", form="text", native=True, width=0),
    Column("bigint", "bigint", frozenset({"int"}), "rfc", form="int", native=True, width=8),
    Column("int", "integer", frozenset({"int"}), "rfc", form="int", native=True, width=4),
)

_SENDER = {
    "uuid": "uuid_send",
    "bytea": "byteasend",
    "text": "textsend",
    "character(36)": "bpcharsend",
    "bigint": "int8send",
    "integer": "int4send",
}


def name(table: Table) -> str:
    """The table's qualified, quoted name."""
    return f'{SCHEMA}."{table.name}"'


def create(table: Table) -> tuple[str, ...]:
    """The statements that create the table, without its parent. The key's index is the primary key's; a foreign key has
    one of its own. A table by date has an index on the time of creation, because PostgreSQL keeps no table in an
    index's order."""
    payload = ", payload text NOT NULL" if table.payload else ""
    status = ", status integer NOT NULL DEFAULT 0" if table.status else ""
    default = f" {table.server_keys.declaration}" if table.server_keys else ""
    created = "created bigint NOT NULL, " if table.by_date else ""
    index_fill = f"fillfactor = {fill}" if (fill := table.settings.get("fillfactor")) else ""
    primary = f"PRIMARY KEY WITH ({index_fill})" if index_fill else "PRIMARY KEY"
    constraint = "NOT NULL" if table.key == "fk" else primary
    heap_options = [f"fillfactor = {heap_fill}"] if (heap_fill := table.settings.get("heap_fillfactor")) else []
    if table.settings.get("autovacuum") != "on":
        heap_options += ["autovacuum_enabled = false", "toast.autovacuum_enabled = false"]
    options = f" WITH ({', '.join(heap_options)})" if heap_options else ""
    statements = [
        f"CREATE TABLE {name(table)} ({created}key {table.column.sql_type} {constraint}{default}{payload}{status})"
        + options
        + marked(name(table))
    ]
    if table.status:
        statements.append(f'CREATE INDEX "{table.name}_status" ON {name(table)} (status)')
    if table.by_date:
        statements.append(f'CREATE INDEX "{table.name}_created" ON {name(table)} (created)')
    if table.key == "fk":
        no_merging = f"{DEDUPLICATE} = off" if table.settings.get(DEDUPLICATE) == "off" else ""
        index_options = ", ".join(filter(None, [no_merging, index_fill]))
        statements.append(f'CREATE INDEX "{table.name}_key" ON {name(table)} (key)')
        if index_options:
            statements[-1] += f" WITH ({index_options})"
    return tuple(statements)


def marked(name: str) -> str:
    """The end of a statement that creates a table: a second one, its mark. Sent together, both are one transaction."""
    return f"; COMMENT ON TABLE {name} IS '{COMMENT}'"


def is_primary(table: Table) -> bool:
    """Whether the measured index is the primary key's. A table has at most one other index."""
    return table.key != "fk" and not table.measures_rows


def columns(table: Table) -> str:
    """The columns, in the order in which rows are sent."""
    return ("created, " if table.by_date else "") + "key" + (", payload" if table.payload else "")


def sender(column: Column) -> str:
    """The server's function that returns a key in its binary form."""
    return _SENDER[column.sql_type.partition(" ")[0]]  # without its collation


OLDEST = 13
"""The oldest major version that keybench uses."""

# The first versions that have each of these:
SERVER_UUID_V4 = 130_000
"""gen_random_uuid() without an extension."""
QUIET_INITDB = 14
"""initdb's option --no-instructions."""
LOG_COUNTERS = 140_000
"""pg_stat_wal, which counts page images and syncs."""
IDLE_SESSION_TIMEOUT = 140_000
STATISTICS_ON_DEMAND = 150_000
"""pg_stat_force_next_flush()."""
CHECKPOINT_ROLE = 150_000
"""The role pg_checkpoint, whose members may make checkpoints."""
ICU_DATABASES = 150_000
"""Databases with a collation of ICU."""
PAGES_WRITTEN = 160_000
"""pg_stat_io, which tells pages written from pages added to a file."""
BYTES_WRITTEN = 180_000
"""pg_stat_io counts bytes: an operation can write several pages."""
SERVER_UUID_V7 = 180_000
"""uuidv7()."""

SERVER_KEYS = (
    ServerKeys("server-identity", "the server's own sequence", "bigint",
               "rfc", "GENERATED ALWAYS AS IDENTITY", replica=CONTROL),
    ServerKeys("server-uuid-v4", "gen_random_uuid()", "uuid",
               "none", "DEFAULT gen_random_uuid()", SERVER_UUID_V4, RANDOM),
    ServerKeys("server-uuidv7", "uuidv7(): milliseconds, 12 bits of their fraction", "uuid",
               "rfc", "DEFAULT uuidv7()", SERVER_UUID_V7, "postgresql-uuidv7"),
)  # fmt: skip


def check(keys: ServerKeys, version: int) -> None:
    """Raises ServerError if a server of this version, as libpq numbers it, cannot make these keys."""
    if version < keys.min_version:
        raise ServerError(
            f"{keys.name} keys are made by PostgreSQL {keys.min_version // 10_000} and newer, and this server is "
            f"{version // 10_000}: choose a newer --server, or the client's layout of the same kind."
        )


_DOCS = "https://www.postgresql.org/docs/18/"
_COMBS = frozenset({"rt-comb-postgresql", "marten"})
_NEWEST = SERVER_UUID_V7
_WEAK = "SHARE UPDATE EXCLUSIVE: reads and writes go on."
_BRIEF = "ACCESS EXCLUSIVE on the table, for a moment: no row is read. Set lock_timeout, so that it never queues long."


def version_number(version: str) -> int:
    """A version as libpq numbers it: 18 and 18.4 are 180000 and 180004; the newest for an empty text. UsageError for
    one that is too old or no version."""
    if not version:
        return _NEWEST
    match = re.fullmatch(r"(\d{1,3})(?:\.(\d{1,2}))?(?:\.\d+)?", version)
    if not match or int(match[1]) < OLDEST:
        raise UsageError(f"PostgreSQL {version!r} is unknown: name a version from {OLDEST} on, for example 15 or 18.4.")
    return int(match[1]) * 10_000 + int(match[2] or 0)


def _function(name: str, note: str) -> Statement:
    """The statement that creates one of keybench's SQL functions for users."""
    script = scripts("keybench.databases.postgresql")[name]
    body = "\n".join(line for line in script.splitlines() if not line.startswith("--")).strip().removesuffix(";")
    return _tested(body, note, "sql-createfunction")


def _tested(sql: str, note: str, page: str, locks: str = "") -> Statement:
    """A statement that the tests run; `page` is that of PostgreSQL's manual."""
    return Statement(sql, note, confirmed=True, source=f"{_DOCS}{page}.html", locks=locks)


def _declaration(table: KeyedTable) -> tuple[list[Statement], str, str]:
    """(statements for what has to be created first, the declaration after the column's type by which the server makes
    keys, a note for the user). The declaration is empty if the server makes no such keys."""
    version = version_number(table.version)
    if table.by_clients:
        return [], "", BY_CLIENTS
    if server_keys := core.server_made(SERVER_KEYS, table.layout, table.column, version):
        return [], server_keys.declaration, core.note_on_server_keys(server_keys, table.layout)
    if core.uuid_version(table.layout) == 7 and table.column.name == "uuid":
        cost = "It costs a row more time than its index does: keys made by the application are cheaper."
        first = _function("uuid_v7", f"Before version 18 the server has no uuidv7(). {cost}")
        return [first], "DEFAULT uuid_v7()", core.SERVER_MAKES
    if table.layout in _COMBS and table.column.name == "uuid":
        first = _function("new_comb", "A random GUID whose first six bytes are milliseconds.")
        return [first], "DEFAULT new_comb()", core.SERVER_MAKES
    return [], "", core.NO_FUNCTION


def creating(table: KeyedTable) -> Sequence[Statement]:
    """The statement that creates a user's table; before it, if the server lacks it, the function that makes keys."""
    first, declaration, note = _declaration(table)
    key = " ".join(filter(None, ["id", table.column.sql_type, declaration, "PRIMARY KEY"]))
    sql = f"CREATE TABLE {core.identifier(table.name)} (\n  {key},\n  created_at timestamptz NOT NULL DEFAULT now()\n)"
    if layout(table.layout).kind == "uuid" and table.column.form == "text":
        note += " As text, a key takes 37 bytes instead of 16: prefer the type uuid."
    return [*first, _tested(sql, note, "datatype-uuid")]


def switching(table: KeyedTable) -> Sequence[Statement]:
    """The statements that give the key a new default; where there can be none, the step that people take instead."""
    first, declaration, note = _declaration(table)
    if step := core.step_instead_of_default(table, declaration, note):
        return [step]
    return [*first, _altering(table, f"ALTER COLUMN id SET {declaration}", note)]


def rebuilding(table: KeyedTable) -> Sequence[Statement]:
    """The statement that builds the primary key's index again, online; before it, for random keys, a fill factor."""
    index = core.identifier(f"{table.name}_pkey")
    locks = f"{_WEAK} It waits for transactions that began before it."
    note = (
        "Needs room for a second index until it ends, and no transaction around it. If it fails, drop the invalid "
        f"index {table.name}_pkey_ccnew and run it again."
    )
    steps = [_tested(f"REINDEX INDEX CONCURRENTLY {index}", note, "sql-reindex", locks)]
    if layout(table.layout).order == "none":
        sql = f"ALTER INDEX {index} SET (fillfactor = 80)"
        note = (
            "Only where random keys stay: more free room puts the next wave of splits off, and makes the index larger "
            "at once."
        )
        steps.insert(0, _tested(sql, note, "sql-alterindex", "SHARE UPDATE EXCLUSIVE."))
    return steps


_SAME_KEY = {
    ("binary16", "uuid"): "encode(NEW.id, 'hex')::uuid",
    ("char36", "uuid"): "NEW.id::uuid",
    ("char36-default", "uuid"): "NEW.id::uuid",
}
"""By (column, new column): PL/pgSQL for a row's key in the new column's type."""


def converting(table: KeyedTable, into: KeyedTable, *, same_keys: bool = False) -> Sequence[Statement]:
    """The steps that put a new key beside the old one, and then let the two change places in one short transaction. New
    rows get the new key from a default, or from a trigger if it is the old key in another type (`same_keys`); old rows
    get it in batches. [UNTESTED] if nothing can give new rows the new key."""
    functions, declaration, note = _declaration(into)
    name, trigger = core.identifier(table.name), core.identifier(f"{table.name}_id_new")
    index, constraint = core.identifier(f"{table.name}_id_new"), core.identifier(f"{table.name}_pkey")
    key_in_new_type = _SAME_KEY.get((table.column.name, into.column.name), "")
    is_identity = "IDENTITY" in declaration
    sequence = core.identifier(f"{table.name}_id_new_seq")
    if is_identity:  # adding an identity column would write the whole table again
        literal = sequence.replace("'", "''")
        declaration = f"DEFAULT nextval('{literal}')"
    # what new rows get before the two change places: if the application is to make keys, any unique one will do
    meanwhile = declaration or ("DEFAULT gen_random_uuid()" if into.column.name == "uuid" else "")
    if not (key_in_new_type if same_keys else meanwhile):
        return [UNTESTED]
    steps = [_altering(table, f"ADD COLUMN id_new {into.column.sql_type}", note)]
    exchange = [f"ALTER TABLE {name} ALTER COLUMN id_new SET NOT NULL"]  # the statements of the short transaction
    if is_identity:
        sql = f"CREATE SEQUENCE {sequence} OWNED BY {name}.id_new"
        steps.append(_tested(sql, "Numbers the rows.", "sql-createsequence"))
    if same_keys:
        steps += _copying_keys(name, trigger, key_in_new_type)
        exchange += [f"DROP TRIGGER {trigger} ON {name}", f"DROP FUNCTION {trigger}()"]
        if declaration:
            exchange.append(f"ALTER TABLE {name} ALTER COLUMN id_new SET {declaration}")
    else:
        steps.append(_altering(table, f"ALTER COLUMN id_new SET {meanwhile}", "New rows get both keys."))
        if not declaration:
            exchange.append(f"ALTER TABLE {name} ALTER COLUMN id_new DROP DEFAULT")
    fill = core.FILL_SAME_KEYS if same_keys else core.FILL_NEW_KEYS
    vacuum = "VACUUM between batches: each updated row leaves a dead one."
    steps.append(Statement("", f"{fill} {vacuum} {core.FILL_CHILDREN}"))
    steps += [_unique_index(table, index, "id_new"), *_checking(table, "id_new"), Statement("", core.STANDSTILL)]
    exchange += [
        f"ALTER TABLE {name} DROP CONSTRAINT {_check_name(table, 'id_new')},\n  DROP CONSTRAINT {constraint},\n  "
        f"ADD CONSTRAINT {constraint} PRIMARY KEY USING INDEX {index}",
        f"ALTER TABLE {name} ALTER COLUMN id DROP IDENTITY IF EXISTS",
        f"ALTER TABLE {name} ALTER COLUMN id DROP DEFAULT, ALTER COLUMN id DROP NOT NULL",
        f"ALTER TABLE {name} RENAME COLUMN id TO id_old",
        f"ALTER TABLE {name} RENAME COLUMN id_new TO id",
    ]
    old_keys = "New rows have no old key. If anybody may still ask for old keys, index the column before this step."
    later = "NOT VALID makes the foreign key at once; validate it while programs run."
    steps += [_transaction(exchange, old_keys), Statement("", f"{core.AFTER_STANDSTILL} {later}")]
    return [*functions, *steps]


def _copying_keys(table: str, trigger: str, key_in_new_type: str) -> list[Statement]:
    """The statements that make a trigger, and its function of the same name, that gives new rows both keys."""
    function = (
        f"CREATE FUNCTION {trigger}() RETURNS trigger LANGUAGE plpgsql AS\n"
        f"$$ BEGIN NEW.id_new := {key_in_new_type}; RETURN NEW; END $$"
    )
    sql = f"CREATE TRIGGER {trigger} BEFORE INSERT ON {table}\n  FOR EACH ROW EXECUTE FUNCTION {trigger}()"
    locks = "SHARE ROW EXCLUSIVE, for a moment: writes wait."
    note = "New rows have their key in both types."
    return [_tested(function, note, "plpgsql-trigger"), _tested(sql, "", "sql-createtrigger", locks)]


def adding_public_id(table: KeyedTable) -> Sequence[Statement]:
    """The steps that add a random UUID to the rows: new ones get it from a default, old ones in ranges of the key."""
    if table.column.form != "int":
        return [UNTESTED]
    version_number(table.version)  # only for its UsageError
    name, make = core.identifier(table.name), "gen_random_uuid()"
    return [
        _altering(table, "ADD COLUMN public_id uuid", core.PUBLIC_ID),
        _altering(table, f"ALTER COLUMN public_id SET DEFAULT {make}", "Only new rows get one."),
        _tested(core.fill_public_ids(name, make), core.NEXT_RANGES, "sql-update", "Its rows."),
        _unique_index(table, core.identifier(f"{table.name}_public_id"), "public_id"),
        *_checking(table, "public_id"),
        _transaction(
            [
                f"ALTER TABLE {name} ALTER COLUMN public_id SET NOT NULL",
                f"ALTER TABLE {name} DROP CONSTRAINT {_check_name(table, 'public_id')}",
            ]
        ),
    ]


def _altering(table: KeyedTable, change: str, note: str = "", locks: str = _BRIEF) -> Statement:
    return _tested(f"ALTER TABLE {core.identifier(table.name)} {change}", note, "sql-altertable", locks)


def _unique_index(table: KeyedTable, index: str, column: str) -> Statement:
    """The statement that builds a unique index on a column, online."""
    sql = f"CREATE UNIQUE INDEX CONCURRENTLY {index} ON {core.identifier(table.name)} ({column})"
    note = "Reads the whole table twice. No transaction around it. If it fails, drop the index and run it again."
    return _tested(sql, note, "sql-createindex", _WEAK)


def _check_name(table: KeyedTable, column: str) -> str:
    """The name of the constraint by which a column has no NULL."""
    return core.identifier(f"{table.name}_{column}_set")


def _checking(table: KeyedTable, column: str) -> list[Statement]:
    """The statements that check that a column has no NULL, so that SET NOT NULL afterwards reads no rows."""
    check = _check_name(table, column)
    add = f"ADD CONSTRAINT {check}\n  CHECK ({column} IS NOT NULL) NOT VALID"
    return [
        _altering(table, add, "For SET NOT NULL below."),
        _altering(table, f"VALIDATE CONSTRAINT {check}", "Reads the whole table once.", _WEAK),
    ]


def _transaction(statements: Sequence[str], note: str = "") -> Statement:
    """Statements that take effect together."""
    locks = "ACCESS EXCLUSIVE, as short as the transaction: no row is read."
    return _tested(";\n".join(["BEGIN", *statements, "COMMIT"]), note, "sql-altertable", locks)
